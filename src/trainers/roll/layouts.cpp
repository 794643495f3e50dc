#include "trainers/roll/layouts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/document.h"
#include "trainers/import/layouts.h"
#include "trainers/import/role_training.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

/// Name of a strategy, and its purposes.
struct RollStrategy {
  std::string_view name;
  RollBackend backend;
  std::string_view uses;  ///< first letter of each RollUse that the strategy supports
};
constexpr std::array<RollStrategy, 9> strategies{{
    {"megatron_train", RollBackend::megatron, "t"},
    {"megatron_infer", RollBackend::megatron, "p"},
    {"fsdp2_train", RollBackend::fsdp2, "t"},
    {"fsdp2_infer", RollBackend::fsdp2, "p"},
    {"deepspeed_train", RollBackend::deepspeed, "t"},
    {"deepspeed_infer", RollBackend::deepspeed, "p"},
    {"hf_infer", RollBackend::hugging_face, "pj"},
    {"vllm", RollBackend::vllm, "gj"},
    {"sglang", RollBackend::sglang, "gj"},
}};

char letter_of(RollUse use) {
  switch (use) {
    case RollUse::trains:
      return 't';
    case RollUse::passes:
      return 'p';
    case RollUse::generates:
      return 'g';
    case RollUse::judges:
      return 'j';
  }
  return 't';
}

/// Returns the layers of each stage if the embedding or the loss counts as a layer (account_for_..._in_pipeline_split).
/// Empty: even stages.
base::Result<std::vector<int>> accounted_layers(const syntax::SettingTree& tree, const std::string& keys,
                                                const llm::Layout& layout, std::int64_t layers) {
  const std::string embedding_key = keys + ".account_for_embedding_in_pipeline_split";
  DOVETAIL_TRY(const bool embedding, roll_flag(tree, embedding_key));
  DOVETAIL_TRY(const bool loss, roll_flag(tree, keys + ".account_for_loss_in_pipeline_split"));
  DOVETAIL_TRY(const auto by_letters, optional_text(tree, keys + ".pipeline_model_parallel_layout"));
  const int chunks = layout.pipeline * layout.virtual_stages;
  const std::int64_t all = layers + (embedding ? 1 : 0) + (loss ? 1 : 0);
  if (by_letters || layout.pipeline == 1 || !layout.stage_layers.empty()) return layout.stage_layers;
  if (all % chunks != 0 || all / chunks * layout.virtual_stages < 2)
    return setting_error(
        tree, keys + ".pipeline_model_parallel_size",
        fmt::format("x virtual stages is {} x {}, so ROLL rejects the configuration; accepted: a product "
                    "that divides the {} layers, counting embedding and loss as configured, with at "
                    "least 2 layers per stage",
                    layout.pipeline, layout.virtual_stages, all));
  if (!embedding && !loss) return std::vector<int>();
  const int of_stage = static_cast<int>(all / chunks) * layout.virtual_stages;
  std::vector<int> stages(static_cast<std::size_t>(layout.pipeline), of_stage);
  stages.front() -= embedding ? 1 : 0;
  stages.back() -= loss ? 1 : 0;
  return stages;
}

base::Result<llm::Layout> megatron_layout_of_role(const syntax::SettingTree& tree, const std::string& keys, bool trains,
                                                  int devices, const llm::Transformer& model) {
  DOVETAIL_TRY(llm::Layout layout, megatron_degrees(tree, keys, keys + ".additional_configs", devices, model));
  DOVETAIL_TRY(layout.stage_layers, accounted_layers(tree, keys, layout, model.layers));
  // ROLL enables it if experts need it.
  layout.sequence_parallel = layout.sequence_parallel || (layout.tensor > 1 && layout.expert > 1);
  if (!trains) return layout;
  DOVETAIL_TRY(const bool shards, roll_flag(tree, keys + ".use_distributed_optimizer"));
  layout.zero = shards ? 1 : 0;
  DOVETAIL_TRY(layout.recomputation, recomputation_at(tree, {.granularity = keys + ".recompute_granularity",
                                                             .modules = keys + ".recompute_modules",
                                                             .experts = keys + ".moe_layer_recompute"}));
  return layout;
}

/// Returns the recomputation of a Hugging Face model. It is on by default for training.
base::Result<llm::Recomputation> checkpointed(const syntax::SettingTree& tree, const std::string& role, bool trains) {
  DOVETAIL_TRY(const bool disabled, roll_flag(tree, role + ".model_args.disable_gradient_checkpointing"));
  return trains && !disabled ? llm::Recomputation::full : llm::Recomputation::none;
}

base::Result<llm::Layout> sharded_layout(const syntax::SettingTree& tree, const std::string& role, int devices) {
  const std::string key = role + ".model_args.ulysses_size";
  llm::Layout layout{.zero = 3, .stage_layers = {}};
  DOVETAIL_TRY(layout.context, degree_at(tree, key));
  if (devices % layout.context != 0)
    return setting_error(tree, key, fmt::format("is {}; accepted: a divisor of the {} GPUs", layout.context, devices));
  layout.data = devices / layout.context;
  return layout;
}

base::Result<llm::Layout> fsdp2_layout_of_role(const syntax::SettingTree& tree, const std::string& role, int devices,
                                               const llm::Transformer& model) {
  const std::string keys = roll_strategy_key(role);
  const std::string size_key = keys + ".fsdp_size";
  DOVETAIL_TRY(llm::Layout layout, sharded_layout(tree, role, devices));
  DOVETAIL_TRY(const int size, degree_at(tree, size_key));
  if (layout.context > size)
    return setting_error(
        tree, size_key,
        fmt::format("is {} with {}.model_args.ulysses_size {}, so ROLL rejects the configuration; accepted: at least "
                    "ulysses_size",
                    size, role, layout.context));
  if (size > 1 && size < devices && devices % size != 0)
    return setting_error(tree, size_key,
                         fmt::format("is {}, which ROLL rejects; accepted: a divisor of the {} GPUs", size, devices));
  DOVETAIL_TRY(const auto reshards, optional_flag(tree, keys + ".reshard_after_forward"));
  layout.zero = reshards.value_or(true) ? 3 : 2;
  if (!model.experts) return layout;
  const std::string expert_key = keys + ".ep_size";
  DOVETAIL_TRY(layout.expert, degree_at(tree, expert_key));
  DOVETAIL_TRY(const int experts_apart, degree_at(tree, keys + ".efsdp_size"));
  if (layout.expert > 1 && devices % (std::int64_t{layout.expert} * experts_apart) != 0)
    return setting_error(
        tree, expert_key,
        fmt::format(
            "is {} with efsdp_size {}, so ROLL rejects the configuration; accepted: sizes whose product divides the {} "
            "GPUs",
            layout.expert, experts_apart, devices));
  return layout;
}

base::Result<llm::Layout> deepspeed_layout_of_role(const syntax::SettingTree& tree, const std::string& role,
                                                   int devices) {
  const std::string key = roll_strategy_key(role) + ".zero_optimization.stage";
  DOVETAIL_TRY(llm::Layout layout, sharded_layout(tree, role, devices));
  DOVETAIL_TRY(const std::int64_t stage, roll_count(tree, key, 1));
  if (stage > 3) return setting_error(tree, key, fmt::format("is {}; accepted: 1 to 3", stage));
  layout.zero = static_cast<int>(stage);
  return layout;
}

/// Returns the layout of Hugging Face inference. A worker with several GPUs splits the layers among them.
base::Result<llm::Layout> hugging_face_layout(const syntax::SettingTree& tree, const std::string& role, int devices) {
  const std::string key = role + ".num_gpus_per_worker";
  llm::Layout layout{.stage_layers = {}};
  DOVETAIL_TRY(layout.pipeline, degree_at(tree, key));
  if (devices % layout.pipeline != 0)
    return setting_error(tree, key,
                         fmt::format("is {}, which ROLL rejects; accepted: a divisor of the {} GPUs of {}",
                                     layout.pipeline, devices, role));
  layout.data = devices / layout.pipeline;
  return layout;
}

base::Status read_vllm_of_role(const syntax::SettingTree& tree, const std::string& role, int devices,
                               const llm::Transformer& model, RollEngine& all) {
  const std::string keys = roll_strategy_key(role);
  const std::string data_key = keys + ".data_parallel_size";
  DOVETAIL_TRY(
      all.layout,
      engine_degrees(
          tree, {.tensor = keys + ".tensor_parallel_size", .pipeline = keys + ".pipeline_parallel_size", .data = {}},
          devices));
  DOVETAIL_TRY(const int data, degree_at(tree, data_key));
  if (data > 1 && data != all.layout.data)
    return setting_error(tree, data_key,
                         fmt::format("is {0}, which ROLL rejects; accepted: 1, or the number of workers of {2} ({1})",
                                     data, all.layout.data, role));
  DOVETAIL_TRY(const bool spreads, roll_flag(tree, keys + ".enable_expert_parallel"));
  if (model.experts && spreads) all.layout.expert = all.layout.tensor * data;
  DOVETAIL_TRY(const auto share, optional_number(tree, keys + ".gpu_memory_utilization"));
  all.engine.memory_utilization = share.value_or(all.engine.memory_utilization);
  DOVETAIL_TRY(const bool eager, roll_flag(tree, keys + ".enforce_eager"));
  all.engine.cuda_graphs = !eager;
  DOVETAIL_TRY(all.engine.max_num_seqs, roll_count(tree, keys + ".max_num_seqs", all.engine.max_num_seqs));
  DOVETAIL_TRY(all.engine.max_num_batched_tokens,
               roll_count(tree, keys + ".max_num_batched_tokens", all.engine.max_num_batched_tokens));
  DOVETAIL_TRY(const auto chunked, optional_flag(tree, keys + ".enable_chunked_prefill"));
  all.engine.chunked_prefill = chunked.value_or(true);
  return {};
}

base::Status read_sglang_of_role(const syntax::SettingTree& tree, const std::string& role, int devices,
                                 const llm::Transformer& model, RollEngine& all) {
  const std::string keys = roll_strategy_key(role);
  const std::string worker_key = role + ".num_gpus_per_worker";
  const std::string tensor_key = keys + ".tensor_parallel_size";
  DOVETAIL_TRY(const int worker, degree_at(tree, worker_key));
  DOVETAIL_TRY(const auto tensor, optional_integer(tree, tensor_key));
  DOVETAIL_TRY(
      all.layout,
      engine_degrees(
          tree, {.tensor = tensor ? tensor_key : worker_key, .pipeline = keys + ".pipeline_parallel_size", .data = {}},
          devices));
  if (all.layout.tensor * all.layout.pipeline != worker)
    return setting_error(tree, worker_key,
                         fmt::format("is {}, but each engine needs tensor {} x pipeline {} GPUs; "
                                     "accepted: the product of these degrees",
                                     worker, all.layout.tensor, all.layout.pipeline));
  if (model.experts) {
    DOVETAIL_TRY(all.layout.expert, degree_at(tree, keys + ".ep_size"));
  }
  DOVETAIL_TRY(all.engine.memory_utilization, decimal_at(tree, keys + ".mem_fraction_static"));
  DOVETAIL_TRY(all.engine.max_num_seqs, roll_count(tree, keys + ".max_running_requests", all.engine.max_num_seqs));
  DOVETAIL_TRY(const bool eager, roll_flag(tree, keys + ".disable_cuda_graph"));
  all.engine.cuda_graphs = !eager;
  return {};
}

/// Returns the state types and shard groups of a role. FSDP keeps gradients and moments in the type of the weights.
/// Megatron's types are those of the memory conventions.
base::Result<RoleTypes> roll_types(const syntax::SettingTree& tree, const std::string& role, int devices) {
  RoleTypes types;
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, role, RollUse::trains));
  if (backend != RollBackend::fsdp2) return types;
  const std::string size_key = roll_strategy_key(role) + ".fsdp_size";
  DOVETAIL_TRY(const std::int64_t size, roll_count(tree, size_key, 1));
  if (size > 1 && size < devices) {
    types.types.shard_group = static_cast<int>(size);
    types.otherwise.push_back(
        {size_key,
         fmt::format("{}: several shard groups; modeled as one group of all {} GPUs, but the real run uses "
                     "more memory and sends less",
                     size, devices),
         place_of(tree, size_key)});
  }
  const std::string key = roll_strategy_key(role) + ".param_dtype";
  DOVETAIL_TRY(const auto value, optional_text(tree, key));
  if (!value || is_one_of(*value, "fp32|float32")) return types;
  if (const auto type = state_type(*value))
    types.types.weight_type = types.types.gradient_type = types.types.moment_type = *type;
  types.otherwise.push_back({key,
                             *value + ": shards are not in fp32; modeled in fp32, but the real run uses less memory",
                             place_of(tree, key)});
  if (types.types.weight_type == plan::StateType::by_default)
    return setting_error(tree, key, fmt::format("is {}; accepted: fp32, bf16, fp16", *value));
  return types;
}

}  // namespace

std::string roll_strategy_key(const std::string& role) { return role + ".strategy_args.strategy_config"; }

base::Result<bool> roll_flag(const syntax::SettingTree& tree, const std::string& key) {
  DOVETAIL_TRY(const auto value, optional_flag(tree, key));
  return value.value_or(false);
}

base::Result<std::int64_t> roll_count(const syntax::SettingTree& tree, const std::string& key, std::int64_t otherwise) {
  DOVETAIL_TRY(const auto value, optional_integer(tree, key));
  if (!value) return otherwise;
  return count_at(tree, key);
}

base::Result<RollBackend> roll_backend(const syntax::SettingTree& tree, const std::string& role, RollUse use) {
  const std::string key = role + ".strategy_args.strategy_name";
  DOVETAIL_TRY(const auto value, optional_text(tree, key));
  const std::string name = value.value_or("fsdp2_train");
  const auto fits = [&](const RollStrategy& each) { return each.uses.find(letter_of(use)) != std::string_view::npos; };
  std::string accepted;
  for (const RollStrategy& each : strategies) {
    if (!fits(each)) continue;
    if (each.name == name) return each.backend;
    accepted += fmt::format("{}{}", accepted.empty() ? "" : ", ", each.name);
  }
  return setting_error(tree, key, fmt::format("is {}; accepted: {}", base::quote(name), accepted));
}

base::Result<llm::Layout> roll_layout(const syntax::SettingTree& tree, const std::string& role, RollUse use,
                                      int devices, const llm::Transformer& model) {
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, role, use));
  const bool trains = use == RollUse::trains;
  if (backend == RollBackend::megatron)
    return megatron_layout_of_role(tree, roll_strategy_key(role), trains, devices, model);
  base::Result<llm::Layout> layout = backend == RollBackend::fsdp2 ? fsdp2_layout_of_role(tree, role, devices, model)
                                     : backend == RollBackend::deepspeed ? deepspeed_layout_of_role(tree, role, devices)
                                                                         : hugging_face_layout(tree, role, devices);
  if (!layout.ok()) return layout;
  DOVETAIL_TRY(layout->recomputation, checkpointed(tree, role, trains));
  return layout;
}

base::Result<RollEngine> roll_engine(const syntax::SettingTree& tree, const std::string& role, int devices,
                                     const llm::Transformer& model) {
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, role, RollUse::judges));
  RollEngine all;
  if (backend == RollBackend::sglang) {
    DOVETAIL_CHECK(read_sglang_of_role(tree, role, devices, model, all));
  } else {
    DOVETAIL_CHECK(read_vllm_of_role(tree, role, devices, model, all));
  }
  return all;
}

base::Result<RollCut> roll_cut(const syntax::SettingTree& tree, const std::string& role, RollUse use,
                               bool in_training) {
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, role, use));
  if (backend != RollBackend::megatron) return RollCut::sequences;
  const char* const dynamic_key = in_training ? ".use_dynamic_batching_in_train" : ".use_dynamic_batching_in_infer";
  DOVETAIL_TRY(const bool dynamic, roll_flag(tree, role + dynamic_key));
  if (dynamic) return RollCut::dynamic;
  DOVETAIL_TRY(const bool packs, roll_flag(tree, role + ".use_sequence_packing"));
  if (!packs) return RollCut::sequences;
  const std::string key = role + ".sequence_packing_args.algorithm";
  DOVETAIL_TRY(const auto algorithm, optional_text(tree, key));
  if (algorithm.value_or("none") == "none") return RollCut::packed;
  if (*algorithm == "load_balance") return RollCut::balanced;
  return setting_error(tree, key, fmt::format("is {}; accepted: none, load_balance", base::quote(*algorithm)));
}

std::string roll_budget_key(const std::string& role, RollCut cut, bool in_training) {
  if (cut == RollCut::dynamic)
    return role + (in_training ? ".max_tokens_per_microbatch_in_train" : ".max_tokens_per_microbatch_in_infer");
  return role + (in_training ? ".sequence_packing_args.max_packed_sequence_length_train"
                             : ".sequence_packing_args.max_packed_sequence_length_forward");
}

base::Result<plan::MicroBatching> roll_micro_batching(const syntax::SettingTree& tree, const std::string& role,
                                                      RollUse use, bool in_training) {
  DOVETAIL_TRY(const RollCut cut, roll_cut(tree, role, use, in_training));
  if (cut == RollCut::dynamic || cut == RollCut::balanced) {
    DOVETAIL_TRY(const std::int64_t tokens, count_at(tree, roll_budget_key(role, cut, in_training)));
    return tokens_at_most(static_cast<double>(tokens));
  }
  DOVETAIL_TRY(const std::int64_t sequences,
               in_training ? roll_count(tree, role + ".training_args.per_device_train_batch_size", 8)
                           : roll_count(tree, role + ".infer_batch_size", 16));
  return sequences_at_most(static_cast<double>(sequences));
}

base::Result<bool> roll_optimizer_on_host(const syntax::SettingTree& tree, const std::string& role) {
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, role, RollUse::trains));
  const std::string keys = roll_strategy_key(role);
  if (backend == RollBackend::fsdp2) return roll_flag(tree, keys + ".offload_policy");
  if (backend != RollBackend::deepspeed) return false;
  DOVETAIL_TRY(const auto device, optional_text(tree, keys + ".zero_optimization.offload_optimizer.device"));
  return device && *device == "cpu";
}

base::Status add_roll_types(const syntax::SettingTree& tree, int actors, int critics, ImportedRun& run) {
  std::vector<RoleTypes> roles;
  DOVETAIL_TRY(roles.emplace_back(), roll_types(tree, "actor_train", actors));
  if (critics > 0) {
    DOVETAIL_TRY(roles.emplace_back(), roll_types(tree, "critic", critics));
  }
  take_types(roles, run);
  return {};
}

}  // namespace dovetail::trainers
