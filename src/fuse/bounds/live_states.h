// The states of one pipeline on a device that its ops' windows leave, with what a search over all pipelines of the
// device reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fuse/bounds/pipeline_states.h"
#include "fuse/bounds/windows.h"

namespace dovetail::fuse {

/// A transition with the window of its op.
struct Step {
  base::Ticks from;
  base::Ticks until;
  base::Ticks duration;
  std::ptrdiff_t to = 0;     ///< where it leads: a state, or how far away that is
  std::int32_t op_here = 0;  ///< among the ops of the device
};

/// The states through which the pipeline can pass if nothing else is on the device, in the order of `source`.
struct LiveStates {
  std::vector<base::Memory> held;
  std::vector<base::Ticks> leave_by;     ///< at the latest, to keep the windows of the pipeline alone
  std::vector<std::size_t> step_begin;   ///< [state], one more at the end
  std::vector<Step> steps;               ///< to: index of a live state
  std::vector<std::ptrdiff_t> furthest;  ///< [state] the last state that a step leads to; itself where none does
  std::vector<std::int32_t> counts;      ///< [state][row on the device]; `unknown` in rows of others

  static constexpr std::int32_t unknown = 1 << 30;
  std::size_t size() const { return held.size(); }
};

/// Empty where the pipeline alone cannot keep its windows.
LiveStates live_states(const PositionNetwork& network, const PipelineStates& source, const Windows& windows);

}  // namespace dovetail::fuse
