// A problem as the exact search sees it: ops numbered class by class, what each waits for, and how long it is at least
// to the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/problem/problem.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::fuse {

/// All ops of one kind on one stage of one pipeline. They run in order of their numbers, which loses nothing
/// (docs/bounds.md).
struct ExactClass {
  std::size_t device = 0;
  std::int64_t duration = 0;
  std::int64_t acquire = 0;     ///< memory that each takes at its start
  std::int64_t release = 0;     ///< memory that each gives back at its end
  std::size_t first = 0;        ///< its ops are first, first + 1, ...
  std::size_t count = 0;        ///< how many there are
  bool awaits_several = false;  ///< whether more than one thing can be under way to it: a lag, senders on several
                                ///< devices, or one to several
};

/// An op, and how long after its end the op that waits for it may start.
struct Wait {
  std::size_t op = 0;
  std::int64_t lag = 0;
};

/// What each op waits for, one row an op. That it waits for the op before it in its class goes without saying.
struct WaitRows {
  std::vector<std::size_t> begin;  ///< [op], size ops + 1
  std::vector<Wait> waits;
};

/// The lowered problem, every backward split where the model has a split, classes for ops of a kind.
struct ExactModel {
  pipeline::Lowering lowering;
  std::vector<ExactClass> classes;
  std::vector<std::vector<std::size_t>> classes_of_device;
  std::vector<std::size_t> class_of;     ///< [op]
  std::vector<pipeline::OpId> graph_op;  ///< [op] in the lowered graph
  WaitRows waits;
  std::vector<std::int64_t> tail;  ///< [op] by position: passes after its end in every schedule
  /// Per pipeline stage: its classes F, I (or B) and, where split, W.
  std::vector<std::vector<std::size_t>> activation;
  /// Indices into `activation`, a pipeline's in order of its stages.
  std::vector<std::vector<std::size_t>> stages_of_device;
  std::int64_t time_grain = 1;  ///< every start and end is a multiple of it

  std::size_t size() const { return class_of.size(); }
};

/// REQUIRES: no find_fault(problem).
ExactModel make_exact_model(const pipeline::Problem& problem);

/// What more is known when device d may hold `cap[d]` at most.
struct CappedModel {
  std::vector<std::int64_t> cap;   ///< [device]
  WaitRows waits;                  ///< those of the model, and those that the caps force
  std::vector<std::size_t> order;  ///< the ops so that each stands behind what it waits for
  std::vector<std::int64_t> tail;  ///< [op] passes after its end in every schedule within the caps
};

/// REQUIRES: some schedule of `model` is within `cap`.
CappedModel make_capped_model(const ExactModel& model, std::vector<std::int64_t> cap);

}  // namespace dovetail::fuse
