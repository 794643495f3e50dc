#include "trainers/export/complete_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "llm/bundled_models.h"
#include "workflow/workflow.h"

namespace dovetail::trainers {
namespace {

bool has_task(const plan::Job& job, std::string_view name) {
  return workflow::find_task(job.workflow, name).has_value();
}

/// Returns the bundled name of a task's model.
base::Result<std::string> model_name(const plan::Job& job, std::string_view task) {
  const llm::Transformer& model = plan::model_of(job, *workflow::find_task(job.workflow, task));
  if (model.adapter_rank > 0)
    return base::bad_input(fmt::format(
        "the model {} is trained with adapters, which files without --base cannot express; accepted: a job without "
        "adapters, or --base FILE",
        base::quote(model.name)));
  auto bundled = llm::find_bundled_model(model.name);
  if (bundled.ok()) {
    bundled->head = model.head;
    // A scalar head shares no weights with the embedding.
    bundled->tied_embeddings = model.tied_embeddings;
    if (*bundled == model) return model.name;
  }
  return base::bad_input(
      fmt::format("the model {} of {} is not bundled; accepted without --base: a bundled model's name",
                  base::quote(model.name), task));
}

base::Status check_kind(const plan::Job& job) {
  constexpr std::array<std::string_view, 4> known{"ppo", "grpo", "reinforce++", "remax"};
  if (std::find(known.begin(), known.end(), job.workflow.name) == known.end() || !has_task(job, "actor_train") ||
      !has_task(job, "actor_generate"))
    return base::bad_input(
        fmt::format("files without --base cannot express the algorithm {}; accepted: ppo, grpo, reinforce++, remax",
                    base::quote(job.workflow.name)));
  if (job.cluster.groups.size() != 1)
    return base::bad_input("the nodes of the cluster differ; accepted without --base: identical nodes");
  if (job.workload.samples() % job.workload.mini_batches != 0)
    return base::bad_input(
        fmt::format("{} samples cannot be divided into {} equal mini-batches; accepted: a number of mini-batches that "
                    "divides the samples",
                    job.workload.samples(), job.workload.mini_batches));
  if (job.workload.critic)
    return base::bad_input(
        "the critic has separate mini-batches or epochs; accepted without --base: the same for all models");
  return {};
}

bool has_half_types(const plan::Software& software) {
  constexpr plan::StateType half = plan::StateType::bf16;
  return software.weight_type == half && software.gradient_type == half && software.moment_type == half;
}

base::Status check_software(const plan::Software& software) {
  plan::Software remaining = software;
  if (has_half_types(remaining))
    remaining.weight_type = remaining.gradient_type = remaining.moment_type = plan::StateType::by_default;
  constexpr plan::StateType usual = plan::StateType::by_default;
  if (remaining.weight_type == usual && remaining.gradient_type == usual && remaining.moment_type == usual &&
      remaining.master_type == plan::MasterType::by_default && remaining.logit_tokens == 0 &&
      remaining.logit_entries == 0 && remaining.engine_weight_bits == 0 && remaining.key_value_bits == 0 &&
      remaining.shard_group == 0 && remaining.sync_bucket == 0 && remaining.optimizer_host_share == 1)
    return {};
  return base::bad_input(
      "the job's `software` sets state types, `logit_tokens`, `logit_entries`, engine bits, `shard_group`, "
      "`sync_bucket` or `optimizer_host_share`; accepted without --base: none of these, or only `weight_type`, "
      "`gradient_type` and `moment_type`, all bf16");
}

}  // namespace

base::Result<JobFacts> facts_of(const plan::Job& job, const plan::Plan& plan) {
  DOVETAIL_CHECK(check_kind(job));
  DOVETAIL_CHECK(check_software(job.software));
  const cluster::NodeGroup& group = job.cluster.groups.front();
  const workflow::Workload& workload = job.workload;
  JobFacts facts;
  facts.algorithm = job.workflow.name;
  facts.training = job.software.training;
  facts.critic = has_task(job, "critic_train");
  facts.reference = has_task(job, "reference_infer");
  facts.reward_model = workflow::find_task(job.workflow, "reward_infer") &&
                       job.workflow.role_of[workflow::find_task(job.workflow, "reward_infer")->index()].has_value();
  facts.trainer_log_probabilities = has_task(job, "actor_infer");
  DOVETAIL_TRY(facts.actor_model, model_name(job, "actor_train"));
  facts.actor = plan::model_of(job, *workflow::find_task(job.workflow, "actor_train"));
  if (facts.critic) {
    DOVETAIL_TRY(facts.critic_model, model_name(job, "critic_train"));
  }
  if (facts.reward_model) {
    DOVETAIL_TRY(facts.reward_model_name, model_name(job, "reward_infer"));
  }
  facts.prompts = workload.prompts;
  facts.samples_per_prompt = workload.samples_per_prompt;
  facts.mini_batch = workload.samples() / workload.mini_batches;
  facts.epochs = workload.epochs;
  facts.steps_off_policy = workload.steps_off_policy;
  facts.packing = workload.packing;
  facts.engine = job.software.engine;
  facts.half_types = has_half_types(job.software);
  facts.loss_entropy = job.software.loss_entropy;
  facts.prompt_cap = workload.prompt_length.longest();
  facts.response_cap = workload.response_length.longest();
  facts.sequence_cap = workload.max_sequence();
  const auto mesh_of = [&](std::string_view task) {
    return plan.tasks[workflow::find_task(job.workflow, task)->index()].mesh;
  };
  facts.colocated = cluster::overlap(mesh_of("actor_generate"), mesh_of("actor_train"));
  facts.nodes = group.nodes;
  facts.gpus_per_node = group.devices_per_node;
  return facts;
}

base::Status check_software(const JobFacts& facts, std::string_view trainer, const ExpressibleSoftware& expressible) {
  if (std::find(expressible.engines.begin(), expressible.engines.end(), facts.engine) == expressible.engines.end()) {
    std::vector<std::string_view> names;
    for (const plan::EngineKind engine : expressible.engines) names.push_back(base::enum_name(engine));
    return base::bad_input(fmt::format("{} files without --base cannot set the engine {}; accepted: {}", trainer,
                                       base::enum_name(facts.engine), fmt::join(names, ", ")));
  }
  if (facts.half_types && !expressible.half_types)
    return base::bad_input(fmt::format(
        "{} files without --base cannot set `weight_type`, `gradient_type` and `moment_type`; accepted: a job without "
        "these keys in `software`",
        trainer));
  if (facts.loss_entropy != plan::LossEntropy::by_default && !expressible.loss_entropy)
    return base::bad_input(
        fmt::format("{} files without --base cannot set `loss_entropy`; accepted: a job without it", trainer));
  return {};
}

std::vector<RequiredName> required_models(const JobFacts& facts) {
  const auto demand = [](const char* name, std::string_view role, const std::string& model) {
    return RequiredName{.name = name,
                        .what = fmt::format("weights of the {}, a {}: a folder or a name on Hugging Face", role, model),
                        .example = "/models/" + model};
  };
  std::vector<RequiredName> all{demand("ACTOR_PATH", "actor", facts.actor_model)};
  if (facts.critic) all.push_back(demand("CRITIC_PATH", "critic", facts.critic_model));
  if (facts.reward_model) all.push_back(demand("REWARD_PATH", "reward model", facts.reward_model_name));
  return all;
}

}  // namespace dovetail::trainers
