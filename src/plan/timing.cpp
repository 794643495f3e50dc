#include "plan/timing.h"

#include <algorithm>
#include <compare>

namespace dovetail::plan {
namespace {

using base::Ticks;

/// Maximum warm-up, in multiples of the iterations that are under way at a time. Most plans repeat immediately. If
/// generation runs ahead of a training that takes nearly as long, their offset changes for a while.
constexpr int max_warm_up = 24;

}  // namespace

/// Runs iteration after iteration until they repeat.
class IterationClock {
 public:
  explicit IterationClock(const IterationGraph& graph)
      : edges_(edges_by_activity(graph.edges, graph.activities.size())) {
    for (const Activity& activity : graph.activities) {
      is_reallocation_.push_back(activity.kind == Activity::Kind::reallocation ? 1 : 0);
      is_host_transfer_.push_back(is_host_transfer(activity) ? 1 : 0);
    }
  }

  void set_early(std::size_t from, std::size_t to, Ticks early) {
    for (ActivityEdge& edge : edges_.out_of[from])
      if (edge.to == to) edge.early = early;
    for (ActivityEdge& edge : edges_.into[to])
      if (edge.from == from) edge.early = early;
  }

  /// Runs iterations until they repeat, or until the maximum is reached. Returns the number of iterations to average.
  std::size_t simulate(const Blocks& blocks, const std::vector<Ticks>& durations) {
    blocks_ = &blocks;
    durations_ = &durations;
    nodes_.clear();
    left_.clear();
    ended_.clear();
    waiting_.clear();
    turns_ = 0;
    repeated_ = false;
    free_.assign(blocks.boundaries.size(), Ticks(0));
    for (std::size_t iteration = 0; iteration < edges_.in_progress; ++iteration) open(Ticks(0));
    while (true) {
      run(take_next());
      while (left_[ended_.size()] == 0) {
        if (const std::size_t length = end_iteration(); length > 0) return length;
      }
    }
  }

  Ticks period(std::size_t length) const {
    const std::size_t last = ended_.size() - 1;
    const auto count = static_cast<std::int64_t>(length);
    const Ticks mean(((ended_[last].time - ended_[last - length].time).count() + count - 1) / count);
    return repeated_ ? mean : std::max(mean, busiest());
  }

  Timing timing(std::size_t length) const {
    const std::size_t last = ended_.size() - 1;
    Timing timing;
    timing.period = period(length);
    Ticks first = nodes_[index_of(last, 0)].time.begin;
    for (std::size_t activity = 0; activity < activities(); ++activity)
      if (is_host_transfer_[activity] == 0) first = std::min(first, nodes_[index_of(last, activity)].time.begin);
    for (std::size_t activity = 0; activity < activities(); ++activity) {
      const ActivityTime& time = nodes_[index_of(last, activity)].time;
      timing.activities.push_back({time.begin - first, time.end - first});
    }
    return timing;
  }

 private:
  /// An activity of one iteration.
  struct Node {
    ActivityTime time;
    Ticks ready;
    std::size_t waits_for = 0;
    std::size_t turn = 0;  ///< number of nodes that have run, including this one; 0 before it runs
  };

  std::size_t activities() const { return is_reallocation_.size(); }

  /// Work of the busiest device in an iteration.
  Ticks busiest() const {
    std::vector<Ticks> work(free_.size());
    for (std::size_t activity = 0; activity < activities(); ++activity)
      for (const BlockRange& range : blocks_->of[activity])
        for (std::size_t block = range.begin; block < range.end; ++block) work[block] += (*durations_)[activity];
    return work.empty() ? Ticks(0) : *std::max_element(work.begin(), work.end());
  }

  std::size_t index_of(std::size_t iteration, std::size_t activity) const {
    return iteration * activities() + activity;
  }

  /// Adds the next iteration, whose activities start at `time` at the earliest.
  void open(Ticks time) {
    const std::size_t iteration = left_.size();
    left_.push_back(activities());
    nodes_.resize(nodes_.size() + activities());
    for (std::size_t activity = 0; activity < activities(); ++activity) {
      Node& node = nodes_[index_of(iteration, activity)];
      node.ready = time;
      for (const ActivityEdge& edge : edges_.into[activity]) {
        const auto lag = static_cast<std::size_t>(edge.iterations);
        if (lag > iteration) continue;
        const Node& from = nodes_[index_of(iteration - lag, edge.from)];
        if (from.turn == 0) ++node.waits_for;
        if (from.turn != 0) node.ready = std::max(node.ready, release_time(edge, from.time.end));
      }
      if (node.waits_for == 0) waiting_.push_back(index_of(iteration, activity));
    }
  }

  /// Start time of a node, and its priority among nodes with the same start.
  struct Key {
    Ticks begin;
    StartPriority turn;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  Key key_of(std::size_t index) const {
    const std::size_t activity = index % activities();
    const BlockRange& second = blocks_->of[activity][1];
    return {begin_of(index), {!is_urgent(is_reallocation_[activity] != 0, second.begin != second.end), index}};
  }

  std::size_t take_next() {
    std::size_t best = 0;
    Key best_key = key_of(waiting_[0]);
    for (std::size_t position = 1; position < waiting_.size(); ++position) {
      const Key key = key_of(waiting_[position]);
      if (key < best_key) {
        best = position;
        best_key = key;
      }
    }
    waiting_[best] = waiting_.back();
    waiting_.pop_back();
    return best_key.turn.node;
  }

  Ticks begin_of(std::size_t index) const {
    Ticks begin = nodes_[index].ready;
    for (const BlockRange& range : blocks_->of[index % activities()])
      for (std::size_t block = range.begin; block < range.end; ++block) begin = std::max(begin, free_[block]);
    return begin;
  }

  void run(std::size_t index) {
    const std::size_t activity = index % activities();
    Node& node = nodes_[index];
    const Ticks begin = begin_of(index);
    node.time = {begin, begin + (*durations_)[activity]};
    for (const BlockRange& range : blocks_->of[activity])
      for (std::size_t block = range.begin; block < range.end; ++block) free_[block] = node.time.end;
    node.turn = ++turns_;
    --left_[index / activities()];
    for (const ActivityEdge& edge : edges_.out_of[activity]) {
      const std::size_t next = index_of(index / activities() + static_cast<std::size_t>(edge.iterations), edge.to);
      if (next >= nodes_.size()) continue;
      nodes_[next].ready = std::max(nodes_[next].ready, release_time(edge, node.time.end));
      if (--nodes_[next].waits_for == 0) waiting_.push_back(next);
    }
  }

  /// Ends the oldest iteration. Returns the number of iterations that repeat. If they do not repeat within the maximum,
  /// returns the number to average. Otherwise adds an iteration and returns 0.
  std::size_t end_iteration() {
    const std::size_t iteration = ended_.size();
    Ticks end = ended_.empty() ? Ticks(0) : ended_.back().time;
    for (std::size_t activity = 0; activity < activities(); ++activity)
      end = std::max(end, nodes_[index_of(iteration, activity)].time.end);
    ended_.push_back({end, turns_});
    const std::size_t in_progress = edges_.in_progress;
    for (std::size_t length = 1; length + in_progress <= iteration + 1 && length <= 2 * in_progress; ++length)
      if (repeats(length)) {
        repeated_ = true;
        return length;
      }
    if (iteration + 1 == in_progress * max_warm_up) return (in_progress - 1) * max_warm_up / 2;
    open(end);
    return 0;
  }

  /// Whether the state equals the state `length` iterations ago, shifted in time, so that everything repeats. Ignores
  /// iterations that ended before any iteration under way began.
  bool repeats(std::size_t length) const {
    const std::size_t last = ended_.size() - 1;
    const Ended& now = ended_[last];
    const Ended& then = ended_[last - length];
    const Ticks later = now.time - then.time;
    const std::size_t in_progress = edges_.in_progress;
    for (std::size_t index = index_of(last + 1 - in_progress, 0); index < index_of(last + in_progress, 0); ++index) {
      const Node& node = nodes_[index];
      const Node& before = nodes_[index - length * activities()];
      const bool has_run = node.turn != 0;
      if (has_run != (before.turn != 0 && before.turn <= then.turns)) return false;
      if (has_run && node.time.begin - before.time.begin != later) return false;
    }
    return true;
  }

  /// Time at which an iteration and all before it have ended.
  struct Ended {
    Ticks time;
    std::size_t turns = 0;  ///< number of nodes that had run by then
  };

  const Blocks* blocks_ = nullptr;
  const std::vector<Ticks>* durations_ = nullptr;
  std::vector<char> is_reallocation_;   // [activity]
  std::vector<char> is_host_transfer_;  // [activity]
  EdgesByActivity edges_;
  std::vector<Node> nodes_;        // [iteration * activities + activity]
  std::vector<std::size_t> left_;  // [iteration] activities that have not run
  std::vector<Ended> ended_;       // [iteration]
  std::vector<Ticks> free_;        // [block]
  std::size_t turns_ = 0;
  bool repeated_ = false;
  std::vector<std::size_t> waiting_;  // nodes whose predecessors have ended
};

void find_blocks(const std::vector<std::array<cluster::Mesh, 2>>& meshes, Blocks& blocks) {
  std::vector<int>& boundaries = blocks.boundaries;
  boundaries.clear();
  for (const auto& of_activity : meshes)
    for (const cluster::Mesh& mesh : of_activity)
      if (mesh.count > 0) boundaries.insert(boundaries.end(), {mesh.first, mesh.first + mesh.count});
  std::sort(boundaries.begin(), boundaries.end());
  boundaries.erase(std::unique(boundaries.begin(), boundaries.end()), boundaries.end());
  const auto index_of = [&](int boundary) {
    return static_cast<std::size_t>(std::lower_bound(boundaries.begin(), boundaries.end(), boundary) -
                                    boundaries.begin());
  };
  blocks.of.assign(meshes.size(), {});
  for (std::size_t activity = 0; activity < meshes.size(); ++activity)
    for (std::size_t part = 0; part < 2; ++part)
      if (const cluster::Mesh& mesh = meshes[activity][part]; mesh.count > 0)
        blocks.of[activity][part] = {index_of(mesh.first), index_of(mesh.first + mesh.count)};
}

Ticks with_overheads(Ticks time, Ticks period, Ticks overhead) {
  std::int64_t periods = time.count() / period.count();
  if (time.count() % period.count() < 0) --periods;
  return time + overhead * periods;
}

IterationTimer::IterationTimer(const IterationGraph& graph) : clock_(std::make_unique<IterationClock>(graph)) {}
IterationTimer::~IterationTimer() = default;
IterationTimer::IterationTimer(IterationTimer&&) noexcept = default;
IterationTimer& IterationTimer::operator=(IterationTimer&&) noexcept = default;

void IterationTimer::release(const IterationGraph& graph, std::size_t leader, Ticks early) {
  for (const ActivityEdge& edge : graph.edges)
    if (is_released(graph, leader, edge)) clock_->set_early(edge.from, edge.to, early);
}

Timing IterationTimer::time(const Blocks& blocks, const std::vector<Ticks>& durations) {
  return clock_->timing(clock_->simulate(blocks, durations));
}

Ticks IterationTimer::period(const Blocks& blocks, const std::vector<Ticks>& durations) {
  return clock_->period(clock_->simulate(blocks, durations));
}

Timing time_iterations(const IterationGraph& graph, const Job& job, const Plan& plan,
                       const std::vector<Ticks>& durations) {
  std::vector<std::array<cluster::Mesh, 2>> meshes;
  for (const Activity& activity : graph.activities) {
    const std::vector<cluster::Mesh> of_activity = meshes_of(activity, job, plan);
    meshes.emplace_back();
    std::copy(of_activity.begin(), of_activity.end(), meshes.back().begin());
    // The link of a device to host memory is represented by the device's index plus the number of devices.
    if (const cluster::Mesh links = host_links_of(activity, plan); links.count > 0)
      meshes.back()[0] = {cluster::device_count(job.cluster) + links.first, links.count};
  }
  Blocks blocks;
  find_blocks(meshes, blocks);
  return IterationTimer(graph).time(blocks, durations);
}

EdgesByActivity edges_by_activity(const std::vector<ActivityEdge>& edges, std::size_t activities) {
  EdgesByActivity by_activity{std::vector<std::vector<ActivityEdge>>(activities),
                              std::vector<std::vector<ActivityEdge>>(activities)};
  int longest = 1;
  for (const ActivityEdge& edge : edges) {
    by_activity.into[edge.to].push_back(edge);
    by_activity.out_of[edge.from].push_back(edge);
    longest = std::max(longest, edge.iterations);
  }
  by_activity.in_progress = static_cast<std::size_t>(longest) + 1;
  return by_activity;
}

}  // namespace dovetail::plan
