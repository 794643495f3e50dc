#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fuse/bounds/activation_levels.h"
#include "fuse/bounds/bounds.h"
#include "fuse/bounds/position_bounds.h"
#include "fuse/bounds/refutation.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Model;

/// Limits that hold at a moment on one pipeline stage in every schedule: the minimum number of forwards started and the
/// maximum number of backwards ended.
struct InFlight {
  Memory activation;
  Memory kept_for_weight_gradient;  ///< held between I and W
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;
  std::int64_t weight_gradients = 0;

  /// Returns the minimum activation held. The counts of one stage never increase from F to I to W.
  Memory held() const {
    const std::int64_t backward = std::min(backwards, forwards);
    const std::int64_t weight_gradient = std::min(weight_gradients, backward);
    return activation * (forwards - backward) + kept_for_weight_gradient * (backward - weight_gradient);
  }
};

/// At `time`, one of the counts of `stage` increases.
struct Event {
  Ticks time;
  std::size_t stage = 0;
  std::int64_t InFlight::* count = nullptr;
};

/// The stages of one device.
class DeviceSweep {
 public:
  void add(const StageBounds& bounds, const Model& model, Ticks deadline) {
    const std::size_t s = bounds.stage.index();
    const std::size_t index = stages_.size();
    InFlight stage;
    stage.activation = model.activation[s];
    if (model.split()) stage.kept_for_weight_gradient = model.weight_activation[s];
    stages_.push_back(stage);
    for (const Ticks tail : bounds.tails.forward)
      events_.push_back({deadline - tail - model.forward[s], index, &InFlight::forwards});
    for (const Ticks head : bounds.heads.backward)
      events_.push_back({head + model.backward[s], index, &InFlight::backwards});
    for (const Ticks head : bounds.heads.weight_gradient)
      events_.push_back({head + model.weight_gradient[s], index, &InFlight::weight_gradients});
  }

  /// Returns the largest activation that every schedule holds at some moment.
  Memory run() && {
    std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
    Memory held;
    Memory largest;
    for (std::size_t next = 0; next < events_.size();) {
      const Ticks now = events_[next].time;
      for (; next < events_.size() && events_[next].time == now; ++next) {
        InFlight& stage = stages_[events_[next].stage];
        held -= stage.held();
        ++(stage.*events_[next].count);
        held += stage.held();
      }
      largest = std::max(largest, held);
    }
    return largest;
  }

 private:
  std::vector<InFlight> stages_;
  std::vector<Event> events_;
};

/// Returns the activation that must be in flight at some moment, because more forwards must have started than backwards
/// can have ended.
Memory in_flight_bound(const pipeline::Problem& problem, Ticks deadline) {
  const std::vector<StageBounds> stages = position_bounds(problem);
  std::vector<DeviceSweep> devices(static_cast<std::size_t>(problem.devices));
  for (const StageBounds& stage : stages)
    devices[stage.device.index()].add(stage, problem.models[stage.model.index()], deadline);
  Memory largest;
  for (DeviceSweep& device : devices) largest = std::max(largest, std::move(device).run());
  return largest;
}

/// Raises a proven lower bound on the peak by refuting smaller peaks, level by level of the possible amounts.
class PeakSearch {
 public:
  PeakSearch(const pipeline::Problem& problem, Ticks deadline, Memory least, const BoundOptions& options)
      : deadline_(deadline),
        known_(options.known_peak),
        devices_(static_cast<std::size_t>(problem.devices)),
        levels_(problem),
        refutation_(problem),
        budget_{options.work.value_or(default_work(problem)), options.cancellation} {
    raise_to(least);
  }

  Memory run() && {
    search(ProofDepth::windows);
    if (refutation_.network().size() > max_ops_to_sequence) return least_;
    search(ProofDepth::sequences);
    while (!is_settled() && refutes(least_, ProofDepth::cases)) raise_above(least_);
    return least_;
  }

 private:
  bool is_settled() const { return budget_.spent() || least_ == Memory::max() || (known_ && least_ >= *known_); }

  bool refutes(Memory cap, ProofDepth depth) {
    return refutation_.refutes(deadline_, std::vector<Memory>(devices_, cap), depth, budget_);
  }

  void raise_to(Memory amount) { least_ = levels_.at_or_above(amount).value_or(Memory::max()); }
  void raise_above(Memory refuted) { raise_to(plus(refuted, Memory(1))); }

  static Memory plus(Memory a, Memory b) { return b > Memory::max() - a ? Memory::max() : a + b; }

  /// Whether a device can hold some amount above the current bound and at most `cap`.
  bool is_level_between(Memory cap) const {
    const auto next = levels_.at_or_above(least_ + Memory(1));
    return next && *next <= cap;
  }

  /// Steps grow up to the largest possible sum of all activations of a device.
  Memory next_step(Memory step) const {
    return std::min(step * 2 + Memory(least_.count() / 64 + 1), Memory(pipeline::max_sum));
  }

  /// Finds the smallest cap that is not refuted at this depth. Refutability is monotonic in the cap, so growing steps
  /// and then bisection suffice. Small caps come first: they have the fewest states, and caps that are far too small
  /// are refuted immediately.
  void search(ProofDepth depth) {
    std::optional<Memory> open = known_;
    for (Memory step; !is_settled() && (!open || plus(least_, step) < *open); step = next_step(step)) {
      const Memory cap = plus(least_, step);
      if (refutes(cap, depth)) {
        raise_above(cap);
        continue;
      }
      open = cap;
      break;
    }
    while (!is_settled() && is_level_between(*open)) {
      const Memory cap = least_ + Memory((*open - least_).count() / 2);
      if (refutes(cap, depth))
        raise_above(cap);
      else
        open = cap;
    }
  }

  Ticks deadline_;
  std::optional<Memory> known_;
  std::size_t devices_;
  ActivationLevels levels_;
  Refutation refutation_;
  ProofBudget budget_;
  Memory least_;
};

}  // namespace

Memory peak_activation_bound(const pipeline::Problem& problem, Ticks deadline, const BoundOptions& options) {
  const Memory least = std::max(peak_activation_bound(problem), in_flight_bound(problem, deadline));
  if (pipeline::count_ops(problem) > max_ops_to_refute || options.work == 0) return least;
  return PeakSearch(problem, deadline, least, options).run();
}

}  // namespace dovetail::fuse
