// The rules by which activities of iterations wait for each other and take turns, for whoever plays them: in closed
// form (timing.h), or by events (simulate/engine.h).
//
// Iteration after iteration plays the same activities; a node is one of them in one iteration: iteration * activities +
// number.
#pragma once

#include <compare>
#include <cstddef>
#include <vector>

#include "base/quantity.h"
#include "plan/iteration_graph.h"

namespace dovetail::plan {

/// The edges of a graph where they are looked for.
struct EdgesByActivity {
  std::vector<std::vector<ActivityEdge>> into;    ///< [activity]
  std::vector<std::vector<ActivityEdge>> out_of;  ///< [activity]
  /// Iterations that are under way at a time: as many as the longest edge spans, at least one, and one more. So what
  /// waits for no other task runs no further ahead.
  std::size_t under_way = 2;
};
EdgesByActivity edges_by_activity(const std::vector<ActivityEdge>& edges, std::size_t activities);

/// When the edge lets go what waits for a node that ends at `end`.
inline base::Ticks let_go(const ActivityEdge& edge, base::Ticks end) { return end - edge.early; }

/// Whether an activity goes before others that can begin at the same time: a reallocation between two meshes, as
/// generation on other devices waits for it.
inline bool is_urgent(bool reallocation, bool two_meshes) { return reallocation && two_meshes; }

/// Of those that can begin at the same time the one with the least turn goes next: an urgent one, then that of the
/// earlier iteration, then that of the lower number.
struct Turn {
  bool patient = true;  ///< not urgent
  std::size_t node = 0;

  friend auto operator<=>(const Turn&, const Turn&) = default;
};

}  // namespace dovetail::plan
