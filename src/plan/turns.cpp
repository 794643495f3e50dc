#include "plan/turns.h"

#include <algorithm>

namespace dovetail::plan {

EdgesByActivity edges_by_activity(const std::vector<ActivityEdge>& edges, std::size_t activities) {
  EdgesByActivity by_activity{std::vector<std::vector<ActivityEdge>>(activities),
                              std::vector<std::vector<ActivityEdge>>(activities)};
  int longest = 1;
  for (const ActivityEdge& edge : edges) {
    by_activity.into[edge.to].push_back(edge);
    by_activity.out_of[edge.from].push_back(edge);
    longest = std::max(longest, edge.iterations);
  }
  by_activity.under_way = static_cast<std::size_t>(longest) + 1;
  return by_activity;
}

}  // namespace dovetail::plan
