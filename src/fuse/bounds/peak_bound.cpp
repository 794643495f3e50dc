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

/// What is certain about one pipeline stage at a moment: how many forwards have started at least, how many backwards
/// have ended at most.
struct InFlight {
  Memory activation;
  Memory kept_for_weight_gradient;  ///< between I and W
  std::int64_t forwards = 0;
  std::int64_t backwards = 0;
  std::int64_t weight_gradients = 0;

  /// The least that is held: counts of one stage never fall from F to I to W.
  Memory held() const {
    const std::int64_t backward = std::min(backwards, forwards);
    const std::int64_t weight_gradient = std::min(weight_gradients, backward);
    return activation * (forwards - backward) + kept_for_weight_gradient * (backward - weight_gradient);
  }
};

/// At `time` one of the counts of `stage` goes up.
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

  /// The largest, over moments, of what is held for certain.
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

/// What has to be in flight at some moment because the forwards that must have started outnumber the backwards that can
/// have ended.
Memory in_flight_bound(const pipeline::Problem& problem, Ticks deadline) {
  const std::vector<StageBounds> stages = position_bounds(problem);
  std::vector<DeviceSweep> devices(static_cast<std::size_t>(problem.devices));
  for (const StageBounds& stage : stages)
    devices[stage.device.index()].add(stage, problem.models[stage.model.index()], deadline);
  Memory largest;
  for (DeviceSweep& device : devices) largest = std::max(largest, std::move(device).run());
  return largest;
}

/// Raises a proven least peak by refuting less, level by level of what devices can hold.
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

  /// Whether a device can hold some amount above the least peak, and at most `cap`.
  bool is_level_between(Memory cap) const {
    const auto next = levels_.at_or_above(least_ + Memory(1));
    return next && *next <= cap;
  }

  /// Steps grow, up to what all activations of a device may add up to.
  Memory next_step(Memory step) const {
    return std::min(step * 2 + Memory(least_.count() / 64 + 1), Memory(pipeline::max_sum));
  }

  /// Finds the least cap that `depth` does not refute. What fits into a cap fits into a larger one, so bisection does,
  /// after steps that grow: low caps have the fewest states, and those far too low are refuted at once.
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
