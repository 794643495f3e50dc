// The lowered form of a problem that the evaluator, the searches and the graph bounds work on: ops with a device, a
// duration, predecessors and memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/problem/op_kind.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// Identifies an op. For S, `microbatch` is the number of the mini-batch.
struct OpLabel {
  OpKind kind = OpKind::F;
  ModelId model;
  ReplicaId replica;
  StageId stage;
  MicrobatchId microbatch;

  friend auto operator<=>(const OpLabel&, const OpLabel&) = default;
};

/// An edge of the graph, seen from one of its two ops: the other op, and the delay between the end of the earlier op
/// and the start of the later one.
struct Arc {
  OpId op;
  Ticks lag;
};

/// A standalone edge: `after` starts no earlier than `lag` after `before` ends.
struct Precedence {
  OpId before;
  OpId after;
  Ticks lag;

  friend bool operator==(const Precedence&, const Precedence&) = default;
};

/// A directed acyclic graph of ops, immutable once built. Vectors except the arcs are indexed by OpId.
struct OpGraph {
  int devices = 0;
  std::vector<OpLabel> labels;
  std::vector<DeviceId> device;
  std::vector<Ticks> duration;
  std::vector<Memory> acquire;                  ///< memory taken on its device when the op starts
  std::vector<Memory> release;                  ///< memory freed on its device when the op ends
  std::vector<std::int32_t> predecessor_begin;  ///< [op] its first entry in predecessor_arcs, plus a final entry
  std::vector<Arc> predecessor_arcs;
  std::vector<std::int32_t> successor_begin;  ///< [op] its first entry in successor_arcs, plus a final entry
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

/// How a split backward is lowered. Models without a split always have B.
enum class BackwardForm {
  whole,  ///< one B in place of I and W; its output is ready at its end
  split,  ///< separate I and W
};

/// Ops of one micro-batch on one stage of one pipeline. They are consecutive in the graph, `forward` first.
struct MicrobatchOps {
  OpId forward;
  OpId backward;         ///< B, or I if split
  OpId weight_gradient;  ///< W; equal to `backward` if not split
};

/// A lowered problem: the graph, and an index of its ops.
struct Lowering {
  OpGraph graph;
  std::vector<Pipeline> pipelines;
  std::vector<PipelineId> first_pipeline;  ///< [model] pipeline of its replica 0; the other replicas follow

  /// [pipeline] index of its first stage among the stages of all pipelines ("pipeline stage"), plus a final entry
  std::vector<std::int32_t> stage_begin;
  std::vector<std::int32_t> microbatch_begin;  ///< [pipeline stage] index into microbatch_ops of its micro-batch 0
  std::vector<MicrobatchOps> microbatch_ops;
  std::vector<std::vector<OpId>> steps;  ///< [pipeline stage][mini-batch]; empty if the model has no steps

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
  /// Returns the op with this label. REQUIRES: the graph has it.
  OpId find(const OpLabel& label) const;
};

/// Lowers `problem` with the same form of backward for every model. REQUIRES: find_fault(problem) finds nothing.
Lowering lower(const Problem& problem, BackwardForm form);

/// Lowers `problem` with B where `whole` is true, and I and W where it is false. A schedule may mix both forms. `whole`
/// has one entry per (pipeline stage, micro-batch), in the order of Lowering::microbatch_ops; entries of models without
/// a split are ignored. REQUIRES: find_fault(problem) finds nothing.
Lowering lower(const Problem& problem, const std::vector<bool>& whole);

/// Returns `graph` with extra predecessors, such as the barriers between models in a serial schedule. REQUIRES: the
/// result has no cycle.
OpGraph with_predecessors(const OpGraph& graph, std::span<const Precedence> extra);

/// Returns the ops in an order in which each follows its predecessors.
std::vector<OpId> topological_order(const OpGraph& graph);

/// Returns for each op the longest path of durations and lags before it: a lower bound on its start in any schedule.
std::vector<Ticks> max_heads(const OpGraph& graph);
/// Returns for each op the longest path from its end to the end of the last op.
std::vector<Ticks> max_tails(const OpGraph& graph);

}  // namespace dovetail::pipeline
