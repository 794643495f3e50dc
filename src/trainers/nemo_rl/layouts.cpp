#include "trainers/nemo_rl/layouts.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/document.h"
#include "trainers/import/layouts.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

base::Result<llm::Layout> dtensor_layout(const syntax::SettingTree& tree, const std::string& keys, int devices,
                                         const llm::Transformer& model) {
  const std::string tensor_key = keys + ".tensor_parallel_size";
  llm::Layout layout{.zero = 3, .stage_layers = {}};
  DOVETAIL_TRY(layout.tensor, degree_at(tree, tensor_key));
  DOVETAIL_TRY(layout.context, degree_at(tree, keys + ".context_parallel_size"));
  if (devices % (std::int64_t{layout.tensor} * layout.context) != 0)
    return setting_error(tree, tensor_key,
                         fmt::format("is {} with context {}; accepted: degrees whose product divides the {} GPUs",
                                     layout.tensor, layout.context, devices));
  layout.data = devices / (layout.tensor * layout.context);
  if (model.experts) {
    DOVETAIL_TRY(layout.expert, degree_at(tree, keys + ".expert_parallel_size"));
  }
  DOVETAIL_TRY(const bool sequences, is_on(tree, keys + ".sequence_parallel"));
  layout.sequence_parallel = sequences && layout.tensor > 1;
  DOVETAIL_TRY(const bool recomputes, is_on(tree, keys + ".activation_checkpointing"));
  if (recomputes) layout.recomputation = llm::Recomputation::full;
  return layout;
}

base::Result<llm::Layout> megatron_layout_of(const syntax::SettingTree& tree, const std::string& keys, int devices,
                                             const llm::Transformer& model) {
  DOVETAIL_TRY(llm::Layout layout, megatron_degrees(tree, keys, keys, devices, model));
  DOVETAIL_TRY(const auto shards, optional_flag(tree, keys + ".optimizer.use_distributed_optimizer"));
  layout.zero = shards.value_or(true) ? 1 : 0;
  DOVETAIL_TRY(const bool recomputes, is_on(tree, keys + ".activation_checkpointing"));
  if (!recomputes) return layout;
  const std::string granularity_key = keys + ".recompute_granularity";
  DOVETAIL_TRY(layout.recomputation,
               recomputation_at(tree, {.granularity = granularity_key, .modules = keys + ".recompute_modules"}));
  if (find_setting(tree.root, granularity_key) == nullptr) layout.recomputation = llm::Recomputation::full;
  return layout;
}

base::Status read_nemo_rl_vllm(const syntax::SettingTree& tree, int devices, const llm::Transformer& model,
                               NemoRlEngine& all) {
  const std::string keys = "policy.generation.vllm_cfg";
  const std::string more = "policy.generation.vllm_kwargs";
  DOVETAIL_TRY(
      all.layout,
      engine_degrees(
          tree, {.tensor = keys + ".tensor_parallel_size", .pipeline = keys + ".pipeline_parallel_size", .data = {}},
          devices));
  if (model.experts) {
    DOVETAIL_TRY(all.layout.expert, degree_at(tree, keys + ".expert_parallel_size"));
  }
  DOVETAIL_TRY(all.engine.memory_utilization, decimal_at(tree, keys + ".gpu_memory_utilization"));
  DOVETAIL_TRY(const bool eager, is_on(tree, keys + ".enforce_eager"));
  all.engine.cuda_graphs = !eager;
  DOVETAIL_TRY(all.engine.max_num_seqs, count_or(tree, more + ".max_num_seqs", all.engine.max_num_seqs));
  DOVETAIL_TRY(all.engine.max_num_batched_tokens,
               count_or(tree, more + ".max_num_batched_tokens", all.engine.max_num_batched_tokens));
  DOVETAIL_TRY(const auto chunked, optional_flag(tree, more + ".enable_chunked_prefill"));
  all.engine.chunked_prefill = chunked.value_or(true);
  return {};
}

base::Status read_sglang(const syntax::SettingTree& tree, int devices, const llm::Transformer& model,
                         NemoRlEngine& all) {
  const std::string keys = "policy.generation.sglang_cfg";
  DOVETAIL_TRY(all.layout,
               engine_degrees(tree, {.tensor = keys + ".tp_size", .pipeline = keys + ".pp_size", .data = {}}, devices));
  if (model.experts) {
    DOVETAIL_TRY(all.layout.expert, degree_at(tree, keys + ".ep_size"));
  }
  DOVETAIL_TRY(all.engine.memory_utilization, decimal_at(tree, keys + ".mem_fraction_static"));
  DOVETAIL_TRY(all.engine.max_num_seqs, count_or(tree, keys + ".max_running_requests", all.engine.max_num_seqs));
  DOVETAIL_TRY(const bool eager, is_on(tree, keys + ".disable_cuda_graph"));
  all.engine.cuda_graphs = !eager;
  return {};
}

base::Status read_trtllm(const syntax::SettingTree& tree, int devices, const llm::Transformer& model,
                         NemoRlEngine& all) {
  const std::string keys = "policy.generation.trtllm_cfg";
  DOVETAIL_TRY(all.layout,
               engine_degrees(tree, {.tensor = keys + ".tensor_parallel_size", .pipeline = {}, .data = {}}, devices));
  if (model.experts) {
    DOVETAIL_TRY(all.layout.expert, degree_at(tree, keys + ".moe_expert_parallel_size"));
  }
  DOVETAIL_TRY(all.engine.memory_utilization, decimal_at(tree, keys + ".gpu_memory_utilization"));
  DOVETAIL_TRY(all.engine.max_num_seqs, count_or(tree, keys + ".max_batch_size", all.engine.max_num_seqs));
  DOVETAIL_TRY(all.engine.max_num_batched_tokens,
               count_or(tree, keys + ".max_num_tokens", all.engine.max_num_batched_tokens));
  return {};
}

/// Reads Megatron's generation layout: its training layout, except for degrees that the engine overrides.
base::Status read_megatron(const syntax::SettingTree& tree, int devices, const llm::Transformer& model,
                           const llm::Layout& trained, NemoRlEngine& all) {
  const std::string keys = "policy.generation.mcore_generation_config";
  all.layout = {
      .data = 1, .tensor = trained.tensor, .pipeline = trained.pipeline, .stage_layers = trained.stage_layers};
  const std::string tensor_key = keys + ".tensor_model_parallel_size";
  DOVETAIL_TRY(const auto tensor, optional_integer(tree, tensor_key));
  if (tensor) {
    DOVETAIL_TRY(all.layout.tensor, degree_at(tree, tensor_key));
  }
  const int instance = all.layout.tensor * all.layout.pipeline;
  if (devices % instance != 0)
    return setting_error(
        tree, tensor ? tensor_key : "policy.megatron_cfg.tensor_model_parallel_size",
        fmt::format("is {}, with a pipeline degree of {}; accepted: a product of degrees that divides the {} GPUs of "
                    "generation",
                    all.layout.tensor, all.layout.pipeline, devices));
  all.layout.data = devices / instance;
  if (model.experts) {
    const std::string key = keys + ".expert_model_parallel_size";
    DOVETAIL_TRY(const auto expert, optional_integer(tree, key));
    all.layout.expert = trained.expert;
    if (expert) {
      DOVETAIL_TRY(all.layout.expert, degree_at(tree, key));
    }
  }
  DOVETAIL_TRY(all.engine.max_num_batched_tokens,
               count_or(tree, keys + ".max_tokens", all.engine.max_num_batched_tokens));
  DOVETAIL_TRY(const auto chunked, optional_flag(tree, keys + ".enable_chunked_prefill"));
  all.engine.chunked_prefill = chunked.value_or(true);
  return {};
}

}  // namespace

base::Result<bool> is_on(const syntax::SettingTree& tree, const std::string& key) {
  DOVETAIL_TRY(const auto value, optional_flag(tree, key));
  return value.value_or(false);
}

base::Result<bool> nemo_rl_has_megatron(const syntax::SettingTree& tree, const std::string& role) {
  const std::string key = role + ".megatron_cfg.enabled";
  DOVETAIL_TRY(const bool megatron, is_on(tree, key));
  DOVETAIL_TRY(const bool dtensor, is_on(tree, role + ".dtensor_cfg.enabled"));
  if (megatron == dtensor)
    return setting_error(tree, key,
                         fmt::format("and {1}.dtensor_cfg.enabled are both {0}, so NeMo-RL rejects the configuration; "
                                     "accepted: exactly one of them true",
                                     megatron, role));
  return megatron;
}

base::Result<llm::Layout> nemo_rl_layout(const syntax::SettingTree& tree, const std::string& role, int devices,
                                         const llm::Transformer& model) {
  DOVETAIL_TRY(const bool megatron, nemo_rl_has_megatron(tree, role));
  return megatron ? megatron_layout_of(tree, role + ".megatron_cfg", devices, model)
                  : dtensor_layout(tree, role + ".dtensor_cfg", devices, model);
}

base::Result<plan::MicroBatching> nemo_rl_micro_batching(const syntax::SettingTree& tree, const std::string& role,
                                                         bool trains) {
  for (const char* const mode : {".sequence_packing", ".dynamic_batching"}) {
    DOVETAIL_TRY(const bool by_tokens, is_on(tree, role + mode + ".enabled"));
    if (!by_tokens) continue;
    std::string key = role + mode + (trains ? ".train_mb_tokens" : ".logprob_mb_tokens");
    // Older files have no separate budget for the value model's inference.
    if (find_setting(tree.root, key) == nullptr) key = role + mode + ".train_mb_tokens";
    DOVETAIL_TRY(const std::int64_t tokens, count_at(tree, key));
    return tokens_at_most(static_cast<double>(tokens));
  }
  std::string key = role + (trains ? ".train_micro_batch_size" : ".logprob_batch_size");
  if (find_setting(tree.root, key) == nullptr) key = role + ".train_micro_batch_size";
  DOVETAIL_TRY(const std::int64_t sequences, count_at(tree, key));
  return sequences_at_most(static_cast<double>(sequences));
}

base::Result<HostShare> nemo_rl_host_share(const syntax::SettingTree& tree, const std::string& role) {
  DOVETAIL_TRY(const bool megatron, nemo_rl_has_megatron(tree, role));
  HostShare share{.key = {}, .share = 1};
  if (megatron) {
    DOVETAIL_TRY(share, host_share_at(tree, role + ".megatron_cfg.optimizer.optimizer_offload_fraction", 0));
  }
  DOVETAIL_TRY(share.steps, nemo_rl_optimizer_on_host(tree, role));
  return share;
}

base::Result<bool> nemo_rl_optimizer_on_host(const syntax::SettingTree& tree, const std::string& role) {
  DOVETAIL_TRY(const bool megatron, nemo_rl_has_megatron(tree, role));
  return is_on(tree, role + (megatron ? ".megatron_cfg.optimizer.optimizer_cpu_offload" : ".dtensor_cfg.cpu_offload"));
}

base::Result<NemoRlEngine> nemo_rl_engine(const syntax::SettingTree& tree, int devices, const llm::Transformer& model,
                                          const llm::Layout& trained) {
  const std::string key = "policy.generation.backend";
  DOVETAIL_TRY(const std::string backend, text_at(tree, key));
  NemoRlEngine all;
  if (backend == "vllm") {
    DOVETAIL_CHECK(read_nemo_rl_vllm(tree, devices, model, all));
  } else if (backend == "sglang") {
    DOVETAIL_CHECK(read_sglang(tree, devices, model, all));
  } else if (backend == "trtllm") {
    DOVETAIL_CHECK(read_trtllm(tree, devices, model, all));
  } else if (backend == "megatron") {
    DOVETAIL_CHECK(read_megatron(tree, devices, model, trained, all));
  } else {
    return setting_error(tree, key,
                         fmt::format("is {}; accepted: vllm, sglang, trtllm, megatron", base::quote(backend)));
  }
  return all;
}

}  // namespace dovetail::trainers
