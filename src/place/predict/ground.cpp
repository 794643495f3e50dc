#include "place/predict/ground.h"

namespace dovetail::place {

Ground ground_of(const plan::Job& job, const Software& software) {
  Ground ground{job, software, {}, cost::whole_lengths(job.workload.prompt_length, job.workload.response_length)};
  for (const llm::Transformer& model : job.models) {
    ground.models.push_back(cost::facts_of(model));
    ground.models.back().profiles = cost::profiles_of(software.profile, model);
  }
  return ground;
}

const cost::ModelFacts& facts_of(const Ground& ground, std::size_t task) {
  return ground.models[ground.job.workflow.role_of[task]->index()];
}

cost::Batch batch_of(const Ground& ground, std::size_t index) {
  const workflow::Task& task = ground.job.workflow.tasks[index];
  const bool trains = task.kind == workflow::TaskKind::train;
  double sequences = static_cast<double>(workflow::sequences_of(task, ground.job.workload));
  if (trains) sequences = (sequences + static_cast<double>(task.extra_tokens) / ground.lengths.mean()) * ground.job.workload.epochs;
  cost::Batch batch = cost::batch_of(sequences, ground.lengths);
  batch.balanced = ground.software.conventions.balances_ranks;
  batch.together = workflow::sequences_together(task);
  return batch;
}

}  // namespace dovetail::place
