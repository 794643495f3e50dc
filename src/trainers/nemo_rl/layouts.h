// Layouts, micro-batches and engines of NeMo-RL. A role is the key of its settings: "policy", "value" or
// "env.reward_model".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/layout.h"
#include "llm/transformer.h"
#include "plan/task_plan.h"
#include "syntax/tree.h"
#include "trainers/import/role_training.h"

namespace dovetail::trainers {

/// Returns whether Megatron trains the role. Otherwise, DTensor with FSDP2 trains it. Returns an Error unless exactly
/// one of them is enabled.
base::Result<bool> nemo_rl_has_megatron(const syntax::SettingTree& tree, const std::string& role);

/// Returns the training layout on `devices` devices. Inference uses the same layout. Returns an Error at the key of a
/// degree that does not divide the devices.
base::Result<llm::Layout> nemo_rl_layout(const syntax::SettingTree& tree, const std::string& role, int devices,
                                         const llm::Transformer& model);

/// Returns the micro-batches of training if `trains`, otherwise of inference. They are sized by tokens if sequences are
/// packed or batches are dynamic.
base::Result<plan::MicroBatching> nemo_rl_micro_batching(const syntax::SettingTree& tree, const std::string& role,
                                                         bool trains);

/// Returns the share of the role's optimizer that is kept and stepped on the host if offloading is enabled: 1 with
/// DTensor, the configured fraction with Megatron.
base::Result<HostShare> nemo_rl_host_share(const syntax::SettingTree& tree, const std::string& role);
/// Returns whether the setting that steps the role's optimizer on the host is enabled.
base::Result<bool> nemo_rl_optimizer_on_host(const syntax::SettingTree& tree, const std::string& role);

/// Returns whether the key exists and is true.
base::Result<bool> is_on(const syntax::SettingTree& tree, const std::string& key);

/// Generation engines and their settings.
struct NemoRlEngine {
  llm::Layout layout;
  plan::Engine engine;
};
/// Returns the generation engines on `devices` devices, for any backend. `trained` is the policy's layout.
base::Result<NemoRlEngine> nemo_rl_engine(const syntax::SettingTree& tree, int devices, const llm::Transformer& model,
                                          const llm::Layout& trained);

}  // namespace dovetail::trainers
