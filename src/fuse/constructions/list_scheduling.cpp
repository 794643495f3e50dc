// List scheduling over a grid of priorities and in-flight caps.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "fuse/constructions/constructions.h"
#include "fuse/constructions/dispatch.h"
#include "fuse/constructions/serial.h"

namespace dovetail::fuse {
namespace {

using pipeline::BackwardForm;
using pipeline::Lowering;
using pipeline::Model;
using pipeline::OpLabel;
using pipeline::Problem;
using pipeline::Ticks;

/// Which ready op goes first.
enum class Preference {
  backward,            ///< S, then I and B, then F, then W; then file order
  remaining,           ///< the op with the most still to come behind it in its pipeline
  backward_remaining,  ///< backward before forward, and among each the most still to come
};
constexpr Preference preferences[] = {Preference::backward_remaining, Preference::remaining, Preference::backward};

/// In-flight caps as percent of 1F1B's, one for each model; 0 stands for no cap.
using Caps = std::vector<int>;

/// What the pipeline still has to do from the start of each op on: the longest path behind it and the slowest stage's
/// work on the micro-batches that come after its own.
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
  constexpr std::int64_t last_rank = 2;  // of weight gradients, which no other pass waits for
  // Ranks lie further apart than any two remaining times. Times that are too long for that are compared more coarsely.
  const std::int64_t longest = *std::max_element(remaining.begin(), remaining.end());
  const int shift = longest > (std::int64_t{1} << 60) ? 3 : 0;
  const std::int64_t most = longest >> shift;
  for (std::size_t op = 0; op < remaining.size(); ++op) {
    // A step goes with the backwards.
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

/// All models alike; then each model held back to 1F1B's while the others are given more; then, for tight capacities,
/// to one micro-batch in flight while the others are given less than 1F1B's.
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
  // So many ops take a few seconds; the grid is in order of promise, and every problem gets at least its first three
  // rules.
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
  if (!best) return NotApplicable{"none of its rules leads to an end"};
  return std::move(*best);
}

}  // namespace dovetail::fuse
