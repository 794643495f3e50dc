// State of FlexFusion's annealing: for each device, a sequence of tasks. A task is a forward or a backward of a
// pipeline's stage on the device. Micro-batches run in order, so tasks need no micro-batch numbers. Every move is
// evaluated from scratch, as in the published solver.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "pipeline/schedule/op_graph.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// Quality of an annealed schedule; smaller is better. Compared member by member, in the order of FlexFusion's
/// is_trace_more_optimal.
struct AnnealingMetric {
  base::Ticks makespan;
  base::Memory peak;
  base::Memory peak_sum;         ///< sum of the peaks of all devices
  std::uint64_t finish_sum = 0;  ///< sum of the end times of all ops

  friend auto operator<=>(const AnnealingMetric&, const AnnealingMetric&) = default;
};

/// Two of the published neighborhoods.
enum class AnnealingMove {
  adjacent_swap,  ///< swaps two adjacent, different tasks of a device
  move            ///< moves one task to another position in its device's sequence
};

/// Returns why FlexFusion's model cannot represent a problem, or nullopt if it can. The model allows at most one stage
/// of each pipeline on a device. It has no transfers, split backwards or optimizer steps.
std::optional<std::string> why_not_annealed(const pipeline::Problem& problem);

/// One candidate schedule with everything needed to evaluate it. Copies are independent.
class AnnealingState {
 public:
  /// Starts from `order`, an order of the ops of `lowering`. REQUIRES: why_not_annealed(problem) returns nullopt;
  /// `lowering` is the form of `problem` with whole backwards; `order` is valid.
  AnnealingState(const pipeline::Problem& problem, const pipeline::Lowering& lowering, const pipeline::Order& order);

  const AnnealingMetric& metric() const { return metric_; }

  /// Draws a random neighbor and moves to it. Returns false, with the state unchanged, if the neighbor would deadlock
  /// or if no device has two different tasks. After it returns true, undo() reverts the move.
  bool disturb(base::Random& random, AnnealingMove move);
  void undo();

  /// Returns the order that this state represents.
  pipeline::Order order(const pipeline::Lowering& lowering) const;

 private:
  using Code = std::uint16_t;  // index into tasks_[device]; each pipeline with a stage there has two codes

  /// The task that a code denotes on a device.
  struct Task {
    std::int64_t duration = 0;
    std::int32_t ends = 0;           // index in ends_ of the end time of its micro-batch 0
    std::int32_t previous_ends = 0;  // the same for the preceding task of the micro-batch
    std::int32_t done = 0;           // index in done_ of its number of finished micro-batches
    std::int32_t previous_done = 0;  // the same for the preceding task of the micro-batch
    std::int64_t memory = 0;         // memory that a forward acquires, or that a backward releases (negative)
    pipeline::PipelineId pipeline;
    pipeline::StageId stage;
  };

  struct Change {
    std::size_t device = 0;
    std::size_t first = 0;
    std::size_t second = 0;
    AnnealingMove move = AnnealingMove::adjacent_swap;
  };

  void add_tasks(const pipeline::Problem& problem, const pipeline::Lowering& lowering);
  void add_sequences(const pipeline::Lowering& lowering, const pipeline::Order& order);
  Change draw(base::Random& random, AnnealingMove move) const;
  void apply(const Change& change);
  void revert(const Change& change);
  bool evaluate(AnnealingMetric& metric);
  std::size_t advance(std::size_t device, AnnealingMetric& metric);
  std::int64_t peak_of(std::size_t device) const;

  std::size_t task_count_ = 0;
  std::vector<std::vector<Task>> tasks_;      // [device][code]: for each pipeline there, its forward, then its backward
  std::vector<std::vector<Code>> sequences_;  // [device] codes in order of execution
  std::vector<std::size_t> movable_;          // devices with at least two different tasks
  std::vector<std::int64_t> peaks_;           // [device] peak activation
  AnnealingMetric metric_;
  Change change_;  // the last move, for undo()
  AnnealingMetric metric_before_;
  std::int64_t peak_before_ = 0;
  std::vector<std::int64_t> ends_;           // buffer of evaluate(): [task, micro-batch] end time
  std::vector<std::int32_t> done_;           // buffer of evaluate(): [task] number of finished micro-batches
  std::vector<std::size_t> position_;        // buffer of evaluate(): [device] index of its next task in the sequence
  std::vector<std::int64_t> idle_;           // buffer of evaluate(): [device] end of its last task so far
  std::vector<std::int32_t> done_at_start_;  // initial values of done_
};

}  // namespace dovetail::fuse
