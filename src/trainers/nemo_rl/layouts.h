// How NeMo-RL lays out what it trains, and how it cuts micro-batches: of `policy` as of `value` and of the reward
// model.
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

/// What trains `role` ("policy", "value"): Megatron, else DTensor with FSDP2. An Error where both are enabled, or
/// neither.
base::Result<bool> nemo_rl_has_megatron(const syntax::SettingTree& tree, const std::string& role);

/// The layout of training on `devices` of them; passes have it, too. An Error at the key that does not divide them.
base::Result<llm::Layout> nemo_rl_layout(const syntax::SettingTree& tree, const std::string& role, int devices,
                                         const llm::Transformer& model);

/// In training, or in passes without gradients: by tokens where sequences are packed or batches dynamic.
base::Result<plan::MicroBatching> nemo_rl_micro_batching(const syntax::SettingTree& tree, const std::string& role,
                                                         bool trains);

/// What of the optimizer is on the host.
/// What of an optimizer that is stepped there is on the host: all of DTensor's, of Megatron's what its fraction says.
base::Result<HostShare> nemo_rl_host_share(const syntax::SettingTree& tree, const std::string& role);
base::Result<bool> nemo_rl_optimizer_on_host(const syntax::SettingTree& tree, const std::string& role);

/// Whether a member is there and true.
base::Result<bool> is_on(const syntax::SettingTree& tree, const std::string& key);

/// Instances of the generation engine, whichever it is, on `devices` of them, and its settings; `trained` is the layout
/// of the policy.
struct NemoRlEngine {
  llm::Layout layout;
  plan::Engine engine;
};
base::Result<NemoRlEngine> nemo_rl_engine(const syntax::SettingTree& tree, int devices, const llm::Transformer& model,
                                          const llm::Layout& trained);

}  // namespace dovetail::trainers
