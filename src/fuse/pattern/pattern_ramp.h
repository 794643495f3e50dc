// Ramps: the warm-up before the repeated pattern and, with time reversed, the drain after it.
//
// A ramp runs the ops before a cut through the timetable, starting from idle devices. Its lateness on a device is the
// time by which the timetable must be delayed there. Alternating passes reduce the lateness, like forward-backward
// improvement for resource-constrained projects (Li and Willis 1992): forward from the idle devices and backward from
// the cut. Each pass runs ops in the order of the times that the previous pass found.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuse/pattern/pattern_timetable.h"
#include "parallel/cancellation.h"

namespace dovetail::fuse {

/// A timetable seen from one end of the schedule. Micro-batches count from that end, and time runs away from it.
struct Side {
  const ClassGraph* graph = nullptr;
  const Timetable* timetable = nullptr;
  bool from_end = false;             ///< true: seen from the end of the schedule; false: seen from its start
  std::vector<std::int64_t> offset;  ///< [pipeline] from the start: micro-batches ahead of the timetable; from the end:
                                     ///< the timetable's last micro-batch

  /// Returns when the op of micro-batch `microbatch`, counted from this end, starts. If `from_end`, time is reversed,
  /// so the result is the negative of the op's end in the timetable.
  std::int64_t at(std::size_t op_class, std::int64_t microbatch) const;
  /// Returns how many micro-batches of a class, counted from this end, start before `time`.
  std::int64_t count_before(std::size_t op_class, std::int64_t time) const;
};

/// The ops of a ramp and its memory limits.
struct RampTask {
  Side side;
  std::vector<std::int64_t> count;  ///< [class] number of micro-batches in the ramp

  /// [class] index of its micro-batch 0 in arrays of all ops of the ramp; one more entry at the end
  std::vector<std::size_t> first;
  std::vector<std::int64_t> in_flight;  ///< [stage] number of micro-batches that may always be in flight

  /// [device] limit for forwards beyond `in_flight`, on the sum of the activation that the device would hold and the
  /// activation reserved for `in_flight`.
  std::vector<std::int64_t> headroom;
};

/// A ramp, given by its order.
struct Ramp {
  std::vector<std::vector<std::int32_t>> order;  ///< [device] class of each op, in the side's direction of time
  std::vector<std::int64_t> start;               ///< [op of the ramp] start in the side's time
  std::vector<std::int64_t> lateness;            ///< [device] how much later than in the timetable the pattern starts

  /// Maximum activation held on a device, with each micro-batch counted in full until the end of its B or W.
  std::int64_t peak = 0;
};

/// Returns the task of all ops before `cut` in the side's timetable.
RampTask make_ramp_task(const Side& side, std::int64_t cut, const std::vector<std::int64_t>& in_flight,
                        const std::vector<std::int64_t>& headroom);

/// Runs `passes` forward passes with backward passes between them, and returns the best ramp of a forward pass: the one
/// with the smallest maximum over devices of lateness + slack. `slack` is the lateness of each device at the other end
/// of the schedule. `start` has the initial time of each op of the ramp; if empty, the times of the timetable are used.
/// Returns nullopt if canceled before the first pass, or if that pass deadlocks.
std::optional<Ramp> improve_ramp(const RampTask& task, const std::vector<std::int64_t>& slack, int passes,
                                 std::vector<std::int64_t> start, const parallel::Cancellation* cancellation);

/// Returns the lateness of each device after many repetitions of the pattern, given the `lateness` at its beginning. A
/// device becomes later if it waits for other late devices.
std::vector<std::int64_t> settled_lateness(const Side& side, std::vector<std::int64_t> lateness);

}  // namespace dovetail::fuse
