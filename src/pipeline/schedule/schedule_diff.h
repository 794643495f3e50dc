// Two schedules of one problem, op by op: what stands in another order, what moved, and where they part.
//
// Micro-batches of a mini-batch are alike (docs/bounds.md), so ops are matched by what they are and when they come, not
// by their numbers: the k-th op, in order of time, of a kind on a stage of a pipeline with the k-th one of the other
// schedule.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

/// What makes two problems different ones for their schedules, in words: the first difference in devices, models, where
/// their stages are, or what they cost. Names of models and the memory of devices may differ: every schedule of the one
/// is one of the other, up to capacity. Nothing where they are the same. `a_name` and `b_name` stand for the two in the
/// text.
std::optional<std::string> find_difference(const Problem& a, const Problem& b, std::string_view a_name,
                                           std::string_view b_name);

/// What one schedule runs at a place in the order of a device. The micro-batch of `op` is counted in order of time.
struct PlacedOp {
  OpLabel op;
  std::size_t position = 0;  ///< in the order of its device, from 0
  Ticks start;
  Ticks end;
};

/// An op that stands elsewhere in the order of its device.
struct Move {
  DeviceId device;
  PlacedOp a;
  PlacedOp b;
};

/// The first place of a device at which the schedules run different ops, or one op at different times. Absent: that
/// schedule runs none there.
struct Parting {
  DeviceId device;
  std::optional<PlacedOp> a;
  std::optional<PlacedOp> b;
};

struct DeviceDifference {
  std::int64_t matched = 0;    ///< ops that both schedules have
  std::int64_t moved = 0;      ///< of these, outside the longest sequence that both run in the same order
  std::int64_t only_in_a = 0;  ///< ops of a form of backward (B, or I and W) that the other does not run there
  std::int64_t only_in_b = 0;
};

struct ScheduleDifference {
  std::vector<DeviceDifference> devices;
  /// The earliest of all devices; absent where the schedules are equal up to the names of micro-batches.
  std::optional<Parting> parting;
  bool same_order = true;   ///< every device runs the same ops in the same order, if not at the same times
  std::vector<Move> moves;  ///< those that moved furthest in time, furthest first
};

/// Compares two schedules; at most `max_moves` moves. REQUIRES: no find_difference of their problems; validate finds
/// nothing in them but too little capacity.
ScheduleDifference diff_schedules(const Schedule& a, const Schedule& b, std::size_t max_moves);

}  // namespace dovetail::pipeline
