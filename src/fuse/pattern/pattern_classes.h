// Repetitive problems in compact form: all ops of one kind on a pipeline stage form one class, however many
// micro-batches there are.
//
// Times are plain 64-bit tick counts here because they are often divided and taken modulo a period.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "pipeline/problem/problem.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::fuse {

/// A link to a predecessor or successor class. For each micro-batch, the later op starts at least `lag` after the
/// earlier one ends.
struct ClassLink {
  std::int32_t op_class = -1;
  std::int64_t lag = 0;
};

/// Ops of one kind on one stage of one pipeline.
struct PatternClass {
  std::int32_t pipeline = 0;
  std::int32_t stage = 0;
  pipeline::OpKind kind = pipeline::OpKind::F;  ///< F, B, I or W
  std::int32_t device = 0;
  std::int32_t slot = 0;  ///< index of its pipeline stage in ClassGraph::stages
  std::int64_t duration = 0;
  ClassLink parent;  ///< the only class that it must wait for; its other predecessors end before the parent starts
};

/// One stage of one pipeline.
struct PatternStage {
  std::int32_t device = 0;
  std::int64_t activation = 0;
};

/// One replica of one model.
struct PatternPipeline {
  std::int32_t model = 0;
  std::int64_t microbatches = 0;  ///< number of micro-batches in a mini-batch
  std::int64_t per_round = 0;     ///< number of micro-batches in a round of the pattern
  std::int64_t remainder = 0;     ///< number of micro-batches beyond `rounds` rounds
  std::int64_t max_activation = 0;
};

/// A problem as classes. Parents precede their children.
struct ClassGraph {
  std::vector<PatternClass> classes;
  std::vector<PatternStage> stages;
  std::vector<PatternPipeline> pipelines;
  std::vector<std::vector<std::int32_t>> on_device;  ///< [device] classes on the device
  std::vector<std::array<ClassLink, 2>> children;    ///< [class] successors; -1 if unused
  std::int64_t rounds = 0;                           ///< number of whole rounds that every pipeline has
  std::int64_t period = 0;  ///< work of the busiest device in a round, a lower bound on the period
};

/// Returns the classes of one mini-batch of `problem`, with split backwards as I and W, and how many micro-batches of
/// each pipeline make a round. The numbers follow the ratio of the pipelines' micro-batch counts as closely as small
/// integers allow. Returns a message if the problem is not repetitive.
std::variant<ClassGraph, std::string> make_class_graph(const pipeline::Problem& problem);

}  // namespace dovetail::fuse
