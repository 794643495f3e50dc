// The repeated pattern: a timetable in which every op class runs once per micro-batch of a round, without overlap on
// any device.
//
// This is modulo scheduling (Lam 1988; Rau 1994). Each op of a round gets a place within the period of its device. The
// period repeats, so places form a circle. Any places that do not overlap make a valid timetable: an op starts at the
// next occurrence of its place after its predecessors have ended. The places determine how long micro-batches wait, and
// therefore how many are in flight.
#pragma once

#include <cstdint>
#include <vector>

#include "fuse/pattern/pattern_classes.h"

namespace dovetail::fuse {

/// Start times of the ops of each class. Micro-batches are numbered from minus infinity to plus infinity, in the order
/// in which the class runs them.
struct Timetable {
  std::int64_t period = 0;
  /// [class] starts of micro-batches 0 .. per_round - 1, ascending within a period
  std::vector<std::vector<std::int64_t>> starts;

  /// Returns when a class starts micro-batch `microbatch`, which may be negative.
  std::int64_t at(std::size_t op_class, std::int64_t microbatch) const {
    const auto per_round = static_cast<std::int64_t>(starts[op_class].size());
    std::int64_t round = microbatch / per_round;
    if (microbatch % per_round < 0) --round;
    return starts[op_class][static_cast<std::size_t>(microbatch - round * per_round)] + round * period;
  }
  /// Returns the first micro-batch that a class starts at `time` or later.
  std::int64_t first_from(std::size_t op_class, std::int64_t time) const;
};

/// Returns a timetable with period `period` and short waits between ops. A wait has a higher cost in a model with
/// larger activations. Repeats a beam search over devices with several ways to share the waits between forwards and
/// backwards, and takes the timetable with the smallest lower bound on the idle time in warm-up and drain. REQUIRES:
/// period >= graph.period.
Timetable make_timetable(const ClassGraph& graph, std::int64_t period);

/// Returns `timetable` with later backwards: each pipeline then has `extra_rounds[pipeline]` more rounds in flight on
/// its first stage. The increase is proportionally smaller on later stages.
Timetable with_buffers(const ClassGraph& graph, Timetable timetable, const std::vector<std::int64_t>& extra_rounds);

/// Returns, for each pipeline stage, the maximum number of micro-batches in flight, from F to the end of B or W.
std::vector<std::int64_t> in_flight_of(const ClassGraph& graph, const Timetable& timetable);

/// Returns, for each device, the activation of `in_flight` micro-batches on each stage.
std::vector<std::int64_t> activation_of(const ClassGraph& graph, const std::vector<std::int64_t>& in_flight);

/// Returns the number of rounds from the start of a micro-batch's first forward to the end of its last backward,
/// rounded up. If pipelines differ, returns the maximum.
std::int64_t rounds_in_flight(const ClassGraph& graph, const Timetable& timetable);

}  // namespace dovetail::fuse
