#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "trainers/import/layouts.h"
#include "trainers/import/role_training.h"
#include "trainers/import/settings.h"
#include "trainers/logs/logged_configuration.h"
#include "trainers/roll/devices.h"
#include "trainers/roll/layouts.h"
#include "trainers/roll/roll.h"

namespace dovetail::trainers {
namespace {

const std::string train_role = "actor_train";
const std::string engine_role = "actor_infer";
const std::string reference_role = "reference";
const std::string critic_role = "critic";

/// A run while its configuration is being read.
struct RollDraft {
  const ComposedSettings& settings;
  const RunRequest& request;
  ImportedRun run = {};
  bool critic = false;
  int adapter_rank = 0;
  bool asynchronous = false;
  bool colocated = false;  ///< whether the engines share GPUs with training, reference or critic
  std::string judge = {};  ///< role of the reward model
  cluster::Mesh trainer = {};
  cluster::Mesh engines = {};
  cluster::Mesh references = {};
  cluster::Mesh critics = {};
  cluster::Mesh judges = {};
  llm::Transformer actor_model = {};
  llm::Transformer critic_model = {};
  llm::Transformer reward_model = {};

  const syntax::SettingTree& tree() const { return settings.tree; }
};

/// Returns whether the log-probabilities of the generating policy need a separate inference pass. This is the case if
/// the weights change before the last log-probability is used, or if the reward includes the divergence from the
/// reference. `copies` is the number of data-parallel replicas that share a batch.
base::Result<bool> has_own_pass(const RollDraft& draft, int copies) {
  const syntax::SettingTree& tree = draft.tree();
  DOVETAIL_TRY(const bool never, roll_flag(tree, "force_disable_old_logprobs_recompute"));
  DOVETAIL_TRY(const bool always, roll_flag(tree, "enable_old_logprobs_recompute"));
  DOVETAIL_TRY(const auto estimator, optional_text(tree, "adv_estimator"));
  DOVETAIL_TRY(const auto penalty, optional_number(tree, "init_kl_coef"));
  DOVETAIL_TRY(const std::int64_t each, roll_count(tree, train_role + ".training_args.per_device_train_batch_size", 8));
  DOVETAIL_TRY(const std::int64_t steps,
               roll_count(tree, train_role + ".training_args.gradient_accumulation_steps", 1));
  if (never) return false;
  const std::int64_t dealt = draft.run.prompts * draft.run.samples_per_prompt / copies;
  return always || estimator == "step_reinforce" || estimator == "gigpo" || penalty.value_or(0.2) > 0 ||
         dealt / each / steps > 1;
}

base::Status read_roll_algorithm(RollDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  DOVETAIL_TRY(const auto value, optional_text(tree, "adv_estimator"));
  const std::string estimator = value.value_or("gae");
  draft.critic = estimator == "gae";
  run.algorithm = draft.critic ? "ppo" : estimator == "grpo" ? "grpo" : "reinforce++";
  if (!draft.critic && estimator != "grpo")
    run.assumed.push_back({"adv_estimator", fmt::format("{}: modeled with the tasks of {}", estimator, run.algorithm),
                           place_of(tree, "adv_estimator")});
  DOVETAIL_TRY(const bool enabled, roll_flag(tree, "enable_reference"));
  DOVETAIL_TRY(const bool in_loss, roll_flag(tree, "use_kl_loss"));
  DOVETAIL_TRY(const auto penalty, optional_number(tree, "init_kl_coef"));
  run.reference = enabled || in_loss || penalty.value_or(0.2) > 0;
  DOVETAIL_TRY(draft.judge, roll_judge(tree));
  run.reward_model = !draft.judge.empty();
  if (!run.reward_model) run.assumed.push_back({"", "the reward is a rule that adds no time to generation"});
  return {};
}

base::Status read_roll_lengths(RollDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  DOVETAIL_TRY(run.prompt_cap, roll_count(tree, "prompt_length", 1024));
  DOVETAIL_TRY(const auto sequence_length, optional_integer(tree, "sequence_length"));
  DOVETAIL_TRY(const auto response, optional_integer(tree, "response_length"));
  const bool by_sequence_length = sequence_length.value_or(0) > 0;
  const std::string key = by_sequence_length ? "sequence_length" : "response_length";
  if (!by_sequence_length && response.value_or(0) <= 0)
    return setting_error(tree, key,
                         "is missing or below 1, which ROLL rejects; accepted: at least 1, or sequence_length");
  run.response_cap = by_sequence_length ? *sequence_length - run.prompt_cap : *response;
  if (run.response_cap < 1)
    return setting_error(
        tree, key, fmt::format("is {}; accepted: more than prompt_length ({})", *sequence_length, run.prompt_cap));
  if (by_sequence_length && response.value_or(0) > 0 && *response != run.response_cap)
    run.ignored.push_back(
        {"response_length", "no effect: sequence_length takes precedence", place_of(tree, "response_length")});
  assume_lengths(tree, draft.request.options, "prompt_length", key, run);
  return {};
}

base::Status read_roll_workload(RollDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  DOVETAIL_TRY(run.prompts, roll_count(tree, "rollout_batch_size", 128));
  DOVETAIL_TRY(run.samples_per_prompt, roll_count(tree, "num_return_sequences_in_group", 1));
  if (run.prompts > plan::max_count / run.samples_per_prompt)
    return setting_error(
        tree, "rollout_batch_size",
        fmt::format("makes too many samples per iteration; accepted: at most {} samples", plan::max_count));
  DOVETAIL_TRY(run.epochs, roll_count(tree, "ppo_epochs", 1));
  const std::string ratio_key = "async_generation_ratio";
  DOVETAIL_TRY(const auto ratio, optional_number(tree, ratio_key));
  draft.asynchronous = ratio.value_or(0) > 0;
  run.steps_off_policy = static_cast<std::int64_t>(std::ceil(ratio.value_or(0)));
  if (static_cast<double>(run.steps_off_policy) != ratio.value_or(0))
    run.not_modelled.push_back(
        {ratio_key,
         fmt::format("{}: some samples are one step newer; modeled as `steps_off_policy: {}` for all samples", *ratio,
                     run.steps_off_policy),
         place_of(tree, ratio_key)});
  return read_roll_lengths(draft);
}

/// Returns the GPUs of a role. Fails if it has none.
base::Result<cluster::Mesh> role_mesh(const syntax::SettingTree& tree, const std::string& role) {
  const std::string key = role + ".device_mapping";
  DOVETAIL_TRY(const auto mesh, device_mapping_at(tree, key));
  if (mesh) return *mesh;
  return setting_error(tree, key, "is missing; accepted: the role's GPUs, such as list(range(0, 8))");
}

/// Sets the cluster: nodes of the configured size, up to the last GPU of any role.
base::Status read_roll_cluster(RollDraft& draft, std::int64_t devices) {
  const ImportOptions& options = draft.request.options;
  const std::string key = "num_gpus_per_node";
  DOVETAIL_TRY(std::optional<ClusterChoice> chosen, chosen_cluster(options));
  DOVETAIL_TRY(const std::int64_t per_node, roll_count(draft.tree(), key, 8));
  if (per_node > max_devices)
    return setting_error(draft.tree(), key, fmt::format("is {}; accepted: at most {}", per_node, max_devices));
  if (!chosen) return choose_gpu(options, (devices + per_node - 1) / per_node, per_node, draft.run);
  if (chosen->nodes < (devices + chosen->gpus_per_node - 1) / chosen->gpus_per_node)
    return base::bad_input(
        fmt::format("--cluster has {} x {} GPUs, but the roles use GPUs up to number {}; accepted: at "
                    "least {} GPUs",
                    chosen->nodes, chosen->gpus_per_node, devices - 1, devices));
  draft.run.cluster = *std::move(chosen);
  return {};
}

base::Status read_roll_devices(RollDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  DOVETAIL_TRY(draft.trainer, role_mesh(tree, train_role));
  DOVETAIL_TRY(draft.engines, role_mesh(tree, engine_role));
  draft.references = draft.critics = draft.judges = draft.trainer;
  std::vector<cluster::Mesh> all{draft.trainer, draft.engines};
  draft.colocated = cluster::overlap(draft.engines, draft.trainer);
  // The engines also sleep for a reference or a critic that has GPUs but is not used.
  for (const std::string& role : {reference_role, critic_role}) {
    DOVETAIL_TRY(const auto mesh, device_mapping_at(tree, role + ".device_mapping"));
    if (mesh && cluster::overlap(draft.engines, *mesh)) draft.colocated = true;
  }
  if (draft.run.reference && draft.adapter_rank == 0) {
    DOVETAIL_TRY(draft.references, role_mesh(tree, reference_role));
    all.push_back(draft.references);
  }
  if (draft.critic) {
    DOVETAIL_TRY(draft.critics, role_mesh(tree, critic_role));
    all.push_back(draft.critics);
  }
  if (draft.run.reward_model) {
    DOVETAIL_TRY(draft.judges, role_mesh(tree, draft.judge));
    all.push_back(draft.judges);
  }
  std::int64_t devices = 0;
  for (const cluster::Mesh& mesh : all) devices = std::max(devices, std::int64_t{mesh.first} + mesh.count);
  return read_roll_cluster(draft, devices);
}

std::string model_key(const std::string& role) { return role + ".model_args.model_name_or_path"; }

/// Returns the key that names the actor. `pretrain` takes precedence over the roles' own names unless all three roles
/// have one.
base::Result<std::string> actor_key(const syntax::SettingTree& tree, ImportedRun& run) {
  DOVETAIL_TRY(const auto trained, optional_text(tree, model_key(train_role)));
  bool all = true;
  for (const std::string& role : {train_role, engine_role, reference_role}) {
    DOVETAIL_TRY(const auto named, optional_text(tree, model_key(role)));
    all = all && named;
  }
  for (const std::string& role : {train_role, engine_role, reference_role}) {
    DOVETAIL_TRY(const auto named, optional_text(tree, model_key(role)));
    DOVETAIL_TRY(const auto common, optional_text(tree, "pretrain"));
    if (all && named != trained)
      return setting_error(
          tree, model_key(role),
          "differs from the model of actor_train, which jobs cannot describe; accepted: the same model");
    if (!all && named && named != common)
      run.ignored.push_back(
          {model_key(role),
           "no effect: pretrain takes precedence unless actor_train, actor_infer and reference all set a model",
           place_of(tree, model_key(role))});
  }
  return all ? model_key(train_role) : std::string("pretrain");
}

/// Returns the rank of a role's adapters, or 0 if it has none.
base::Result<int> roll_adapter_rank(const syntax::SettingTree& tree, const std::string& role) {
  const syntax::Setting* const target = find_setting(tree.root, role + ".model_args.lora_target");
  if (target == nullptr || (target->kind == syntax::Setting::Kind::null && !target->unknown)) return 0;
  const std::string key = role + ".model_args.lora_rank";
  if (find_setting(tree.root, key) == nullptr) return 8;
  return adapter_rank_at(tree, key);
}

base::Status read_roll_models(RollDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  DOVETAIL_CHECK(check_given_models(draft.request.options));
  DOVETAIL_TRY(const std::string key, actor_key(tree, run));
  DOVETAIL_TRY(draft.actor_model, role_model(tree, draft.request, "actor", key, run));
  run.models.back().lora = draft.adapter_rank;
  if (draft.critic) {
    DOVETAIL_TRY(const auto own, optional_text(tree, model_key(critic_role)));
    DOVETAIL_TRY(draft.critic_model,
                 role_model(tree, draft.request, "critic", own ? model_key(critic_role) : "reward_pretrain", run));
    DOVETAIL_TRY(run.models.back().lora, roll_adapter_rank(tree, critic_role));
  }
  if (run.reward_model) {
    DOVETAIL_TRY(draft.reward_model, role_model(tree, draft.request, "reward", model_key(draft.judge), run));
  }
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, train_role, RollUse::trains));
  run.training = backend == RollBackend::megatron ? "roll-megatron"
                 : backend == RollBackend::fsdp2  ? "fsdp2"
                                                  : "deepspeed-zero";
  return {};
}

/// Returns the samples of an optimizer step with dynamic batches. A step has a fixed number of micro-batches, which are
/// assumed to hold as many sequences of maximum length as fit.
base::Result<std::int64_t> dynamic_mini_batch(RollDraft& draft, std::int64_t steps, int copies) {
  const syntax::SettingTree& tree = draft.tree();
  const std::string key = roll_budget_key(train_role, RollCut::dynamic, true);
  DOVETAIL_TRY(const std::int64_t tokens, count_at(tree, key));
  DOVETAIL_TRY(const std::int64_t round, roll_count(tree, train_role + ".sequence_length_round_in_train", 4));
  const std::int64_t longest = (draft.run.prompt_cap + draft.run.response_cap + round - 1) / round * round;
  if (longest > tokens)
    return setting_error(
        tree, key,
        fmt::format("is {}, less than the longest sequence, so ROLL rejects the configuration; accepted: at least {}",
                    tokens, longest));
  const std::int64_t samples = draft.run.prompts * draft.run.samples_per_prompt;
  const std::int64_t in_a_pass = tokens / longest;
  const double wanted = static_cast<double>(in_a_pass) * static_cast<double>(steps) * copies;
  std::int64_t parts = wanted >= static_cast<double>(samples)
                           ? 1
                           : static_cast<std::int64_t>(std::ceil(static_cast<double>(samples) / wanted));
  while (samples % parts != 0) ++parts;
  draft.run.assumed.push_back(
      {key,
       fmt::format("an optimizer step has {} micro-batches per data-parallel replica, each of "
                   "any number of samples; modeled as steps of {} samples, assuming maximum lengths",
                   steps, samples / parts),
       place_of(tree, key)});
  return samples / parts;
}

/// Returns the samples of an optimizer step of a role whose batch is split over `copies` data-parallel replicas.
base::Result<std::int64_t> role_batch(const RollDraft& draft, const std::string& role, int copies) {
  const syntax::SettingTree& tree = draft.tree();
  const std::string key = role + ".training_args.gradient_accumulation_steps";
  DOVETAIL_TRY(const std::int64_t each, roll_count(tree, role + ".training_args.per_device_train_batch_size", 8));
  DOVETAIL_TRY(const std::int64_t steps, roll_count(tree, key, 1));
  const std::int64_t samples = draft.run.prompts * draft.run.samples_per_prompt;
  const bool fits = each <= samples && steps <= samples && each * steps <= samples / copies;
  if (fits && samples % (each * steps * copies) == 0) return each * steps * copies;
  return setting_error(
      tree, key,
      fmt::format("is {}, but {} steps x {} samples x {} replicas of {} do not divide the {} samples of "
                  "an iteration, so ROLL rejects the configuration; accepted: a value for which the product divides "
                  "the samples",
                  steps, steps, each, copies, role, samples));
}

/// Fails unless a pack can hold the longest sequence.
base::Status check_packs(const RollDraft& draft, bool in_training) {
  DOVETAIL_TRY(const RollCut cut, roll_cut(draft.tree(), train_role, RollUse::trains, in_training));
  if (cut != RollCut::balanced) return {};
  const std::string key = roll_budget_key(train_role, cut, in_training);
  const std::int64_t longest = draft.run.prompt_cap + draft.run.response_cap;
  DOVETAIL_TRY(const std::int64_t tokens, count_at(draft.tree(), key));
  if (tokens >= longest) return {};
  return setting_error(
      draft.tree(), key,
      fmt::format("is {}, which ROLL rejects; accepted: at least {}, the longest sequence", tokens, longest));
}

base::Status read_roll_batches(RollDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  ImportedRun& run = draft.run;
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, train_role, RollUse::trains));
  DOVETAIL_TRY(const llm::Layout layout,
               roll_layout(tree, train_role, RollUse::trains, draft.trainer.count, draft.actor_model));
  if (backend == RollBackend::megatron && run.prompts % layout.data != 0)
    return setting_error(
        tree, "rollout_batch_size",
        fmt::format("is {}, which ROLL rejects; accepted: a multiple of {}, the number of data-parallel ranks",
                    run.prompts, layout.data));
  DOVETAIL_TRY(const RollCut cut, roll_cut(tree, train_role, RollUse::trains, true));
  run.packing = cut == RollCut::packed || cut == RollCut::balanced;
  for (const bool in_training : {true, false}) DOVETAIL_CHECK(check_packs(draft, in_training));
  if (cut == RollCut::dynamic) {
    DOVETAIL_TRY(const std::int64_t steps,
                 roll_count(tree, train_role + ".training_args.gradient_accumulation_steps", 1));
    DOVETAIL_TRY(run.mini_batch, dynamic_mini_batch(draft, steps, layout.data));
  } else {
    DOVETAIL_TRY(run.mini_batch, role_batch(draft, train_role, layout.data));
  }
  DOVETAIL_TRY(run.trainer_log_probabilities, has_own_pass(draft, layout.data));
  return {};
}

/// Returns how a role infers. `use` is the purpose of its strategy.
base::Result<plan::TaskPlan> role_pass(const RollDraft& draft, const std::string& role, RollUse use,
                                       const cluster::Mesh& mesh, const llm::Transformer& model) {
  plan::TaskPlan passed{.mesh = mesh, .layout = {}, .micro_batching = {}, .engine = {}, .offload = {}};
  DOVETAIL_TRY(passed.layout, roll_layout(draft.tree(), role, use, mesh.count, model));
  passed.layout.recomputation = llm::Recomputation::none;
  DOVETAIL_TRY(passed.micro_batching, roll_micro_batching(draft.tree(), role, use, false));
  passed.offload.weights = true;
  return passed;
}

/// Returns how a role trains. All its states are offloaded at the start of each iteration, even if nothing else needs
/// the GPUs. With FSDP, gradients and optimizer stay on the GPUs.
base::Result<plan::TaskPlan> role_training(const RollDraft& draft, const std::string& role, const cluster::Mesh& mesh,
                                           const llm::Transformer& model) {
  const syntax::SettingTree& tree = draft.tree();
  plan::TaskPlan trained{.mesh = mesh, .layout = {}, .micro_batching = {}, .engine = {}, .offload = {}};
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, role, RollUse::trains));
  DOVETAIL_TRY(trained.layout, roll_layout(tree, role, RollUse::trains, mesh.count, model));
  DOVETAIL_TRY(trained.micro_batching, roll_micro_batching(tree, role, RollUse::trains, true));
  DOVETAIL_TRY(trained.offload.optimizer_on_host, roll_optimizer_on_host(tree, role));
  trained.offload.weights = true;
  trained.offload.gradients = backend != RollBackend::fsdp2;
  trained.offload.optimizer = backend != RollBackend::fsdp2 && !trained.offload.optimizer_on_host;
  return trained;
}

base::Status add_roll_generation(RollDraft& draft) {
  const syntax::SettingTree& tree = draft.tree();
  DOVETAIL_CHECK(roll_backend(tree, engine_role, RollUse::generates));
  DOVETAIL_TRY(RollEngine engine, roll_engine(tree, engine_role, draft.engines.count, draft.actor_model));
  // The scheduler sends an instance at most this many requests, even if its engine accepts more.
  const syntax::Setting* const router = find_setting(tree.root, "router_args");
  const bool routed = router != nullptr && router->kind == syntax::Setting::Kind::map;
  DOVETAIL_TRY(const std::int64_t requests,
               roll_count(tree, routed ? "router_args.max_running_requests" : "max_running_requests", 128));
  engine.engine.max_num_seqs = std::min(engine.engine.max_num_seqs, requests);
  plan::TaskPlan generated{.mesh = draft.engines,
                           .layout = std::move(engine.layout),
                           .micro_batching = {},
                           .engine = engine.engine,
                           .offload = {}};
  generated.offload.weights = draft.colocated && !draft.asynchronous;
  draft.run.tasks.push_back({"actor_generate", std::move(generated)});
  return {};
}

/// Returns whether a role's backend differs from the actor's training backend.
base::Result<bool> has_other_backend(const syntax::SettingTree& tree, const std::string& role, RollUse use) {
  DOVETAIL_TRY(const RollBackend trained, roll_backend(tree, train_role, RollUse::trains));
  DOVETAIL_TRY(const RollBackend own, roll_backend(tree, role, use));
  return own != trained;
}

base::Status add_roll_judge(RollDraft& draft) {
  if (!draft.run.reward_model) return {};
  const syntax::SettingTree& tree = draft.tree();
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, draft.judge, RollUse::judges));
  plan::TaskPlan judged{.mesh = draft.judges, .layout = {}, .micro_batching = {}, .engine = {}, .offload = {}};
  if (backend == RollBackend::hugging_face) {
    DOVETAIL_TRY(judged.layout,
                 roll_layout(tree, draft.judge, RollUse::judges, draft.judges.count, draft.reward_model));
  } else {
    DOVETAIL_TRY(RollEngine engine, roll_engine(tree, draft.judge, draft.judges.count, draft.reward_model));
    judged.layout = std::move(engine.layout);
  }
  DOVETAIL_TRY(const std::int64_t batch, roll_count(tree, draft.judge + ".infer_batch_size", 16));
  judged.micro_batching = sequences_at_most(static_cast<double>(batch));
  judged.offload.weights = !draft.asynchronous && (draft.colocated || backend == RollBackend::hugging_face);
  DOVETAIL_TRY(const bool other_backend, has_other_backend(draft.tree(), draft.judge, RollUse::judges));
  draft.run.tasks.push_back({"reward_infer", judged, other_backend});
  return {};
}

base::Status add_roll_tasks(RollDraft& draft) {
  ImportedRun& run = draft.run;
  DOVETAIL_CHECK(add_roll_generation(draft));
  DOVETAIL_CHECK(add_roll_judge(draft));
  if (run.reference) {
    const bool adapted = draft.adapter_rank > 0;
    DOVETAIL_TRY(plan::TaskPlan passed,
                 role_pass(draft, adapted ? train_role : reference_role, adapted ? RollUse::trains : RollUse::passes,
                           draft.references, draft.actor_model));
    bool other_backend = false;
    if (!adapted) {
      DOVETAIL_TRY(other_backend, has_other_backend(draft.tree(), reference_role, RollUse::passes));
    }
    run.tasks.push_back({"reference_infer", std::move(passed), other_backend});
  }
  if (run.trainer_log_probabilities) {
    DOVETAIL_TRY(plan::TaskPlan passed,
                 role_pass(draft, train_role, RollUse::trains, draft.trainer, draft.actor_model));
    run.tasks.push_back({"actor_infer", std::move(passed)});
  }
  DOVETAIL_TRY(plan::TaskPlan trained, role_training(draft, train_role, draft.trainer, draft.actor_model));
  run.tasks.push_back({"actor_train", std::move(trained)});
  if (!draft.critic) return {};
  DOVETAIL_TRY(plan::TaskPlan passed,
               role_pass(draft, critic_role, RollUse::trains, draft.critics, draft.critic_model));
  DOVETAIL_TRY(plan::TaskPlan values, role_training(draft, critic_role, draft.critics, draft.critic_model));
  DOVETAIL_TRY(const std::int64_t batch, role_batch(draft, critic_role, values.layout.data));
  const std::string batch_key = critic_role + ".training_args.gradient_accumulation_steps";
  take_critic_batch(
      batch,
      {batch_key, fmt::format("{} samples per optimizer step; modeled with the actor's {}", batch, run.mini_batch),
       place_of(draft.tree(), batch_key)},
      run);
  // The critic is always trained for one epoch, unlike the actor.
  if (run.epochs > 1) run.critic_epochs = 1;
  DOVETAIL_TRY(const bool other_backend, has_other_backend(draft.tree(), critic_role, RollUse::trains));
  run.tasks.push_back({"critic_infer", std::move(passed), other_backend});
  run.tasks.push_back({"critic_train", std::move(values), other_backend});
  return {};
}

base::Result<ReadRun> roll_run(const ComposedSettings& settings, const RunRequest& request) {
  const syntax::SettingTree& tree = settings.tree;
  RollDraft draft{.settings = settings, .request = request};
  draft.run.name = request.name;
  draft.run.framework = "roll";
  draft.run.assumed = settings.assumed;
  DOVETAIL_CHECK(check_roll_pipeline(tree));
  DOVETAIL_CHECK(check_roll_start(tree));
  DOVETAIL_TRY(draft.adapter_rank, roll_adapter_rank(tree, train_role));
  DOVETAIL_CHECK(read_roll_algorithm(draft));
  DOVETAIL_CHECK(read_roll_workload(draft));
  DOVETAIL_CHECK(read_roll_devices(draft));
  DOVETAIL_CHECK(read_roll_models(draft));
  DOVETAIL_CHECK(read_roll_batches(draft));
  DOVETAIL_CHECK(add_roll_tasks(draft));
  DOVETAIL_CHECK(add_roll_unmodeled(tree, draft.judge, draft.run));
  return ReadRun{.run = std::move(draft.run), .sources = tree.sources, .settings = tree};
}

base::Result<ReadRun> roll_of_launch(const syntax::Launch& launch, const std::vector<std::string>& sources,
                                     const RunRequest& request) {
  DOVETAIL_TRY(const ComposedSettings settings, roll_settings_of_launch(launch, sources, request));
  return roll_run(settings, request);
}

/// Reads a configuration file, or a log, which starts with the configuration.
base::Result<ReadRun> roll_of_configuration(const ConfigurationFile& file, const RunRequest& request) {
  ConfigurationFile read = file;
  if (std::optional<std::string> printed = yaml_of_log(file.content, roll_reader.recognized_by))
    read.content = *std::move(printed);
  DOVETAIL_TRY(const ComposedSettings settings, roll_settings_of_file(read, request));
  return roll_run(settings, request);
}

/// Returns whether a file looks like a ROLL configuration. It may be of an unsupported pipeline, which is rejected
/// later by name.
bool is_of_roll(std::string_view content) {
  for (const std::string_view key : {"actor_train", "actor_infer", "student_train", "student", "sft_train"})
    if (has_top_key(content, key)) return true;
  return false;
}

}  // namespace

const TrainerReader roll_reader{.name = "roll",
                                .is_entry = is_roll_entry,
                                .of_launch = roll_of_launch,
                                .is_configuration = is_of_roll,
                                .recognized_by = "actor_train",
                                .of_configuration = roll_of_configuration};

}  // namespace dovetail::trainers
