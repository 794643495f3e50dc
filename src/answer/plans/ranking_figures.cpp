#include "answer/plans/ranking_figures.h"

#include <algorithm>
#include <optional>

namespace dovetail::answer {

double phase_seconds(const plan::Job& job, const predict::Estimate& estimate, workflow::TaskKind kind) {
  std::optional<base::Ticks> begin;
  base::Ticks end;
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task) {
    if (job.workflow.tasks[task].kind != kind) continue;
    const plan::ActivityTime& time = estimate.timing.activities[task];
    begin = begin ? std::min(*begin, time.begin) : time.begin;
    end = std::max(end, time.end);
  }
  return begin ? base::seconds_of_ticks(end - *begin) : 0;
}

std::int64_t max_host_bytes(const predict::Estimate& estimate) {
  std::int64_t max = 0;
  for (const predict::TaskMemory& memory : estimate.memory) max = std::max(max, memory.host);
  return max;
}

bool has_timed_rule(const plan::Job& job) {
  const std::vector<workflow::Task>& tasks = job.workflow.tasks;
  return std::any_of(tasks.begin(), tasks.end(),
                     [](const workflow::Task& task) { return task.time_per_sequence > base::Ticks(0); });
}

}  // namespace dovetail::answer
