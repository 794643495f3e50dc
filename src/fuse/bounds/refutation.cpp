#include "fuse/bounds/refutation.h"

#include <algorithm>
#include <utility>

namespace dovetail::fuse {

using base::Memory;
using base::Ticks;

namespace {

/// Above this many entries of Windows::preceding (128 MiB) nothing is refuted.
constexpr std::size_t max_precedences = std::size_t{1} << 25;
/// Above this many states, a pipeline is left out of its device's sequences.
constexpr std::size_t max_states_of_a_pipeline = 20'000;
/// Above this many states (64 MiB), a device's pipelines are sequenced in pairs, then individually.
constexpr std::size_t max_states_of_a_device = std::size_t{1} << 22;
/// Cost of finding a state of a pipeline, in units of one examined device state.
constexpr std::int64_t work_of_a_pipeline_state = 8;
/// Maximum nesting depth of case distinctions.
constexpr int deepest_case = 100;

/// Returns how much later than its earliest start an op can start.
Ticks slack(const PositionNetwork& network, const Windows& windows, std::int32_t op) {
  const auto i = static_cast<std::size_t>(op);
  return windows.until[i] - windows.from[i] - network.duration(op);
}

}  // namespace

std::int64_t default_work(const pipeline::Problem& problem) {
  constexpr std::int64_t work_per_op = 2'000;
  constexpr std::int64_t most = 20'000'000;
  return std::min(most, work_per_op * pipeline::count_ops(problem));
}

Refutation::Refutation(const pipeline::Problem& problem) : network_(position_network(problem)) {}

bool Refutation::refutes(Ticks deadline, const std::vector<Memory>& headroom, ProofDepth depth, ProofBudget& budget) {
  if (network_.precedence_count > max_precedences) return false;
  std::int64_t work = 0;
  Windows windows = first_windows(network_, deadline, headroom, work);
  budget.work_left -= work;
  if (windows.impossible || depth == ProofDepth::windows || budget.spent()) return windows.impossible;
  if (!enumerate_states(headroom, budget)) return true;
  if (depth == ProofDepth::cases)
    return refutes_cases({std::move(windows), 0, Ticks(0), Ticks::max()}, headroom, 0, budget);
  WindowPropagation propagation(network_, windows);
  sequence_devices(headroom, propagation, budget);
  return windows.impossible;
}

/// Returns false if a pipeline cannot be sequenced at all.
bool Refutation::enumerate_states(const std::vector<Memory>& headroom, ProofBudget& budget) {
  states_.assign(static_cast<std::size_t>(network_.devices), {});
  for (std::size_t device = 0; device < states_.size() && !budget.spent(); ++device) {
    std::vector<base::PipelineId> pipelines;
    for (const std::int32_t row : network_.on[device])
      pipelines.push_back(network_.rows[static_cast<std::size_t>(row)].pipeline);
    pipelines.erase(std::unique(pipelines.begin(), pipelines.end()), pipelines.end());
    for (const base::PipelineId pipeline : pipelines) {
      auto states =
          pipeline_states(network_, base::DeviceId(device), pipeline, headroom[device], max_states_of_a_pipeline);
      budget.work_left -=
          work_of_a_pipeline_state * static_cast<std::int64_t>(states ? states->size() : max_states_of_a_pipeline);
      if (states && states->size() == 0) return false;
      if (states) states_[device].push_back(*std::move(states));
    }
  }
  return true;
}

/// Sequences all pipelines of the device together, or in pairs if that has too many states.
void Refutation::sequence_device(const DeviceStates& states, Memory headroom, WindowPropagation& propagation,
                                 ProofBudget& budget) {
  const auto is_over = [&] { return propagation.windows().impossible || budget.spent(); };
  const auto tighten = [&](const std::vector<const PipelineStates*>& pipelines) {
    const DeviceSequencing::Outcome outcome =
        sequencing_.tighten(network_, pipelines, headroom, max_states_of_a_device, propagation);
    budget.work_left -= outcome.work;
    return outcome.done;
  };
  std::vector<const PipelineStates*> all;
  for (const PipelineStates& pipeline : states) all.push_back(&pipeline);
  if (all.empty() || tighten(all)) return;
  for (std::size_t a = 0; a < all.size(); ++a) {
    bool paired = false;
    for (std::size_t b = a + 1; b < all.size() && !is_over(); ++b) paired = tighten({all[a], all[b]}) || paired;
    if (!paired && !is_over()) tighten({all[a]});
  }
}

void Refutation::sequence_devices(const std::vector<Memory>& headroom, WindowPropagation& propagation,
                                  ProofBudget& budget) {
  const Windows& windows = propagation.windows();
  budget.work_left -= propagation.propagate();
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t device = 0; device < states_.size(); ++device) {
      if (windows.impossible || budget.spent()) return;
      if (!windows.changed_on[device]) continue;
      changed = true;
      propagation.set_unchanged(base::DeviceId(device));
      sequence_device(states_[device], headroom[device], propagation, budget);
      // Sequencing the device again would find nothing new. Only changes from other devices count.
      propagation.set_unchanged(base::DeviceId(device));
      budget.work_left -= propagation.propagate();
    }
  }
}

/// Returns an op with slack, from the pipeline with the longest micro-batches: it has the least freedom, and the others
/// must fit around it. Prefers its middle stage, which is coupled to both ends.
std::optional<std::int32_t> Refutation::op_to_halve(const Windows& windows) const {
  std::optional<std::int32_t> best;
  Ticks most;
  const auto look_at = [&](const PositionRow& row) {
    for (std::int32_t op = row.begin; op < row.end; ++op) {
      if (slack(network_, windows, op) <= most) continue;
      most = slack(network_, windows, op);
      best = op;
    }
  };
  for (const base::PipelineId pipeline : network_.by_length) {
    for (const PositionRow& row : network_.rows)
      if (row.pipeline == pipeline && row.is_middle) look_at(row);
    if (best) return best;
  }
  for (const PositionRow& row : network_.rows) look_at(row);
  return best;
}

bool Refutation::refutes_cases(Case given, const std::vector<Memory>& headroom, int depth, ProofBudget& budget) {
  Windows& windows = given.windows;
  WindowPropagation propagation(network_, windows);
  propagation.raise_from(given.op, given.from);
  propagation.lower_until(given.op, given.until);
  sequence_devices(headroom, propagation, budget);
  if (windows.impossible) return true;
  if (budget.spent() || depth == deepest_case) return false;
  const std::optional<std::int32_t> op = op_to_halve(windows);
  if (!op) return false;
  const Ticks middle = windows.from[static_cast<std::size_t>(*op)] + Ticks(slack(network_, windows, *op).count() / 2);
  if (!refutes_cases({windows, *op, Ticks(0), middle + network_.duration(*op)}, headroom, depth + 1, budget))
    return false;
  return refutes_cases({std::move(windows), *op, middle + Ticks(1), Ticks::max()}, headroom, depth + 1, budget);
}

}  // namespace dovetail::fuse
