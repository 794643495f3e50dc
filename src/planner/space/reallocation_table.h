// What moving weights between selected choices takes, as activity_seconds() has it.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "plan/iteration_graph.h"
#include "planner/space/search_space.h"

namespace dovetail::planner {

/// Worked out when it is first asked for: a reallocation is planned for each pair of meshes and forms of weights. One
/// for each thread.
class ReallocationTable {
 public:
  /// `space` outlives it.
  explicit ReallocationTable(const SearchSpace& space) : space_(space) {}

  /// REQUIRES: the activity is a reallocation of an iteration with this selection, and not into an engine's own
  /// weights.
  base::Ticks ticks(const Selection& selection, const plan::Activity& activity);

 private:
  using Key = std::array<std::int32_t, 5>;  // the role; from and to: mesh and weight form

  const SearchSpace& space_;
  std::map<Key, base::Ticks> known_;
};

}  // namespace dovetail::planner
