// The states that a sequence of one pipeline's ops on one device passes through, as counts of finished ops. Live states
// are those that the ops' windows allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fuse/bounds/position_network.h"
#include "fuse/bounds/windows.h"

namespace dovetail::fuse {

/// The states of a pipeline on a device. Every transition runs one op and leads to a later state. In the first state no
/// op has finished, in the last all have.
struct PipelineStates {
  struct Transition {
    std::int32_t op = 0;
    std::int32_t to = 0;
  };

  std::vector<std::int32_t> rows;              ///< rows of the network that belong to this pipeline and device
  std::vector<std::int32_t> counts;            ///< [state][row in `rows`] finished ops
  std::vector<base::Memory> held;              ///< [state] activation held
  std::vector<std::int32_t> transition_begin;  ///< [state] index of its first transition; one more entry at the end
  std::vector<Transition> transitions;

  std::size_t size() const { return held.size(); }
  std::span<const Transition> transitions_of(std::size_t state) const {
    return {transitions.data() + transition_begin[state], transitions.data() + transition_begin[state + 1]};
  }
  const std::int32_t* counts_of(std::size_t state) const { return counts.data() + state * rows.size(); }
};

/// Returns the states that hold at most `headroom` and respect the dependencies between the pipeline's ops on the
/// device. The result has no states if no sequence can run all ops. Returns nullopt if there are more than `most`
/// states.
std::optional<PipelineStates> pipeline_states(const PositionNetwork& network, base::DeviceId device,
                                              base::PipelineId pipeline, base::Memory headroom, std::size_t most);

/// A transition with the window of its op.
struct Step {
  base::Ticks from;
  base::Ticks until;
  base::Ticks duration;
  std::ptrdiff_t to = 0;     ///< index of the target state, or offset from the current index to it
  std::int32_t op_here = 0;  ///< index among the ops of the device
};

/// The states, in the order of PipelineStates, that a pipeline can pass through within its ops' windows if nothing else
/// runs on the device.
struct LiveStates {
  std::vector<base::Memory> held;
  /// [state] latest time to leave it; later, this pipeline could no longer meet the windows of its remaining ops
  std::vector<base::Ticks> leave_by;
  std::vector<std::size_t> step_begin;  ///< [state] index of its first step; one more entry at the end
  std::vector<Step> steps;              ///< `to` is the index of a live state

  /// [state] last state that a step leads to, or the state itself if there is no step
  std::vector<std::ptrdiff_t> furthest;
  std::vector<std::int32_t> counts;  ///< [state][row on the device] finished ops; `unknown` for rows of other pipelines

  static constexpr std::int32_t unknown = 1 << 30;
  std::size_t size() const { return held.size(); }
};

/// Returns the live states of `source`. The result is empty if the pipeline cannot meet its windows even with the
/// device to itself.
LiveStates live_states(const PositionNetwork& network, const PipelineStates& source, const Windows& windows);

}  // namespace dovetail::fuse
