#include "plan/turns.h"

#include <algorithm>

namespace dovetail::plan {

EdgesByStep edges_by_step(const std::vector<StepEdge>& edges, std::size_t steps) {
  EdgesByStep by_step{std::vector<std::vector<StepEdge>>(steps), std::vector<std::vector<StepEdge>>(steps)};
  int longest = 1;
  for (const StepEdge& edge : edges) {
    by_step.into[edge.to].push_back(edge);
    by_step.out_of[edge.from].push_back(edge);
    longest = std::max(longest, edge.iterations);
  }
  by_step.under_way = static_cast<std::size_t>(longest) + 1;
  return by_step;
}

}  // namespace dovetail::plan
