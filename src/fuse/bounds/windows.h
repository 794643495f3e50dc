// Time windows and predecessors of each op in every schedule that meets a deadline and fits a memory limit.
#pragma once

#include <cstdint>
#include <vector>

#include "fuse/bounds/position_network.h"

namespace dovetail::fuse {

/// Facts about all schedules that meet one deadline and the memory limits of the devices. Windows only become narrower.
struct Windows {
  std::vector<base::Ticks> from;   ///< [op] earliest start
  std::vector<base::Ticks> until;  ///< [op] latest end

  /// [op][row of its device] minimum number of ops of that row that end before the op starts
  std::vector<std::int32_t> preceding;
  std::vector<bool> changed_on;  ///< [device] whether windows of its ops changed since it was last sequenced
  bool impossible = false;       ///< whether it is proven that no such schedule exists
};

/// Keeps the windows of one network consistent with its arcs and with Windows::preceding.
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
  /// Propagates all changes until nothing changes. Stops earlier if that takes too many steps; the windows are then
  /// valid, but wider than necessary. Returns the work done, in the unit of ProofBudget::work_left.
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

/// Returns the windows of schedules that end by `deadline` and hold at most headroom[device] of activation on each
/// device. The windows follow from heads, tails and the number of micro-batches that a stage alone may have in flight.
/// Adds the work done to `work`, in the unit of ProofBudget::work_left.
Windows first_windows(const PositionNetwork& network, base::Ticks deadline, const std::vector<base::Memory>& headroom,
                      std::int64_t& work);

}  // namespace dovetail::fuse
