// Solver "search": chains that walk among schedules by swaps, first to the minimum makespan, then to the minimum peak
// at that makespan. Also converts any schedule into a start of the search.
#pragma once

#include <cstdint>
#include <vector>

#include "fuse/solution/solution.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::fuse {

/// Returns the order of `solution` in the graph that searches use: lowering.graph, lowered with BackwardForm::split.
/// Each whole backward of a split model becomes I directly followed by W. Ops of the same pipeline, stage and kind take
/// the micro-batches in order.
///
/// Neither makespan nor peak increases: I releases its output and memory earlier than B, and micro-batches are
/// interchangeable. Barriers are dropped.
pipeline::Order search_order(const pipeline::Lowering& lowering, const Solution& solution);

/// One of several schedules that search_order concatenates. It covers whole mini-batches.
struct ModelOrder {
  const Solution* solution;
  std::vector<std::int32_t> models;  ///< [model of the schedule] its index in the problem of the concatenation
};
/// Returns the order that runs the schedules of `parts` one after another on each device. The numbers of micro-batches
/// and optimizer steps continue from one schedule to the next. Optimizer steps that a schedule lacks are appended to
/// it.
pipeline::Order search_order(const pipeline::Lowering& lowering, const std::vector<ModelOrder>& parts);

/// Runs the search from `starts`, which are schedules of `problem`.
///
/// The chains start from these, the best first. They anneal the makespan until a chain meets the makespan bound or the
/// deadline. Then they lower the peak at that makespan until a chain meets the peak bound. Both phases also end when
/// their share of the iterations is used up. Last, they look for the most robust of the equally good schedules under
/// varying durations. See docs/search.md.
///
/// The chains do not start from schedules that the objective or the capacity rules out, or that are over twice as long
/// as the best. Only tighten() (peak_search.h) uses these. REQUIRES: at least one start. If any schedule fits the
/// capacity, one of the starts must fit.
Solution search_from(const pipeline::Problem& problem, std::vector<Solution> starts, const SolveOptions& options);

/// Runs the search from options.start and a few constructions. Applies to every problem.
Answer solve_search(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
