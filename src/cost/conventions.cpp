#include "cost/conventions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/document.h"
#include "base/enum_names.h"

namespace dovetail::cost {

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

Conventions megatron() {
  Conventions made;
  made.name = "megatron";
  made.description =
      "Megatron-LM's core with Transformer Engine: bf16, fp32 gradients, flash attention, fused cross-entropy";
  made.vocabulary_multiple = 128;
  made.dummy_gradient_bytes = 2;
  // bf16 logits, and their fp32 softmax, which the backward overwrites with the gradient.
  made.logit_bytes = 2 + 4;
  made.overhead = 128 * mebibyte;
  made.reserved_factor = 1.06;
  made.memory_error = 0.052;  // Mixtral 8x7B
  return made;
}

Conventions megatron_bf16_gradients() {
  Conventions made = megatron();
  made.name = "megatron-bf16-gradients";
  made.description =
      "Megatron-LM or Megatron-Bridge without grad_reduce_in_fp32: bf16 gradients, fp32 moments and master weights";
  made.gradient_bytes = 2;
  made.memory_error = 0.059;  // Qwen3-30B-A3B
  return made;
}

Conventions megatron_bridge() {
  Conventions made = megatron_bf16_gradients();
  made.name = "megatron-bridge";
  made.description =
      "Megatron-Bridge's recipes with the precision-aware optimizer: bf16 gradients and moments, fp32 master weights";
  made.moment_bytes = 2 * 2;
  return made;
}

Conventions megatron_policy() {
  Conventions made = megatron();
  made.name = "megatron-policy";
  made.description =
      "Megatron-LM's core with a policy loss, as in verl, AReaL and slime: log-probabilities and entropy are computed "
      "separately";
  // Logits in bf16, and in fp32: logits, softmax of the log-probabilities, softmax of the entropy, and a gradient.
  made.entropy_logit_bytes = 2 + 4 * 4;
  // Without entropy: one fp32 copy, overwritten by exponentials and then by the gradient, which is cast to bf16.
  made.plain_logit_bytes = 2 + 4 + 2;
  made.logit_bytes = made.entropy_logit_bytes;
  // Logits in both types, and their exponentials.
  made.inference_logit_bytes = 2 + 4 + 4;
  // In slices: fp32 logits, their gradient, and the gradient of one slice, which autograd allocates at full size. A
  // split vocabulary also keeps each slice's softmax. A forward pass has the logits in both types.
  made.parts_logit_bytes = 3 * 4;
  made.parts_parallel_logit_bytes = 4 * 4;
  made.parts_inference_logit_bytes = 2 + 4;
  return made;
}

Conventions nemo_rl_megatron() {
  Conventions made = megatron_policy();
  made.name = "nemo-rl-megatron";
  made.description =
      "megatron-policy as NeMo-RL runs it: bf16 gradients, and a mini-batch is packed before it is split among ranks";
  made.gradient_bytes = 2;  // grad_reduce_in_fp32: false in its configurations
  // Its log-probabilities keep the same bytes, and its loss needs no entropy.
  made.entropy_logit_bytes = made.plain_logit_bytes = 0;
  made.deals_packs = true;
  return made;
}

Conventions roll_megatron() {
  Conventions made = megatron_policy();
  made.name = "roll-megatron";
  made.description =
      "megatron-policy as ROLL runs it: log-probabilities computed in place in one fp32 copy of the logits, and a loss "
      "without entropy";
  made.logit_bytes = made.plain_logit_bytes;
  // The entropy is computed afterwards, in bf16.
  made.inference_logit_bytes = 2 + 4;
  return made;
}

Conventions nanotron() {
  Conventions made;
  made.name = "nanotron";
  made.description =
      "nanotron: bf16, gradients summed in fp32, flash attention, tensor parallelism with sequence parallelism";
  made.vocabulary_multiple = 1;
  made.keeps_gathered_inputs = true;
  made.keeps_projections = true;
  made.keeps_gate = true;
  // fp32 logits and their exponentials.
  made.logit_bytes = 4 + 4;
  made.overhead = 96 * mebibyte;
  made.reserved_factor = 1.03;
  made.memory_error = 0.030;
  return made;
}

Conventions fsdp1() {
  Conventions made;
  made.name = "fsdp1";
  made.description = "PyTorch FSDP1 under bf16 autocast with fp32 shards, as ATorch runs Hugging Face models";
  made.weight_bytes = 4;
  made.master_bytes = 0;
  made.transient_gradients = true;
  made.gathered_bytes = 4;
  made.layer_gradient_bytes = 4;
  made.stream_bytes = 4;
  made.norm_copy_bytes = 4;
  made.keeps_gate = true;
  // Hugging Face's loss in eager PyTorch: logits in bf16, and in fp32: logits, shifted logits and log-softmax. In the
  // backward, two gradients.
  made.logit_bytes = 2 + 4 * 4;
  made.inference_logit_bytes = 2 + 2 * 4;
  made.checkpoint_bytes = 5;
  made.balances_ranks = false;
  made.overhead = 96 * mebibyte;
  made.memory_error = 0.018;
  return made;
}

Conventions verl_fsdp() {
  Conventions made;
  made.name = "verl-fsdp";
  made.description =
      "PyTorch FSDP1 with fp32 shards gathered in bf16, as verl runs Hugging Face models without padding";
  made.weight_bytes = 4;
  made.master_bytes = 0;
  made.transient_gradients = true;
  made.layer_gradient_bytes = 2 + 4;
  made.norm_copy_bytes = 4;
  made.keeps_gate = true;
  // All in bf16, in fused kernels: the head's logits, the logits divided by the temperature, and the gradients of the
  // log-probabilities and of the entropy.
  made.entropy_logit_bytes = 4 * 2;
  // Without entropy the gradient overwrites the logits. A forward pass keeps both logits; compiled entropy adds none.
  made.plain_logit_bytes = 2 * 2;
  made.logit_bytes = made.entropy_logit_bytes;
  made.inference_logit_bytes = 2 * 2;
  made.overhead = 96 * mebibyte;
  made.memory_error = 0.07;  // from bisecting one run
  return made;
}

Conventions deepspeed_zero() {
  Conventions made;
  made.name = "deepspeed-zero";
  made.description =
      "DeepSpeed's ZeRO with Hugging Face models in bf16 or fp16, as OpenRLHF and DeepSpeed-Chat run them";
  made.gradient_bytes = 2;
  made.transient_gradients = true;
  made.keeps_gradient_shards = true;
  made.gathers_ends_apart = true;
  made.gradients_follow = true;
  made.balances_ranks = false;
  made.norm_copy_bytes = 4;
  made.keeps_gate = true;
  // Eager PyTorch as in fsdp1. Without gradients: logits in 16 bits and in fp32, and their log-softmax.
  made.entropy_logit_bytes = 2 + 4 * 4;
  // Without entropy, in flash attention's kernel: fp32 logits and their gradient.
  made.plain_logit_bytes = 2 * 4;
  made.logit_bytes = made.entropy_logit_bytes;
  made.inference_logit_bytes = 2 + 2 * 4;
  // 5e8 elements by default.
  made.bucket = 1'000'000'000;
  made.overhead = 96 * mebibyte;
  // Assumed equal to fsdp2: eager PyTorch, and batches padded to varying lengths.
  made.reserved_factor = 1.10;
  made.memory_error = 0.043;  // LLaMA-7B with recomputation
  return made;
}

Conventions deepspeed() {
  Conventions made;
  made.name = "deepspeed-3d";
  made.description = "DeepSpeed's pipeline engine in fp16 with tensor parallelism, as ATorch runs Hugging Face models";
  made.gradient_bytes = 2;
  // Hugging Face's normalization keeps its input in fp32 and its output in fp16.
  made.norm_copy_bytes = 4;
  made.keeps_gate = true;
  made.keeps_stage_outputs = true;
  made.balances_ranks = false;
  made.logit_bytes = 2 + 4 + 4;
  made.inference_logit_bytes = 2 + 2 * 4;
  // ZeRO's reduction bucket: 5e8 fp16 elements by default.
  made.overhead = 1'000'000'000;
  made.memory_error = 0.018;
  return made;
}

Conventions fsdp2() {
  Conventions made;
  made.name = "fsdp2";
  made.description = "PyTorch FSDP2 as torchtitan uses it: fp32 shards, bf16 compute, fp32 reduction";
  made.weight_bytes = 4;
  made.master_bytes = 0;
  made.transient_gradients = true;
  made.layer_gradient_bytes = 2 + 4;
  made.summed_gradient_bytes = 4;
  made.keeps_gathered_inputs = true;
  made.keeps_gate = true;
  made.keeps_every_second_product = true;
  made.keeps_stage_outputs = true;
  made.receives_apart = true;
  made.keeps_last_outputs = true;
  // bf16 logits, and in fp32 their log-softmax and two gradients. The parallel loss has one more temporary.
  made.logit_bytes = 2 + 3 * 4;
  made.parallel_logit_bytes = 2 + 4 * 4;
  // Without gradients: bf16 logits, fp32 logits, and two temporaries of the log-softmax.
  made.inference_logit_bytes = 2 + 3 * 4;
  // In slices, all in bf16: logits, their gradient, and the gradient of one slice, which autograd allocates at full
  // size. A split vocabulary also keeps each slice's softmax in fp32.
  made.parts_logit_bytes = 3 * 2;
  made.parts_parallel_logit_bytes = 3 * 2 + 4;
  made.parts_inference_logit_bytes = 2;
  made.overhead = 96 * mebibyte;
  made.reserved_factor = 1.10;
  made.memory_error = 0.098;  // on 128 GPUs
  return made;
}

Conventions dovetail() {
  Conventions made;
  made.name = "dovetail";
  made.description =
      "dovetail-train: everything in fp32, with its own kernels around attention and the feed-forward network";
  made.weight_bytes = 4;
  made.master_bytes = 0;
  made.element_bytes = 4;
  made.gathered_bytes = 4;
  made.layer_gradient_bytes = 4;
  made.activation_bytes = 4;
  made.stream_bytes = 4;
  // Logits, overwritten by their gradient.
  made.logit_bytes = 4;
  made.inference_logit_bytes = 4;
  // Assumed, for the program with libtorch.
  made.overhead = 250'000'000;
  return made;
}

struct Named {
  std::string_view name;
  Conventions (*make)();
};

constexpr Named bundled[] = {{"megatron", megatron},
                             {"megatron-bf16-gradients", megatron_bf16_gradients},
                             {"megatron-bridge", megatron_bridge},
                             {"megatron-policy", megatron_policy},
                             {"nemo-rl-megatron", nemo_rl_megatron},
                             {"roll-megatron", roll_megatron},
                             {"nanotron", nanotron},
                             {"fsdp1", fsdp1},
                             {"verl-fsdp", verl_fsdp},
                             {"deepspeed-zero", deepspeed_zero},
                             {"deepspeed-3d", deepspeed},
                             {"fsdp2", fsdp2},
                             {"torchtitan", fsdp2},
                             {"dovetail", dovetail}};

}  // namespace

std::vector<std::string_view> conventions_names() {
  std::vector<std::string_view> names;
  for (const Named& named : bundled) names.push_back(named.name);
  return names;
}

base::Result<Conventions> find_conventions(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(bundled), std::end(bundled), [name](const Named& named) { return named.name == name; });
  if (found != std::end(bundled)) return found->make();
  const std::vector<std::string_view> names = conventions_names();
  return base::bad_input(fmt::format("unknown memory conventions {}{}; accepted: {}", base::quote(name),
                                     base::did_you_mean(name, names), fmt::join(names, ", ")));
}

namespace {

struct Row {
  std::string_view conventions;
  TrainerLimits limits;
};

}  // namespace

const TrainerLimits& trainer_limits(std::string_view conventions) {
  using enum Ability;
  static const TrainerLimits all;
  static const TrainerLimits megatron = [] {
    TrainerLimits limits;
    limits.experts_again = true;
    return limits;
  }();
  static const Row table[] = {
      {"megatron", megatron},
      {"megatron-bf16-gradients", megatron},
      {"megatron-bridge", megatron},
      {"megatron-policy", megatron},
      {"nemo-rl-megatron", megatron},
      {"roll-megatron", megatron},
      {"nanotron", {}},
      // Hugging Face models wrapped in FullyShardedDataParallel.
      {"fsdp1", {absent, absent, {3}, 3, true, false}},
      {"verl-fsdp", {absent, absent, {3}, 3, true, false}},
      // Hugging Face models under deepspeed.initialize, with AutoTP for tensor parallelism.
      {"deepspeed-zero", {pinned, absent, {0, 1, 2, 3}, 3, true, false}},
      // The pipeline engine rejects ZeRO 2 and 3, which shard the gradients that micro-batches accumulate.
      {"deepspeed-3d", {searched, searched, {0, 1}, 1, false, false}},
      {"fsdp2", {searched, pinned, {2, 3}, 3, false, false}},
      // plan/framework.h lists the settings that it runs.
      {"dovetail", {absent, searched, {0, 1}, 1, false, false}},
  };
  const auto* found =
      std::find_if(std::begin(table), std::end(table), [&](const Row& row) { return row.conventions == conventions; });
  return found == std::end(table) ? all : found->limits;
}

}  // namespace dovetail::cost
