// Layouts, micro-batches, engines and state types of ROLL's strategies. A role is the key of its settings:
// "actor_train", "reference", "rewards.llm_judge".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/layout.h"
#include "llm/transformer.h"
#include "plan/task_plan.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"

namespace dovetail::trainers {

/// Framework that runs a role.
enum class RollBackend { megatron, fsdp2, deepspeed, hugging_face, vllm, sglang };

/// Purpose of a role's strategy: training, inference, generation or scoring by a reward model.
enum class RollUse { trains, passes, generates, judges };

/// Returns the backend of a role's `strategy_name`. If it is not set, uses the default of ROLL's latest version.
/// Returns an Error if ROLL has no such strategy for `use`.
base::Result<RollBackend> roll_backend(const syntax::SettingTree& tree, const std::string& role, RollUse use);

/// Returns the key of a role's `strategy_args.strategy_config`.
std::string roll_strategy_key(const std::string& role);

/// Returns whether the key exists and is true.
base::Result<bool> roll_flag(const syntax::SettingTree& tree, const std::string& key);

/// Returns the count, at least 1, at the key, or `otherwise` if the key is missing.
base::Result<std::int64_t> roll_count(const syntax::SettingTree& tree, const std::string& key, std::int64_t otherwise);

/// Returns the layout of a role on `devices` devices. Returns an Error at the key of a degree that does not divide the
/// devices, or at which ROLL would stop.
base::Result<llm::Layout> roll_layout(const syntax::SettingTree& tree, const std::string& role, RollUse use,
                                      int devices, const llm::Transformer& model);

/// Engine instances of a role and their settings.
struct RollEngine {
  llm::Layout layout;
  plan::Engine engine;
};
base::Result<RollEngine> roll_engine(const syntax::SettingTree& tree, const std::string& role, int devices,
                                     const llm::Transformer& model);

/// How a role forms micro-batches.
enum class RollCut {
  sequences,  ///< a fixed number of sequences, padded to the maximum length
  dynamic,    ///< sequences sorted by length, up to a token budget, padded to the longest of their micro-batch
  packed,     ///< a fixed number of sequences without padding
  balanced    ///< sequences packed up to a token budget
};
/// Returns how a role forms micro-batches: in training if `in_training`, otherwise in inference. `use` is the purpose
/// of its strategy.
base::Result<RollCut> roll_cut(const syntax::SettingTree& tree, const std::string& role, RollUse use, bool in_training);
/// Returns the key of the token budget of a micro-batch. REQUIRES: `cut` is dynamic or balanced.
std::string roll_budget_key(const std::string& role, RollCut cut, bool in_training);
base::Result<plan::MicroBatching> roll_micro_batching(const syntax::SettingTree& tree, const std::string& role,
                                                      RollUse use, bool in_training);

/// Returns whether the role's optimizer steps on the host.
base::Result<bool> roll_optimizer_on_host(const syntax::SettingTree& tree, const std::string& role);

/// Sets the run's state types and shard groups, as take_types does. The actor trains on `actors` GPUs and the critic on
/// `critics` GPUs (0: no critic). Returns an Error at an invalid type.
base::Status add_roll_types(const syntax::SettingTree& tree, int actors, int critics, ImportedRun& run);

}  // namespace dovetail::trainers
