#include "fuse/bounds/pipeline_states.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace dovetail::fuse {
namespace {

using base::DeviceId;
using base::Memory;
using base::PipelineId;
using base::Ticks;

/// Dependency of an op on the ops of another row of the same pipeline and device.
struct Need {
  std::size_t row = 0;
  Correspondence correspondence = Correspondence::same;
  std::int32_t minibatch_size = 1;

  /// Returns how many ops of the row must be done before the op at `position`.
  std::int32_t count(std::int32_t position) const {
    if (correspondence == Correspondence::same) return position + 1;
    if (correspondence == Correspondence::into_step) return (position + 1) * minibatch_size;
    return position / minibatch_size;
  }
};

/// Enumerates the states layer by layer: those with n ops done, then those with n + 1.
class Enumeration {
 public:
  Enumeration(const PositionNetwork& network, DeviceId device, PipelineId pipeline, Memory headroom)
      : network_(network), headroom_(headroom) {
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
  /// A state of the next layer, with the op that reaches it and the state it comes from.
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
        if (!can_run(counts, row) || states_.held[state] + row_at(row).change > headroom_) continue;
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
  Memory headroom_;
  std::int64_t ops_ = 0;
  std::vector<std::vector<Need>> needs_;  // [row]
  PipelineStates states_;
};

}  // namespace

std::optional<PipelineStates> pipeline_states(const PositionNetwork& network, DeviceId device, PipelineId pipeline,
                                              Memory headroom, std::size_t most) {
  return Enumeration(network, device, pipeline, headroom).run(most);
}

namespace {

using Transition = PipelineStates::Transition;

constexpr Ticks unreached = Ticks::max();
constexpr Ticks no_leave_time = Ticks(std::numeric_limits<std::int64_t>::min());

/// Returns, for each state, the earliest time at which it can be reached.
std::vector<Ticks> reached_at(const PositionNetwork& network, const PipelineStates& source, const Windows& windows) {
  std::vector<Ticks> reached(source.size(), unreached);
  reached.front() = Ticks(0);
  for (std::size_t state = 0; state < source.size(); ++state) {
    if (reached[state] == unreached) continue;
    for (const Transition& transition : source.transitions_of(state)) {
      const auto op = static_cast<std::size_t>(transition.op);
      Ticks& next = reached[static_cast<std::size_t>(transition.to)];
      const Ticks end = std::max(reached[state], windows.from[op]) + network.duration(transition.op);
      if (end <= windows.until[op]) next = std::min(next, end);
    }
  }
  return reached;
}

/// Returns, for each state, the latest time at which it may be left.
std::vector<Ticks> leave_by(const PositionNetwork& network, const PipelineStates& source, const Windows& windows) {
  std::vector<Ticks> leave(source.size(), no_leave_time);
  leave.back() = unreached;
  for (std::size_t state = source.size(); state-- > 0;) {
    for (const Transition& transition : source.transitions_of(state)) {
      const Ticks next = leave[static_cast<std::size_t>(transition.to)];
      if (next == no_leave_time) continue;
      const auto op = static_cast<std::size_t>(transition.op);
      const Ticks start = std::min(next, windows.until[op]) - network.duration(transition.op);
      if (start >= windows.from[op]) leave[state] = std::max(leave[state], start);
    }
  }
  return leave;
}

}  // namespace

LiveStates live_states(const PositionNetwork& network, const PipelineStates& source, const Windows& windows) {
  const std::vector<Ticks> reached = reached_at(network, source, windows);
  const std::vector<Ticks> leave = leave_by(network, source, windows);
  const std::size_t width =
      network.on[network.rows[static_cast<std::size_t>(source.rows.front())].device.index()].size();
  LiveStates live;
  std::vector<std::ptrdiff_t> kept(source.size(), -1);
  for (std::size_t state = 0; state < source.size(); ++state) {
    if (reached[state] == unreached || reached[state] > leave[state]) continue;
    kept[state] = static_cast<std::ptrdiff_t>(live.size());
    live.held.push_back(source.held[state]);
    live.leave_by.push_back(leave[state]);
    live.counts.resize(live.size() * width, LiveStates::unknown);
    for (std::size_t row = 0; row < source.rows.size(); ++row) {
      const auto on_device =
          static_cast<std::size_t>(network.rows[static_cast<std::size_t>(source.rows[row])].on_device);
      live.counts[(live.size() - 1) * width + on_device] = source.counts_of(state)[row];
    }
  }
  if (kept.front() < 0 || kept.back() < 0) return {};
  for (std::size_t state = 0; state < source.size(); ++state) {
    if (kept[state] < 0) continue;
    live.step_begin.push_back(live.steps.size());
    live.furthest.push_back(kept[state]);
    for (const Transition& transition : source.transitions_of(state)) {
      const std::ptrdiff_t to = kept[static_cast<std::size_t>(transition.to)];
      if (to < 0) continue;
      const auto op = static_cast<std::size_t>(transition.op);
      const PositionRow& row = network.rows[static_cast<std::size_t>(network.row_of[op])];
      live.furthest.back() = std::max(live.furthest.back(), to);
      live.steps.push_back(
          {windows.from[op], windows.until[op], row.duration, to, row.first_on_device + transition.op - row.begin});
    }
  }
  live.step_begin.push_back(live.steps.size());
  return live;
}

}  // namespace dovetail::fuse
