#include "plan/host_transfers.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/assert.h"

namespace dovetail::plan {
namespace {

/// The dependencies between the activities of a graph.
class Precedence {
 public:
  explicit Precedence(const IterationGraph& graph)
      : lags_(graph.activities.size(), std::vector<int>(graph.activities.size(), never)) {
    const std::size_t activities = graph.activities.size();
    for (const ActivityEdge& edge : graph.edges)
      lags_[edge.from][edge.to] = std::min(lags_[edge.from][edge.to], edge.iterations);
    for (std::size_t over = 0; over < activities; ++over)
      for (std::size_t from = 0; from < activities; ++from)
        for (std::size_t to = 0; to < activities; ++to)
          lags_[from][to] = std::min(lags_[from][to], lags_[from][over] + lags_[over][to]);
    set_positions();
  }

  /// Minimum number of iterations by which `to` waits for `from`; at least `never` if it does not wait.
  int lag(std::size_t from, std::size_t to) const { return lags_[from][to]; }

  /// Whether `a` comes before `b` in an iteration.
  bool is_before(std::size_t a, std::size_t b) const { return positions_[a] < positions_[b]; }

  static constexpr int never = std::numeric_limits<int>::max() / 4;

 private:
  /// Orders activities after their dependencies, and otherwise by index.
  void set_positions() {
    positions_.assign(lags_.size(), lags_.size());
    for (std::size_t position = 0; position < lags_.size(); ++position) {
      const std::optional<std::size_t> next = next_activity();
      DOVETAIL_ASSERT(next.has_value());
      positions_[*next] = position;
    }
  }

  std::optional<std::size_t> next_activity() const {
    const auto is_placed = [this](std::size_t activity) { return positions_[activity] < lags_.size(); };
    for (std::size_t activity = 0; activity < lags_.size(); ++activity) {
      bool ready = !is_placed(activity);
      for (std::size_t before = 0; ready && before < lags_.size(); ++before)
        ready = lags_[before][activity] > 0 || is_placed(before);
      if (ready) return activity;
    }
    return std::nullopt;
  }

  std::vector<std::vector<int>> lags_;  // [from][to]
  std::vector<std::size_t> positions_;  // [activity]
};

class TransferBuilder {
 public:
  TransferBuilder(IterationGraph graph, const Job& job, const Plan& plan, const Conflicts& conflicts)
      : job_(job),
        plan_(plan),
        conflicts_(conflicts),
        precedence_(graph),
        activities_(graph.activities.size()),
        graph_(std::move(graph)) {}

  IterationGraph build(const std::vector<HostTransfer>& transfers) {
    transfers_.resize(job_.workflow.tasks.size());
    for (const HostTransfer& transfer : transfers) {
      Transfers& of_task = transfers_[transfer.task];
      (transfer.kind == Activity::Kind::load ? of_task.load : of_task.unload) = graph_.activities.size();
      graph_.activities.push_back({transfer.kind, transfer.task, transfer.task});
    }
    for (std::size_t task = 0; task < transfers_.size(); ++task)
      if (transfers_[task].unload) add_unload(task, *transfers_[task].unload);
    for (std::size_t task = 0; task < transfers_.size(); ++task) {
      if (transfers_[task].load) add_load(task, *transfers_[task].load);
      if (!transfers_[task].load && !transfers_[task].unload) continue;
      for (std::size_t activity = 0; activity < activities_; ++activity)
        if (is_in_conflict(task, activity)) keep_apart(task, activity);
    }
    return std::move(graph_);
  }

 private:
  /// The host transfers of a task, as indices of activities.
  struct Transfers {
    std::optional<std::size_t> load;
    std::optional<std::size_t> unload;
  };

  void add_unload(std::size_t task, std::size_t unload) {
    std::vector<ActivityEdge> users;
    for (const ActivityEdge& edge : graph_.edges) {
      const bool uses_weights = edge.to < activities_ && graph_.activities[edge.to].kind == Activity::Kind::task &&
                                plan_.tasks[task].offload.weights;
      if (edge.from == task && edge.iterations > 0 && edge.to != task && uses_weights)
        users.push_back({unload, edge.to, edge.iterations});
    }
    graph_.edges.push_back({task, unload, 0});
    graph_.edges.push_back({unload, task, 1});
    graph_.edges.insert(graph_.edges.end(), users.begin(), users.end());
  }

  void add_load(std::size_t task, std::size_t load) {
    std::vector<ActivityEdge> producers;
    for (const ActivityEdge& edge : graph_.edges) {
      const bool makes_weights =
          edge.iterations > 0 || graph_.activities[edge.from].kind == Activity::Kind::reallocation;
      if (edge.to == task && makes_weights) producers.push_back({edge.from, load, edge.iterations});
    }
    // A train task starts from the weights of its last run.
    const auto is_last_run = [task](const ActivityEdge& producer) {
      return producer.from == task && producer.iterations == 1;
    };
    if (std::none_of(producers.begin(), producers.end(), is_last_run)) producers.push_back({task, load, 1});
    graph_.edges.insert(graph_.edges.end(), producers.begin(), producers.end());
    graph_.edges.push_back({load, task, 0});
  }

  bool is_in_conflict(std::size_t task, std::size_t index) const {
    const Activity& activity = graph_.activities[index];
    const std::vector<bool>& with = conflicts_[task];
    if (activity.within || index == task) return false;
    if (activity.kind == Activity::Kind::task) {
      bool any = with[activity.task];
      for (std::size_t member = 0; member < activities_; ++member)
        any = any || (graph_.activities[member].within == index && with[member]);
      return any;
    }
    const std::vector<cluster::Mesh> meshes = meshes_of(activity, job_, plan_);
    const auto is_shared = [&](const cluster::Mesh& mesh) { return cluster::overlap(mesh, plan_.tasks[task].mesh); };
    return (with[activity.task] || with[activity.train]) && std::any_of(meshes.begin(), meshes.end(), is_shared);
  }

  void keep_apart(std::size_t task, std::size_t activity) {
    const int to_task = precedence_.lag(activity, task);
    const int to_activity = precedence_.lag(task, activity);
    const bool is_first = to_task == 0 || (to_activity != 0 && precedence_.is_before(activity, task));
    if (to_task > (is_first ? 0 : 1)) graph_.edges.push_back({activity, task, is_first ? 0 : 1});
    if (to_activity > (is_first ? 1 : 0)) graph_.edges.push_back({task, activity, is_first ? 1 : 0});
    if (transfers_[task].load) graph_.edges.push_back({activity, *transfers_[task].load, is_first ? 0 : 1});
    if (transfers_[task].unload) graph_.edges.push_back({*transfers_[task].unload, activity, is_first ? 1 : 0});
  }

  const Job& job_;
  const Plan& plan_;
  const Conflicts& conflicts_;
  const Precedence precedence_;
  const std::size_t activities_;  // without the transfers
  IterationGraph graph_;
  std::vector<Transfers> transfers_;  // [task]
};

}  // namespace

IterationGraph with_host_transfers(IterationGraph graph, const Job& job, const Plan& plan,
                                   const std::vector<HostTransfer>& transfers, const Conflicts& conflicts) {
  return TransferBuilder(std::move(graph), job, plan, conflicts).build(transfers);
}

}  // namespace dovetail::plan
