#include "plan/iteration_graph.h"

#include <algorithm>

#include "base/assert.h"

namespace dovetail::plan {
namespace {

using workflow::TaskKind;

/// Builds the graph, with each reallocation once.
class GraphBuilder {
 public:
  GraphBuilder(const Job& job, const Plan& plan) : job_(job), plan_(plan) {
    for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
      graph_.activities.push_back({Activity::Kind::task, task, task});
  }

  IterationGraph build() {
    for (const workflow::DataEdge& edge : job_.workflow.data_edges)
      graph_.edges.push_back({edge.from.index(), edge.to.index(), 0});
    for (const workflow::VersionEdge& edge : workflow::version_edges(job_.workflow, job_.workload.steps_off_policy))
      add(edge);
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
    const std::size_t activity = reallocation(train, use, edge.iterations);
    graph_.edges.push_back({activity, use, 0});
    graph_.edges.push_back({use, activity, 1});
  }

  bool has_own_weights(std::size_t task) const { return plan::has_own_weights(job_, plan_, task); }

  /// The activity that reallocates weights to the mesh and layout of `use`. It belongs to the iteration of the use.
  std::size_t reallocation(std::size_t train, std::size_t use, int iterations) {
    for (std::size_t activity = job_.workflow.tasks.size(); activity < graph_.activities.size(); ++activity) {
      const Activity& known = graph_.activities[activity];
      // Weights of another iteration need another reallocation.
      if (known.train == train && ages_[activity - job_.workflow.tasks.size()] == iterations &&
          has_own_weights(known.task) == has_own_weights(use) &&
          share_weights(plan_.tasks[known.task], plan_.tasks[use]))
        return activity;
    }
    graph_.activities.push_back({Activity::Kind::reallocation, use, train});
    ages_.push_back(iterations);
    graph_.edges.push_back({train, graph_.activities.size() - 1, iterations});
    return graph_.activities.size() - 1;
  }

  const Job& job_;
  const Plan& plan_;
  IterationGraph graph_;
  std::vector<int> ages_;  // [reallocation] iterations since the training whose weights it moves
};

/// [activity] whether the activity is one of `tasks`, or one of them waits for it in the same iteration.
std::vector<bool> needed_for(const IterationGraph& graph, const std::vector<std::size_t>& tasks) {
  std::vector<bool> needed(graph.activities.size(), false);
  std::vector<std::size_t> open = tasks;
  while (!open.empty()) {
    const std::size_t activity = open.back();
    open.pop_back();
    if (needed[activity]) continue;
    needed[activity] = true;
    for (const ActivityEdge& edge : graph.edges)
      if (edge.to == activity && edge.iterations == 0) open.push_back(edge.from);
  }
  return needed;
}

/// [activity] whether it waits for no other activity of its iteration.
std::vector<bool> first_activities(const IterationGraph& graph) {
  std::vector<bool> first(graph.activities.size(), true);
  for (const ActivityEdge& edge : graph.edges)
    if (edge.iterations == 0) first[edge.to] = false;
  return first;
}

void add_barrier(IterationGraph& graph, const std::vector<std::size_t>& tasks) {
  std::vector<bool> waits = needed_for(graph, tasks);
  waits.flip();
  const bool between_iterations = std::find(waits.begin(), waits.end(), true) == waits.end();
  if (between_iterations) waits = first_activities(graph);
  for (const std::size_t task : tasks)
    for (std::size_t activity = 0; activity < waits.size(); ++activity)
      if (waits[activity]) graph.edges.push_back({task, activity, between_iterations ? 1 : 0});
}

}  // namespace

IterationGraph iteration_graph(const Job& job, const Plan& plan) { return GraphBuilder(job, plan).build(); }

void put_within(IterationGraph& graph, std::size_t leader, const std::vector<std::size_t>& members) {
  for (const std::size_t member : members) graph.activities[member].within = leader;
  const auto is_member = [&](std::size_t activity) { return graph.activities[activity].within == leader; };
  std::erase_if(graph.edges, [&](const ActivityEdge& edge) {
    return edge.iterations == 0 && (edge.from == leader || is_member(edge.from)) &&
           (edge.to == leader || is_member(edge.to));
  });
  for (ActivityEdge& edge : graph.edges)
    if (is_member(edge.to)) edge.to = leader;
  for (const std::size_t member : members) graph.edges.push_back({leader, member, 0});
}

void release(IterationGraph& graph, std::size_t leader, base::Ticks early) {
  for (ActivityEdge& edge : graph.edges)
    if (is_released(graph, leader, edge)) edge.early = early;
}

bool is_released(const IterationGraph& graph, std::size_t leader, const ActivityEdge& edge) {
  return edge.from == leader && graph.activities[edge.to].within != leader &&
         !is_host_transfer(graph.activities[edge.to]);
}

bool has_own_weights(const Job& job, const Plan& plan, std::size_t task) {
  return job.workflow.tasks[task].kind == TaskKind::generate && plan.tasks[task].engine.own_weights;
}

bool share_weights(const TaskPlan& a, const TaskPlan& b) {
  const auto of_weights = [](llm::Layout layout) {
    layout.recomputation = llm::Recomputation::none;
    layout.sequence_parallel = false;
    // Only ZeRO 3 shards weights.
    layout.zero = layout.zero == 3 ? 3 : 0;
    return layout;
  };
  return a.mesh == b.mesh && of_weights(a.layout) == of_weights(b.layout);
}

std::vector<cluster::Mesh> meshes_of(const Activity& activity, const Job& job, const Plan& plan) {
  if (activity.within || is_host_transfer(activity)) return {};
  if (activity.kind == Activity::Kind::reallocation) {
    const cluster::Mesh from = plan.tasks[activity.train].mesh;
    const cluster::Mesh to = plan.tasks[activity.task].mesh;
    if (from == to) return {from};
    return {from, to};
  }
  if (job.workflow.tasks[activity.task].kind == TaskKind::rule) return {};
  return {plan.tasks[activity.task].mesh};
}

cluster::Mesh host_links_of(const Activity& activity, const Plan& plan) {
  return is_host_transfer(activity) ? plan.tasks[activity.task].mesh : cluster::Mesh{};
}

void add_order(IterationGraph& graph, const IterationOrder& order) {
  if (order.empty()) return;
  for (const IterationOrder::Edge& edge : order.edges) graph.edges.push_back({edge.from, edge.to, edge.iterations});
  for (const std::vector<std::size_t>& tasks : order.barriers) add_barrier(graph, tasks);
  DOVETAIL_ASSERT(!has_cycle(graph));
}

bool has_cycle(const IterationGraph& graph) {
  std::vector<std::size_t> waits_for(graph.activities.size(), 0);
  for (const ActivityEdge& edge : graph.edges)
    if (edge.iterations == 0) ++waits_for[edge.to];
  std::vector<std::size_t> ready;
  for (std::size_t activity = 0; activity < waits_for.size(); ++activity)
    if (waits_for[activity] == 0) ready.push_back(activity);
  for (std::size_t done = 0; done < ready.size(); ++done)
    for (const ActivityEdge& edge : graph.edges)
      if (edge.iterations == 0 && edge.from == ready[done] && --waits_for[edge.to] == 0) ready.push_back(edge.to);
  return ready.size() < waits_for.size();
}

}  // namespace dovetail::plan
