// Compares two schedules of one problem op by op: which ops moved, and where the schedules first differ.
//
// Micro-batches of a mini-batch are interchangeable (docs/bounds.md), so ops are matched by kind and time, not by
// number. On each stage of a pipeline, the k-th op of a kind, in order of time, matches the k-th one in the other
// schedule.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

/// Describes the first difference between two problems in time unit, devices, models, devices of stages, or costs;
/// nullopt if they match. All time units except ticks are compatible with each other. Names of models and memory of
/// devices may differ: a schedule of one problem is then a schedule of the other, apart from capacity. The text calls
/// the problems `a_name` and `b_name`.
std::optional<std::string> find_difference(const Problem& a, const Problem& b, std::string_view a_name,
                                           std::string_view b_name);

/// An op, its times, and its position in the order of its device. Its micro-batch is numbered in order of time.
struct PlacedOp {
  OpLabel op;
  std::size_t position = 0;  ///< index in the order of its device
  Ticks start;
  Ticks end;
};

/// An op outside the longest sequence of ops that both schedules run in the same order on a device.
struct Move {
  DeviceId device;
  PlacedOp a;
  PlacedOp b;
};

/// The first position in the order of a device at which the schedules run different ops, or one op at different times.
/// If `a` or `b` is absent, that schedule has no op at this position.
struct Divergence {
  DeviceId device;
  std::optional<PlacedOp> a;
  std::optional<PlacedOp> b;
};

struct DeviceDifference {
  std::int64_t matched = 0;    ///< ops that both schedules have
  std::int64_t moved = 0;      ///< matched ops outside the longest sequence that both run in the same order
  std::int64_t only_in_a = 0;  ///< ops in a form of backward (B, or I and W) that `b` does not use there
  std::int64_t only_in_b = 0;
};

struct ScheduleDifference {
  std::vector<DeviceDifference> devices;
  /// Earliest divergence on any device; absent if the schedules are equal except for micro-batch numbers.
  std::optional<Divergence> divergence;
  bool same_order = true;   ///< true if every device runs the same ops in the same order, perhaps at other times
  std::vector<Move> moves;  ///< ops that moved, by descending distance in time
};

/// Compares two schedules and lists at most `max_moves` moves. REQUIRES: find_difference finds nothing between their
/// problems; validate finds nothing in them except exceeded capacity.
ScheduleDifference diff_schedules(const Schedule& a, const Schedule& b, std::size_t max_moves);

}  // namespace dovetail::pipeline
