// A schedule that changes by swaps of neighbours on a device: the disjunctive graph with the longest path before and behind every op.
//
// Swapping two neighbours of a device changes only the paths through them, so whether the new makespan stays within a limit is known
// from the heads and tails of their neighbours, in constant time; only a swap that is made costs an update, of the few ops whose paths
// it changes. Memory depends on the order alone: a swap changes the level between the two, and nothing else. Source: neighbourhoods
// for job shops (van Laarhoven, Aarts, Lenstra 1992; Taillard 1994), with memory as a level of each prefix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "pipeline/op_graph.h"
#include "pipeline/schedule.h"

namespace dovetail::fuse {

/// The candidate of a walk. Times are ticks, levels millionths: plain numbers, because this is the innermost loop of the searches.
/// An op is its OpId's number. Like ops never change places: micro-batches are alike, so that no better orders exist.
class SwapWalk {
 public:
  /// An op, or a joint: what has more than two predecessors or successors has some by way of joints, which last no time, on no device.
  using Node = std::int32_t;

  /// What a swap would give, if it makes no cycle: the times of the two after it, and the longest path through either of them.
  struct Trial {
    std::int64_t head_first;
    std::int64_t head_second;
    std::int64_t tail_first;
    std::int64_t tail_second;
    std::int64_t longest;
  };

  /// Starts from `order`. REQUIRES: it is feasible, has no barriers, and like ops stand in the order of their micro-batches.
  SwapWalk(const pipeline::OpGraph& graph, const pipeline::Order& order);

  /// How many ops there are; the op after an op on its device is next(op), or none.
  std::uint32_t ops() const { return static_cast<std::uint32_t>(ops_); }
  Node next(Node op) const { return at(op).next; }
  bool is_none(Node node) const { return node >= ops_; }
  int device(Node op) const { return device_[index(op)]; }
  int devices() const { return static_cast<int>(last_.size()); }
  /// Whether two ops are of one (pipeline, stage, kind): a swap would change nothing.
  bool alike(Node a, Node b) const { return class_[index(a)] == class_[index(b)]; }

  /// What is held on the op's device after its start (F) or end (others).
  std::int64_t level(Node op) const { return at(op).level; }
  /// What level(first) becomes, as level(second), when `first` and its next change places. No other level changes.
  std::int64_t level_between(Node first, Node second) const { return at(first).level - at(first).memory + at(second).memory; }
  /// The largest level of any op.
  std::int64_t peak() const;
  std::int64_t makespan() const { return makespan_; }
  std::int64_t head(Node op) const { return at(op).head; }
  /// Longest path from the start of `op` to the end of everything: its own duration is counted.
  std::int64_t tail(Node op) const { return at(op).tail; }

  /// The swap of `first` with its next, `second`, tried. If trial.longest > makespan(), it is the makespan after the swap exactly; else
  /// the makespan does not grow.
  Trial try_swap(Node first, Node second) const {
    const NodeData& a = at(first);
    const NodeData& b = at(second);
    Trial trial;
    trial.head_second = std::max(head_by_graph(second), end(a.previous));
    trial.head_first = std::max(head_by_graph(first), trial.head_second + b.duration);
    trial.tail_first = a.duration + std::max(tail_by_graph(first), at(b.next).tail);
    trial.tail_second = b.duration + std::max(tail_by_graph(second), trial.tail_first);
    trial.longest = std::max(trial.head_first + trial.tail_first, trial.head_second + trial.tail_second);
    return trial;
  }

  /// Whether both predecessors of `second` in the graph start before `first` ends. Then the swap makes no cycle, and delays `first` by
  /// not much more than the duration of `second`.
  bool is_prompt(Node first, Node second) const {
    const NodeData& b = at(second);
    if (b.before[0] == first || b.before[1] == first) return false;
    // Whatever `first` leads to starts after its end.
    const std::int64_t end_first = end(first);
    return (b.before[0] >= source_ || at(b.before[0]).head < end_first) && (b.before[1] >= source_ || at(b.before[1]).head < end_first);
  }
  /// Whether the swap would make an op wait for itself: a path leads from `first` to `second` beside the one on the device.
  bool makes_cycle(Node first, Node second) {
    const NodeData& b = at(second);
    if (b.before[0] == first || b.before[1] == first) return true;
    return !is_prompt(first, second) && leads_to_predecessor(first, second);
  }

  /// Makes the swap that was tried. REQUIRES: `trial` is try_swap(first, second), and it makes no cycle.
  void swap(Node first, Node second, const Trial& trial);

  /// The order as it is now.
  pipeline::Order order() const;
  /// Counts the levels of each device from `floor` ([device]) on, from the next reset: to compare levels with unequal capacities.
  void set_floor(std::vector<std::int64_t> floor) { floor_ = std::move(floor); }
  /// Goes on from another order of the same ops.
  void reset(const pipeline::Order& order);

 private:
  /// One cache line.
  struct alignas(64) NodeData {
    std::int64_t head = 0;
    std::int64_t tail = 0;
    std::int64_t duration = 0;
    std::int64_t level = 0;
    std::int64_t memory = 0;  // level after it less level before it
    Node previous = 0;        // on the device
    Node next = 0;
    Node before[2] = {0, 0};  // in the graph; only the first may have a lag
    Node after[2] = {0, 0};
  };

  static std::size_t index(Node node) { return static_cast<std::size_t>(node); }
  const NodeData& at(Node node) const { return nodes_[index(node)]; }
  NodeData& at(Node node) { return nodes_[index(node)]; }
  std::int64_t end(Node node) const { return at(node).head + at(node).duration; }
  std::int64_t lag_before(Node node) const { return has_lags_ ? lag_before_[index(node)] : 0; }
  std::int64_t lag_after(Node node) const { return has_lags_ ? lag_after_[index(node)] : 0; }
  std::int64_t head_by_graph(Node node) const {
    const NodeData& data = at(node);
    return std::max(end(data.before[0]) + lag_before(node), end(data.before[1]));
  }
  std::int64_t tail_by_graph(Node node) const {
    const NodeData& data = at(node);
    return std::max(at(data.after[0]).tail + lag_after(node), at(data.after[1]).tail);
  }

  void push_after(Node node, std::int64_t old_head, bool with_next);
  void push_before(Node node, std::int64_t old_tail, bool with_previous);
  /// Whether a node is queued is as good as random: a branch on it would cost more than all the rest. REQUIRES: make_room().
  void push_if(Node node, bool wanted) {
    queue_[queued_] = node;
    queued_ += wanted ? 1 : 0;
  }
  /// For three nodes.
  void make_room() {
    if (queued_ + 3 > queue_.size()) queue_.resize(2 * queue_.size());
  }
  void update_heads();
  void update_tails();
  bool leads_to_predecessor(Node first, Node second);
  std::vector<Node> topological_order() const;

  std::vector<NodeData> nodes_;  // ops, joints, then source and sink: what stands where there is no predecessor, no successor
  std::vector<std::uint32_t> class_;
  std::vector<std::int32_t> device_;
  std::vector<std::int64_t> lag_before_;
  std::vector<std::int64_t> lag_after_;
  std::vector<Node> last_;           // [device] its last op, or source_
  std::vector<std::int64_t> floor_;  // [device], or empty for 0
  Node ops_ = 0;
  Node source_ = 0;
  Node sink_ = 0;
  bool has_lags_ = false;
  std::int64_t makespan_ = 0;
  bool last_moved_ = false;  // whether a device's last op has another end
  std::vector<Node> queue_;  // the first `queued_` are used
  std::size_t queued_ = 0;
  std::vector<std::uint32_t> seen_;  // [node] the search that last met it
  std::uint32_t search_ = 0;
};

}  // namespace dovetail::fuse
