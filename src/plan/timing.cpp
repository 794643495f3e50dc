#include "plan/timing.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace dovetail::plan {
namespace {

using base::Ticks;

/// How long to wait until iterations repeat, in multiples of those that are under way at a time. Most do at once; where generation runs
/// ahead of a training that takes nearly as long, it drifts for a while.
constexpr int longest_warm_up = 24;

/// Devices that all steps use alike, in place of the devices themselves: a plan has few, whatever the cluster.
struct Blocks {
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::vector<std::vector<Range>> of;  ///< [step]
  std::size_t count = 0;
};

Blocks blocks_of(const IterationGraph& graph, const Job& job, const Plan& plan) {
  std::vector<std::vector<cluster::Mesh>> meshes;
  std::vector<int> borders;
  for (const Step& step : graph.steps) {
    meshes.push_back(meshes_of(step, job, plan));
    for (const cluster::Mesh& mesh : meshes.back()) borders.insert(borders.end(), {mesh.first, mesh.first + mesh.count});
  }
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  const auto index_of = [&](int border) {
    return static_cast<std::size_t>(std::lower_bound(borders.begin(), borders.end(), border) - borders.begin());
  };
  Blocks blocks;
  blocks.count = borders.size();
  for (const auto& of_step : meshes) {
    blocks.of.emplace_back();
    for (const cluster::Mesh& mesh : of_step) blocks.of.back().push_back({index_of(mesh.first), index_of(mesh.first + mesh.count)});
  }
  return blocks;
}

/// Plays iteration after iteration until they repeat.
class Player {
 public:
  Player(const IterationGraph& graph, const Blocks& blocks, const std::vector<Ticks>& durations)
      : graph_(graph), blocks_(blocks), durations_(durations), into_(graph.steps.size()), out_of_(graph.steps.size()), free_(blocks.count) {
    int lag = 1;
    for (const StepEdge& edge : graph.edges) {
      into_[edge.to].push_back(edge);
      out_of_[edge.from].push_back(edge);
      lag = std::max(lag, edge.iterations);
    }
    under_way_ = lag + 1;
  }

  Timing play() {
    for (int iteration = 0; iteration < under_way_; ++iteration) open(Ticks(0));
    while (true) {
      const auto next =
          std::min_element(waiting_.begin(), waiting_.end(), [this](std::size_t a, std::size_t b) { return key_of(a) < key_of(b); });
      const std::size_t node = *next;
      waiting_.erase(next);
      run(node);
      while (left_[ended_.size()] == 0) {
        if (const auto timing = end_iteration()) return *timing;
      }
    }
  }

 private:
  /// A step of one iteration.
  struct Node {
    StepTime time;
    Ticks ready;
    std::size_t waits_for = 0;
    std::size_t turn = 0;  ///< how many have run with it; 0 while it has not
  };

  std::size_t steps() const { return graph_.steps.size(); }
  std::size_t index_of(std::size_t iteration, std::size_t step) const { return iteration * steps() + step; }

  /// Begins with the next iteration at `time` at the earliest.
  void open(Ticks time) {
    const std::size_t iteration = left_.size();
    left_.push_back(steps());
    nodes_.resize(nodes_.size() + steps());
    for (std::size_t step = 0; step < steps(); ++step) {
      Node& node = nodes_[index_of(iteration, step)];
      node.ready = time;
      for (const StepEdge& edge : into_[step]) {
        const auto lag = static_cast<std::size_t>(edge.iterations);
        if (lag > iteration) continue;
        const Node& from = nodes_[index_of(iteration - lag, edge.from)];
        if (from.turn == 0) ++node.waits_for;
        if (from.turn != 0) node.ready = std::max(node.ready, from.time.end);
      }
      if (node.waits_for == 0) waiting_.push_back(index_of(iteration, step));
    }
  }

  /// When a step can start, and which goes first of those that can at the same time.
  std::tuple<Ticks, bool, std::size_t> key_of(std::size_t index) const {
    const std::size_t step = index % steps();
    const bool apart = graph_.steps[step].kind == Step::Kind::reallocation && blocks_.of[step].size() > 1;
    return {begin_of(index), !apart, index};
  }

  Ticks begin_of(std::size_t index) const {
    Ticks begin = nodes_[index].ready;
    for (const auto& [first, last] : blocks_.of[index % steps()])
      for (std::size_t block = first; block < last; ++block) begin = std::max(begin, free_[block]);
    return begin;
  }

  void run(std::size_t index) {
    const std::size_t step = index % steps();
    Node& node = nodes_[index];
    const Ticks begin = begin_of(index);
    node.time = {begin, begin + durations_[step]};
    for (const auto& [first, last] : blocks_.of[step])
      for (std::size_t block = first; block < last; ++block) free_[block] = node.time.end;
    node.turn = ++turns_;
    --left_[index / steps()];
    for (const StepEdge& edge : out_of_[step]) {
      const std::size_t next = index_of(index / steps() + static_cast<std::size_t>(edge.iterations), edge.to);
      if (next >= nodes_.size()) continue;
      nodes_[next].ready = std::max(nodes_[next].ready, node.time.end);
      if (--nodes_[next].waits_for == 0) waiting_.push_back(next);
    }
  }

  /// All of the next iteration has run. The answer, if iterations repeat or have not for too long; else another one is let in.
  std::optional<Timing> end_iteration() {
    const std::size_t iteration = ended_.size();
    Ticks end = ended_.empty() ? Ticks(0) : ended_.back().time;
    for (std::size_t step = 0; step < steps(); ++step) end = std::max(end, nodes_[index_of(iteration, step)].time.end);
    ended_.push_back({end, turns_});
    const auto under_way = static_cast<std::size_t>(under_way_);
    for (std::size_t length = 1; length + under_way <= iteration + 1 && length <= 2 * under_way; ++length)
      if (repeats(length)) return timing_of(length);
    if (iteration + 1 == under_way * longest_warm_up) return timing_of((under_way - 1) * longest_warm_up / 2);
    open(end);
    return std::nullopt;
  }

  /// Whether all that what comes depends on is as it was `length` iterations ago, only later: then all goes on like that. Iterations that
  /// ended before any that was under way with the last one are past.
  bool repeats(std::size_t length) const {
    const std::size_t last = ended_.size() - 1;
    const Ended& now = ended_[last];
    const Ended& then = ended_[last - length];
    const Ticks later = now.time - then.time;
    const auto under_way = static_cast<std::size_t>(under_way_);
    for (std::size_t index = index_of(last + 1 - under_way, 0); index < index_of(last + under_way, 0); ++index) {
      const Node& node = nodes_[index];
      const Node& before = nodes_[index - length * steps()];
      const bool has_run = node.turn != 0;
      if (has_run != (before.turn != 0 && before.turn <= then.turns)) return false;
      if (has_run && node.time.begin - before.time.begin != later) return false;
    }
    return true;
  }

  Timing timing_of(std::size_t length) const {
    const std::size_t last = ended_.size() - 1;
    const auto count = static_cast<std::int64_t>(length);
    Timing timing;
    timing.period = Ticks(((ended_[last].time - ended_[last - length].time).count() + count - 1) / count);
    Ticks first = nodes_[index_of(last, 0)].time.begin;
    for (std::size_t step = 0; step < steps(); ++step) first = std::min(first, nodes_[index_of(last, step)].time.begin);
    for (std::size_t step = 0; step < steps(); ++step) {
      const StepTime& time = nodes_[index_of(last, step)].time;
      timing.steps.push_back({time.begin - first, time.end - first});
    }
    return timing;
  }

  /// An iteration that has ended, with all before it.
  struct Ended {
    Ticks time;
    std::size_t turns = 0;  ///< nodes that had run by then
  };

  const IterationGraph& graph_;
  const Blocks& blocks_;
  const std::vector<Ticks>& durations_;
  int under_way_ = 2;
  std::vector<std::vector<StepEdge>> into_;    // [step]
  std::vector<std::vector<StepEdge>> out_of_;  // [step]
  std::vector<Node> nodes_;                    // [iteration * steps + step]
  std::vector<std::size_t> left_;              // [iteration] steps that have not run
  std::vector<Ended> ended_;                   // [iteration]
  std::vector<Ticks> free_;                    // [block]
  std::size_t turns_ = 0;
  std::vector<std::size_t> waiting_;  // nodes whose predecessors have ended
};

}  // namespace

Timing time_iterations(const IterationGraph& graph, const Job& job, const Plan& plan, const std::vector<Ticks>& durations) {
  const Blocks blocks = blocks_of(graph, job, plan);
  return Player(graph, blocks, durations).play();
}

}  // namespace dovetail::plan
