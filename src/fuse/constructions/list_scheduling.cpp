// List scheduling over a grid of priorities and in-flight caps, and the greedy algorithm of RLHFuse and FlexFusion.
#include <algorithm>
#include <deque>
#include <initializer_list>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "fuse/constructions/building_blocks.h"
#include "fuse/constructions/constructions.h"

namespace dovetail::fuse {
namespace {

using pipeline::Arc;
using pipeline::BackwardForm;
using pipeline::DeviceId;
using pipeline::Lowering;
using pipeline::Model;
using pipeline::OpGraph;
using pipeline::OpId;
using pipeline::OpLabel;
using pipeline::OpPhase;
using pipeline::Problem;
using pipeline::Ticks;

/// Priority of ready ops.
enum class Preference {
  backward,            ///< S, then I and B, then F, then W; then file order
  remaining,           ///< op with the most remaining work in its pipeline
  backward_remaining,  ///< backward before forward; within each, the most remaining work
};
constexpr Preference preferences[] = {Preference::backward_remaining, Preference::remaining, Preference::backward};

/// In-flight caps in percent of 1F1B's, one for each model; 0 means no cap.
using Caps = std::vector<int>;

/// Returns the remaining time of the pipeline from the start of each op on: the longest path after it, and the slowest
/// stage's work on the later micro-batches.
std::vector<std::int64_t> remaining_times(const Problem& problem, const Lowering& lowering) {
  std::vector<Ticks> slowest;
  for (const Model& model : problem.models) {
    Ticks most;
    for (std::size_t stage = 0; stage < model.forward.size(); ++stage)
      most = std::max(most, model.forward[stage] + model.whole_backward(stage));
    slowest.push_back(most);
  }
  const std::vector<Ticks> tails = pipeline::max_tails(lowering.graph);
  std::vector<std::int64_t> remaining(lowering.graph.size());
  for (std::size_t op = 0; op < lowering.graph.size(); ++op) {
    const OpLabel& label = lowering.graph.labels[op];
    const Model& model = problem.models[label.model.index()];
    const bool per_minibatch = pipeline::traits_of(label.kind).per_minibatch;
    const std::int64_t later =
        per_minibatch ? (model.minibatches - 1 - label.microbatch.value) * static_cast<std::int64_t>(model.microbatches)
                      : model.total_microbatches() - 1 - label.microbatch.value;
    remaining[op] = (tails[op] + lowering.graph.duration[op] + slowest[label.model.index()] * later).count();
  }
  return remaining;
}

void set_priorities(DispatchRules& rules, const Lowering& lowering, const std::vector<std::int64_t>& remaining,
                    Preference preference) {
  if (preference == Preference::backward) return;
  constexpr std::int64_t last_rank = 2;  // rank of weight gradients, which no other pass waits for
  // Ranks differ by more than any two remaining times. Times that are too long for that are compared with less
  // precision.
  const std::int64_t longest = *std::max_element(remaining.begin(), remaining.end());
  const int shift = longest > (std::int64_t{1} << 60) ? 3 : 0;
  const std::int64_t most = longest >> shift;
  for (std::size_t op = 0; op < remaining.size(); ++op) {
    // An optimizer step ranks with the backwards.
    const std::int64_t rank = std::max<std::int64_t>(0, pipeline::traits_of(lowering.graph.labels[op].kind).rank - 1);
    const bool ranked = preference == Preference::backward_remaining || rank == last_rank;
    rules.priority[op] = (most - (remaining[op] >> shift)) + (ranked ? rank * (most + 1) : 0);
  }
}

std::vector<std::int32_t> caps_by_stage(const Problem& problem, const Lowering& lowering, const Caps& caps) {
  std::vector<std::int32_t> limits;
  for (const pipeline::Pipeline& pipeline : lowering.pipelines) {
    const Model& model = problem.models[pipeline.model.index()];
    const int percent = caps[pipeline.model.index()];
    for (int stage = 0; stage < model.stages(); ++stage) {
      const auto scaled =
          static_cast<int>(std::max<std::int64_t>(1, std::int64_t{model.stages() - stage} * percent / 100));
      limits.push_back(percent == 0 ? model.total_microbatches() : std::min(model.total_microbatches(), scaled));
    }
  }
  return limits;
}

/// Returns the grid of caps. First all models have the same cap. Then each model in turn is limited to 1F1B's cap, and
/// the others get more. Last, for tight capacities, each model in turn is limited to one micro-batch in flight, and the
/// others get less than 1F1B's cap.
std::vector<Caps> grid_of_caps(std::size_t models) {
  std::vector<Caps> grid;
  for (const int percent : {100, 150, 200, 125, 300, 0, 50, 25, 75, 1}) grid.emplace_back(models, percent);
  const auto hold_each = [&](int held_percent, std::initializer_list<int> percents) {
    for (const int percent : percents)
      for (std::size_t held = 0; held < models; ++held) {
        Caps caps(models, percent);
        caps[held] = held_percent;
        grid.push_back(std::move(caps));
      }
  };
  if (models == 1) return grid;
  hold_each(100, {150, 200, 300, 0});
  hold_each(1, {100, 75, 50, 25});
  return grid;
}

}  // namespace

Answer solve_list(const Problem& problem, const SolveOptions& options) {
  const Lowering lowering = pipeline::lower(problem, BackwardForm::split);
  const std::vector<std::int64_t> remaining = remaining_times(problem, lowering);
  // Limit on the ops dispatched by all trials, a few seconds of work. The grid starts with the most promising rules,
  // and every problem gets at least the first three.
  constexpr std::size_t dispatched_ops_at_most = 6'000'000;
  const std::size_t trials_at_most = std::max<std::size_t>(3, dispatched_ops_at_most / lowering.graph.size());
  std::optional<Solution> best;
  std::size_t trials = 0;
  for (const Caps& caps : grid_of_caps(problem.models.size()))
    for (const Preference preference : preferences) {
      const bool cancelled = best && options.cancellation && options.cancellation->requested();
      if (++trials > trials_at_most || cancelled) break;
      DispatchRules rules = backward_first_rules(lowering);
      set_priorities(rules, lowering, remaining, preference);
      add_in_flight_gates(rules, lowering, caps_by_stage(problem, lowering, caps), true);
      auto sequences = dispatch(lowering.graph, rules);
      if (!sequences) continue;
      Answer answer = construction_answer("list", problem, lowering, pipeline::Order{std::move(*sequences), {}});
      auto* solution = std::get_if<Solution>(&answer);
      if (solution && (!best || is_better(*solution, *best, options))) best = std::move(*solution);
    }
  if (!best) return NotApplicable{"all rules of the solver deadlock"};
  return std::move(*best);
}

namespace {

/// Ops of one kind of one pipeline stage whose predecessors are all scheduled, by micro-batch. The first is a
/// candidate.
using Queue = std::deque<OpId>;

/// Sort key of candidates: earliest start, S and B before F, device, pipeline in file order, stage.
using Key = std::tuple<Ticks, int, std::int32_t, std::size_t>;

class Greedy {
 public:
  explicit Greedy(const Lowering& lowering) : lowering_(lowering), graph_(lowering.graph) {
    const auto devices = static_cast<std::size_t>(graph_.devices);
    order_.devices.resize(devices);
    idle_.resize(devices);
    queues_of_device_.resize(devices);
    best_.resize(devices);
    waits_.resize(graph_.size());
    ready_.resize(graph_.size());
    queues_.resize(phases * lowering.microbatch_begin.size());
    for (std::size_t op = 0; op < graph_.size(); ++op) {
      waits_[op] = static_cast<std::int32_t>(graph_.predecessors(OpId(op)).size());
      auto& queues = queues_of_device_[graph_.device[op].index()];
      const std::size_t queue = queue_of(OpId(op));
      if (queues.empty() || queues.back() != queue) queues.push_back(queue);
    }
    for (auto& queues : queues_of_device_) {
      std::sort(queues.begin(), queues.end());
      queues.erase(std::unique(queues.begin(), queues.end()), queues.end());
    }
    for (std::size_t op = 0; op < graph_.size(); ++op)
      if (waits_[op] == 0) queues_[queue_of(OpId(op))].push_back(OpId(op));
    for (std::size_t device = 0; device < devices; ++device) choose_again(DeviceId(device));
  }

  pipeline::Order run() && {
    while (!candidates_.empty()) {
      const auto device = DeviceId(std::get<2>(*candidates_.begin()));
      const std::size_t queue = std::get<3>(*candidates_.begin());
      const OpId op = queues_[queue].front();
      queues_[queue].pop_front();
      schedule(op);
      choose_again(device);
    }
    return std::move(order_);
  }

 private:
  static constexpr std::size_t phases = 3;

  /// Tie-breaking order: S, B, F.
  static std::size_t rank_of(OpPhase phase) { return phase == OpPhase::step ? 0 : phase == OpPhase::backward ? 1 : 2; }

  std::size_t queue_of(OpId op) const {
    const OpLabel& label = graph_.labels[op.index()];
    return static_cast<std::size_t>(lowering_.pipeline_stage(lowering_.pipeline_of(label), label.stage)) * phases +
           rank_of(pipeline::traits_of(label.kind).phase);
  }

  Ticks start_of(OpId op) const { return std::max(ready_[op.index()], idle_[graph_.device[op.index()].index()]); }

  void schedule(OpId op) {
    const Ticks end = start_of(op) + graph_.duration[op.index()];
    const DeviceId device = graph_.device[op.index()];
    order_.devices[device.index()].push_back(op);
    idle_[device.index()] = end;
    for (const Arc& arc : graph_.successors(op)) {
      Ticks& ready = ready_[arc.op.index()];
      ready = std::max(ready, end + arc.lag);
      if (--waits_[arc.op.index()] > 0) continue;
      queues_[queue_of(arc.op)].push_back(arc.op);
      if (graph_.device[arc.op.index()] != device) choose_again(graph_.device[arc.op.index()]);
    }
  }

  void choose_again(DeviceId device) {
    std::optional<Key>& best = best_[device.index()];
    if (best) candidates_.erase(*best);
    best.reset();
    Ticks first_model_start = Ticks::max();
    for_each_candidate(device, [&](OpId op, std::size_t) {
      if (graph_.labels[op.index()].model.value == 0) first_model_start = std::min(first_model_start, start_of(op));
    });
    for_each_candidate(device, [&](OpId op, std::size_t queue) {
      const bool first_model = graph_.labels[op.index()].model.value == 0;
      if (!first_model && start_of(op) + graph_.duration[op.index()] > first_model_start) return;
      const Key key{start_of(op), static_cast<int>(queue % phases), device.value, queue};
      if (!best || key < *best) best = key;
    });
    if (best) candidates_.insert(*best);
  }

  template <class Visit>
  void for_each_candidate(DeviceId device, Visit visit) const {
    for (const std::size_t queue : queues_of_device_[device.index()])
      if (!queues_[queue].empty()) visit(queues_[queue].front(), queue);
  }

  const Lowering& lowering_;
  const OpGraph& graph_;
  pipeline::Order order_;
  std::vector<Ticks> idle_;                                 // [device] end of its last op
  std::vector<Ticks> ready_;                                // [op]
  std::vector<std::int32_t> waits_;                         // [op] predecessors not yet scheduled
  std::vector<Queue> queues_;                               // [pipeline stage x kind]
  std::vector<std::vector<std::size_t>> queues_of_device_;  // [device]
  std::vector<std::optional<Key>> best_;                    // [device] its entry in candidates_
  std::set<Key> candidates_;
};

}  // namespace

Answer solve_greedy(const pipeline::Problem& problem, const SolveOptions&) {
  Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::whole);
  pipeline::Order order = Greedy(lowering).run();
  return construction_answer("greedy", problem, std::move(lowering), std::move(order));
}

}  // namespace dovetail::fuse
