#include "plan/iteration_graph.h"

#include <algorithm>

namespace dovetail::plan {
namespace {

using workflow::TaskKind;

/// Adds reallocations, each once.
class GraphBuilder {
 public:
  GraphBuilder(const Job& job, const Plan& plan) : job_(job), plan_(plan) {
    for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task) graph_.steps.push_back({Step::Kind::task, task, task});
  }

  IterationGraph build() {
    for (const workflow::DataEdge& edge : job_.workflow.data_edges) graph_.edges.push_back({edge.from.index(), edge.to.index(), 0});
    for (const workflow::VersionEdge& edge : workflow::version_edges(job_.workflow, job_.workload.steps_off_policy)) add(edge);
    return std::move(graph_);
  }

 private:
  void add(const workflow::VersionEdge& edge) {
    const std::size_t train = edge.train.index();
    const std::size_t use = edge.use.index();
    if (use == train || (!has_own_weights(use) && share_weights(plan_.tasks[train], plan_.tasks[use]))) {
      graph_.edges.push_back({train, use, edge.iterations});
      return;
    }
    const std::size_t step = reallocation(train, use, edge.iterations);
    graph_.edges.push_back({step, use, 0});
    graph_.edges.push_back({use, step, 1});
  }

  bool has_own_weights(std::size_t task) const { return plan::has_own_weights(job_, plan_, task); }

  /// The step that brings the weights to where `use` has them; it belongs to the iteration of the use.
  std::size_t reallocation(std::size_t train, std::size_t use, int iterations) {
    for (std::size_t step = job_.workflow.tasks.size(); step < graph_.steps.size(); ++step) {
      const Step& known = graph_.steps[step];
      // Weights of different age are different weights.
      if (known.train == train && ages_[step - job_.workflow.tasks.size()] == iterations &&
          has_own_weights(known.task) == has_own_weights(use) && share_weights(plan_.tasks[known.task], plan_.tasks[use]))
        return step;
    }
    graph_.steps.push_back({Step::Kind::reallocation, use, train});
    ages_.push_back(iterations);
    graph_.edges.push_back({train, graph_.steps.size() - 1, iterations});
    return graph_.steps.size() - 1;
  }

  const Job& job_;
  const Plan& plan_;
  IterationGraph graph_;
  std::vector<int> ages_;  // [reallocation] iterations since the training that it comes from
};

}  // namespace

IterationGraph iteration_graph(const Job& job, const Plan& plan) { return GraphBuilder(job, plan).build(); }

void put_within(IterationGraph& graph, std::size_t leader, const std::vector<std::size_t>& members) {
  for (const std::size_t member : members) graph.steps[member].within = leader;
  const auto is_member = [&](std::size_t step) { return graph.steps[step].within == leader; };
  std::erase_if(graph.edges, [&](const StepEdge& edge) {
    return edge.iterations == 0 && (edge.from == leader || is_member(edge.from)) && (edge.to == leader || is_member(edge.to));
  });
  for (StepEdge& edge : graph.edges)
    if (is_member(edge.to)) edge.to = leader;
  for (const std::size_t member : members) graph.edges.push_back({leader, member, 0});
}

void release(IterationGraph& graph, std::size_t leader, base::Ticks early) {
  for (StepEdge& edge : graph.edges)
    if (is_released(graph, leader, edge)) edge.early = early;
}

bool is_released(const IterationGraph& graph, std::size_t leader, const StepEdge& edge) {
  return edge.from == leader && graph.steps[edge.to].within != leader && !is_host_transfer(graph.steps[edge.to]);
}

bool has_own_weights(const Job& job, const Plan& plan, std::size_t task) {
  return job.workflow.tasks[task].kind == TaskKind::generate && plan.tasks[task].engine.own_weights;
}

bool share_weights(const TaskPlan& a, const TaskPlan& b) {
  const auto of_weights = [](llm::Layout layout) {
    layout.recomputation = llm::Recomputation::none;
    layout.sequence_parallel = false;
    // Only the third stage cuts weights.
    layout.zero = layout.zero == 3 ? 3 : 0;
    return layout;
  };
  return a.mesh == b.mesh && of_weights(a.layout) == of_weights(b.layout);
}

std::vector<cluster::Mesh> meshes_of(const Step& step, const Job& job, const Plan& plan) {
  if (step.within || is_host_transfer(step)) return {};
  if (step.kind == Step::Kind::reallocation) {
    const cluster::Mesh from = plan.tasks[step.train].mesh;
    const cluster::Mesh to = plan.tasks[step.task].mesh;
    if (from == to) return {from};
    return {from, to};
  }
  if (job.workflow.tasks[step.task].kind == TaskKind::rule) return {};
  return {plan.tasks[step.task].mesh};
}

cluster::Mesh host_links_of(const Step& step, const Plan& plan) {
  return is_host_transfer(step) ? plan.tasks[step.task].mesh : cluster::Mesh{};
}

}  // namespace dovetail::plan
