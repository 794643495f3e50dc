#include "fuse/search/swap_walk.h"

#include <limits>
#include <utility>

#include "base/assert.h"

namespace dovetail::fuse {
namespace {

using pipeline::Arc;
using pipeline::OpGraph;
using pipeline::OpId;
using pipeline::OpLabel;
using pipeline::Order;
using Node = SwapWalk::Node;

// Larger than any time, and small enough to add to.
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max() / 4;

bool are_alike(const OpLabel& a, const OpLabel& b) {
  return a.kind == b.kind && a.model == b.model && a.replica == b.replica && a.stage == b.stage;
}

struct Edge {
  Node before;
  Node after;
  std::int64_t lag;
};

/// The edges that the others do not imply where like ops keep their order: of an op's like predecessors the last one is enough, of its
/// like successors the first. Ids grow with the micro-batch among like ops, which stand side by side among a step's neighbours.
std::vector<Edge> needed_edges(const OpGraph& graph) {
  std::vector<Edge> edges;
  edges.reserve(graph.predecessor_arcs.size());
  const auto alike = [&](OpId a, OpId b) { return are_alike(graph.labels[a.index()], graph.labels[b.index()]); };
  const auto by_id = [](const Arc& a, const Arc& b) { return a.op < b.op; };
  std::vector<Arc> arcs;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    const auto before = graph.predecessors(OpId(op));
    arcs.assign(before.begin(), before.end());
    std::sort(arcs.begin(), arcs.end(), by_id);
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      if (i + 1 < arcs.size() && alike(arcs[i].op, arcs[i + 1].op)) continue;
      edges.push_back({arcs[i].op.value, static_cast<Node>(op), arcs[i].lag.count()});
    }
  }
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return std::pair(a.before, a.after) < std::pair(b.before, b.after); });
  const auto implied = std::unique(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) {
    return a.before == b.before && alike(OpId(a.after), OpId(b.after));
  });
  edges.erase(implied, edges.end());
  return edges;
}

/// Gives every node at most two edges on one side: of more, two that have no lag are joined in a new node, again and again. `side`
/// is the end of an edge that is counted, `other` the one that the new node takes.
void join(std::vector<Edge>& edges, Node& nodes, Node Edge::* side, Node Edge::* other) {
  std::vector<std::vector<std::size_t>> by_node(static_cast<std::size_t>(nodes));
  for (std::size_t edge = 0; edge < edges.size(); ++edge) by_node[static_cast<std::size_t>(edges[edge].*side)].push_back(edge);
  for (std::size_t node = 0; node < by_node.size(); ++node) {
    std::vector<std::size_t>& own = by_node[node];
    std::sort(own.begin(), own.end(), [&](std::size_t a, std::size_t b) { return edges[a].lag > edges[b].lag; });
    while (own.size() > 2) {
      const std::size_t a = own[own.size() - 1];
      const std::size_t b = own[own.size() - 2];
      DOVETAIL_ASSERT(edges[a].lag == 0 && edges[b].lag == 0);
      Edge joined{};
      joined.*side = static_cast<Node>(node);
      joined.*other = nodes;
      edges[a].*side = nodes;
      edges[b].*side = nodes;
      ++nodes;
      edges.push_back(joined);
      own.resize(own.size() - 2);
      own.push_back(edges.size() - 1);
    }
    DOVETAIL_ASSERT(own.size() < 2 || edges[own[1]].lag == 0);
  }
}

}  // namespace

SwapWalk::SwapWalk(const OpGraph& graph, const Order& order) : ops_(static_cast<Node>(graph.size())) {
  std::vector<Edge> edges = needed_edges(graph);
  Node nodes = ops_;
  join(edges, nodes, &Edge::after, &Edge::before);
  join(edges, nodes, &Edge::before, &Edge::after);
  source_ = nodes;
  sink_ = nodes + 1;
  nodes_.resize(index(nodes) + 2);
  seen_.resize(nodes_.size());
  queue_.resize(nodes_.size() + 3);
  class_.resize(graph.size());
  device_.resize(graph.size());
  last_.resize(static_cast<std::size_t>(graph.devices));
  lag_before_.resize(nodes_.size());
  lag_after_.resize(nodes_.size());
  for (NodeData& node : nodes_) {
    node.previous = node.before[0] = node.before[1] = source_;
    node.next = node.after[0] = node.after[1] = sink_;
  }
  at(sink_).head = never;
  at(source_).tail = never;
  std::uint32_t classes = 0;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    nodes_[op].duration = graph.duration[op].count();
    nodes_[op].memory = (graph.acquire[op] - graph.release[op]).count();
    device_[op] = graph.device[op].value;
    // The ops of a micro-batch on a stage stand together; those of a class are at most three apart, with steps at the end.
    std::size_t like = op;
    for (std::size_t back = 1; back <= 3 && back <= op && like == op; ++back)
      if (are_alike(graph.labels[op - back], graph.labels[op])) like = op - back;
    class_[op] = like == op ? classes++ : class_[like];
  }
  // Edges with a lag come first: the second of each pair has none.
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.lag > b.lag; });
  for (const Edge& edge : edges) {
    NodeData& before = at(edge.before);
    NodeData& after = at(edge.after);
    has_lags_ = has_lags_ || edge.lag > 0;
    if (edge.lag > 0) lag_before_[index(edge.after)] = lag_after_[index(edge.before)] = edge.lag;
    (before.after[0] == sink_ ? before.after[0] : before.after[1]) = edge.after;
    (after.before[0] == source_ ? after.before[0] : after.before[1]) = edge.before;
  }
  reset(order);
}

void SwapWalk::reset(const Order& order) {
  std::fill(last_.begin(), last_.end(), source_);
  for (std::size_t device = 0; device < order.devices.size(); ++device) {
    std::int64_t level = floor_.empty() ? 0 : floor_[device];
    for (const OpId id : order.devices[device]) {
      NodeData& node = at(id.value);
      level += node.memory;
      node.level = level;
      node.previous = last_[device];
      node.next = sink_;
      if (last_[device] != source_) at(last_[device]).next = id.value;
      last_[device] = id.value;
    }
  }
  const std::vector<Node> sorted = topological_order();
  for (const Node node : sorted) at(node).head = std::max(head_by_graph(node), end(at(node).previous));
  for (std::size_t position = sorted.size(); position-- > 0;) {
    NodeData& node = at(sorted[position]);
    node.tail = node.duration + std::max(tail_by_graph(sorted[position]), at(node.next).tail);
  }
  makespan_ = 0;
  for (const Node last : last_) makespan_ = std::max(makespan_, end(last));
}

std::vector<Node> SwapWalk::topological_order() const {
  std::vector<std::int8_t> waits(index(source_));
  std::vector<Node> sorted;
  sorted.reserve(waits.size());
  for (Node node = 0; node < source_; ++node) {
    const NodeData& data = at(node);
    for (const Node before : {data.previous, data.before[0], data.before[1]})
      if (before != source_) ++waits[index(node)];
    if (waits[index(node)] == 0) sorted.push_back(node);
  }
  for (std::size_t done = 0; done < sorted.size(); ++done) {
    const NodeData& data = at(sorted[done]);
    for (const Node after : {data.next, data.after[0], data.after[1]})
      if (after != sink_ && --waits[index(after)] == 0) sorted.push_back(after);
  }
  DOVETAIL_ASSERT(sorted.size() == waits.size());
  return sorted;
}

std::int64_t SwapWalk::peak() const {
  std::int64_t peak = 0;
  for (Node op = 0; op < ops_; ++op) peak = std::max(peak, at(op).level);
  return peak;
}

void SwapWalk::swap(Node first, Node second, const Trial& trial) {
  NodeData& a = at(first);
  NodeData& b = at(second);
  const Node previous = a.previous;
  const Node next = b.next;
  b.level = a.level - a.memory + b.memory;
  a.level = b.level + a.memory;
  b.previous = previous;
  b.next = first;
  a.previous = second;
  a.next = next;
  if (previous != source_) at(previous).next = second;
  if (next != sink_)
    at(next).previous = first;
  else
    last_[index(device_[index(first)])] = first;

  last_moved_ = next == sink_;
  const std::int64_t old_head_first = std::exchange(a.head, trial.head_first);
  const std::int64_t old_head_second = std::exchange(b.head, trial.head_second);
  push_after(second, old_head_second, false);
  push_after(first, old_head_first, false);
  make_room();
  push_if(next, next != sink_);
  update_heads();

  const std::int64_t old_tail_first = std::exchange(a.tail, trial.tail_first);
  const std::int64_t old_tail_second = std::exchange(b.tail, trial.tail_second);
  push_before(first, old_tail_first, false);
  push_before(second, old_tail_second, false);
  make_room();
  push_if(previous, previous != source_);
  update_tails();

  if (!last_moved_) return;
  makespan_ = 0;
  for (const Node last : last_) makespan_ = std::max(makespan_, end(last));
}

/// Queues the successors whose heads the changed head of `node` may change: where it grew, those that it now holds back; where it
/// fell, those that it held back.
void SwapWalk::push_after(Node node, std::int64_t old_head, bool with_next) {
  const NodeData& data = at(node);
  const std::int64_t new_end = data.head + data.duration;
  const std::int64_t old_end = old_head + data.duration;
  if (new_end == old_end) return;
  make_room();
  const bool grew = new_end > old_end;
  const auto push = [&](Node after, std::int64_t lag) {
    const std::int64_t head = at(after).head;
    const bool is_held_back = new_end + lag > head;
    const bool was_held_back = old_end + lag == head;
    push_if(after, grew ? is_held_back : was_held_back);
  };
  push(data.after[0], lag_after(node));
  push(data.after[1], 0);
  if (!with_next) return;
  push(data.next, 0);
  last_moved_ = last_moved_ || data.next == sink_;
}

void SwapWalk::update_heads() {
  for (std::size_t position = 0; position < queued_; ++position) {
    const Node node = queue_[position];
    NodeData& data = at(node);
    const std::int64_t head = std::max(head_by_graph(node), end(data.previous));
    if (head == data.head) continue;
    push_after(node, std::exchange(data.head, head), true);
  }
  queued_ = 0;
}

/// The same for predecessors and tails.
void SwapWalk::push_before(Node node, std::int64_t old_tail, bool with_previous) {
  const NodeData& data = at(node);
  if (data.tail == old_tail) return;
  make_room();
  const std::int64_t new_tail = data.tail;
  const bool grew = new_tail > old_tail;
  const auto push = [&](Node before, std::int64_t lag) {
    const std::int64_t behind = at(before).tail - at(before).duration;
    const bool holds_back = new_tail + lag > behind;
    const bool held_back = old_tail + lag == behind;
    push_if(before, grew ? holds_back : held_back);
  };
  push(data.before[0], lag_before(node));
  push(data.before[1], 0);
  if (with_previous) push(data.previous, 0);
}

void SwapWalk::update_tails() {
  for (std::size_t position = 0; position < queued_; ++position) {
    const Node node = queue_[position];
    NodeData& data = at(node);
    const std::int64_t tail = data.duration + std::max(tail_by_graph(node), at(data.next).tail);
    if (tail == data.tail) continue;
    push_before(node, std::exchange(data.tail, tail), true);
  }
  queued_ = 0;
}

bool SwapWalk::leads_to_predecessor(Node first, Node second) {
  if (++search_ == 0) {  // the numbers of searches begin again
    std::fill(seen_.begin(), seen_.end(), 0);
    search_ = 1;
  }
  const Node targets[2] = {at(second).before[0], at(second).before[1]};
  const std::int64_t latest = std::max(targets[0] < source_ ? at(targets[0]).head : 0, targets[1] < source_ ? at(targets[1]).head : 0);
  bool found = false;
  const auto visit = [&](Node node) {
    if (node == sink_ || node == second || at(node).head > latest || seen_[index(node)] == search_) return;
    seen_[index(node)] = search_;
    found = found || node == targets[0] || node == targets[1];
    make_room();
    push_if(node, true);
  };
  visit(at(first).after[0]);
  visit(at(first).after[1]);
  for (std::size_t position = 0; position < queued_ && !found; ++position) {
    const NodeData& data = at(queue_[position]);
    visit(data.after[0]);
    visit(data.after[1]);
    visit(data.next);
  }
  queued_ = 0;
  return found;
}

Order SwapWalk::order() const {
  Order order;
  order.devices.resize(last_.size());
  for (std::size_t device = 0; device < last_.size(); ++device) {
    std::vector<OpId>& sequence = order.devices[device];
    for (Node node = last_[device]; node != source_; node = at(node).previous) sequence.push_back(OpId(node));
    std::reverse(sequence.begin(), sequence.end());
  }
  return order;
}

}  // namespace dovetail::fuse
