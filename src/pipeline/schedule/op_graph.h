// The lowered form that evaluator, searches and graph bounds work on: ops with a device, a duration, predecessors and
// memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/problem/op_kind.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// Which piece of work an op is. `microbatch` of an op of a mini-batch is the number of that.
struct OpLabel {
  OpKind kind = OpKind::F;
  ModelId model;
  ReplicaId replica;
  StageId stage;
  MicrobatchId microbatch;

  friend auto operator<=>(const OpLabel&, const OpLabel&) = default;
};

/// One edge of the graph, seen from one of its ends: the op at the other end, and the delay between end and start.
struct Arc {
  OpId op;
  Ticks lag;
};

/// An edge on its own: `after` starts no earlier than `lag` after `before` ends.
struct Precedence {
  OpId before;
  OpId after;
  Ticks lag;

  friend bool operator==(const Precedence&, const Precedence&) = default;
};

/// A directed acyclic graph of ops. Immutable once built; arrays are indexed by OpId.
struct OpGraph {
  int devices = 0;
  std::vector<OpLabel> labels;
  std::vector<DeviceId> device;
  std::vector<Ticks> duration;
  std::vector<Memory> acquire;                  ///< taken on the op's device when it starts
  std::vector<Memory> release;                  ///< given back on the op's device when it ends
  std::vector<std::int32_t> predecessor_begin;  ///< [op], size ops + 1, into predecessor_arcs
  std::vector<Arc> predecessor_arcs;
  std::vector<std::int32_t> successor_begin;  ///< [op], size ops + 1, into successor_arcs
  std::vector<Arc> successor_arcs;

  std::size_t size() const { return labels.size(); }
  std::span<const Arc> predecessors(OpId op) const {
    return {predecessor_arcs.data() + predecessor_begin[op.index()],
            predecessor_arcs.data() + predecessor_begin[op.index() + 1]};
  }
  std::span<const Arc> successors(OpId op) const {
    return {successor_arcs.data() + successor_begin[op.index()],
            successor_arcs.data() + successor_begin[op.index() + 1]};
  }
};

/// How the backward of a model with split backward is lowered. Models without a split always have B.
enum class BackwardForm {
  whole,  ///< one B for I and W together, its output ready at its end
  split,  ///< I and W apart
};

/// The ops that one micro-batch has on one stage of one pipeline. They follow each other in the graph, `forward` first.
struct MicrobatchOps {
  OpId forward;
  OpId backward;         ///< B, or I where split
  OpId weight_gradient;  ///< equal to `backward` where not split
};

/// A lowered problem: the graph, and where to find each op in it.
struct Lowering {
  OpGraph graph;
  std::vector<Pipeline> pipelines;
  std::vector<PipelineId> first_pipeline;  ///< [model] its replica 0; the others follow
  /// [pipeline], first index of its stages in the two arrays below; one more at the end
  std::vector<std::int32_t> stage_begin;
  std::vector<std::int32_t> microbatch_begin;  ///< [pipeline stage], index into microbatch_ops of its micro-batch 0
  std::vector<MicrobatchOps> microbatch_ops;
  std::vector<std::vector<OpId>> steps;  ///< [pipeline stage][mini-batch]; empty where the model has no steps

  PipelineId pipeline_of(const OpLabel& label) const {
    return PipelineId(first_pipeline[label.model.index()].value + label.replica.value);
  }
  std::int32_t pipeline_stage(PipelineId pipeline, StageId stage) const {
    return stage_begin[pipeline.index()] + stage.value;
  }
  const MicrobatchOps& ops(PipelineId pipeline, StageId stage, MicrobatchId microbatch) const {
    const std::int32_t begin = microbatch_begin[static_cast<std::size_t>(pipeline_stage(pipeline, stage))];
    return microbatch_ops[static_cast<std::size_t>(begin) + microbatch.index()];
  }
  /// The op of that label. REQUIRES: it is one of the graph's.
  OpId find(const OpLabel& label) const;
};

/// Lowers `problem`, with the same form for every model. REQUIRES: no find_fault(problem).
Lowering lower(const Problem& problem, BackwardForm form);

/// Lowers `problem` with the form of each (pipeline stage, micro-batch) as `whole` says, in the order of
/// Lowering::microbatch_ops: a schedule may run B for some micro-batches and I, W for others. REQUIRES: no
/// find_fault(problem); one entry for each.
Lowering lower(const Problem& problem, const std::vector<bool>& whole);

/// `graph` with more predecessors (a serial schedule's barriers between models). REQUIRES: the result has no cycle.
OpGraph with_predecessors(const OpGraph& graph, std::span<const Precedence> extra);

/// The ops so that every op stands after its predecessors.
std::vector<OpId> topological_order(const OpGraph& graph);

/// [op] the longest path of durations and lags before it: the earliest it can start on any schedule.
std::vector<Ticks> max_heads(const OpGraph& graph);
/// [op] the longest path after its end to the end of everything.
std::vector<Ticks> max_tails(const OpGraph& graph);

}  // namespace dovetail::pipeline
