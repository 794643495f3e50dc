#include "fuse/bounds/windows.h"

#include <algorithm>
#include <optional>

namespace dovetail::fuse {

using base::Memory;
using base::Ticks;

namespace {

/// Cost of propagating the changes of one op, in units of one examined device state.
constexpr std::int64_t work_of_an_op = 4;

std::size_t precedence_index(const PositionNetwork& network, const PositionRow& row, std::int32_t position,
                             std::int32_t on_device) {
  const std::size_t width = network.on[row.device.index()].size();
  return row.precedences + static_cast<std::size_t>(position) * width + static_cast<std::size_t>(on_device);
}

/// For each micro-batch, a stage holds at least `each` from the start of its forward to the end of its `releasing` op.
/// So with `headroom`, the k-th forward can run only after all except headroom / each - 1 of the earlier ones are
/// released.
void limit_in_flight(const PositionNetwork& network, Windows& windows, WindowPropagation& propagation,
                     std::int32_t forward, std::int32_t releasing, Memory each, Memory headroom) {
  if (each <= Memory(0)) return;
  const PositionRow& row = network.rows[static_cast<std::size_t>(forward)];
  const std::int64_t most = std::max<std::int64_t>(0, headroom.count()) / each.count();
  if (most == 0) windows.impossible = true;
  for (std::int64_t position = most; position < row.size() && !windows.impossible; ++position)
    propagation.raise_preceding(row.begin + static_cast<std::int32_t>(position), releasing,
                                static_cast<std::int32_t>(position + 1 - most));
}

}  // namespace

WindowPropagation::WindowPropagation(const PositionNetwork& network, Windows& windows)
    : network_(network), windows_(windows), queued_(network.size()) {}

void WindowPropagation::push(std::int32_t op) {
  if (queued_[static_cast<std::size_t>(op)]) return;
  queued_[static_cast<std::size_t>(op)] = true;
  queue_.push_back(op);
}

void WindowPropagation::raise_from(std::int32_t op, Ticks from) {
  const auto i = static_cast<std::size_t>(op);
  if (from <= windows_.from[i]) return;
  windows_.from[i] = from;
  const PositionRow& row = network_.rows[static_cast<std::size_t>(network_.row_of[i])];
  windows_.changed_on[row.device.index()] = true;
  if (from + row.duration > windows_.until[i]) windows_.impossible = true;
  push(op);
}

void WindowPropagation::lower_until(std::int32_t op, Ticks until) {
  const auto i = static_cast<std::size_t>(op);
  if (until >= windows_.until[i]) return;
  windows_.until[i] = until;
  const PositionRow& row = network_.rows[static_cast<std::size_t>(network_.row_of[i])];
  windows_.changed_on[row.device.index()] = true;
  if (windows_.from[i] + row.duration > until) windows_.impossible = true;
  push(op);
}

void WindowPropagation::raise_preceding(std::int32_t op, std::int32_t row, std::int32_t count) {
  const PositionRow& other = network_.rows[static_cast<std::size_t>(row)];
  const PositionRow& own = network_.rows[static_cast<std::size_t>(network_.row_of[static_cast<std::size_t>(op)])];
  // Later ops of the row follow this one, so the counts never decrease along a row.
  for (std::int32_t later = op; later < own.end; ++later) {
    std::int32_t& known = windows_.preceding[precedence_index(network_, own, later - own.begin, other.on_device)];
    if (known >= count) return;
    known = count;
    push(later);
    if (later == op) push(other.begin + count - 1);
  }
}

void WindowPropagation::separate(std::int32_t before, std::int32_t after, Ticks distance) {
  raise_from(after, windows_.from[static_cast<std::size_t>(before)] + distance);
  const Ticks latest_start = windows_.until[static_cast<std::size_t>(after)] - network_.duration(after) - distance;
  lower_until(before, latest_start + network_.duration(before));
}

void WindowPropagation::follow_row(std::int32_t op, const PositionRow& row) {
  if (op + 1 < row.end) separate(op, op + 1, row.duration);
  if (op > row.begin) separate(op - 1, op, row.duration);
}

void WindowPropagation::follow_arcs(std::int32_t op, const PositionRow& row) {
  const auto number = static_cast<std::size_t>(network_.row_of[static_cast<std::size_t>(op)]);
  for (const std::int32_t index : network_.out[number]) {
    const RowArc& arc = network_.arcs[static_cast<std::size_t>(index)];
    const std::optional<std::int32_t> position = forward_along(network_, arc, op - row.begin);
    if (position) separate(op, network_.rows[static_cast<std::size_t>(arc.to)].begin + *position, arc.distance);
  }
  for (const std::int32_t index : network_.in[number]) {
    const RowArc& arc = network_.arcs[static_cast<std::size_t>(index)];
    const std::optional<std::int32_t> position = backward_along(network_, arc, op - row.begin);
    if (position) separate(network_.rows[static_cast<std::size_t>(arc.from)].begin + *position, op, arc.distance);
  }
}

void WindowPropagation::follow_precedences(std::int32_t op, const PositionRow& row) {
  const std::int32_t position = op - row.begin;
  for (const std::int32_t number : network_.on[row.device.index()]) {
    const PositionRow& other = network_.rows[static_cast<std::size_t>(number)];
    const std::int32_t before = windows_.preceding[precedence_index(network_, row, position, other.on_device)];
    if (before > 0) separate(other.begin + before - 1, op, other.duration);
    // The first op of the other row that must wait for this one. Later ones follow along their row.
    std::int32_t low = 0;
    for (std::int32_t high = other.size(); low < high;) {
      const std::int32_t middle = low + (high - low) / 2;
      if (windows_.preceding[precedence_index(network_, other, middle, row.on_device)] > position)
        high = middle;
      else
        low = middle + 1;
    }
    if (low < other.size()) separate(op, other.begin + low, row.duration);
  }
}

std::int64_t WindowPropagation::propagate() {
  // A FIFO queue combines changes that reach an op by different paths. A cycle of precedences raises its ops until they
  // pass their ends, which takes too long for wide windows. So the number of visits is limited, and the remaining ones
  // are dropped.
  const std::size_t most = 256 * network_.size();
  std::size_t next = 0;
  std::int64_t work = 0;
  for (; next < queue_.size() && next < most && !windows_.impossible; ++next) {
    const std::int32_t op = queue_[next];
    queued_[static_cast<std::size_t>(op)] = false;
    const PositionRow& row = network_.rows[static_cast<std::size_t>(network_.row_of[static_cast<std::size_t>(op)])];
    follow_row(op, row);
    follow_arcs(op, row);
    follow_precedences(op, row);
    work += std::max(work_of_an_op, static_cast<std::int64_t>(network_.on[row.device.index()].size()));
  }
  for (std::size_t left = next; left < queue_.size(); ++left) queued_[static_cast<std::size_t>(queue_[left])] = false;
  queue_.clear();
  return work;
}

Windows first_windows(const PositionNetwork& network, Ticks deadline, const std::vector<Memory>& headroom,
                      std::int64_t& work) {
  Windows windows;
  windows.from = network.heads;
  for (std::size_t op = 0; op < network.size(); ++op) {
    windows.until.push_back(deadline - network.tails[op]);
    if (windows.from[op] + network.duration(static_cast<std::int32_t>(op)) > windows.until[op])
      windows.impossible = true;
  }
  windows.preceding.assign(network.precedence_count, 0);
  windows.changed_on.assign(static_cast<std::size_t>(network.devices), true);
  WindowPropagation propagation(network, windows);
  for (std::size_t number = 0; number < network.rows.size() && !windows.impossible; ++number) {
    const PositionRow& forward = network.rows[number];
    if (forward.change <= Memory(0)) continue;
    const Memory limit = headroom[forward.device.index()];
    // The row after a stage's forwards is its B or I. The next one is its W, if that releases memory.
    const PositionRow& backward = network.rows[number + 1];
    const auto next = static_cast<std::int32_t>(number + 1);
    limit_in_flight(network, windows, propagation, static_cast<std::int32_t>(number), next, forward.change, limit);
    const Memory kept = forward.change + backward.change;
    if (kept > Memory(0))
      limit_in_flight(network, windows, propagation, static_cast<std::int32_t>(number), next + 1, kept, limit);
  }
  work += static_cast<std::int64_t>(network.size()) + propagation.propagate();
  return windows;
}

}  // namespace dovetail::fuse
