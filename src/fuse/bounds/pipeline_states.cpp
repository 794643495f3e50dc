#include "fuse/bounds/pipeline_states.h"

#include <algorithm>
#include <utility>

namespace dovetail::fuse {
namespace {

using base::DeviceId;
using base::Memory;
using base::PipelineId;

/// That an op of a row waits for ops of another row of the same pipeline and device.
struct Need {
  std::size_t row = 0;
  Correspondence correspondence = Correspondence::same;
  std::int32_t minibatch_size = 1;

  /// How many ops of the row must be done before the op at `position`.
  std::int32_t count(std::int32_t position) const {
    if (correspondence == Correspondence::same) return position + 1;
    if (correspondence == Correspondence::into_step) return (position + 1) * minibatch_size;
    return position / minibatch_size;
  }
};

/// Finds the states layer by layer: those with n ops done, then those with n + 1.
class Enumeration {
 public:
  Enumeration(const PositionNetwork& network, DeviceId device, PipelineId pipeline, Memory room)
      : network_(network), room_(room) {
    std::vector<std::int32_t> index_of(network.rows.size(), -1);
    for (const std::int32_t row : network.on[device.index()]) {
      if (network.rows[static_cast<std::size_t>(row)].pipeline != pipeline) continue;
      index_of[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(states_.rows.size());
      states_.rows.push_back(row);
      ops_ += row_at(states_.rows.size() - 1).size();
    }
    needs_.resize(states_.rows.size());
    for (std::size_t row = 0; row < states_.rows.size(); ++row) {
      for (const std::int32_t index : network.in[static_cast<std::size_t>(states_.rows[row])]) {
        const RowArc& arc = network.arcs[static_cast<std::size_t>(index)];
        const std::int32_t from = index_of[static_cast<std::size_t>(arc.from)];
        if (from >= 0) needs_[row].push_back({static_cast<std::size_t>(from), arc.correspondence, arc.minibatch_size});
      }
    }
  }

  std::optional<PipelineStates> run(std::size_t most) && {
    states_.counts.assign(states_.rows.size(), 0);
    states_.held.push_back(Memory(0));
    std::size_t layer_begin = 0;
    for (std::int64_t done = 0; done < ops_; ++done) {
      const std::size_t layer_end = states_.size();
      add_layer(layer_begin, layer_end);
      if (states_.size() == layer_end) return PipelineStates{};
      if (states_.size() > most) return std::nullopt;
      layer_begin = layer_end;
    }
    states_.transition_begin.resize(states_.size() + 1, static_cast<std::int32_t>(states_.transitions.size()));
    return std::move(states_);
  }

 private:
  /// A state of the next layer, how it is reached, and from where.
  struct Reached {
    std::vector<std::int32_t> counts;
    std::size_t from = 0;
    std::int32_t op = 0;
  };

  const PositionRow& row_at(std::size_t row) const {
    return network_.rows[static_cast<std::size_t>(states_.rows[row])];
  }

  bool can_run(const std::int32_t* counts, std::size_t row) const {
    if (counts[row] >= row_at(row).size()) return false;
    return std::all_of(needs_[row].begin(), needs_[row].end(),
                       [&](const Need& need) { return counts[need.row] >= need.count(counts[row]); });
  }

  void add_layer(std::size_t layer_begin, std::size_t layer_end) {
    const std::size_t width = states_.rows.size();
    std::vector<Reached> reached;
    for (std::size_t state = layer_begin; state < layer_end; ++state) {
      const std::int32_t* counts = states_.counts_of(state);
      for (std::size_t row = 0; row < width; ++row) {
        if (!can_run(counts, row) || states_.held[state] + row_at(row).change > room_) continue;
        reached.push_back({{counts, counts + width}, state, row_at(row).begin + counts[row]});
        ++reached.back().counts[row];
      }
    }
    std::vector<std::int32_t> target(reached.size());
    std::vector<std::size_t> order(reached.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return reached[a].counts < reached[b].counts; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || reached[order[i]].counts != reached[order[i - 1]].counts) add_state(reached[order[i]].counts);
      target[order[i]] = static_cast<std::int32_t>(states_.size() - 1);
    }
    for (std::size_t i = 0; i < reached.size(); ++i) {
      states_.transition_begin.resize(reached[i].from + 1, static_cast<std::int32_t>(states_.transitions.size()));
      states_.transitions.push_back({reached[i].op, target[i]});
    }
    states_.transition_begin.resize(layer_end, static_cast<std::int32_t>(states_.transitions.size()));
  }

  void add_state(const std::vector<std::int32_t>& counts) {
    Memory held;
    for (std::size_t row = 0; row < counts.size(); ++row) held += row_at(row).change * counts[row];
    states_.counts.insert(states_.counts.end(), counts.begin(), counts.end());
    states_.held.push_back(held);
  }

  const PositionNetwork& network_;
  Memory room_;
  std::int64_t ops_ = 0;
  std::vector<std::vector<Need>> needs_;  // [row]
  PipelineStates states_;
};

}  // namespace

std::optional<PipelineStates> pipeline_states(const PositionNetwork& network, DeviceId device, PipelineId pipeline,
                                              Memory room, std::size_t most) {
  return Enumeration(network, device, pipeline, room).run(most);
}

}  // namespace dovetail::fuse
