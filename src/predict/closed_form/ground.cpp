#include "predict/closed_form/ground.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace dovetail::predict {

Ground ground_of(const plan::Job& job, const Software& software, const parallel::Cancellation* cancellation) {
  workflow::LengthDistribution lengths = cost::whole_lengths(job.workload.prompt_length, job.workload.response_length);
  workflow::LengthDistribution rows = job.workload.packing ? lengths : workflow::LengthDistribution::fixed(lengths.longest());
  Ground ground{job, software, {}, std::move(lengths), std::move(rows), cancellation};
  for (const llm::Transformer& model : job.models) {
    ground.models.push_back(cost::facts_of(model));
    ground.models.back().profiles = cost::profiles_of(software.profile, model);
  }
  return ground;
}

Ground stopped_by(const Ground& ground, const parallel::Cancellation& cancellation) {
  Ground other = ground;
  other.cancellation = &cancellation;
  return other;
}

const cost::ModelFacts& facts_of(const Ground& ground, std::size_t task) {
  return ground.models[ground.job.workflow.role_of[task]->index()];
}

double sequences_of_iteration(const plan::Job& job) {
  std::int64_t most = job.workload.samples();
  for (const workflow::Task& task : job.workflow.tasks)
    if (task.kind == workflow::TaskKind::train) most = std::max(most, workflow::sequences_of(task, job.workload));
  return static_cast<double>(most);
}

cost::Batch batch_of(const Ground& ground, std::size_t index) {
  const workflow::Task& task = ground.job.workflow.tasks[index];
  const bool trains = task.kind == workflow::TaskKind::train;
  double sequences = static_cast<double>(workflow::sequences_of(task, ground.job.workload));
  if (trains) sequences = (sequences + static_cast<double>(task.extra_tokens) / ground.rows.mean()) * ground.job.workload.epochs;
  cost::Batch batch = cost::batch_of(sequences, ground.rows);
  batch.balanced = ground.software.conventions.balances_ranks;
  batch.together = workflow::sequences_together(task);
  return batch;
}

}  // namespace dovetail::predict
