#include "fuse/pattern/pattern_classes.h"

#include <algorithm>
#include <numeric>

namespace dovetail::fuse {
namespace {

using pipeline::Model;
using pipeline::OpKind;
using pipeline::Problem;
using pipeline::ReplicaId;
using pipeline::StageId;

/// Maximum number of micro-batches of one pipeline in a round: a round should be short compared with the whole.
constexpr std::int64_t max_per_round = 4;

class ClassBuilder {
 public:
  explicit ClassBuilder(const Problem& problem) : problem_(problem) {
    graph_.on_device.resize(static_cast<std::size_t>(problem.devices));
  }

  ClassGraph run() && {
    for (std::size_t model = 0; model < problem_.models.size(); ++model)
      for (std::size_t replica = 0; replica < problem_.models[model].replicas.size(); ++replica)
        add_pipeline(model, ReplicaId(replica));
    graph_.children.resize(graph_.classes.size());
    for (std::size_t index = 0; index < graph_.classes.size(); ++index) {
      const PatternClass& op_class = graph_.classes[index];
      graph_.on_device[static_cast<std::size_t>(op_class.device)].push_back(static_cast<std::int32_t>(index));
      if (op_class.parent.op_class < 0) continue;
      auto& children = graph_.children[static_cast<std::size_t>(op_class.parent.op_class)];
      children[children[0].op_class < 0 ? 0 : 1] = {static_cast<std::int32_t>(index), op_class.parent.lag};
    }
    return std::move(graph_);
  }

 private:
  void add_pipeline(std::size_t model_index, ReplicaId replica) {
    const Model& model = problem_.models[model_index];
    const auto first_slot = static_cast<std::int32_t>(graph_.stages.size());
    PatternPipeline pipeline;
    pipeline.model = static_cast<std::int32_t>(model_index);
    pipeline.microbatches = model.microbatches;
    for (int stage = 0; stage < model.stages(); ++stage) {
      const auto s = static_cast<std::size_t>(stage);
      graph_.stages.push_back({model.replicas[replica.index()][s].value, model.activation[s].count()});
      pipeline.max_activation = std::max(pipeline.max_activation, model.activation[s].count());
    }
    graph_.pipelines.push_back(pipeline);
    std::int32_t last = -1;
    for (int stage = 0; stage < model.stages(); ++stage) last = add(model, replica, first_slot, stage, OpKind::F, last);
    for (int stage = model.stages() - 1; stage >= 0; --stage) {
      last = add(model, replica, first_slot, stage, model.split() ? OpKind::I : OpKind::B, last);
      if (model.split()) add(model, replica, first_slot, stage, OpKind::W, last);
    }
  }

  std::int32_t add(const Model& model, ReplicaId replica, std::int32_t first_slot, int stage, OpKind kind,
                   std::int32_t parent) {
    const auto s = static_cast<std::size_t>(stage);
    PatternClass added;
    added.pipeline = static_cast<std::int32_t>(graph_.pipelines.size() - 1);
    added.stage = stage;
    added.kind = kind;
    added.slot = first_slot + stage;
    added.device = graph_.stages[static_cast<std::size_t>(added.slot)].device;
    added.duration = (model.*pipeline::traits_of(kind).duration)[s].count();
    added.parent.op_class = parent;
    if (parent >= 0 && graph_.classes[static_cast<std::size_t>(parent)].stage != stage)
      added.parent.lag =
          transfer_between(model, replica, StageId(graph_.classes[static_cast<std::size_t>(parent)].stage),
                           StageId(stage))
              .count();
    graph_.classes.push_back(added);
    return static_cast<std::int32_t>(graph_.classes.size() - 1);
  }

  const Problem& problem_;
  ClassGraph graph_;
};

/// Sets the micro-batches of each pipeline in a round: exactly in proportion if that makes a short round, otherwise
/// rounded relative to the smallest number.
void set_rounds(ClassGraph& graph) {
  std::int64_t divisor = 0;
  std::int64_t least = graph.pipelines[0].microbatches;
  std::int64_t most = 0;
  for (const PatternPipeline& pipeline : graph.pipelines) {
    divisor = std::gcd(divisor, pipeline.microbatches);
    least = std::min(least, pipeline.microbatches);
    most = std::max(most, pipeline.microbatches);
  }
  std::int64_t unit = divisor;
  if (most / divisor > max_per_round) unit = std::max(least, most / max_per_round);
  graph.rounds = most;
  for (PatternPipeline& pipeline : graph.pipelines) {
    pipeline.per_round = std::max<std::int64_t>(1, (pipeline.microbatches + unit / 2) / unit);
    graph.rounds = std::min(graph.rounds, pipeline.microbatches / pipeline.per_round);
  }
  for (PatternPipeline& pipeline : graph.pipelines)
    pipeline.remainder = pipeline.microbatches - graph.rounds * pipeline.per_round;
}

void set_period(ClassGraph& graph) {
  for (const auto& classes : graph.on_device) {
    std::int64_t work = 0;
    for (const std::int32_t index : classes) {
      const PatternClass& op_class = graph.classes[static_cast<std::size_t>(index)];
      work += op_class.duration * graph.pipelines[static_cast<std::size_t>(op_class.pipeline)].per_round;
    }
    graph.period = std::max(graph.period, work);
  }
}

/// Whether all later sums of times stay far below 2^63: each class may wait for a few periods and a transfer.
bool times_fit(const ClassGraph& graph) {
  std::int64_t max_lag = 0;
  for (const PatternClass& op_class : graph.classes) max_lag = std::max(max_lag, op_class.parent.lag);
  const auto waits = static_cast<std::int64_t>(16 * (graph.classes.size() + 16));
  return graph.period + max_lag < (std::int64_t{1} << 60) / waits;
}

}  // namespace

std::variant<ClassGraph, std::string> make_class_graph(const Problem& problem) {
  if (const auto other = pipeline::find_other_ops(problem, pipeline::problem_solver_kinds)) return *other;
  for (const Model& model : problem.models)
    if (model.minibatches != problem.models[0].minibatches) return "the models have different numbers of mini-batches";
  ClassGraph graph = ClassBuilder(problem).run();
  set_rounds(graph);
  set_period(graph);
  if (graph.rounds < 4) return "the problem has fewer than four rounds of micro-batches, so nothing repeats";
  if (!times_fit(graph)) return "the problem's times are too long: sums in a pattern would overflow";
  return graph;
}

}  // namespace dovetail::fuse
