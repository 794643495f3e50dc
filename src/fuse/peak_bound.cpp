#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "fuse/bounds.h"
#include "fuse/position_bounds.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Model;

/// What is certain about one pipeline stage at a moment: how many forwards have started at least, how many backwards have ended at most.
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
    for (const Ticks tail : bounds.tails.forward) events_.push_back({deadline - tail - model.forward[s], index, &InFlight::forwards});
    for (const Ticks head : bounds.heads.backward) events_.push_back({head + model.backward[s], index, &InFlight::backwards});
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

}  // namespace

Memory peak_activation_bound(const pipeline::Problem& problem, Ticks deadline) {
  const std::vector<StageBounds> stages = position_bounds(problem);
  std::vector<DeviceSweep> devices(static_cast<std::size_t>(problem.devices));
  for (const StageBounds& stage : stages) devices[stage.device.index()].add(stage, problem.models[stage.model.index()], deadline);
  Memory largest = peak_activation_bound(problem);
  for (DeviceSweep& device : devices) largest = std::max(largest, std::move(device).run());
  return largest;
}

}  // namespace dovetail::fuse
