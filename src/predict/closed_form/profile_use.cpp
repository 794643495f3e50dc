#include "predict/closed_form/profile_use.h"

#include <algorithm>

#include "cost/machine.h"
#include "cost/training.h"
#include "predict/closed_form/training_phase.h"

namespace dovetail::predict {
namespace {

using workflow::TaskKind;

SecondsFrom from_table(const cost::ProfileTable& table, double amount, double length) {
  return cost::is_within(table, amount, length) ? SecondsFrom::profile : SecondsFrom::beyond;
}

/// Returns the source of seconds for one kind of layer. `both`: includes the backward pass.
SecondsFrom from_layers(const cost::LayerProfile* profile, bool both, double tokens, double length) {
  if (profile == nullptr || profile->forward.empty() || (both && profile->backward.empty()))
    return SecondsFrom::roofline;
  const SecondsFrom forward = from_table(profile->forward, tokens, length);
  return both ? std::max(forward, from_table(profile->backward, tokens, length)) : forward;
}

/// Returns the tokens of the average micro-batch of a data-parallel rank.
double micro_batch_tokens(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  if (scenario.job.workflow.tasks[task].kind == TaskKind::train)
    return training_passes(scenario, {task, planned}).micro_batch.count;
  return cost::inference_batches(planned.layout, batch_of(scenario, task), planned.micro_batching).micro_batch.count;
}

/// Returns the worst source among the kinds of layers that the model has.
SecondsFrom layers_from(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned, double tokens,
                        double length) {
  const cost::ModelFacts& facts = facts_of(scenario, task);
  const cost::Machine machine = cost::machine_of(scenario.job.cluster, planned.mesh, scenario.software.efficiency);
  const bool trains = scenario.job.workflow.tasks[task].kind == TaskKind::train;
  const llm::Transformer& model = facts.model;
  SecondsFrom from = SecondsFrom::profile;
  for (const bool with_experts : {false, true}) {
    const bool has = with_experts ? model.experts.has_value() : !model.experts || model.experts->dense_layers > 0;
    if (!has) continue;
    const SecondsFrom here =
        from_layers(cost::find_layer_profile(facts.profiles, machine.gpu.name, planned.layout, with_experts), trains,
                    tokens, length);
    if (here == SecondsFrom::roofline) return here;
    from = std::max(from, here);
  }
  return from;
}

SecondsFrom decode_from(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const cost::ModelFacts& facts = facts_of(scenario, task);
  const workflow::Workload& workload = scenario.job.workload;
  const cost::Machine machine = cost::machine_of(scenario.job.cluster, planned.mesh, scenario.software.efficiency);
  const cost::ProfileTable* table = cost::find_decode_profile(facts.profiles, machine.gpu.name, planned.layout);
  if (table == nullptr) return SecondsFrom::roofline;
  const double share =
      static_cast<double>(workflow::sequences_of(scenario.job.workflow.tasks[task], workload)) / planned.layout.data;
  return from_table(*table, std::min(share, static_cast<double>(planned.engine.max_num_seqs)),
                    workload.prompt_length.mean() + workload.response_length.mean() / 2);
}

}  // namespace

std::string_view name_of(SecondsFrom from) {
  switch (from) {
    case SecondsFrom::roofline:
      return "roofline";
    case SecondsFrom::profile:
      return "profile";
    case SecondsFrom::beyond:
      break;
  }
  return "profile, beyond its range";
}

std::vector<ProfileUse> profile_uses(const Scenario& scenario, const plan::Plan& plan) {
  std::vector<ProfileUse> uses;
  if (scenario.software.profile.layers.empty()) return uses;
  for (std::size_t task = 0; task < scenario.job.workflow.tasks.size(); ++task) {
    const plan::TaskPlan& planned = plan.tasks[task];
    const TaskKind kind = scenario.job.workflow.tasks[task].kind;
    if (kind == TaskKind::rule) continue;
    if (kind != TaskKind::generate) {
      const double length = scenario.rows.second_moment() / scenario.rows.mean();
      uses.push_back(
          {task, false, layers_from(scenario, task, planned, micro_batch_tokens(scenario, task, planned), length)});
      continue;
    }
    const workflow::LengthDistribution& prompts = scenario.job.workload.prompt_length;
    const double prefilled = static_cast<double>(scenario.job.workload.prompts) * prompts.mean() / planned.layout.data /
                             planned.layout.pipeline;
    uses.push_back(
        {task, false, layers_from(scenario, task, planned, prefilled, prompts.second_moment() / prompts.mean())});
    uses.push_back({task, true, decode_from(scenario, task, planned)});
  }
  return uses;
}

}  // namespace dovetail::predict
