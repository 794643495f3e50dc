#include "predict/closed_form/scenario.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace dovetail::predict {

Scenario scenario_of(const plan::Job& job, const Software& software, const parallel::Cancellation* cancellation) {
  workflow::LengthDistribution lengths = cost::integer_lengths(job.workload);
  workflow::LengthDistribution rows =
      job.workload.packing ? lengths : workflow::LengthDistribution::fixed(lengths.longest());
  Scenario scenario{job, software, {}, std::move(lengths), std::move(rows), cancellation};
  for (const llm::Transformer& model : job.models) {
    scenario.models.push_back(cost::facts_of(model));
    scenario.models.back().element_bytes = software.conventions.element_bytes;
    scenario.models.back().shard_group = software.conventions.shard_group;
    scenario.models.back().head_again = cost::has_head_in_loss(software.conventions) && model.head != llm::Head::scalar;
    scenario.models.back().profiles = cost::profiles_of(software.profile, model, software.conventions.element_bytes);
    take_engine_bits(job.software, scenario.models.back());
  }
  return scenario;
}

Scenario stopped_by(const Scenario& scenario, const parallel::Cancellation& cancellation) {
  Scenario other = scenario;
  other.cancellation = &cancellation;
  return other;
}

const cost::ModelFacts& facts_of(const Scenario& scenario, std::size_t task) {
  return scenario.models[scenario.job.workflow.role_of[task]->index()];
}

double sequences_of_iteration(const plan::Job& job) {
  std::int64_t most = job.workload.samples();
  for (const workflow::Task& task : job.workflow.tasks)
    if (task.kind == workflow::TaskKind::train) most = std::max(most, workflow::sequences_of(task, job.workload));
  return static_cast<double>(most);
}

cost::Batch batch_of(const Scenario& scenario, std::size_t index) {
  const workflow::Task& task = scenario.job.workflow.tasks[index];
  const bool trains = task.kind == workflow::TaskKind::train;
  double sequences = static_cast<double>(workflow::sequences_of(task, scenario.job.workload));
  if (trains)
    sequences = (sequences + static_cast<double>(task.extra_tokens) / scenario.rows.mean()) *
                workflow::epochs_of(task, scenario.job.workload);
  cost::Batch batch = cost::batch_of(sequences, scenario.rows);
  batch.balanced = scenario.software.conventions.balances_ranks;
  batch.together = workflow::sequences_together(task);
  return batch;
}

void take_engine_bits(const plan::Software& settings, cost::ModelFacts& facts) {
  facts.engine_layer_bytes = facts.engine_expert_bytes = facts.key_value_element_bytes = facts.element_bytes;
  if (settings.key_value_bits > 0) facts.key_value_element_bytes = settings.key_value_bits / 8.0;
  if (settings.engine_weight_bits > 0) {
    // With 8 bits, a scale covers 128 x 128 weights and is negligible.
    const bool is_whole = settings.engine_weight_bits == 8;
    facts.engine_expert_bytes = settings.engine_weight_bits / 8.0 + (is_whole ? 0 : 2.0 / 32);
    if (is_whole || !facts.model.experts) facts.engine_layer_bytes = facts.engine_expert_bytes;
  }
  if (settings.engine_weight_bits > 0 || settings.key_value_bits > 0)
    for (cost::LayerProfile& profile : facts.profiles) profile.decode = {};
}

}  // namespace dovetail::predict
