#include "study/staleness.h"

#include <algorithm>
#include <cstdint>

#include "base/assert.h"

namespace dovetail::study {

Staleness staleness_of(const std::vector<double>& by_age) {
  Staleness staleness;
  double all = 0;
  for (std::size_t age = 0; age < by_age.size(); ++age) {
    if (by_age[age] <= 0) continue;
    all += by_age[age];
    staleness.mean += static_cast<double>(age) * by_age[age];
    staleness.max = static_cast<int>(age);
    if (age > 0) staleness.off_policy_tokens += by_age[age];
  }
  if (all <= 0) return {};
  staleness.mean /= all;
  staleness.off_policy_tokens /= all;
  return staleness;
}

std::optional<std::size_t> policy_task(const workflow::Workflow& workflow) {
  for (std::size_t task = 0; task < workflow.tasks.size(); ++task)
    if (workflow.tasks[task].kind == workflow::TaskKind::generate &&
        workflow.trained_by[workflow.role_of[task]->index()])
      return task;
  return std::nullopt;
}

int version_lag(const plan::Job& job, const plan::IterationGraph& graph, const plan::Timing& timing,
                std::size_t generate) {
  const std::size_t train = job.workflow.trained_by[job.workflow.role_of[generate]->index()]->index();
  std::size_t taken = generate;
  for (const plan::ActivityEdge& edge : graph.edges)
    if (edge.to == generate && graph.activities[edge.from].kind == plan::Activity::Kind::reallocation)
      taken = edge.from;
  const std::int64_t ended = timing.activities[graph.activities[train].within.value_or(train)].end.count();
  const std::int64_t begun = timing.activities[taken].begin.count();
  const std::int64_t period = timing.period.count();
  DOVETAIL_ASSERT(period > 0);
  // Relative to iteration 0, training i ends at ended + i * period. The weights lack trainings i = -1, -2, ... that end
  // after `begun`.
  const std::int64_t wait = std::max<std::int64_t>(0, ended - begun);
  return static_cast<int>(std::clamp<std::int64_t>((wait + period - 1) / period - 1, 0, job.workload.steps_off_policy));
}

}  // namespace dovetail::study
