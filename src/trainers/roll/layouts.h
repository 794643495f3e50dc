// How ROLL's strategies lay out a role, and how they cut micro-batches. A role is the key that it is configured below:
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

namespace dovetail::trainers {

/// What computes for a role.
enum class RollBackend { megatron, fsdp2, deepspeed, hugging_face, vllm, sglang };

/// What the strategy of a role is for.
enum class RollUse { trains, passes, generates, judges };

/// Of a role's `strategy_name`, which is that of the newest default where nobody says one. An Error where it is none of
/// ROLL's for that use.
base::Result<RollBackend> roll_backend(const syntax::SettingTree& tree, const std::string& role, RollUse use);

/// `strategy_args.strategy_config` of a role.
std::string roll_strategy_key(const std::string& role);

/// Whether a member is there and true.
base::Result<bool> roll_flag(const syntax::SettingTree& tree, const std::string& key);

/// A count of at least 1, and what holds where nobody says one.
base::Result<std::int64_t> roll_count(const syntax::SettingTree& tree, const std::string& key, std::int64_t otherwise);

/// The layout of a role that trains, or that only passes, on `devices` of them. An Error at the key that does not
/// divide them, or for which ROLL would stop.
base::Result<llm::Layout> roll_layout(const syntax::SettingTree& tree, const std::string& role, RollUse use,
                                      int devices, const llm::Transformer& model);

/// Instances of the engine of a role, on `devices` of them, and its settings.
struct RollEngine {
  llm::Layout layout;
  plan::Engine engine;
};
base::Result<RollEngine> roll_engine(const syntax::SettingTree& tree, const std::string& role, int devices,
                                     const llm::Transformer& model);

/// How a role cuts what it is dealt, `in_training` or in a pass; `use` is that of its strategy.
enum class RollCut {
  sequences,  ///< so many, each padded to the longest that there may be
  dynamic,    ///< sorted by length, each padded to the longest of its micro-batch
  packed,     ///< so many, without padding
  balanced    ///< packed up to so many tokens
};
base::Result<RollCut> roll_cut(const syntax::SettingTree& tree, const std::string& role, RollUse use, bool in_training);
/// Where the tokens of a micro-batch stand. REQUIRES: dynamic or balanced.
std::string roll_budget_key(const std::string& role, RollCut cut, bool in_training);
base::Result<plan::MicroBatching> roll_micro_batching(const syntax::SettingTree& tree, const std::string& role,
                                                      RollUse use, bool in_training);

/// What is stepped on the host.
base::Result<bool> roll_optimizer_on_host(const syntax::SettingTree& tree, const std::string& role);

}  // namespace dovetail::trainers
