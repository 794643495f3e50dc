// What FlexFusion's annealing moves through: for each device the order of (pipeline, forward or backward);
// micro-batches are first in, first out, so that they need no names. Evaluated from zero after every move, as the
// published solver does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "pipeline/schedule/op_graph.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// How good an annealed schedule is, in the published order (is_trace_more_optimal): compared member by member.
struct AnnealingMetric {
  base::Ticks makespan;
  base::Memory peak;
  base::Memory peak_sum;         ///< over devices
  std::uint64_t finish_sum = 0;  ///< over all ops

  friend auto operator<=>(const AnnealingMetric&, const AnnealingMetric&) = default;
};

/// Two of the published neighbourhoods: two unlike neighbours on a device exchanged, one task moved elsewhere.
enum class AnnealingMove { adjacent_swap, move };

/// Why FlexFusion's model has no place for a problem, if so: it knows one forward and one backward of a pipeline on a
/// device, and neither transfers, nor split backwards, nor optimizer steps.
std::optional<std::string> why_not_annealed(const pipeline::Problem& problem);

/// One candidate schedule with all that evaluating it needs. Copies are independent.
class AnnealingState {
 public:
  /// Starts from `order` of `lowering`. REQUIRES: !why_not_annealed(problem); `lowering` has whole backwards; the order
  /// is valid.
  AnnealingState(const pipeline::Problem& problem, const pipeline::Lowering& lowering, const pipeline::Order& order);

  const AnnealingMetric& metric() const { return metric_; }

  /// Draws a neighbour and takes it. False where it is no schedule (it would wait for itself): then nothing has
  /// changed. Call undo() to go back after a true.
  bool disturb(base::Random& random, AnnealingMove move);
  void undo();

  /// The order that this state stands for.
  pipeline::Order order(const pipeline::Lowering& lowering) const;

 private:
  using Code = std::uint16_t;  // which of its device's tasks: two for each pipeline that has a stage there

  /// What a code means on a device.
  struct Task {
    std::int64_t duration = 0;
    std::int32_t ends = 0;           // where its micro-batches' ends begin in ends_
    std::int32_t previous_ends = 0;  // the same of what they follow
    std::int32_t done = 0;           // its counter in done_
    std::int32_t previous_done = 0;
    std::int64_t memory = 0;  // taken (forward) or given back (backward, negative)
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
  std::vector<std::vector<Task>> tasks_;      // [device][code]: of each pipeline there the forward, then the backward
  std::vector<std::vector<Code>> sequences_;  // [device]
  std::vector<std::size_t> movable_;          // devices with two unlike tasks
  std::vector<std::int64_t> peaks_;           // [device]
  AnnealingMetric metric_;
  Change change_;  // the last one, for undo()
  AnnealingMetric metric_before_;
  std::int64_t peak_before_ = 0;
  std::vector<std::int64_t> ends_;  // scratch of evaluate(): [stage x forward or backward, micro-batch]
  std::vector<std::int32_t> done_;
  std::vector<std::size_t> position_;
  std::vector<std::int64_t> idle_;
  std::vector<std::int32_t> done_at_start_;
};

}  // namespace dovetail::fuse
