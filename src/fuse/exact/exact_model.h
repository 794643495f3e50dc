// Problem model of the exact search: ops numbered class by class, their predecessors, and the minimum time from each op
// to the end. Also the possible peaks: the amounts of memory that a device can hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/problem/problem.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::fuse {

/// All ops of one kind on one stage of one pipeline. They run in order of their numbers, without loss of generality
/// (docs/bounds.md).
struct ExactClass {
  std::size_t device = 0;
  std::int64_t duration = 0;
  std::int64_t acquire = 0;  ///< memory acquired at the start of each op
  std::int64_t release = 0;  ///< memory released at the end of each op
  std::size_t first = 0;     ///< number of its first op; the others follow
  std::size_t count = 0;     ///< number of ops

  /// Whether several inputs of the class can be in transit at once: over edges with a lag, from several devices, or
  /// from one op that feeds several ops.
  bool awaits_several = false;
};

/// A predecessor op, and the lag between its end and the earliest start of the waiting op.
struct Wait {
  std::size_t op = 0;
  std::int64_t lag = 0;
};

/// Predecessors of each op, one row per op. The previous op of the same class is implied and not stored.
struct WaitRows {
  std::vector<std::size_t> begin;  ///< [op] index of its first entry in `waits`; one more entry at the end
  std::vector<Wait> waits;
};

/// The lowered problem, with split backwards if a model splits them, and its op classes.
struct ExactModel {
  pipeline::Lowering lowering;
  std::vector<ExactClass> classes;
  std::vector<std::vector<std::size_t>> classes_of_device;
  std::vector<std::size_t> class_of;     ///< [op] its class
  std::vector<pipeline::OpId> graph_op;  ///< [op] its OpId in the lowered graph
  WaitRows waits;
  std::vector<std::int64_t> tail;  ///< [op] minimum time after its end in every schedule, by position (position_bounds)

  /// [pipeline stage] its classes that acquire or release activation: F, then I (or B), then W if split
  std::vector<std::vector<std::size_t>> activation;
  /// [device] indices into `activation` of its pipeline stages, in stage order within a pipeline
  std::vector<std::vector<std::size_t>> stages_of_device;
  std::int64_t time_grain = 1;  ///< every start and end is a multiple of this

  std::size_t size() const { return class_of.size(); }
};

/// Builds the model of `problem`. REQUIRES: find_fault(problem) finds nothing.
ExactModel make_exact_model(const pipeline::Problem& problem);

/// Additional constraints when device d may hold at most `cap[d]`.
struct CappedModel {
  std::vector<std::int64_t> cap;   ///< [device] maximum activation
  WaitRows waits;                  ///< waits of the model, and those that the caps imply
  std::vector<std::size_t> order;  ///< the ops in a topological order of the waits
  std::vector<std::int64_t> tail;  ///< [op] minimum time after its end in every schedule within the caps
};

/// Builds the constraints for `cap`. REQUIRES: some schedule of `model` is within `cap`.
CappedModel make_capped_model(const ExactModel& model, std::vector<std::int64_t> cap);

/// Candidates for the minimum peak: the amounts that a device can hold, between a bound and a peak that was found. If
/// there are too many to list, all integers in this range are candidates.
class Levels {
 public:
  /// Begins with the candidates from `least` to below `peak`. `caps` is the maximum activation of each device.
  Levels(const ExactModel& model, const std::vector<std::int64_t>& caps, std::int64_t least, std::int64_t peak);

  /// Returns the next candidate to try, or nullopt if none is left.
  std::optional<std::int64_t> middle() const;
  /// Returns the smallest candidate left, or nullopt if none is left.
  std::optional<std::int64_t> least() const;
  /// Removes the candidates up to `peak`: no schedule has a peak that low.
  void drop_up_to(std::int64_t peak);
  /// Removes the candidates from `peak` on: a schedule with this peak exists.
  void drop_from(std::int64_t peak);

 private:
  bool listed_ = true;
  std::vector<std::int64_t> levels_;  // ascending
  std::int64_t begin_ = 0;            // first candidate left: an index into levels_ if listed_, otherwise the number
  std::int64_t end_ = 0;              // end of the candidates left, like begin_
};

}  // namespace dovetail::fuse
