#include "fit_or_oom_rows.h"

#include <fmt/core.h>

#include <string_view>

namespace dovetail::bench {
namespace {

/// Builds a job from values of `algorithm`, `models`, `workload` and `cluster`, and the training framework.
std::string job_of(std::string_view algorithm, std::string_view models, std::string_view workload,
                   std::string_view cluster, std::string_view training) {
  return fmt::format(
      "format: dovetail/job@1\nalgorithm: {}\nmodels: {{{}}}\nworkload: {{{}}}\ncluster: {{{}, host_memory: 4TB}}\n"
      "software: {{framework: any, training: {}}}\n",
      algorithm, models, workload, cluster, training);
}

/// A task of a plan: the members of its layout, and its other members.
struct Task {
  std::string_view name;
  std::string_view devices;
  std::string_view layout;
  std::string_view settings;
};

std::string plan_of(const std::vector<Task>& tasks) {
  std::string text = "format: dovetail/plan@1\ntasks:\n";
  for (const Task& task : tasks)
    text += fmt::format("  - {{task: {}, devices: {}, layout: {{{}}}, {}}}\n", task.name, task.devices, task.layout,
                        task.settings);
  return text;
}

constexpr std::string_view grpo = "{name: grpo, reward: rule}";
constexpr std::string_view ppo = "{name: ppo, policy_log_probabilities: trainer}";
constexpr std::string_view all_away = "weights, gradients, optimizer";
/// GSM8K with five responses per prompt, as in verl's tuning scripts.
constexpr std::string_view gsm8k =
    "samples_per_prompt: 5, prompt_length: {p50: 100, p90: 140, cap: 512}, response_length: {p50: 220, p90: 380";
constexpr std::string_view opt_350m =
    "{model_type: opt, num_hidden_layers: 24, hidden_size: 1024, num_attention_heads: 16, ffn_dim: 4096, vocab_size: "
    "50272, "
    "max_position_embeddings: 2048}";
constexpr std::string_view distilled_1_5b =
    "{model_type: qwen2, num_hidden_layers: 28, hidden_size: 1536, num_attention_heads: 12, num_key_value_heads: 2, "
    "intermediate_size: 8960, vocab_size: 151936}";
constexpr std::string_view gemma_27b =
    "{model_type: qwen3, num_hidden_layers: 62, hidden_size: 5376, num_attention_heads: 32, num_key_value_heads: 16, "
    "head_dim: 128, "
    "intermediate_size: 21504, vocab_size: 262208, tie_word_embeddings: true}";
/// Nemotron-Super-49B has layers of different shapes. 56 layers of Llama-3-70B have the same number of parameters.
constexpr std::string_view nemotron_49b =
    "{model_type: llama, num_hidden_layers: 56, hidden_size: 8192, num_attention_heads: 64, num_key_value_heads: 8, "
    "intermediate_size: 28672, vocab_size: 128256}";

/// GRPO in which engine and training take turns on all devices. Engines free their memory while they sleep.
struct Turns {
  std::string_view devices;
  std::string_view engine_layout;
  double utilization = 0;
  std::string_view infer_layout;
  std::string_view infer_batch;
  std::string_view more_of_training;  ///< additional layout members for training; infer has only the common ones
  std::string_view train_batch;
  std::string_view offload;
};

std::string plan_of(const Turns& turns) {
  const std::string engine = fmt::format("engine: {{memory_utilization: {}}}, offload: [weights]", turns.utilization);
  const std::string infer = fmt::format("micro_batch: {{{}}}", turns.infer_batch);
  const std::string reference = infer + ", offload: [weights]";
  const std::string layout = fmt::format("{}, {}", turns.infer_layout, turns.more_of_training);
  const std::string train = fmt::format("micro_batch: {{{}}}, offload: [{}]", turns.train_batch, turns.offload);
  return plan_of({{"actor_generate", turns.devices, turns.engine_layout, engine},
                  {"actor_infer", turns.devices, turns.infer_layout, infer},
                  {"reference_infer", turns.devices, turns.infer_layout, reference},
                  {"actor_train", turns.devices, layout, train}});
}

void add_verl_fsdp(std::vector<FitRow>& rows) {
  const std::string verl = "verl-fsdp";
  const std::string recompute = "recompute: full";
  const std::string of_1024 = "prompts: 1024, mini_batches: 4, ";
  const std::string tuning = "verl, device_tuning.rst and examples/tuning";
  rows.push_back(
      {tuning, "GRPO Qwen2-7B, 2 H800", Outcome::fits, "listed minimum", "",
       job_of(grpo, "actor: qwen2-7b", fmt::format("{}{}, cap: 1024}}", of_1024, gsm8k),
              "nodes: 1, gpus_per_node: 2, gpu: H800", verl),
       plan_of(Turns{"0-1", "tp: 2", 0.6, "dp: 2, zero: 3", "sequences: 16", recompute, "sequences: 16", all_away})});
  rows.push_back({tuning, "GRPO Qwen2-72B, 32 H800", Outcome::fits, "listed minimum", "",
                  job_of(grpo, "actor: qwen2-72b", fmt::format("{}{}, cap: 512}}", of_1024, gsm8k),
                         "nodes: 4, gpus_per_node: 8, gpu: H800", verl),
                  plan_of(Turns{"0-31", "dp: 2, tp: 16", 0.6, "dp: 32, zero: 3", "tokens: 24000", recompute,
                                "tokens: 24000", all_away})});
  rows.push_back(
      {tuning, "GRPO LoRA 32 Qwen2.5-1.5B, 1 H100, micro-batch 128", Outcome::fits, "listed as the largest", "",
       job_of(grpo, "actor: {model: qwen2.5-1.5b, lora: 32}", fmt::format("prompts: 128, {}, cap: 1024}}", gsm8k),
              "nodes: 1, gpus_per_node: 1, gpu: H100", verl),
       plan_of(Turns{"0", "dp: 1", 0.1, "dp: 1, zero: 3", "sequences: 128", recompute, "sequences: 128", all_away})});
  rows.push_back(
      {tuning, "GRPO LoRA 32 Qwen2.5-3B, 1 H100, micro-batch 62", Outcome::fits, "listed as the largest", "",
       job_of(grpo, "actor: {model: qwen2.5-3b, lora: 32}", fmt::format("prompts: 62, {}, cap: 1024}}", gsm8k),
              "nodes: 1, gpus_per_node: 1, gpu: H100", verl),
       plan_of(Turns{"0", "dp: 1", 0.1, "dp: 1, zero: 3", "sequences: 62", recompute, "sequences: 62", all_away})});
  rows.push_back(
      {"verl #145", "GRPO Qwen2-7B, 8 A100-80", Outcome::fits, "", "",
       job_of(grpo, "actor: qwen2-7b", of_1024 + "samples_per_prompt: 5, prompt_length: 512, response_length: 1024",
              "nodes: 1, gpus_per_node: 8, gpu: A100-80", verl),
       plan_of(Turns{"0-7", "dp: 4, tp: 2", 0.6, "dp: 8, zero: 3", "tokens: 24000", recompute, "tokens: 24000", ""})});
  for (const std::string_view offload : {std::string_view(), all_away})
    rows.push_back(
        {"verl #1149", fmt::format("GRPO Qwen2.5-32B, 8 H20-96, {}", offload.empty() ? "no offload" : "all offloaded"),
         Outcome::fits, "nearly full", "",
         job_of(grpo, "actor: qwen2.5-32b",
                "prompts: 64, samples_per_prompt: 2, prompt_length: 3000, response_length: 256",
                "nodes: 1, gpus_per_node: 8, gpu: H20", verl),
         plan_of(Turns{"0-7", "tp: 8", 0.15, "dp: 8, zero: 3", "tokens: 3256", recompute, "tokens: 3256", offload})});
}

void add_megatron(std::vector<FitRow>& rows) {
  const std::string megatron = "megatron-policy";
  const std::string zero = "zero: 1, recompute: full";
  const std::string long_text = "prompts: 128, samples_per_prompt: 16, prompt_length: 2048, ";
  const std::string on_host = "weights, gradients, optimizer_on_host";
  rows.push_back({"verl dpsk.md", "GRPO Qwen3-235B-A22B, 32 H20-96", Outcome::fits, "listed minimum", "",
                  job_of(grpo, "actor: qwen3-235b-a22b", long_text + "response_length: 9632",
                         "nodes: 4, gpus_per_node: 8, gpu: H20", megatron),
                  plan_of(Turns{"0-31", "dp: 4, tp: 8", 0.85, "tp: 4, pp: 8, ep: 4, sequence_parallel: true",
                                "tokens: 11680", zero, "tokens: 11680", on_host})});
  rows.push_back({"verl dpsk.md", "GRPO DeepSeek-V3, 96 H20-96", Outcome::fits, "listed minimum", "",
                  job_of(grpo, "actor: deepseek-v3", long_text + "response_length: 9632",
                         "nodes: 12, gpus_per_node: 8, gpu: H20", megatron),
                  plan_of(Turns{"0-95", "dp: 3, tp: 32", 0.6, "tp: 8, pp: 12, ep: 8, sequence_parallel: true",
                                "tokens: 11680", zero, "tokens: 11680", on_host})});
  rows.push_back({"verl, deepseek671b 80gb script", "GRPO DeepSeek-V3, 256 H100", Outcome::fits, "tested", "",
                  job_of(grpo, "actor: deepseek-v3", long_text + "response_length: 4096",
                         "nodes: 32, gpus_per_node: 8, gpu: H100", megatron),
                  plan_of(Turns{"0-255", "dp: 8, tp: 32", 0.8, "dp: 16, pp: 16, ep: 16", "tokens: 18432", zero,
                                "tokens: 6144", all_away})});
  rows.push_back(
      {"slime, Qwen3-4B script", "GRPO Qwen3-4B, 8 H100", Outcome::fits, "", "",
       job_of(grpo, "actor: qwen3-4b", "prompts: 32, samples_per_prompt: 8, prompt_length: 1024, response_length: 8192",
              "nodes: 1, gpus_per_node: 8, gpu: H100", megatron),
       plan_of(Turns{"0-7", "dp: 4, tp: 2", 0.7, "dp: 4, tp: 2, sequence_parallel: true", "tokens: 9216", zero,
                     "tokens: 9216", all_away})});
  rows.push_back({"slime, Qwen3-30B-A3B doc", "GRPO Qwen3-30B-A3B, 8 H100", Outcome::fits, "", "",
                  job_of(grpo, "actor: qwen3-30b-a3b",
                         "prompts: 32, samples_per_prompt: 8, prompt_length: 1024, response_length: 8192",
                         "nodes: 1, gpus_per_node: 8, gpu: H100", megatron),
                  plan_of(Turns{"0-7", "tp: 8", 0.7, "dp: 2, tp: 4, ep: 8, sequence_parallel: true", "tokens: 20480",
                                zero, "tokens: 20480", on_host})});
}

void add_nemo_rl(std::vector<FitRow>& rows) {
  const std::string fsdp2 = "fsdp2";
  const std::string four_nodes = "nodes: 4, gpus_per_node: 8, gpu: H100";
  const std::string recompute = "recompute: full";
  const auto workload = [](int response) {
    return fmt::format("prompts: 64, samples_per_prompt: 16, packing: false, prompt_length: 256, response_length: {}",
                       response);
  };
  rows.push_back({"NeMo-RL v0.4 nightly", "GRPO Qwen2.5-7B, 32 H100, no recomputation", Outcome::fits, "", "",
                  job_of(grpo, "actor: qwen2.5-7b", workload(3840), four_nodes, fsdp2),
                  plan_of(Turns{"0-31", "dp: 8, tp: 4", 0.6, "dp: 8, tp: 4, zero: 3, sequence_parallel: true",
                                "tokens: 8192", "recompute: none", "tokens: 4096", all_away})});
  rows.push_back({"NeMo-RL v0.4 nightly", "GRPO Nemotron-Super-49B, 32 H100", Outcome::fits, "mean below 75 GB", "",
                  job_of(grpo, fmt::format("actor: {}", nemotron_49b), workload(768), four_nodes, fsdp2),
                  plan_of(Turns{"0-31", "dp: 8, tp: 4", 0.6, "dp: 4, tp: 8, zero: 3", "sequences: 4", recompute,
                                "sequences: 4", all_away})});
  rows.push_back({"NeMo-RL v0.4 release", "GRPO Gemma3-27B, 64 H100", Outcome::fits, "", "",
                  job_of(grpo, fmt::format("actor: {}", gemma_27b), workload(16128),
                         "nodes: 8, gpus_per_node: 8, gpu: H100", fsdp2),
                  plan_of(Turns{"0-63", "dp: 16, tp: 4", 0.6, "dp: 8, tp: 8, zero: 3", "sequences: 2", recompute,
                                "sequences: 1", all_away})});
  rows.push_back({"NeMo-RL v0.4 nightly", "GRPO 1.5B distilled, 8 H100, 24k", Outcome::fits, "", "",
                  job_of(grpo, fmt::format("actor: {}", distilled_1_5b), workload(24320),
                         "nodes: 1, gpus_per_node: 8, gpu: H100", fsdp2),
                  plan_of(Turns{"0-7", "dp: 8", 0.8, "dp: 4, tp: 2, zero: 3, sequence_parallel: true", "sequences: 2",
                                recompute, "sequences: 1", "weights, gradients, optimizer_on_host"})});
  // Recomputation is not stated. The run fails even with it.
  rows.push_back(
      {"NeMo-RL #493", "GRPO 1.5B distilled, 1 A6000-48, 8k", Outcome::out_of_memory, "45.80 of 47.41 GiB, 0.56 more",
       "",
       job_of(grpo, fmt::format("actor: {}", distilled_1_5b), workload(7936), "nodes: 1, gpus_per_node: 1, gpu: A6000",
              fsdp2),
       plan_of(Turns{"0", "dp: 1", 0.6, "dp: 1, zero: 3", "sequences: 4", recompute, "sequences: 1", all_away})});
  rows.push_back(
      {"prime-rl #1016", "GRPO Qwen3-30B-A3B, 4 + 2 H100", Outcome::out_of_memory, "at the first step", "",
       job_of("{name: grpo, reward: rule, reference: skip, policy_log_probabilities: engine}", "actor: qwen3-30b-a3b",
              "prompts: 4, samples_per_prompt: 2, prompt_length: 1000, response_length: 15000",
              "nodes: 1, gpus_per_node: 6, gpu: H100", fsdp2),
       plan_of({{"actor_generate", "4-5", "tp: 2", "engine: {memory_utilization: 0.9}"},
                {"actor_train", "0-3", "dp: 4, zero: 3, recompute: full", "micro_batch: {sequences: 1}"}})});
}

/// PPO with each model on separate devices.
std::string apart(int each, bool more) {
  const auto range = [](int first, int count) { return fmt::format("{}-{}", first, first + count - 1); };
  const int trained = each;
  const int frozen = each / 2;
  const std::string train_layout = fmt::format("dp: {}, zero: 3, recompute: full", trained);
  const std::string own_layout = fmt::format("dp: {}, zero: 3", trained);
  const std::string frozen_layout = fmt::format("dp: {}, zero: 3", frozen);
  const std::string engine_layout = fmt::format("dp: {}, tp: 2", more ? 4 : 2);
  const std::string train = "micro_batch: {sequences: 1}, offload: [optimizer_on_host]";
  const std::string score = "micro_batch: {sequences: 2}";
  const std::string actor = range(0, trained);
  const std::string critic = range(trained, trained);
  const std::string reference = range(2 * trained, frozen);
  const std::string reward = range(2 * trained + frozen, frozen);
  const std::string engine = range(2 * trained + 2 * frozen, more ? 8 : 4);
  return plan_of({{"actor_generate", engine, engine_layout, "engine: {memory_utilization: 0.9}"},
                  {"reward_infer", reward, frozen_layout, score},
                  {"actor_infer", actor, own_layout, score},
                  {"reference_infer", reference, frozen_layout, score},
                  {"critic_infer", critic, own_layout, score},
                  {"actor_train", actor, train_layout, train},
                  {"critic_train", critic, train_layout, train}});
}

/// PPO whose models take turns in one process per device, which generates with the trained weights.
struct InTrainer {
  std::string_view devices;
  std::string_view layout;         ///< all trained and frozen models
  std::string_view engine_layout;  ///< layout in which the actor generates
  int sequences = 0;               ///< sequences that it generates together
  std::string_view engine;         ///< additional engine settings
  std::string_view train;          ///< micro-batch and offload
  std::string_view critic;
  std::string_view score;
  std::string_view reference;
};

std::string plan_of(const InTrainer& plan) {
  const std::string training = fmt::format("{}, recompute: full", plan.layout);
  const std::string engine =
      fmt::format("engine: {{own_weights: false, max_num_seqs: {}}}{}", plan.sequences, plan.engine);
  return plan_of({{"actor_generate", plan.devices, plan.engine_layout, engine},
                  {"reward_infer", plan.devices, plan.layout, plan.score},
                  {"actor_infer", plan.devices, plan.layout, plan.score},
                  {"reference_infer", plan.devices, plan.layout, plan.reference},
                  {"critic_infer", plan.devices, plan.layout, plan.score},
                  {"actor_train", plan.devices, training, plan.train},
                  {"critic_train", plan.devices, training, plan.critic}});
}

void add_open_rlhf(std::vector<FitRow>& rows) {
  const std::string deepspeed = "deepspeed-zero";
  const std::string models_70b = "actor: llama-3-70b, reward: llama-3-70b";
  const std::string lengths = "packing: false, prompt_length: 1024, response_length: 1024";
  rows.push_back({"OpenRLHF v0.5.0 README", "PPO 4 x 70B, 16 A100-80", Outcome::fits, "shipped", "",
                  job_of(ppo, models_70b, "prompts: 1024, mini_batch: 128, " + lengths,
                         "nodes: 2, gpus_per_node: 8, gpu: A100-80", deepspeed),
                  apart(4, false)});
  rows.push_back({"OpenRLHF v0.6.0 script", "PPO 4 x 70B, 32 A100-80", Outcome::fits, "shipped", "",
                  job_of(ppo, models_70b, "prompts: 1024, mini_batch: 128, " + lengths,
                         "nodes: 4, gpus_per_node: 8, gpu: A100-80", deepspeed),
                  apart(8, true)});
  rows.push_back({"OpenRLHF #519", "PPO 4 x 8B, 8 H100, ZeRO 2", Outcome::out_of_memory, "in training, 55 of 64", "",
                  job_of(ppo, "actor: llama-3-8b, reward: llama-3-8b", "prompts: 1024, mini_batch: 128, " + lengths,
                         "nodes: 1, gpus_per_node: 8, gpu: H100", deepspeed),
                  plan_of(InTrainer{"0-7", "dp: 8, zero: 2", "dp: 8, zero: 2", 4, "",
                                    "micro_batch: {sequences: 2}, offload: [optimizer_on_host]",
                                    "micro_batch: {sequences: 2}, offload: [optimizer_on_host]",
                                    "micro_batch: {sequences: 4}", "micro_batch: {sequences: 4}"})});
  rows.push_back({"OpenRLHF #277", "PPO 4 x 13B, 4 A800-80, ZeRO 2", Outcome::out_of_memory, "", "",
                  job_of(ppo, "actor: llama-2-13b, reward: llama-2-13b", "prompts: 1024, mini_batch: 4, " + lengths,
                         "nodes: 1, gpus_per_node: 4, gpu: A800", deepspeed),
                  plan_of(InTrainer{"0-3", "dp: 4, zero: 2", "dp: 4, zero: 2", 4, "", "micro_batch: {sequences: 1}",
                                    "micro_batch: {sequences: 1}", "micro_batch: {sequences: 4}",
                                    "micro_batch: {sequences: 4}"})});
  rows.push_back({"OpenRLHF #398, list comment", "PPO 4 x 8B, 8 A100-40, ZeRO 2", Outcome::out_of_memory,
                  "38.3 of 39.4 GiB, 0.1 more", "",
                  job_of(ppo, "actor: llama-3-8b, reward: llama-3-8b", "prompts: 512, mini_batch: 64, " + lengths,
                         "nodes: 1, gpus_per_node: 8, gpu: A100-40", deepspeed),
                  plan_of(InTrainer{"0-7", "dp: 8, zero: 2", "dp: 8, zero: 2", 4, "", "micro_batch: {sequences: 2}",
                                    "micro_batch: {sequences: 2}", "micro_batch: {sequences: 4}",
                                    "micro_batch: {sequences: 4}"})});
  for (const bool on_host : {false, true})
    rows.push_back({"OpenRLHF #698, list comment",
                    fmt::format("SFT Llama-3-8B, 1 A100-80, Adam on the {}", on_host ? "host" : "device"),
                    on_host ? Outcome::fits : Outcome::out_of_memory, on_host ? "" : "in the optimizer step", "",
                    job_of("sft", "actor: llama-3-8b",
                           "prompts: 8, mini_batches: 8, packing: false, prompt_length: 64, response_length: 64",
                           "nodes: 1, gpus_per_node: 1, gpu: A100-80", deepspeed),
                    plan_of({{"actor_train", "0", "dp: 1, zero: 2, recompute: full",
                              on_host ? "micro_batch: {sequences: 1}, offload: [optimizer_on_host]"
                                      : "micro_batch: {sequences: 1}"}})});
}

void add_deepspeed_chat(std::vector<FitRow>& rows) {
  const std::string deepspeed = "deepspeed-zero";
  const std::string short_lengths = "packing: false, prompt_length: 256, response_length: 256";
  for (const std::string_view gpu : {"A6000", "A100-40"})
    rows.push_back(
        {"DeepSpeed-Chat README", fmt::format("PPO LoRA 128 OPT-6.7B, critic 350M, 1 {}", gpu), Outcome::fits,
         "largest listed", "",
         job_of(ppo, fmt::format("actor: {{model: opt-6.7b, lora: 128}}, reward: {}", opt_350m),
                "prompts: 128, mini_batch: 128, " + short_lengths,
                fmt::format("nodes: 1, gpus_per_node: 1, gpu: {}", gpu), deepspeed),
         plan_of(InTrainer{"0", "dp: 1", "dp: 1", 8, "", "micro_batch: {sequences: 8}", "micro_batch: {sequences: 8}",
                           "micro_batch: {sequences: 8}", "micro_batch: {sequences: 8}"})});
  // The hybrid engine gathers the whole actor for generation and frees it afterwards.
  for (const std::string_view gpu : {"A100-40", "A100-80"})
    rows.push_back(
        {"DeepSpeedExamples #368", fmt::format("PPO OPT-13B, critic 350M, 8 {}", gpu),
         gpu == "A100-80" ? Outcome::fits : Outcome::out_of_memory, gpu == "A100-80" ? "about 55 GB used" : "", "",
         job_of(ppo, fmt::format("actor: opt-13b, reward: {}", opt_350m), "prompts: 8, " + short_lengths,
                fmt::format("nodes: 1, gpus_per_node: 8, gpu: {}", gpu), deepspeed),
         plan_of(InTrainer{"0-7", "dp: 8, zero: 3", "dp: 8", 1, ", offload: [weights]", "micro_batch: {sequences: 1}",
                           "micro_batch: {sequences: 1}", "micro_batch: {sequences: 1}",
                           "micro_batch: {sequences: 1}, offload: [weights]"})});
}

void add_open(std::vector<FitRow>& rows) {
  struct Open {
    const char* source;
    const char* what;
    Outcome outcome;
    const char* happened;
    const char* open;
  };
  constexpr auto fits = Outcome::fits;
  constexpr auto failed = Outcome::out_of_memory;
  constexpr auto undecided = Outcome::undecided;
  const std::vector<Open> open = {
      {"verl tuning scripts", "GRPO LoRA 32 Qwen2.5-7B, 1 H100, micro-batch 100 / 101", undecided, "fits / fails",
       "the table says 16"},
      {"verl tuning scripts", "GRPO LoRA 32 Qwen2.5-32B, 4 H100, 44 / 45", undecided, "fits / fails",
       "the script that is shipped has 45"},
      {"verl script; #3364", "GRPO Qwen3-30B-A3B, 64 H20-96", undecided, "fits / fails",
       "two reports of one configuration"},
      {"verl #3364", "GRPO Qwen3-30B-A3B, 32 H200", failed, "", "offloaded parts, phase"},
      {"verl #855", "GRPO Qwen 14B distilled, 8 H100", failed, "", "engine's memory share, phase"},
      {"verl #1232", "REINFORCE++ Qwen2.5-7B, 8 H100", undecided, "after 50 to 60 steps",
       "works with another vLLM; micro-batches"},
      {"verl #388", "PPO 32B + 32B, 32 H800", failed, "", "tensor and pipeline parallelism, phase"},
      {"verl #249", "PPO 72B + 72B, 16 A800", failed, "", "framework, engine's memory share, phase"},
      {"TinyZero #107", "PPO 1.5B, 8 A800", failed, "", "response lengths, phase"},
      {"Search-R1 #80", "GRPO 14B, 4 A800 / 8 H100", failed, "fails / fits", "offload, batch"},
      {"OpenRLHF #756", "PPO Llama-3-8B / Qwen2.5-7B, 8 A100-40", failed, "fits / fails at reference logits",
       "whether Adam is on the host, actual lengths"},
      {"OpenRLHF #851", "GRPO 70B, 72 GPUs, ZeRO 3 / ZeRO 2", undecided, "fits / fails", "GPU; which ZeRO stage fits"},
      {"OpenRLHF #776", "GRPO Llama-3.1-70B, 72 A800", undecided, "fails", "conflicts with #851"},
      {"OpenRLHF #887", "GRPO 7B, 24 H100, 36864 tokens", failed, "", "which 7B, recomputation, phase"},
      {"DeepSpeed-Chat README", "PPO OPT-1.3B on V100-32, OPT-13B on A100-80", fits, "largest listed",
       "settings of both"},
      {"alpaca-rlhf #6", "PPO 7B + 7B, 8 V100-32", undecided, "while loading", "not at the steady peak"},
      {"slime #1851", "GRPO Qwen3-30B-A3B, 8 H100, 1 TB of host memory", undecided, "host memory ran out",
       "time of failure; fits elsewhere"},
      {"slime #1767", "GRPO Qwen3-4B, 80 GB", failed, "at the logits in fp32", "tensor parallelism, longest sample"},
      {"slime #1523", "GRPO, H200", failed, "in the entropy", "model"},
      {"skypilot PR 10269", "14B, 4 H100", failed, "in log-probabilities", "tokens"},
      {"ROLL", "GRPO Qwen3.5-27B, 32 x 80 GB", fits, "shipped", "linear attention, which no bundled model has"},
      {"NeMo-RL #383", "GRPO Gemma3-27B, 128 H100, dynamic batches", failed, "in log-probabilities",
       "tokens per batch"},
      {"NeMo-RL #456", "GRPO 1.5B distilled, 16384 tokens", failed, "in reference log-probabilities",
       "GPU, micro-batches"},
      {"NeMo-RL PR 3005", "GRPO Qwen3-30B-A3B, 32 H100", failed, "in log-probabilities", "layout"},
      {"TRL #2972", "GRPO 7B, 4 H20-96", failed, "at step 2", "sharding, engine"},
      {"ms-swift #3426", "GRPO LoRA Qwen2.5-VL-7B, 2 A800", fits, "about 70 GB", "rank, images"},
  };
  for (const Open& row : open) rows.push_back({row.source, row.what, row.outcome, row.happened, row.open});
}

}  // namespace

std::vector<FitRow> fit_rows() {
  std::vector<FitRow> rows;
  add_verl_fsdp(rows);
  add_megatron(rows);
  add_nemo_rl(rows);
  add_open_rlhf(rows);
  add_deepspeed_chat(rows);
  add_open(rows);
  return rows;
}

}  // namespace dovetail::bench
