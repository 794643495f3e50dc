// All sequences of the ops of a device within their windows and its memory, and what they have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fuse/bounds/live_states.h"
#include "fuse/bounds/pipeline_states.h"
#include "fuse/bounds/windows.h"

namespace dovetail::fuse {

/// Sequences the ops of several pipelines on one device, exactly. A state of the device is one state of each pipeline.
/// Going forwards, the earliest moment at which each can be reached, and going backwards, the latest at which it may be
/// left, say which transitions are on a sequence that keeps all windows and the memory. These give each op its earliest
/// start, its latest end, and how many ops of each row always end before it starts. Space for the states is kept
/// between calls.
class DeviceSequencing {
 public:
  struct Outcome {
    bool done = true;
    std::int64_t work = 0;  ///< in states looked at
  };

  /// Tightens the windows of `propagation` by what all sequences of the ops of `pipelines` on a device, with at most
  /// `room` held at once, have in common, or finds that there is none. Gives up where that would take more than
  /// `max_states` states.
  Outcome tighten(const PositionNetwork& network, const std::vector<const PipelineStates*>& pipelines,
                  base::Memory room, std::size_t max_states, WindowPropagation& propagation);

 private:
  /// One state of every pipeline but the last.
  struct Outer {
    std::vector<Step> steps;  ///< `to` is how far the state of the device moves
    base::Memory held;
    base::Ticks leave_by;
    std::vector<std::int32_t> counts;  ///< [row on the device]
  };

  /// States of the last pipeline: those beside the same outer state that a sequence could come to.
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  void set_outer(std::size_t index);
  void widen(std::size_t outer, std::size_t begin, std::size_t end);
  bool go_on_from(std::size_t outer, std::size_t state, base::Memory room);
  std::int64_t go_forwards(base::Memory room);
  void go_backwards();
  base::Ticks look_back(std::size_t from, std::size_t to, const Step& step, const std::int32_t* inner_counts);
  void apply(const PositionNetwork& network, const std::vector<const PipelineStates*>& pipelines,
             WindowPropagation& propagation) const;

  std::vector<LiveStates> parts_;
  Outer outer_;
  std::size_t outer_count_ = 0;
  std::size_t inner_count_ = 0;
  std::size_t width_ = 0;              // rows on the device
  std::vector<Range> ranges_;          // [outer state]; only in them are there times below
  std::vector<base::Ticks> reached_;   // [state of the device] the earliest; max where no sequence passes
  std::vector<base::Ticks> leave_;     // [state of the device] the latest
  std::vector<base::Ticks> earliest_;  // [op on the device]
  std::vector<base::Ticks> latest_;    // [op on the device]
  std::vector<std::int32_t> before_;   // [op on the device][row on the device]
};

}  // namespace dovetail::fuse
