#include "fuse/bounds/live_states.h"

#include <algorithm>
#include <limits>

namespace dovetail::fuse {
namespace {

using base::Ticks;
using Transition = PipelineStates::Transition;

constexpr Ticks never = Ticks::max();
constexpr Ticks too_late = Ticks(std::numeric_limits<std::int64_t>::min());

/// [state] the earliest moment at which it can be reached.
std::vector<Ticks> reached_at(const PositionNetwork& network, const PipelineStates& source, const Windows& windows) {
  std::vector<Ticks> reached(source.size(), never);
  reached.front() = Ticks(0);
  for (std::size_t state = 0; state < source.size(); ++state) {
    if (reached[state] == never) continue;
    for (const Transition& transition : source.transitions_of(state)) {
      const auto op = static_cast<std::size_t>(transition.op);
      Ticks& next = reached[static_cast<std::size_t>(transition.to)];
      const Ticks end = std::max(reached[state], windows.from[op]) + network.duration(transition.op);
      if (end <= windows.until[op]) next = std::min(next, end);
    }
  }
  return reached;
}

/// [state] the latest moment at which it may be left.
std::vector<Ticks> leave_by(const PositionNetwork& network, const PipelineStates& source, const Windows& windows) {
  std::vector<Ticks> leave(source.size(), too_late);
  leave.back() = never;
  for (std::size_t state = source.size(); state-- > 0;) {
    for (const Transition& transition : source.transitions_of(state)) {
      const Ticks next = leave[static_cast<std::size_t>(transition.to)];
      if (next == too_late) continue;
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
    if (reached[state] == never || reached[state] > leave[state]) continue;
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
