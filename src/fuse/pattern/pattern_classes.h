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
  std::int32_t op_class = -1;  ///< index of that class; -1: no link
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
  ClassLink parent;  ///< the last predecessor class; any other predecessors end before the parent starts
};

/// One stage of one pipeline.
struct PatternStage {
  std::int32_t device = 0;
  std::int64_t activation = 0;
};

/// One replica of one model.
struct PatternPipeline {
  std::int32_t model = 0;
  std::int64_t microbatches = 0;    ///< number of micro-batches in a mini-batch
  std::int64_t per_round = 0;       ///< number of micro-batches in a round of the pattern
  std::int64_t remainder = 0;       ///< number of micro-batches beyond ClassGraph::rounds rounds
  std::int64_t max_activation = 0;  ///< maximum over its stages
};

/// A problem as classes.
struct ClassGraph {
  std::vector<PatternClass> classes;  ///< parents before their children
  std::vector<PatternStage> stages;
  std::vector<PatternPipeline> pipelines;
  std::vector<std::vector<std::int32_t>> on_device;  ///< [device] classes on the device
  std::vector<std::array<ClassLink, 2>> children;    ///< [class] classes whose parent it is; -1 if unused
  std::int64_t rounds = 0;  ///< number of whole rounds that the micro-batches of every pipeline fill
  std::int64_t period = 0;  ///< work of the busiest device in a round, a lower bound on the time of a round
};

/// Returns the classes of one mini-batch of `problem`, with split backwards as I and W, and the number of micro-batches
/// of each pipeline in a round. These numbers are in the ratio of the pipelines' micro-batch counts, as closely as
/// small integers allow. Returns a message with the reason if the problem has no pattern, for example because it has
/// too few micro-batches.
std::variant<ClassGraph, std::string> make_class_graph(const pipeline::Problem& problem);

}  // namespace dovetail::fuse
