// Exact sequencing of a device's ops within their windows and its memory limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fuse/bounds/pipeline_states.h"
#include "fuse/bounds/windows.h"

namespace dovetail::fuse {

/// Derives facts that hold in every feasible sequence of several pipelines' ops on one device. A pipeline's state is
/// the number of finished ops in each of its rows. A state of the device combines one state of each pipeline. A
/// transition from one state to another runs one op. A forward pass computes the earliest time each state can be
/// reached, a backward pass the latest time it can be left. Together they show which transitions belong to a feasible
/// sequence. From these follow each op's earliest start, its latest end, and how many ops of each row always end before
/// it starts. Buffers for the states are reused between calls.
class DeviceSequencing {
 public:
  struct Outcome {
    bool done = true;       ///< false if it gave up because there are too many states
    std::int64_t work = 0;  ///< number of states examined
  };

  /// Narrows the windows of `propagation` to the earliest start and the latest end of each op in any feasible sequence,
  /// and raises the counts of preceding ops. A feasible sequence runs the ops of `pipelines`, which share one device,
  /// within their windows and holds at most `headroom` at once. Marks the windows as impossible if there is no such
  /// sequence. Gives up if this would take more than `max_states` states.
  Outcome tighten(const PositionNetwork& network, const std::vector<const PipelineStates*>& pipelines,
                  base::Memory headroom, std::size_t max_states, WindowPropagation& propagation);

 private:
  /// An outer state: a combination of states, one of each pipeline except the last.
  struct Outer {
    std::vector<Step> steps;  ///< transitions out of it; `to` is an offset between indices of device states
    base::Memory held;
    base::Ticks leave_by;
    std::vector<std::int32_t> counts;  ///< [row on the device] number of finished ops
  };

  /// Range that contains all states of the last pipeline that a sequence can reach together with one outer state.
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  void set_outer(std::size_t index);
  void widen(std::size_t outer, std::size_t begin, std::size_t end);
  bool extend_from(std::size_t outer, std::size_t state, base::Memory headroom);
  std::int64_t sweep_forward(base::Memory headroom);
  void sweep_backward();
  base::Ticks look_back(std::size_t from, std::size_t to, const Step& step, const std::int32_t* inner_counts);
  void apply(const PositionNetwork& network, const std::vector<const PipelineStates*>& pipelines,
             WindowPropagation& propagation) const;

  std::vector<LiveStates> parts_;
  Outer outer_;
  std::size_t outer_count_ = 0;
  std::size_t inner_count_ = 0;
  std::size_t width_ = 0;             // number of rows on the device
  std::vector<Range> ranges_;         // [outer state] its range; `reached_` and `leave_` are valid only within it
  std::vector<base::Ticks> reached_;  // [state of the device] earliest time it is reached; max if no sequence passes it
  std::vector<base::Ticks> leave_;    // [state of the device] latest time to leave it
  std::vector<base::Ticks> earliest_;  // [op on the device] earliest start
  std::vector<base::Ticks> latest_;    // [op on the device] latest end

  // [op on the device][row on the device] minimum number of ops of the row that precede the op
  std::vector<std::int32_t> before_;
};

}  // namespace dovetail::fuse
