// The way into the repeated pattern, and, with time turned round, out of it.
//
// A ramp runs the ops that lie before a cut through the timetable, from devices that have done nothing. It is late on a
// device by as much as the timetable has to be put off there. Improved by playing it to and fro, as forward-backward
// improvement does for projects with limited resources (Li and Willis 1992): forwards from the empty devices, backwards
// from the cut, each time in the order of the times that came out before.
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
  bool from_end = false;
  std::vector<std::int64_t> offset;  ///< [pipeline] from the start: micro-batches ahead of the timetable; from the end:
                                     ///< the timetable's last one

  /// When micro-batch `microbatch`, counted from this end, starts (from the end: has started, time turned round).
  std::int64_t at(std::size_t op_class, std::int64_t microbatch) const;
  /// How many micro-batches of a class start before `time`.
  std::int64_t count_before(std::size_t op_class, std::int64_t time) const;
};

/// What a ramp has to do, and within what memory.
struct RampTask {
  Side side;
  std::vector<std::int64_t> count;  ///< [class] micro-batches that belong to the ramp
  /// [class] index of its micro-batch 0 in arrays of all ops of the ramp; one more at the end
  std::vector<std::size_t> first;
  std::vector<std::int64_t> in_flight;  ///< [stage] micro-batches that may always be in flight
  std::vector<std::int64_t> room;       ///< [device] beyond that, forwards may start while no more than this is held
};

/// A ramp by its order.
struct Ramp {
  std::vector<std::vector<std::int32_t>> order;  ///< [device] the class of each op, in the side's direction of time
  std::vector<std::int64_t> start;               ///< [op of the ramp] in the side's time
  std::vector<std::int64_t> lateness;            ///< [device] how much later than its timetable the pattern can start
  std::int64_t peak = 0;                         ///< most held on a device, with splits held whole until the end of W
};

/// The task of all ops before `cut` in the side's timetable.
RampTask make_ramp_task(const Side& side, std::int64_t cut, const std::vector<std::int64_t>& in_flight,
                        const std::vector<std::int64_t>& room);

/// The best of `passes` plays to and fro. Best is the least of the largest lateness[device] + slack[device], slack
/// being how late the other end of the schedule is there. `start` are the times to begin with, or empty for the
/// timetable's. Nothing where it was cancelled before the first play, or where ops wait for each other.
std::optional<Ramp> improve_ramp(const RampTask& task, const std::vector<std::int64_t>& slack, int passes,
                                 std::vector<std::int64_t> start, const parallel::Cancellation* cancellation);

/// The lateness that each device comes to have when the pattern repeats for long: what it waits for is late as well.
std::vector<std::int64_t> settled_lateness(const Side& side, std::vector<std::int64_t> lateness);

}  // namespace dovetail::fuse
