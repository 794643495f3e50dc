#include "pipeline/schedule/op_graph.h"

#include <algorithm>

#include "base/assert.h"

namespace dovetail::pipeline {
namespace {

/// Sorts edges into the graph's compressed rows by one of their ends, keeping their order within a row (a counting
/// sort).
template <class KeyOf, class ArcOf>
void fill_rows(const std::vector<Precedence>& edges, std::size_t ops, std::vector<std::int32_t>& begin,
               std::vector<Arc>& arcs, KeyOf arc_key, ArcOf arc_of) {
  begin.assign(ops + 1, 0);
  for (const Precedence& edge : edges) ++begin[arc_key(edge).index() + 1];
  for (std::size_t op = 0; op < ops; ++op) begin[op + 1] += begin[op];
  arcs.resize(edges.size());
  std::vector<std::int32_t> next(begin.begin(), begin.end() - 1);
  for (const Precedence& edge : edges) arcs[static_cast<std::size_t>(next[arc_key(edge).index()]++)] = arc_of(edge);
}

void set_edges(OpGraph& graph, const std::vector<Precedence>& edges) {
  fill_rows(
      edges, graph.size(), graph.predecessor_begin, graph.predecessor_arcs,
      [](const Precedence& edge) { return edge.after; },
      [](const Precedence& edge) { return Arc{edge.before, edge.lag}; });
  fill_rows(
      edges, graph.size(), graph.successor_begin, graph.successor_arcs,
      [](const Precedence& edge) { return edge.before; },
      [](const Precedence& edge) { return Arc{edge.after, edge.lag}; });
}

/// Builds a Lowering: first all ops, to fix their ids, then the edges between them.
class Lowerer {
 public:
  Lowerer(const Problem& problem, const std::vector<bool>* whole, BackwardForm form)
      : problem_(problem), whole_(whole), form_(form) {
    result_.graph.devices = problem.devices;
    result_.pipelines = pipelines_of(problem);
    for (std::size_t index = 0; index < result_.pipelines.size(); ++index)
      if (result_.pipelines[index].replica.value == 0) result_.first_pipeline.push_back(PipelineId(index));
    result_.stage_begin.push_back(0);
  }

  Lowering run() && {
    const auto ops = static_cast<std::size_t>(count_ops(problem_));
    result_.graph.duration.reserve(ops);
    result_.graph.labels.reserve(ops);
    for (std::size_t index = 0; index < result_.pipelines.size(); ++index) add_ops(PipelineId(index));
    edges_.reserve(2 * result_.graph.size());
    for (std::size_t index = 0; index < result_.pipelines.size(); ++index) add_edges(PipelineId(index));
    set_edges(result_.graph, edges_);
    return std::move(result_);
  }

 private:
  const Model& model_of(PipelineId pipeline) const {
    return problem_.models[result_.pipelines[pipeline.index()].model.index()];
  }

  OpId add_op(OpKind kind, PipelineId pipeline, StageId stage, MicrobatchId microbatch, Ticks duration, Memory acquire,
              Memory release) {
    OpGraph& graph = result_.graph;
    const auto [model, replica] = result_.pipelines[pipeline.index()];
    graph.labels.push_back({kind, model, replica, stage, microbatch});
    graph.device.push_back(problem_.models[model.index()].replicas[replica.index()][stage.index()]);
    graph.duration.push_back(duration);
    graph.acquire.push_back(acquire);
    graph.release.push_back(release);
    return OpId(graph.size() - 1);
  }

  bool runs_whole(const Model& model) const {
    if (!model.split()) return true;
    return whole_ ? (*whole_)[result_.microbatch_ops.size()] : form_ == BackwardForm::whole;
  }

  void add_microbatch(PipelineId pipeline, StageId stage, MicrobatchId microbatch) {
    const Model& model = model_of(pipeline);
    const std::size_t s = stage.index();
    const bool whole = runs_whole(model);
    MicrobatchOps ops;
    ops.forward = add_op(OpKind::F, pipeline, stage, microbatch, model.forward[s], model.activation[s], Memory(0));
    if (whole) {
      ops.backward =
          add_op(OpKind::B, pipeline, stage, microbatch, model.whole_backward(s), Memory(0), model.activation[s]);
      ops.weight_gradient = ops.backward;
    } else {
      const Memory kept = model.weight_activation[s];
      ops.backward =
          add_op(OpKind::I, pipeline, stage, microbatch, model.backward[s], Memory(0), model.activation[s] - kept);
      ops.weight_gradient = add_op(OpKind::W, pipeline, stage, microbatch, model.weight_gradient[s], Memory(0), kept);
    }
    result_.microbatch_ops.push_back(ops);
  }

  void add_ops(PipelineId pipeline) {
    const Model& model = model_of(pipeline);
    for (int s = 0; s < model.stages(); ++s) {
      const StageId stage(s);
      result_.microbatch_begin.push_back(static_cast<std::int32_t>(result_.microbatch_ops.size()));
      for (int m = 0; m < model.total_microbatches(); ++m) add_microbatch(pipeline, stage, MicrobatchId(m));
      std::vector<OpId>& steps = result_.steps.emplace_back();
      if (!model.has_steps()) continue;
      for (int k = 0; k < model.minibatches; ++k)
        steps.push_back(
            add_op(OpKind::S, pipeline, stage, MicrobatchId(k), model.step[stage.index()], Memory(0), Memory(0)));
    }
    result_.stage_begin.push_back(result_.stage_begin.back() + model.stages());
  }

  void add_edges(PipelineId pipeline) {
    const Model& model = model_of(pipeline);
    for (int s = 0; s < model.stages(); ++s) {
      for (int m = 0; m < model.total_microbatches(); ++m) add_microbatch_edges(pipeline, StageId(s), MicrobatchId(m));
      if (model.has_steps()) add_step_edges(pipeline, StageId(s));
    }
  }

  void add_microbatch_edges(PipelineId pipeline, StageId stage, MicrobatchId microbatch) {
    const Model& model = model_of(pipeline);
    const ReplicaId replica = result_.pipelines[pipeline.index()].replica;
    const MicrobatchOps& own = result_.ops(pipeline, stage, microbatch);
    if (stage.value > 0) {
      const StageId before(stage.value - 1);
      edges_.push_back({result_.ops(pipeline, before, microbatch).forward, own.forward,
                        transfer_between(model, replica, before, stage)});
    }
    edges_.push_back({own.forward, own.backward, Ticks(0)});
    if (stage.value + 1 < model.stages()) {
      const StageId after(stage.value + 1);
      edges_.push_back({result_.ops(pipeline, after, microbatch).backward, own.backward,
                        transfer_between(model, replica, after, stage)});
    }
    if (own.weight_gradient != own.backward) edges_.push_back({own.backward, own.weight_gradient, Ticks(0)});
  }

  void add_step_edges(PipelineId pipeline, StageId stage) {
    const Model& model = model_of(pipeline);
    const std::vector<OpId>& steps = steps_of(pipeline, stage);
    const std::vector<PipelineId> siblings = pipelines_of_model(pipeline);
    for (int m = 0; m < model.total_microbatches(); ++m) {
      const int minibatch = m / model.microbatches;
      for (const PipelineId sibling : siblings)
        add_edges_into_step(sibling, stage, MicrobatchId(m), steps[static_cast<std::size_t>(minibatch)]);
      if (minibatch == 0) continue;
      const OpId forward = result_.ops(pipeline, stage, MicrobatchId(m)).forward;
      for (const PipelineId sibling : siblings)
        if (sibling == pipeline || model.step_before == StepBefore::replicas)
          edges_.push_back({steps_of(sibling, stage)[static_cast<std::size_t>(minibatch - 1)], forward, Ticks(0)});
    }
  }

  /// Adds the edges from a micro-batch of `pipeline` to a step of `stage` in any replica. If the step waits for all
  /// stages, the first stage represents the others, because its backward (or I) follows theirs. Separate weight
  /// gradients have no order between stages.
  void add_edges_into_step(PipelineId pipeline, StageId stage, MicrobatchId microbatch, OpId step) {
    const Model& model = model_of(pipeline);
    if (model.step_after == StepAfter::stage) {
      edges_.push_back({result_.ops(pipeline, stage, microbatch).weight_gradient, step, Ticks(0)});
      return;
    }
    for (int s = 0; s < model.stages(); ++s) {
      const MicrobatchOps& ops = result_.ops(pipeline, StageId(s), microbatch);
      if (s == 0 || ops.weight_gradient != ops.backward) edges_.push_back({ops.weight_gradient, step, Ticks(0)});
      if (!model.split()) break;
    }
  }

  const std::vector<OpId>& steps_of(PipelineId pipeline, StageId stage) const {
    return result_.steps[static_cast<std::size_t>(result_.pipeline_stage(pipeline, stage))];
  }

  /// Returns all replicas of the pipeline's model; they are consecutive.
  std::vector<PipelineId> pipelines_of_model(PipelineId pipeline) const {
    const Pipeline own = result_.pipelines[pipeline.index()];
    const std::size_t first = pipeline.index() - own.replica.index();
    std::vector<PipelineId> siblings;
    for (std::size_t r = 0; r < problem_.models[own.model.index()].replicas.size(); ++r)
      siblings.push_back(PipelineId(first + r));
    return siblings;
  }

  const Problem& problem_;
  const std::vector<bool>* whole_;
  BackwardForm form_;
  Lowering result_;
  std::vector<Precedence> edges_;
};

/// [op] Longest path before it along `order`, in the direction given by the two accessors.
template <class ArcsOf, class LengthOf>
std::vector<Ticks> max_paths(const OpGraph& graph, const std::vector<OpId>& order, ArcsOf arcs_of, LengthOf length_of) {
  std::vector<Ticks> longest(graph.size());
  for (const OpId op : order)
    for (const Arc& arc : arcs_of(op))
      longest[op.index()] = std::max(longest[op.index()], longest[arc.op.index()] + length_of(arc));
  return longest;
}

}  // namespace

OpId Lowering::find(const OpLabel& label) const {
  const PipelineId pipeline = pipeline_of(label);
  if (traits_of(label.kind).per_minibatch)
    return steps[static_cast<std::size_t>(pipeline_stage(pipeline, label.stage))][label.microbatch.index()];
  OpId op = ops(pipeline, label.stage, label.microbatch).forward;
  while (op.index() < graph.size() && graph.labels[op.index()] != label) ++op.value;
  DOVETAIL_ASSERT(op.index() < graph.size());
  return op;
}

Lowering lower(const Problem& problem, BackwardForm form) { return Lowerer(problem, nullptr, form).run(); }

Lowering lower(const Problem& problem, const std::vector<bool>& whole) {
  return Lowerer(problem, &whole, BackwardForm::whole).run();
}

OpGraph with_predecessors(const OpGraph& graph, std::span<const Precedence> extra) {
  std::vector<Precedence> edges;
  edges.reserve(graph.predecessor_arcs.size() + extra.size());
  for (std::size_t op = 0; op < graph.size(); ++op)
    for (const Arc& arc : graph.predecessors(OpId(op))) edges.push_back({arc.op, OpId(op), arc.lag});
  edges.insert(edges.end(), extra.begin(), extra.end());
  OpGraph result = graph;
  set_edges(result, edges);
  return result;
}

std::vector<OpId> topological_order(const OpGraph& graph) {
  std::vector<std::int32_t> waits(graph.size());
  std::vector<OpId> order;
  order.reserve(graph.size());
  for (std::size_t op = 0; op < graph.size(); ++op) {
    waits[op] = static_cast<std::int32_t>(graph.predecessors(OpId(op)).size());
    if (waits[op] == 0) order.push_back(OpId(op));
  }
  for (std::size_t done = 0; done < order.size(); ++done)
    for (const Arc& arc : graph.successors(order[done]))
      if (--waits[arc.op.index()] == 0) order.push_back(arc.op);
  DOVETAIL_ASSERT(order.size() == graph.size());
  return order;
}

std::vector<Ticks> max_heads(const OpGraph& graph) {
  return max_paths(
      graph, topological_order(graph), [&](OpId op) { return graph.predecessors(op); },
      [&](const Arc& arc) { return graph.duration[arc.op.index()] + arc.lag; });
}

std::vector<Ticks> max_tails(const OpGraph& graph) {
  std::vector<OpId> order = topological_order(graph);
  std::reverse(order.begin(), order.end());
  return max_paths(
      graph, order, [&](OpId op) { return graph.successors(op); },
      [&](const Arc& arc) { return graph.duration[arc.op.index()] + arc.lag; });
}

}  // namespace dovetail::pipeline
