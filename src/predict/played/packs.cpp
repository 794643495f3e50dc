#include "predict/played/packs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "batching/dealing.h"
#include "batching/micro_batches.h"

namespace dovetail::predict {
namespace {

constexpr double max_sequences = 1 << 20;

/// The sequences of a batch, each padded to a multiple of `multiple`.
std::vector<std::int64_t> padded_lengths(const workflow::LengthDistribution& lengths, std::int64_t sequences,
                                         std::int64_t multiple) {
  std::vector<std::int64_t> padded;
  for (std::int64_t index = 0; index < sequences; ++index) {
    const std::int64_t length = lengths.quantile((static_cast<double>(index) + 0.5) / static_cast<double>(sequences));
    padded.push_back((length + multiple - 1) / multiple * multiple);
  }
  return padded;
}

/// What a rank does with these packs.
DealtPacks packs_of_rank(const std::vector<batching::PartSums>& packs, const std::vector<std::size_t>& own,
                         bool padded) {
  DealtPacks dealt;
  std::int64_t longest = 0;
  for (const std::size_t index : own) longest = std::max(longest, packs[index].tokens);
  for (const std::size_t index : own) {
    const batching::PartSums& pack = packs[index];
    const auto padding = static_cast<double>(padded ? longest - pack.tokens : 0);
    ++dealt.count;
    dealt.micro_batch.count += static_cast<double>(pack.tokens) + padding;
    dealt.micro_batch.squares += pack.squares + padding * (2 * static_cast<double>(pack.last) + padding);
  }
  dealt.micro_batch.count /= std::max(1, dealt.count);
  dealt.micro_batch.squares /= std::max(1, dealt.count);
  return dealt;
}

/// Whole rounds of the stages where the layout is interleaved, as cost::whole_micro_batches has it.
void complete_rounds(const llm::Layout& layout, DealtPacks& dealt) {
  if (layout.virtual_stages > 1) dealt.count = (dealt.count + layout.pipeline - 1) / layout.pipeline * layout.pipeline;
}

double tokens_of(const DealtPacks& dealt) { return dealt.count * dealt.micro_batch.count; }

/// Of the rank that takes longest, beside all.
DealtPacks slowest_of(const std::vector<DealtPacks>& ranks, int stages) {
  const auto length = [&](const DealtPacks& dealt) { return (dealt.count + stages - 1) * dealt.micro_batch.count; };
  const auto is_shorter = [&](const DealtPacks& a, const DealtPacks& b) { return length(a) < length(b); };
  DealtPacks slowest = *std::max_element(ranks.begin(), ranks.end(), is_shorter);
  for (const DealtPacks& dealt : ranks) slowest.ranks.push_back(std::min(1.0, tokens_of(dealt) / tokens_of(slowest)));
  std::sort(slowest.ranks.begin(), slowest.ranks.end(), std::greater<>());
  slowest.ranks.front() = 1;
  return slowest;
}

}  // namespace

std::optional<DealtPacks> dealt_packs(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
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
  const std::int64_t whole = std::max<std::int64_t>(1, std::llround(sequences));
  const std::vector<std::int64_t> lengths = padded_lengths(*batch.lengths, whole, multiple);
  const auto packs = batching::sums_of(batching::first_fit_decreasing(lengths, cost::whole_limit(cut.tokens)), lengths);
  std::vector<DealtPacks> ranks;
  for (const std::vector<std::size_t>& own :
       batching::deal_in_turn(packs.size(), static_cast<std::size_t>(layout.data))) {
    ranks.push_back(packs_of_rank(packs, own, layout.pipeline > 1));
    complete_rounds(layout, ranks.back());
  }
  return slowest_of(ranks, layout.pipeline);
}

}  // namespace dovetail::predict
