#include "plan/host_transfers.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/assert.h"

namespace dovetail::plan {
namespace {

/// How the steps of a graph must follow one another.
class Precedence {
 public:
  explicit Precedence(const IterationGraph& graph) : lags_(graph.steps.size(), std::vector<int>(graph.steps.size(), never)) {
    const std::size_t steps = graph.steps.size();
    for (const StepEdge& edge : graph.edges) lags_[edge.from][edge.to] = std::min(lags_[edge.from][edge.to], edge.iterations);
    for (std::size_t over = 0; over < steps; ++over)
      for (std::size_t from = 0; from < steps; ++from)
        for (std::size_t to = 0; to < steps; ++to) lags_[from][to] = std::min(lags_[from][to], lags_[from][over] + lags_[over][to]);
    set_positions();
  }

  /// The least number of iterations by which `to` waits for `from`; `never` or more where it does not.
  int lag(std::size_t from, std::size_t to) const { return lags_[from][to]; }

  /// Whether an iteration has `a` before `b`.
  bool is_before(std::size_t a, std::size_t b) const { return positions_[a] < positions_[b]; }

  static constexpr int never = std::numeric_limits<int>::max() / 4;

 private:
  /// Each step behind all that it waits for, else in their order.
  void set_positions() {
    positions_.assign(lags_.size(), lags_.size());
    for (std::size_t position = 0; position < lags_.size(); ++position) {
      const std::optional<std::size_t> next = next_step();
      DOVETAIL_ASSERT(next.has_value());
      positions_[*next] = position;
    }
  }

  std::optional<std::size_t> next_step() const {
    const auto is_placed = [this](std::size_t step) { return positions_[step] < lags_.size(); };
    for (std::size_t step = 0; step < lags_.size(); ++step) {
      bool ready = !is_placed(step);
      for (std::size_t before = 0; ready && before < lags_.size(); ++before) ready = lags_[before][step] > 0 || is_placed(before);
      if (ready) return step;
    }
    return std::nullopt;
  }

  std::vector<std::vector<int>> lags_;  // [from][to]
  std::vector<std::size_t> positions_;  // [step]
};

class TransferBuilder {
 public:
  TransferBuilder(IterationGraph graph, const Job& job, const Plan& plan, const Conflicts& conflicts)
      : job_(job), plan_(plan), conflicts_(conflicts), precedence_(graph), steps_(graph.steps.size()), graph_(std::move(graph)) {}

  IterationGraph build(const std::vector<HostTransfer>& transfers) {
    transfers_.resize(job_.workflow.tasks.size());
    for (const HostTransfer& transfer : transfers) {
      Transfers& of_task = transfers_[transfer.task];
      (transfer.kind == Step::Kind::load ? of_task.load : of_task.unload) = graph_.steps.size();
      graph_.steps.push_back({transfer.kind, transfer.task, transfer.task});
    }
    for (std::size_t task = 0; task < transfers_.size(); ++task)
      if (transfers_[task].unload) add_unload(task, *transfers_[task].unload);
    for (std::size_t task = 0; task < transfers_.size(); ++task) {
      if (transfers_[task].load) add_load(task, *transfers_[task].load);
      if (!transfers_[task].load && !transfers_[task].unload) continue;
      for (std::size_t step = 0; step < steps_; ++step)
        if (is_in_conflict(task, step)) keep_apart(task, step);
    }
    return std::move(graph_);
  }

 private:
  /// The steps that transfer what a task has in host memory.
  struct Transfers {
    std::optional<std::size_t> load;
    std::optional<std::size_t> unload;
  };

  void add_unload(std::size_t task, std::size_t unload) {
    std::vector<StepEdge> users;
    for (const StepEdge& edge : graph_.edges) {
      const bool uses_weights = edge.to < steps_ && graph_.steps[edge.to].kind == Step::Kind::task && plan_.tasks[task].offload.weights;
      if (edge.from == task && edge.iterations > 0 && edge.to != task && uses_weights) users.push_back({unload, edge.to, edge.iterations});
    }
    graph_.edges.push_back({task, unload, 0});
    graph_.edges.push_back({unload, task, 1});
    graph_.edges.insert(graph_.edges.end(), users.begin(), users.end());
  }

  void add_load(std::size_t task, std::size_t load) {
    std::vector<StepEdge> makers;
    for (const StepEdge& edge : graph_.edges) {
      const bool makes_weights = edge.iterations > 0 || graph_.steps[edge.from].kind == Step::Kind::reallocation;
      if (edge.to == task && makes_weights) makers.push_back({edge.from, load, edge.iterations});
    }
    // A training's own weights are of its last run.
    const auto is_last_run = [task](const StepEdge& maker) { return maker.from == task && maker.iterations == 1; };
    if (std::none_of(makers.begin(), makers.end(), is_last_run)) makers.push_back({task, load, 1});
    graph_.edges.insert(graph_.edges.end(), makers.begin(), makers.end());
    graph_.edges.push_back({load, task, 0});
  }

  bool is_in_conflict(std::size_t task, std::size_t index) const {
    const Step& step = graph_.steps[index];
    const std::vector<bool>& with = conflicts_[task];
    if (step.within || index == task) return false;
    if (step.kind == Step::Kind::task) {
      bool any = with[step.task];
      for (std::size_t member = 0; member < steps_; ++member) any = any || (graph_.steps[member].within == index && with[member]);
      return any;
    }
    const std::vector<cluster::Mesh> meshes = meshes_of(step, job_, plan_);
    const auto is_shared = [&](const cluster::Mesh& mesh) { return cluster::overlap(mesh, plan_.tasks[task].mesh); };
    return (with[step.task] || with[step.train]) && std::any_of(meshes.begin(), meshes.end(), is_shared);
  }

  void keep_apart(std::size_t task, std::size_t step) {
    const int to_task = precedence_.lag(step, task);
    const int to_step = precedence_.lag(task, step);
    const bool is_first = to_task == 0 || (to_step != 0 && precedence_.is_before(step, task));
    if (to_task > (is_first ? 0 : 1)) graph_.edges.push_back({step, task, is_first ? 0 : 1});
    if (to_step > (is_first ? 1 : 0)) graph_.edges.push_back({task, step, is_first ? 1 : 0});
    if (transfers_[task].load) graph_.edges.push_back({step, *transfers_[task].load, is_first ? 0 : 1});
    if (transfers_[task].unload) graph_.edges.push_back({*transfers_[task].unload, step, is_first ? 1 : 0});
  }

  const Job& job_;
  const Plan& plan_;
  const Conflicts& conflicts_;
  const Precedence precedence_;
  const std::size_t steps_;  // without the transfers
  IterationGraph graph_;
  std::vector<Transfers> transfers_;  // [task]
};

}  // namespace

IterationGraph with_host_transfers(IterationGraph graph, const Job& job, const Plan& plan, const std::vector<HostTransfer>& transfers,
                                   const Conflicts& conflicts) {
  return TransferBuilder(std::move(graph), job, plan, conflicts).build(transfers);
}

}  // namespace dovetail::plan
