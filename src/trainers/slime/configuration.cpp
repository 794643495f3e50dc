#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "syntax/arguments.h"
#include "trainers/import/role_training.h"
#include "trainers/import/settings.h"
#include "trainers/slime/layouts.h"
#include "trainers/slime/slime.h"

namespace dovetail::trainers {
namespace {

constexpr std::string_view slime_estimator_key = "--advantage-estimator";
constexpr std::string_view batch_key = "--global-batch-size";
constexpr std::string_view prompt_key = "--rollout-max-prompt-len";
constexpr std::string_view response_key = "--rollout-max-response-len";
constexpr const char* checkpoint_key = "--hf-checkpoint";

/// Assumed length of prompts, in tokens, if they have no cap.
constexpr std::int64_t usual_prompt = 1024;

/// A run while its configuration is being read.
struct SlimeDraft {
  const syntax::SettingTree& tree;
  const RunRequest& request;
  bool async = false;  ///< whether the program is train_async.py
  ImportedRun run = {};
  bool critic = false;
  bool colocated = false;
  bool trainer_leaves = false;
  bool engines_leave = false;
  llm::Transformer model = {};
  SlimePools pools = {};
  llm::Layout layout = {};
  plan::MicroBatching micro_batching = {};
};

base::Status read_slime_algorithm(SlimeDraft& draft) {
  const syntax::SettingTree& tree = draft.tree;
  ImportedRun& run = draft.run;
  DOVETAIL_TRY(const std::string estimator, text_at(tree, slime_estimator_key));
  DOVETAIL_TRY(const double penalty, decimal_at(tree, "--kl-coef"));
  DOVETAIL_TRY(const bool in_loss, flag_at(tree, "--use-kl-loss"));
  DOVETAIL_TRY(const bool no_advantages, flag_at(tree, "--disable-compute-advantages-and-returns"));
  draft.critic = estimator == "ppo";
  run.framework = "slime";
  run.training = "megatron-policy";
  run.reference = (penalty != 0 || in_loss) && !no_advantages;
  run.algorithm = draft.critic ? "ppo" : estimator.starts_with("reinforce_plus") ? "reinforce++" : "grpo";
  if (run.algorithm == "grpo" && estimator != "grpo")
    run.assumed.push_back({std::string(slime_estimator_key),
                           fmt::format("{}: modeled with the tasks of grpo", estimator),
                           place_of(tree, slime_estimator_key)});
  run.assumed.push_back({"", "the reward is a rule that adds no time to generation"});
  if (draft.async) run.steps_off_policy = 1;
  return {};
}

/// Reads which states are moved off the GPUs between the phases that need them.
base::Status read_slime_offload(SlimeDraft& draft) {
  const syntax::SettingTree& tree = draft.tree;
  DOVETAIL_TRY(draft.colocated, flag_at(tree, "--colocate"));
  DOVETAIL_TRY(const bool both, flag_at(tree, "--offload"));
  DOVETAIL_TRY(const auto trainer, optional_flag(tree, "--offload-train"));
  DOVETAIL_TRY(const auto engines, optional_flag(tree, "--offload-rollout"));
  draft.trainer_leaves = both || draft.critic || trainer.value_or(draft.colocated);
  draft.engines_leave = draft.colocated && (both || engines.value_or(true));
  return {};
}

base::Status read_slime_models(SlimeDraft& draft) {
  const syntax::SettingTree& tree = draft.tree;
  DOVETAIL_CHECK(check_given_models(draft.request.options));
  const std::optional<FoundModel> seen = seen_model(tree, draft.request, checkpoint_key);
  const base::Result<llm::Transformer> shape = slime_shape(tree, seen ? seen->shape.vocabulary : 0);
  const auto add = [&](const std::string& role) {
    return shaped_model(tree, draft.request, role, checkpoint_key, shape, slime_shape_key, draft.run);
  };
  DOVETAIL_TRY(draft.model, add("actor"));
  if (draft.critic) {
    DOVETAIL_TRY(const llm::Transformer critic, add("critic"));
  }
  return {};
}

/// Reads the length caps of prompts and responses.
base::Status read_slime_lengths(SlimeDraft& draft) {
  const syntax::SettingTree& tree = draft.tree;
  ImportedRun& run = draft.run;
  const ImportOptions& options = draft.request.options;
  DOVETAIL_TRY(const auto context, optional_integer(tree, "--rollout-max-context-len"));
  DOVETAIL_TRY(const auto prompt, optional_integer(tree, prompt_key));
  DOVETAIL_TRY(const auto response, optional_integer(tree, response_key));
  if (!response && !context)
    return setting_error(tree, response_key, "is missing; accepted: a number of tokens, or --rollout-max-context-len");
  if (context && *context < 2)
    return setting_error(tree, "--rollout-max-context-len", fmt::format("is {}; accepted: at least 2", *context));
  for (const auto& [key, cap] : {std::pair{prompt_key, prompt}, std::pair{response_key, response}})
    if (cap && *cap < 1) return setting_error(tree, key, fmt::format("is {}; accepted: at least 1", *cap));
  const std::int64_t space = context.value_or(plan::max_count);
  if (prompt) {
    run.prompt_cap = *prompt;
  } else {
    run.prompt_cap = context && response && *response < space ? space - *response : std::min(usual_prompt, space - 1);
    if (!options.prompt_length)
      run.assumed.push_back(
          {std::string(prompt_key),
           fmt::format("not given; modeled with prompts of {} tokens; set --prompt-length", run.prompt_cap)});
  }
  run.response_cap = std::min(response.value_or(space), std::max<std::int64_t>(space - run.prompt_cap, 1));
  run.sequence_cap = context.value_or(0);
  if (!prompt && context) run.max_prompt = space - 1;
  run.open_prompts = !prompt && !context;
  run.max_response = std::min(response.value_or(space), space - 1);
  // The assumption about prompts without a cap is already listed.
  ImportOptions left = options;
  if (!prompt) left.prompt_length = "";
  assume_lengths(tree, left, prompt_key, response ? response_key : "--rollout-max-context-len", run);
  constexpr std::string_view engine_key = "--sglang-context-length";
  DOVETAIL_TRY(const auto engine, optional_integer(tree, engine_key));
  if (engine) take_sequence_cap(tree, engine_key, *engine, run);
  return {};
}

/// Returns the samples of an optimizer step.
base::Result<std::int64_t> slime_mini_batch(SlimeDraft& draft, std::int64_t samples) {
  const syntax::SettingTree& tree = draft.tree;
  constexpr std::string_view steps_key = "--num-steps-per-rollout";
  DOVETAIL_TRY(const auto steps, optional_integer(tree, steps_key));
  DOVETAIL_TRY(const auto batch, optional_integer(tree, batch_key));
  std::int64_t mini_batch = 0;
  if (steps) {
    if (*steps < 1 || *steps > samples)
      return setting_error(tree, steps_key,
                           fmt::format("is {}; accepted: 1 to {} (the samples of an iteration)", *steps, samples));
    mini_batch = samples / *steps;
    if (batch && *batch != mini_batch)
      return setting_error(
          tree, batch_key,
          fmt::format("is {} with --num-steps-per-rollout {}, so slime rejects the configuration; accepted: {}", *batch,
                      *steps, mini_batch));
  } else if (batch) {
    DOVETAIL_TRY(mini_batch, count_at(tree, batch_key));
  } else {
    DOVETAIL_TRY(const std::int64_t sequences, count_at(tree, "--micro-batch-size"));
    mini_batch = std::min(sequences, samples) * draft.layout.data;
    draft.run.assumed.push_back(
        {std::string(batch_key),
         fmt::format("not given; an optimizer step has {} samples: one micro-batch per data-parallel rank",
                     mini_batch)});
  }
  if (mini_batch <= samples && samples % mini_batch == 0) return mini_batch;
  return setting_error(
      tree, steps ? steps_key : batch_key,
      fmt::format(
          "makes optimizer steps of {} samples; accepted: steps whose size divides the {} samples of an iteration",
          mini_batch, samples));
}

base::Status read_slime_workload(SlimeDraft& draft) {
  const syntax::SettingTree& tree = draft.tree;
  ImportedRun& run = draft.run;
  DOVETAIL_TRY(run.prompts, count_at(tree, "--rollout-batch-size"));
  DOVETAIL_TRY(run.samples_per_prompt, count_at(tree, "--n-samples-per-prompt"));
  if (run.prompts > plan::max_count / run.samples_per_prompt)
    return setting_error(
        tree, "--rollout-batch-size",
        fmt::format("makes too many samples per iteration; accepted: at most {} samples", plan::max_count));
  DOVETAIL_TRY(run.mini_batch, slime_mini_batch(draft, run.prompts * run.samples_per_prompt));
  DOVETAIL_TRY(draft.micro_batching, slime_micro_batching(tree, draft.layout, run.mini_batch));
  // slime always packs sequences.
  run.packing = true;
  return read_slime_lengths(draft);
}

/// Returns whether an inference pass of the actor computes the old log-probabilities. It is skipped if the engines
/// provide them, or if an iteration has a single step, whose forward pass provides them.
base::Result<bool> has_actor_pass(const SlimeDraft& draft) {
  const syntax::SettingTree& tree = draft.tree;
  DOVETAIL_TRY(const bool no_advantages, flag_at(tree, "--disable-compute-advantages-and-returns"));
  DOVETAIL_TRY(const bool of_engines, flag_at(tree, "--use-rollout-logprobs"));
  DOVETAIL_TRY(const bool compares, flag_at(tree, "--get-mismatch-metrics"));
  if (no_advantages || (of_engines && !compares)) return false;
  DOVETAIL_TRY(const std::string loss, text_at(tree, "--loss-type"));
  DOVETAIL_TRY(const std::string estimator, text_at(tree, slime_estimator_key));
  DOVETAIL_TRY(const double penalty, decimal_at(tree, "--kl-coef"));
  DOVETAIL_TRY(const bool old, flag_at(tree, "--keep-old-actor"));
  DOVETAIL_TRY(const bool distills, flag_at(tree, "--use-opd"));
  DOVETAIL_TRY(const bool replays, flag_at(tree, "--use-routing-replay"));
  DOVETAIL_TRY(const bool replays_rollout, flag_at(tree, "--use-rollout-routing-replay"));
  const bool one_step = draft.run.mini_batch == draft.run.prompts * draft.run.samples_per_prompt;
  const bool reused = one_step && loss == "policy_loss" && penalty == 0 && !of_engines && !compares && !draft.critic &&
                      !old && !distills && (!replays || replays_rollout) && estimator != "gspo";
  return !reused;
}

base::Status add_slime_generation(SlimeDraft& draft) {
  DOVETAIL_TRY(SlimeEngines engines, slime_engines(draft.tree, draft.pools.engines.count, draft.model));
  plan::TaskPlan generated{.mesh = draft.pools.engines,
                           .layout = std::move(engines.layout),
                           .micro_batching = {},
                           .engine = engines.engine,
                           .offload = {}};
  generated.offload.weights = draft.engines_leave;
  DOVETAIL_TRY(const bool fraction, is_given(draft.tree, "--sglang-mem-fraction-static"));
  if (!fraction)
    draft.run.assumed.push_back({"--sglang-mem-fraction-static",
                                 fmt::format("not given; modeled as {}, although SGLang derives it from its buffers",
                                             generated.engine.memory_utilization)});
  draft.run.assumed.push_back(
      {"", fmt::format("scheduling is modeled as in vLLM, with at most {} sequences and {} tokens "
                       "per step",
                       generated.engine.max_num_seqs, generated.engine.max_num_batched_tokens)});
  draft.run.software.engine = plan::EngineKind::sglang;
  draft.run.tasks.push_back({"actor_generate", std::move(generated)});
  return {};
}

/// Adds the tasks of actor, reference and critic, which all have the same layout.
base::Status add_slime_training(SlimeDraft& draft) {
  ImportedRun& run = draft.run;
  plan::TaskPlan trained{.mesh = draft.pools.trainer,
                         .layout = draft.layout,
                         .micro_batching = draft.micro_batching,
                         .engine = {},
                         .offload = {}};
  plan::TaskPlan passed = trained;
  passed.layout.recomputation = llm::Recomputation::none;
  // The reference's weights are loaded from the host in place of the actor's, which are then loaded back.
  passed.offload.weights = trained.offload.weights = draft.trainer_leaves || run.reference;
  DOVETAIL_TRY(HostShare share, host_share_at(draft.tree, "--optimizer-offload-fraction", 1));
  DOVETAIL_TRY(share.steps, flag_at(draft.tree, "--optimizer-cpu-offload"));
  trained.offload.optimizer_on_host = share.has_part();
  take_host_shares(draft.tree, {share}, run);
  trained.offload.gradients = draft.trainer_leaves;
  trained.offload.optimizer = draft.trainer_leaves && !share.has_all();
  if (run.reference) run.tasks.push_back({"reference_infer", passed});
  DOVETAIL_TRY(run.trainer_log_probabilities, has_actor_pass(draft));
  if (run.trainer_log_probabilities) {
    run.tasks.push_back({"actor_infer", passed});
  } else {
    run.assumed.push_back(
        {"",
         "the actor has no inference pass: the engines or the forward pass of the only step provide the old "
         "log-probabilities, or none are needed"});
  }
  run.tasks.push_back({"actor_train", trained});
  if (!draft.critic) return {};
  run.tasks.push_back({"critic_infer", passed});
  run.tasks.push_back({"critic_train", trained});
  return {};
}

bool is_slime_entry(const syntax::EntryPoint& entry) {
  // slime is configured only by flags. A train.py with a configuration file or Hydra overrides is another trainer's.
  if (entry.is_module || entry.has_configuration || entry.has_overrides) return false;
  const std::string name = syntax::name_of(entry.name, "");
  return name == "train.py" || name == "train_async.py";
}

/// Reports flags that are not in the table. Megatron-LM's parser ignores unknown flags.
void add_stray(const syntax::Arguments& arguments, ImportedRun& run) {
  for (const syntax::StrayArgument& word : arguments.uncertain)
    run.assumed.push_back({"", fmt::format("{} is unknown; assumed not to be a flag", word.text), word.place});
  for (const syntax::StrayArgument& word : arguments.unknown) {
    if (word.text.starts_with("--"))
      run.not_modelled.push_back(
          {word.text, "unknown flag, passed through to Megatron-LM and SGLang; not modeled", word.place});
    else
      run.ignored.push_back({word.text, "no effect: slime reads only flags", word.place});
  }
}

base::Result<ReadRun> slime_run(const syntax::Launch& launch, const std::vector<std::string>& sources,
                                const RunRequest& request) {
  DOVETAIL_TRY(const syntax::Arguments arguments, syntax::parse_arguments(slime_flags(), launch.arguments, sources));
  SlimeDraft draft{.tree = arguments.tree, .request = request};
  draft.async = syntax::name_of(launch.entry.name, "") == "train_async.py";
  draft.run.name = request.name;
  add_stray(arguments, draft.run);
  DOVETAIL_CHECK(check_slime_start(draft.tree, draft.async));
  DOVETAIL_CHECK(read_slime_algorithm(draft));
  DOVETAIL_CHECK(read_slime_offload(draft));
  DOVETAIL_CHECK(read_slime_models(draft));
  DOVETAIL_TRY(draft.pools, slime_pools(draft.tree, request.options, draft.run));
  DOVETAIL_TRY(draft.layout, slime_layout(draft.tree, draft.pools.trainer.count, draft.model));
  DOVETAIL_CHECK(read_slime_workload(draft));
  DOVETAIL_CHECK(add_slime_generation(draft));
  DOVETAIL_CHECK(add_slime_training(draft));
  DOVETAIL_CHECK(add_slime_unmodeled(draft.tree, draft.async, draft.model, draft.run));
  return ReadRun{.run = std::move(draft.run), .sources = arguments.tree.sources, .settings = arguments.tree};
}

}  // namespace

const TrainerReader slime_reader{.name = "slime", .is_entry = is_slime_entry, .of_launch = slime_run};

}  // namespace dovetail::trainers
