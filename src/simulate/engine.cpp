#include "simulate/engine.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/assert.h"
#include "plan/timing.h"

namespace dovetail::simulate {
namespace {

using base::Ticks;

enum class State : std::uint8_t { waiting, preparing, sending, ended };

/// State of one activity of one iteration.
struct Node {
  State state = State::waiting;
  std::size_t waits_for = 0;  ///< predecessors that have not ended
  std::size_t arriving = 0;   ///< transfers that have not arrived
  Ticks prepared;             ///< end of its duration
};

/// A pending result that an early edge waits for.
struct Early {
  Ticks time;  ///< at which it is available
  std::size_t node = 0;
  plan::ActivityEdge edge;
};

/// State at the end of an iteration that determines everything after it.
struct Moment {
  Ticks time;
  /// Activities of later iterations: state, time since the activity began, number of transfers still to arrive.
  std::vector<std::tuple<State, Ticks, std::size_t>> in_progress;

  bool like(const Moment& other) const { return in_progress == other.in_progress; }
};

class Engine {
 public:
  Engine(const Activities& activities, std::size_t max_iterations, TransferCache& cache,
         const parallel::Cancellation* cancellation)
      : activities_(activities),
        most_(max_iterations),
        cancellation_(cancellation),
        edges_(plan::edges_by_activity(activities.edges, activities.items.size())),
        traffic_(activities.links, &cache) {
    std::vector<std::array<cluster::Mesh, 2>> meshes;
    for (const Activities::Item& item : activities.items) meshes.push_back(item.devices);
    plan::find_blocks(meshes, blocks_);
    holder_.assign(blocks_.boundaries.size(), no_activity);
    released_by_.assign(blocks_.boundaries.size(), no_activity);
  }

  SimulatedIterations run() {
    for (std::size_t iteration = 0; iteration < edges_.in_progress; ++iteration) open();
    while (!done()) {
      while (begin_one()) {
      }
      if (done()) break;
      advance();
    }
    return std::move(result_);
  }

 private:
  std::size_t size() const { return activities_.items.size(); }
  const Activities::Item& item_of(std::size_t node) const { return activities_.items[node % size()]; }
  bool done() const { return stop_ && moments_.size() > *stop_; }

  /// Admits the next iteration.
  void open() {
    const std::size_t first = nodes_.size();
    nodes_.resize(first + size());
    result_.runs.resize(first + size(), {Ticks(0), Ticks(-1), {}, no_activity});
    for (std::size_t item = 0; item < size(); ++item) {
      for (const plan::ActivityEdge& edge : edges_.into[item]) {
        const auto back = static_cast<std::size_t>(edge.iterations) * size();
        if (back <= first && !has_made(first - back + edge.from, edge)) ++nodes_[first + item].waits_for;
      }
      if (nodes_[first + item].waits_for == 0) ready_.push_back(first + item);
    }
  }

  /// Returns the time at which the node satisfies the edge, or nullopt if not known yet.
  std::optional<Ticks> made_at(std::size_t node, const plan::ActivityEdge& edge) const {
    if (nodes_[node].state == State::ended) return plan::release_time(edge, result_.runs[node].end);
    if (nodes_[node].state == State::waiting || edge.early == Ticks(0)) return std::nullopt;
    return plan::release_time(edge, nodes_[node].prepared);
  }
  bool has_made(std::size_t node, const plan::ActivityEdge& edge) const {
    const std::optional<Ticks> made = made_at(node, edge);
    return made && *made <= now_;
  }

  template <class Action>
  void for_each_block(std::size_t node, Action action) {
    for (const plan::BlockRange& range : blocks_.of[node % size()])
      for (std::size_t block = range.begin; block < range.end; ++block) action(block);
  }

  bool is_free(std::size_t node) {
    bool free = true;
    for_each_block(node, [&](std::size_t block) { free = free && holder_[block] == no_activity; });
    return free;
  }

  /// Begins the first activity that can begin. Returns false if none can.
  bool begin_one() {
    std::size_t best = no_activity;
    const auto turn_of = [this](std::size_t node) { return plan::StartPriority{!item_of(node).urgent, node}; };
    for (const std::size_t node : ready_) {
      if (best != no_activity && turn_of(best) < turn_of(node)) continue;
      if (is_free(node)) best = node;
    }
    if (best == no_activity) return false;
    std::erase(ready_, best);
    begin(best);
    return true;
  }

  void begin(std::size_t node) {
    ActivityRun& activity_run = result_.runs[node];
    activity_run.begin = now_;
    activity_run.critical_predecessor = awaited(node);
    activity_run.arrivals.resize(item_of(node).transfers.size());
    for_each_block(node, [&](std::size_t block) { holder_[block] = node; });
    nodes_[node].state = State::preparing;
    nodes_[node].prepared = now_ + item_of(node).duration;
    running_.push_back(node);
    for (const plan::ActivityEdge& edge : edges_.out_of[node % size()])
      if (edge.early > Ticks(0)) early_.push_back({plan::release_time(edge, nodes_[node].prepared), node, edge});
    if (nodes_[node].prepared == now_ || has_early()) settle();
  }

  /// Returns the activity that ended now and let `node` begin.
  std::size_t awaited(std::size_t node) {
    const std::size_t iteration = node / size();
    for (const plan::ActivityEdge& edge : edges_.into[node % size()]) {
      const auto lag = static_cast<std::size_t>(edge.iterations);
      if (lag > iteration) continue;
      const std::size_t from = (iteration - lag) * size() + edge.from;
      if (made_at(from, edge) == now_) return from;
    }
    std::size_t holder = no_activity;
    for_each_block(node, [&](std::size_t block) {
      const std::size_t released = released_by_[block];
      if (released != no_activity && result_.runs[released].end == now_) holder = std::min(holder, released);
    });
    if (holder != no_activity || now_ == Ticks(0)) return holder;
    return last_ended_;
  }

  /// Begins the transfers of prepared activities and ends those whose transfers have arrived, in order of nodes.
  void settle() {
    std::sort(running_.begin(), running_.end());
    const std::vector<std::size_t> running = running_;
    for (const std::size_t node : running) {
      if (nodes_[node].state == State::preparing && nodes_[node].prepared == now_) send(node);
      if (nodes_[node].state == State::sending && nodes_[node].arriving == 0) end(node);
    }
    pass_on_early();
    while (iteration_has_ended()) {
    }
  }

  void send(std::size_t node) {
    nodes_[node].state = State::sending;
    const std::vector<Transfer>& transfers = item_of(node).transfers;
    for (std::size_t index = 0; index < transfers.size(); ++index) {
      result_.runs[node].arrivals[index] = now_;
      if (transfers[index].uncontended == Ticks(0)) continue;
      ++nodes_[node].arriving;
      traffic_.begin(transfers[index], sent_.size());
      sent_.emplace_back(node, index);
    }
  }

  void end(std::size_t node) {
    nodes_[node].state = State::ended;
    result_.runs[node].end = now_;
    last_ended_ = node;
    std::erase(running_, node);
    for_each_block(node, [&](std::size_t block) {
      holder_[block] = no_activity;
      released_by_[block] = node;
    });
    for (const plan::ActivityEdge& edge : edges_.out_of[node % size()])
      if (edge.early == Ticks(0)) pass_on(node, edge);
  }

  void pass_on(std::size_t node, const plan::ActivityEdge& edge) {
    const std::size_t next = (node / size() + static_cast<std::size_t>(edge.iterations)) * size() + edge.to;
    if (next < nodes_.size() && --nodes_[next].waits_for == 0) ready_.push_back(next);
  }

  bool has_early() const {
    return std::any_of(early_.begin(), early_.end(), [this](const Early& early) { return early.time == now_; });
  }

  /// Satisfies the early edges whose results become available now.
  void pass_on_early() {
    for (const Early& early : early_)
      if (early.time == now_) pass_on(early.node, early.edge);
    std::erase_if(early_, [this](const Early& early) { return early.time == now_; });
  }

  /// Advances to the next moment at which something ends, arrives or is prepared.
  void advance() {
    std::optional<Ticks> next;
    for (const std::size_t node : running_)
      if (nodes_[node].state == State::preparing)
        next = next ? std::min(*next, nodes_[node].prepared) : nodes_[node].prepared;
    for (const Early& early : early_) next = next ? std::min(*next, early.time) : early.time;
    if (!traffic_.empty()) next = next ? std::min(*next, traffic_.next_arrival()) : traffic_.next_arrival();
    DOVETAIL_ASSERT(next && *next >= now_);
    now_ = *next;
    for (const std::size_t name : traffic_.advance(now_)) {
      const auto [node, index] = sent_[name];
      result_.runs[node].arrivals[index] = now_;
      --nodes_[node].arriving;
    }
    settle();
  }

  /// Ends the oldest open iteration if all its activities have ended, and admits another. Returns whether it did.
  bool iteration_has_ended() {
    const std::size_t iteration = moments_.size();
    for (std::size_t node = iteration * size(); node < (iteration + 1) * size(); ++node)
      if (nodes_[node].state != State::ended) return false;
    moments_.push_back(moment(iteration));
    if (!stop_) find_end(iteration);
    open();
    return true;
  }

  Moment moment(std::size_t iteration) const {
    Moment moment{now_, {}};
    for (std::size_t node = (iteration + 1) * size(); node < nodes_.size(); ++node) {
      const State state = nodes_[node].state;
      // Ended activities no longer count, and waiting ones have not begun.
      const bool begun = state == State::preparing || state == State::sending;
      moment.in_progress.emplace_back(state, begun ? now_ - result_.runs[node].begin : Ticks(0), nodes_[node].arriving);
    }
    return moment;
  }

  /// Stops if the last iterations repeat those before them, or if the limit is reached.
  void find_end(std::size_t iteration) {
    for (std::size_t length = 1; length <= iteration && length <= 2 * edges_.in_progress; ++length)
      if (moments_[iteration].like(moments_[iteration - length])) return stop_at(iteration, length, true);
    if (iteration + 1 >= most_ || (iteration > 0 && parallel::is_requested(cancellation_)))
      stop_at(iteration, std::max<std::size_t>(1, iteration / 2), false);
  }

  void stop_at(std::size_t iteration, std::size_t length, bool steady) {
    result_.begin = moments_[iteration - length].time;
    result_.end = moments_[iteration].time;
    result_.iterations = length;
    result_.last = iteration;
    result_.steady = steady;
    stop_ = iteration + length + edges_.in_progress;
  }

  const Activities& activities_;
  std::size_t most_;
  const parallel::Cancellation* cancellation_;
  plan::EdgesByActivity edges_;
  plan::Blocks blocks_;
  std::vector<std::size_t> holder_;       // [block] node that holds it
  std::vector<std::size_t> released_by_;  // [block] last node that held it
  Ticks now_;
  Traffic traffic_;
  std::vector<std::pair<std::size_t, std::size_t>> sent_;  // [name] node and transfer
  std::vector<Node> nodes_;                                // [iteration * items + item]
  std::vector<std::size_t> ready_;                         // nodes that wait only for devices
  std::vector<std::size_t> running_;
  std::vector<Early> early_;
  std::size_t last_ended_ = no_activity;
  std::vector<Moment> moments_;  // [iteration] state at its end
  std::optional<std::size_t> stop_;
  SimulatedIterations result_;
};

}  // namespace

Ticks SimulatedIterations::period() const {
  const auto count = static_cast<std::int64_t>(iterations);
  return Ticks(((end - begin).count() + count - 1) / count);
}

SimulatedIterations simulate_iterations(const Activities& activities, std::size_t max_iterations, TransferCache* cache,
                                        const parallel::Cancellation* cancellation) {
  DOVETAIL_ASSERT(!activities.items.empty() && max_iterations >= 2);
  TransferCache own;
  return Engine(activities, max_iterations, cache != nullptr ? *cache : own, cancellation).run();
}

}  // namespace dovetail::simulate
