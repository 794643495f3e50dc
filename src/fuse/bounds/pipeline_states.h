// What one pipeline can have done on one device at a moment, as counts of ops: the states that a sequence of its ops
// goes through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fuse/bounds/position_network.h"

namespace dovetail::fuse {

/// The states of a pipeline on a device, in an order in which every transition leads to a later one; the first has
/// nothing done, the last everything. A transition is one op.
struct PipelineStates {
  struct Transition {
    std::int32_t op = 0;
    std::int32_t to = 0;
  };

  std::vector<std::int32_t> rows;              ///< of the network, those of this pipeline on the device
  std::vector<std::int32_t> counts;            ///< [state][row in `rows`] ops that are done
  std::vector<base::Memory> held;              ///< [state] activation
  std::vector<std::int32_t> transition_begin;  ///< [state], one more at the end
  std::vector<Transition> transitions;

  std::size_t size() const { return held.size(); }
  std::span<const Transition> transitions_of(std::size_t state) const {
    return {transitions.data() + transition_begin[state], transitions.data() + transition_begin[state + 1]};
  }
  const std::int32_t* counts_of(std::size_t state) const { return counts.data() + state * rows.size(); }
};

/// The states that hold at most `room` and keep the rules between ops of the pipeline on the device: none at all where
/// no sequence leads to the last, nothing where they are more than `most`.
std::optional<PipelineStates> pipeline_states(const PositionNetwork& network, base::DeviceId device,
                                              base::PipelineId pipeline, base::Memory room, std::size_t most);

}  // namespace dovetail::fuse
