#include "predict/simulated/ranks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "batching/distribution.h"
#include "batching/micro_batches.h"
#include "cost/batches.h"

namespace dovetail::predict {
namespace {

using base::Ticks;
using simulate::BarKind;
using simulate::Lane;
using simulate::Span;

constexpr std::size_t max_kinds = 8;

/// Ranks begin ... end - 1, which are treated as equal.
struct Kind {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<Kind> kinds_of(std::size_t ranks) {
  std::vector<Kind> kinds{{0, 1}};
  const std::size_t others = std::min(ranks, max_kinds) - 1;
  for (std::size_t kind = 0; kind < others; ++kind) {
    const std::size_t begin = kinds.back().end;
    kinds.push_back({begin, 1 + (ranks - 1) * (kind + 1) / others});
  }
  return kinds;
}

double mean_of(const std::vector<double>& parts, const Kind& kind) {
  const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(kind.begin);
  const auto end = parts.begin() + static_cast<std::ptrdiff_t>(kind.end);
  return std::accumulate(begin, end, 0.0) / static_cast<double>(kind.end - kind.begin);
}

bool is_pass(BarKind bar_kind) {
  return bar_kind == BarKind::infer || bar_kind == BarKind::forward || bar_kind == BarKind::backward;
}

/// Builds a lane with shortened passes.
class Shortened {
 public:
  Shortened(const std::vector<Ranks>& tasks, const Kind& kind, bool closes_up)
      : tasks_(tasks), kind_(kind), closes_up_(closes_up) {}

  std::vector<Span> spans(const std::vector<Span>& of_slowest) {
    for (const Span& span : of_slowest) {
      const bool continues = closes_up_ && is_pass(span.bar_kind);
      if (!continues) wait(span.begin);
      if (is_pass(span.bar_kind))
        pass(span);
      else
        spans_.push_back(span);
      if (!continues) wait(span.end);
    }
    if (!of_slowest.empty()) wait(of_slowest.back().end);
    return std::move(spans_);
  }

 private:
  Ticks now() const { return spans_.empty() ? Ticks(0) : spans_.back().end; }

  void wait(Ticks until) {
    if (now() < until) spans_.push_back({now(), until, BarKind::imbalance, spans_.back().task, 0, {}});
  }

  void pass(const Span& of_slowest) {
    const Ticks whole = of_slowest.end - of_slowest.begin;
    const double work = part_of(of_slowest.task) * static_cast<double>((whole - of_slowest.launch).count());
    const Ticks length =
        std::clamp(of_slowest.launch + Ticks(std::llround(work)), std::max(Ticks(1), of_slowest.launch), whole);
    Span span = of_slowest;
    span.begin = now();
    span.end = now() + length;
    spans_.push_back(span);
  }

  double part_of(std::int32_t task) const {
    const auto is_it = [task](const Ranks& ranks) { return ranks.task == task; };
    return mean_of(std::find_if(tasks_.begin(), tasks_.end(), is_it)->parts, kind_);
  }

  const std::vector<Ranks>& tasks_;
  Kind kind_;
  bool closes_up_;
  std::vector<Span> spans_;
};

}  // namespace

Ranks ranks_of(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const workflow::Task& of = scenario.job.workflow.tasks[task];
  const bool trains = of.kind == workflow::TaskKind::train;
  const double steps = trains ? static_cast<double>(workflow::optimizer_steps_of(of, scenario.job.workload)) : 1;
  return {static_cast<std::int32_t>(task), cost::shares_of_ranks(batch_of(scenario, task), steps, planned.layout.data)};
}

simulate::Trace with_ranks(simulate::Trace trace, const std::vector<Ranks>& tasks) {
  const std::size_t ranks = tasks.front().parts.size();
  const bool alike =
      std::all_of(tasks.begin(), tasks.end(), [](const Ranks& of) { return of.parts.back() > 1 - 1e-9; });
  if (alike) return trace;
  const bool one_stage = trace.lanes.size() == 1;
  simulate::Trace with{trace.end, {}};
  for (const Lane& lane : trace.lanes) {
    const std::size_t each = lane.devices.size() / ranks;
    for (const Kind& kind : kinds_of(ranks)) {
      Lane& own = with.lanes.emplace_back();
      own.devices.assign(lane.devices.begin() + static_cast<std::ptrdiff_t>(kind.begin * each),
                         lane.devices.begin() + static_cast<std::ptrdiff_t>(kind.end * each));
      own.spans = Shortened(tasks, kind, one_stage).spans(lane.spans);
      own.memory = lane.memory;
    }
  }
  return with;
}

namespace {

constexpr double max_sequences = 1 << 20;

/// Returns the sequence lengths of a batch, each padded to a multiple of `multiple`.
std::vector<std::int64_t> padded_lengths(const workflow::LengthDistribution& lengths, std::int64_t sequences,
                                         std::int64_t multiple) {
  std::vector<std::int64_t> padded;
  for (std::int64_t index = 0; index < sequences; ++index) {
    const std::int64_t length = lengths.quantile((static_cast<double>(index) + 0.5) / static_cast<double>(sequences));
    padded.push_back((length + multiple - 1) / multiple * multiple);
  }
  return padded;
}

/// Returns the micro-batches of a rank with these packs.
DistributedPacks packs_of_rank(const std::vector<batching::SequenceSums>& packs, const std::vector<std::size_t>& own,
                               bool padded) {
  DistributedPacks dealt;
  std::int64_t longest = 0;
  for (const std::size_t index : own) longest = std::max(longest, packs[index].tokens);
  for (const std::size_t index : own) {
    const batching::SequenceSums& pack = packs[index];
    const auto padding = static_cast<double>(padded ? longest - pack.tokens : 0);
    ++dealt.count;
    dealt.micro_batch.count += static_cast<double>(pack.tokens) + padding;
    dealt.micro_batch.squares += pack.squares + padding * (2 * static_cast<double>(pack.last) + padding);
  }
  dealt.micro_batch.count /= std::max(1, dealt.count);
  dealt.micro_batch.squares /= std::max(1, dealt.count);
  return dealt;
}

/// Rounds up to full rounds of the stages if the layout is interleaved, as in cost::count_whole_micro_batches.
void complete_rounds(const llm::Layout& layout, DistributedPacks& dealt) {
  if (layout.virtual_stages > 1) dealt.count = (dealt.count + layout.pipeline - 1) / layout.pipeline * layout.pipeline;
}

double tokens_of(const DistributedPacks& dealt) { return dealt.count * dealt.micro_batch.count; }

/// Returns the packs of the slowest rank, with the shares of all ranks.
DistributedPacks slowest_of(const std::vector<DistributedPacks>& ranks, int stages) {
  const auto length = [&](const DistributedPacks& dealt) {
    return (dealt.count + stages - 1) * dealt.micro_batch.count;
  };
  const auto is_shorter = [&](const DistributedPacks& a, const DistributedPacks& b) { return length(a) < length(b); };
  DistributedPacks slowest = *std::max_element(ranks.begin(), ranks.end(), is_shorter);
  for (const DistributedPacks& dealt : ranks)
    slowest.ranks.push_back(std::min(1.0, tokens_of(dealt) / tokens_of(slowest)));
  std::sort(slowest.ranks.begin(), slowest.ranks.end(), std::greater<>());
  slowest.ranks.front() = 1;
  return slowest;
}

}  // namespace

std::optional<DistributedPacks> distribute_packs(const Scenario& scenario, std::size_t task,
                                                 const plan::TaskPlan& planned) {
  const llm::Layout& layout = planned.layout;
  const plan::MicroBatching& cut = planned.micro_batching;
  const cost::Batch batch = batch_of(scenario, task);
  const workflow::Task& of = scenario.job.workflow.tasks[task];
  const bool trains = of.kind == workflow::TaskKind::train;
  const double sequences =
      batch.sequences / (trains ? static_cast<double>(workflow::optimizer_steps_of(of, scenario.job.workload)) : 1);
  if (!scenario.software.conventions.deals_packs || cut.count > 0 || cut.tokens <= 0 || batch.together > 1 ||
      sequences > max_sequences)
    return std::nullopt;
  const std::int64_t multiple =
      static_cast<std::int64_t>(layout.tensor) * (layout.context > 1 ? 2 * layout.context : 1);
  const std::int64_t sample_count = std::max<std::int64_t>(1, std::llround(sequences));
  const std::vector<std::int64_t> lengths = padded_lengths(*batch.lengths, sample_count, multiple);
  const auto packs =
      batching::sums_of(batching::first_fit_decreasing(lengths, cost::integer_limit(cut.tokens)), lengths);
  std::vector<DistributedPacks> ranks;
  for (const std::vector<std::size_t>& own :
       batching::distribute_round_robin(packs.size(), static_cast<std::size_t>(layout.data))) {
    ranks.push_back(packs_of_rank(packs, own, layout.pipeline > 1));
    complete_rounds(layout, ranks.back());
  }
  return slowest_of(ranks, layout.pipeline);
}

}  // namespace dovetail::predict
