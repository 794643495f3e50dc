// Time windows and predecessors of each op in every schedule that meets a deadline and fits a memory limit.
#pragma once

#include <cstdint>
#include <vector>

#include "fuse/bounds/position_network.h"

namespace dovetail::fuse {

/// Facts about all schedules that meet the deadline and the limits. Windows only become narrower. `impossible` means
/// that no such schedule exists.
struct Windows {
  std::vector<base::Ticks> from;   ///< [op] earliest start
  std::vector<base::Ticks> until;  ///< [op] latest end

  /// [op][row of its device] minimum number of ops of that row that end before the op starts
  std::vector<std::int32_t> preceding;
  std::vector<bool> changed_on;  ///< [device] whether windows changed since the device was last sequenced
  bool impossible = false;
};

/// Keeps the windows of one network consistent with its arcs and with the known precedences.
class WindowPropagation {
 public:
  /// `network` and `windows` must outlive this object.
  WindowPropagation(const PositionNetwork& network, Windows& windows);

  const Windows& windows() const { return windows_; }
  void set_impossible() { windows_.impossible = true; }
  void set_unchanged(base::DeviceId device) { windows_.changed_on[device.index()] = false; }

  void raise_from(std::int32_t op, base::Ticks from);
  void lower_until(std::int32_t op, base::Ticks until);
  /// Records that at least `count` ops of `row` (on the op's device) end before `op` starts.
  void raise_preceding(std::int32_t op, std::int32_t row, std::int32_t count);
  /// Propagates all changes until nothing changes. Returns the work done.
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

/// Returns the windows of schedules that end by `deadline` and hold at most headroom[device] of activation. They come
/// from heads, tails and the number of micro-batches that a stage alone may have in flight. Adds the cost to `work`.
Windows first_windows(const PositionNetwork& network, base::Ticks deadline, const std::vector<base::Memory>& headroom,
                      std::int64_t& work);

}  // namespace dovetail::fuse
