// When each op of a problem can run, and what has to run before it, in every schedule that keeps a deadline and fits a
// memory.
#pragma once

#include <cstdint>
#include <vector>

#include "fuse/bounds/position_network.h"

namespace dovetail::fuse {

/// What is known of the schedules looked for. Everything only ever tightens; `impossible` says that there is none.
struct Windows {
  std::vector<base::Ticks> from;   ///< [op] the earliest start
  std::vector<base::Ticks> until;  ///< [op] the latest end
  /// [op][row of its device]: how many ops of that row end before the op starts, at least
  std::vector<std::int32_t> preceding;
  std::vector<bool> changed_on;  ///< [device] since it was last sequenced
  bool impossible = false;
};

/// Keeps the windows of one network consistent with its arcs and with the precedences found.
class WindowPropagation {
 public:
  /// `network` and `windows` outlive it.
  WindowPropagation(const PositionNetwork& network, Windows& windows);

  const Windows& windows() const { return windows_; }
  void set_impossible() { windows_.impossible = true; }
  void set_unchanged(base::DeviceId device) { windows_.changed_on[device.index()] = false; }

  void raise_from(std::int32_t op, base::Ticks from);
  void lower_until(std::int32_t op, base::Ticks until);
  /// At least `count` ops of `row` (on the op's device) end before `op` starts.
  void raise_preceding(std::int32_t op, std::int32_t row, std::int32_t count);
  /// Follows all changes up to their end. Returns the work done.
  std::int64_t propagate();

 private:
  void push(std::int32_t op);
  void follow_row(std::int32_t op, const PositionRow& row);
  void follow_arcs(std::int32_t op, const PositionRow& row);
  void follow_precedences(std::int32_t op, const PositionRow& row);
  void separate(std::int32_t before, std::int32_t after, base::Ticks distance);

  const PositionNetwork& network_;
  Windows& windows_;
  std::vector<std::int32_t> queue_;
  std::vector<bool> queued_;
};

/// The windows of schedules that end by `deadline` and hold at most room[device] of activation, from heads, tails and
/// the number of micro-batches that a stage alone may have in flight. Adds what that costs to `work`.
Windows first_windows(const PositionNetwork& network, base::Ticks deadline, const std::vector<base::Memory>& room,
                      std::int64_t& work);

}  // namespace dovetail::fuse
