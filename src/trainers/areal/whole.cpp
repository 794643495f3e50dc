#include <fmt/format.h>

#include <string>
#include <string_view>

#include "trainers/areal/writing.h"
#include "trainers/export/change.h"

namespace dovetail::trainers {
namespace {

base::Status check_areal_facts(const JobFacts& facts) {
  if (facts.training != "megatron-policy" && facts.training != "fsdp2")
    return base::bad_input(
        fmt::format("AReaL does not train by `training: {}`; accepted: fsdp2, megatron-policy", facts.training));
  if ((facts.algorithm != "ppo" && facts.algorithm != "grpo") || facts.reward_model || facts.epochs != 1 ||
      !facts.packing)
    return base::bad_input(
        "files of AReaL without --base are of ppo and grpo with `reward: rule`, `epochs: 1` and packed rows; accepted: "
        "such a job, or --base");
  if (facts.colocated)
    return base::bad_input(
        "AReaL's engines have GPUs of their own in files without --base; accepted: such a plan, or --base");
  return check_said_software(
      facts, "AReaL",
      {.engines = {plan::EngineKind::vllm, plan::EngineKind::sglang}, .half_types = facts.training == "fsdp2"});
}

/// What a role that trains has; the plan says its layout and micro-batches.
std::string areal_trained_text(const JobFacts& facts, std::string_view role, std::string_view variable) {
  const std::int64_t samples = facts.prompts * facts.samples_per_prompt;
  return fmt::format(
      "{}:\n  backend: \"{}:d1\"\n  experiment_name: ${{experiment_name}}\n  trial_name: ${{trial_name}}\n"
      "  path: ${{oc.env:{}}}\n  dtype: bfloat16\n  gradient_checkpointing: true\n  mb_spec:\n"
      "    max_tokens_per_mb: {}\n  optimizer:\n    type: adam\n    lr: 1.0e-6\n  ppo_n_minibatches: {}\n",
      role, facts.megatron() ? "megatron" : "fsdp", variable, facts.sequence_cap, samples / facts.mini_batch);
}

std::string scheduling_text() {
  return "  scheduling_spec:\n    - task_type: worker\n      port_count: 2\n      gpu: 1\n      mem: 32\n"
         "      cmd: python3 -m areal.infra.rpc.rpc_server\n      env_vars: {}\n";
}

std::string areal_head_text(const JobFacts& facts) {
  return fmt::format(
      "experiment_name: dovetail\ntrial_name: trial0\nseed: 1\nenable_offload: false\ntotal_train_epochs: 1\n"
      "tokenizer_path: ${{actor.path}}\ncluster:\n  n_nodes: {}\n  n_gpus_per_node: {}\n"
      "  fileroot: ${{oc.env:AREAL_ROOT}}\n  name_resolve:\n    type: nfs\n"
      "    nfs_record_root: ${{cluster.fileroot}}/name_resolve\nscheduler:\n  type: null\n"
      "rollout:\n  backend: \"{}:d1\"\n  experiment_name: ${{experiment_name}}\n  trial_name: ${{trial_name}}\n"
      "  consumer_batch_size: ${{train_dataset.batch_size}}\n  max_head_offpolicyness: {}\n"
      "  scheduling_spec: ${{actor.scheduling_spec}}\n  fileroot: ${{cluster.fileroot}}\n"
      "  tokenizer_path: ${{tokenizer_path}}\ngconfig:\n  n_samples: {}\n  max_new_tokens: {}\n",
      facts.nodes, facts.gpus_per_node, base::enum_name(facts.engine), facts.steps_off_policy, facts.samples_per_prompt,
      facts.response_cap);
}

}  // namespace

base::Result<WholeFile> areal_whole(const JobFacts& facts) {
  DOVETAIL_CHECK(check_areal_facts(facts));
  WholeFile file{.demanded = demanded_models(facts)};
  file.demanded.push_back({"TRAIN_DATA", "the data set: a folder, or a name on Hugging Face", "data"});
  file.demanded.push_back({"AREAL_ROOT", "a folder that all nodes share", "/tmp/areal"});
  std::string& text = file.yaml;
  text = "# For a program of AReaL's that trains by a rule, with --config and this file.\n" + areal_head_text(facts);
  text += areal_trained_text(facts, "actor", "ACTOR_PATH");
  text +=
      fmt::format("  kl_ctl: {}\n  use_decoupled_loss: {}\n  recompute_logprob: {}\n", facts.reference ? "0.01" : "0.0",
                  yaml_flag(facts.trainer_log_probabilities), yaml_flag(facts.trainer_log_probabilities));
  text += scheduling_text();
  if (facts.critic)
    text += areal_trained_text(facts, "critic", "CRITIC_PATH") +
            "  scheduling_strategy:\n    type: colocation\n    target: actor\n"
            "  scheduling_spec: ${actor.scheduling_spec}\n";
  if (facts.reference)
    text += fmt::format(
        "ref:\n  backend: ${{actor.backend}}\n  experiment_name: ${{experiment_name}}\n  trial_name: ${{trial_name}}\n"
        "  path: ${{actor.path}}\n  dtype: ${{actor.dtype}}\n  mb_spec:\n    max_tokens_per_mb: {}\n  optimizer: null\n"
        "  scheduling_strategy:\n    type: colocation\n    target: actor\n"
        "  scheduling_spec: ${{actor.scheduling_spec}}\n",
        facts.sequence_cap);
  const bool sglang = facts.engine == plan::EngineKind::sglang;
  text += fmt::format("{}: ${{actor.path}}\n  dtype: ${{actor.dtype}}\n  {}: {}\n  {}: 0.8\n",
                      sglang ? "sglang:\n  model_path" : "vllm:\n  model", sglang ? "context_length" : "max_model_len",
                      facts.sequence_cap, sglang ? "mem_fraction_static" : "gpu_memory_utilization");
  text += fmt::format(
      "train_dataset:\n  path: ${{oc.env:TRAIN_DATA}}\n  type: rl\n  batch_size: {}\n"
      "  max_length: {}\n  shuffle: true\n",
      facts.prompts, facts.prompt_cap);
  for (const std::string_view part : {"saver", "recover", "evaluator", "stats_logger"})
    text += fmt::format(
        "{}:\n  experiment_name: ${{experiment_name}}\n  trial_name: ${{trial_name}}\n"
        "  fileroot: ${{cluster.fileroot}}\n{}",
        part, part == "saver" ? "  freq_epochs: 1\n" : "");
  return file;
}

}  // namespace dovetail::trainers
