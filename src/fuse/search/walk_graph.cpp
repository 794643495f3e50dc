#include "fuse/search/walk_graph.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/assert.h"

namespace dovetail::fuse {
namespace {

using pipeline::Arc;
using pipeline::OpGraph;
using pipeline::OpId;

/// For ops with more predecessors than this, such as optimizer steps, detours are not searched.
constexpr std::size_t max_to_look_at = 4;

/// Whether a path of two edges, or up to `depth`, from the end of `from` to the start of `to` takes at least `least`.
/// Three edges are enough to show that a backward need not wait for its own forward: it waits for the next stage's
/// backward, which waits for its forward.
bool has_detour(const OpGraph& graph, OpId from, OpId to, std::int64_t least, int depth) {
  for (const Arc& arc : graph.predecessors(to)) {
    if (arc.op == from || graph.predecessors(arc.op).size() > max_to_look_at) continue;
    const std::int64_t rest = least - arc.lag.count() - graph.duration[arc.op.index()].count();
    for (const Arc& before : graph.predecessors(arc.op))
      if (before.op == from && before.lag.count() >= rest) return true;
    if (depth > 2 && has_detour(graph, from, arc.op, rest, depth - 1)) return true;
  }
  return false;
}

/// Omits edges with a detour. Among like predecessors of an op the last is enough, among like successors the first:
/// their ids increase with the micro-batch, and they are adjacent among a step's neighbors.
std::vector<WalkEdge> needed_edges(const OpGraph& graph) {
  constexpr int deepest = 3;
  std::vector<WalkEdge> edges;
  edges.reserve(graph.predecessor_arcs.size());
  const auto alike = [&](OpId a, OpId b) { return are_alike(graph.labels[a.index()], graph.labels[b.index()]); };
  std::vector<Arc> arcs;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    const auto before = graph.predecessors(OpId(op));
    arcs.assign(before.begin(), before.end());
    std::sort(arcs.begin(), arcs.end(), [](const Arc& a, const Arc& b) { return a.op < b.op; });
    const bool may_have_detour = arcs.size() > 1 && arcs.size() <= max_to_look_at;
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      if (i + 1 < arcs.size() && alike(arcs[i].op, arcs[i + 1].op)) continue;
      if (may_have_detour && has_detour(graph, arcs[i].op, OpId(op), arcs[i].lag.count(), deepest)) continue;
      edges.push_back({arcs[i].op.value, static_cast<std::int32_t>(op), arcs[i].lag.count()});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const WalkEdge& a, const WalkEdge& b) {
    return std::pair(a.before, a.after) < std::pair(b.before, b.after);
  });
  const auto implied = std::unique(edges.begin(), edges.end(), [&](const WalkEdge& a, const WalkEdge& b) {
    return a.before == b.before && alike(OpId(a.after), OpId(b.after));
  });
  edges.erase(implied, edges.end());
  return edges;
}

/// Reduces every node to at most two edges on one side: while there are more, two without a lag are joined in a new
/// node. `side` is the end of an edge that is counted, `other` the end that the new node takes over.
void join(WalkGraph& graph, std::int32_t WalkEdge::* side, std::int32_t WalkEdge::* other) {
  std::vector<WalkEdge>& edges = graph.edges;
  std::vector<std::vector<std::size_t>> by_node(static_cast<std::size_t>(graph.nodes));
  for (std::size_t edge = 0; edge < edges.size(); ++edge)
    by_node[static_cast<std::size_t>(edges[edge].*side)].push_back(edge);
  for (std::size_t node = 0; node < by_node.size(); ++node) {
    std::vector<std::size_t>& own = by_node[node];
    std::sort(own.begin(), own.end(), [&](std::size_t a, std::size_t b) { return edges[a].lag > edges[b].lag; });
    while (own.size() > 2) {
      const std::size_t a = own[own.size() - 1];
      const std::size_t b = own[own.size() - 2];
      DOVETAIL_ASSERT(edges[a].lag == 0 && edges[b].lag == 0);
      WalkEdge joined{};
      joined.*side = static_cast<std::int32_t>(node);
      joined.*other = graph.nodes;
      edges[a].*side = graph.nodes;
      edges[b].*side = graph.nodes;
      ++graph.nodes;
      edges.push_back(joined);
      own.resize(own.size() - 2);
      own.push_back(edges.size() - 1);
    }
    DOVETAIL_ASSERT(own.size() < 2 || edges[own[1]].lag == 0);
  }
}

}  // namespace

bool are_alike(const pipeline::OpLabel& a, const pipeline::OpLabel& b) {
  return a.kind == b.kind && a.model == b.model && a.replica == b.replica && a.stage == b.stage;
}

WalkGraph walk_graph(const OpGraph& graph) {
  WalkGraph walk{static_cast<std::int32_t>(graph.size()), needed_edges(graph)};
  join(walk, &WalkEdge::after, &WalkEdge::before);
  join(walk, &WalkEdge::before, &WalkEdge::after);
  std::sort(walk.edges.begin(), walk.edges.end(), [](const WalkEdge& a, const WalkEdge& b) { return a.lag > b.lag; });
  return walk;
}

}  // namespace dovetail::fuse
