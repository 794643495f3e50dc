// How verl lays out training and forward passes on its pool of devices, and how it cuts micro-batches.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/layout.h"
#include "llm/transformer.h"
#include "plan/task_plan.h"
#include "syntax/tree.h"
#include "trainers/import/role_training.h"
#include "trainers/verl/defaults.h"
#include "trainers/verl/keys.h"

namespace dovetail::trainers {

/// On `devices` of them. An Error at the key that does not divide them.
base::Result<llm::Layout> fsdp_layout(const syntax::SettingTree& tree, const VerlEngineKeys& keys, int devices);

/// Of the role whose settings are below `keys`, with the parallel degrees below `degrees`, its own or another role's.
base::Result<llm::Layout> megatron_layout(const syntax::SettingTree& tree, std::string_view keys,
                                          std::string_view degrees, int devices, const llm::Transformer& model);

/// In `layout`: a budget counts for each of the devices that share a sequence. An Error where there are both numbers of
/// sequences, or neither.
base::Result<plan::MicroBatching> verl_micro_batching(const syntax::SettingTree& tree, const VerlBatchKeys& keys,
                                                      const llm::Layout& layout);

/// What of Megatron's optimizer, whose settings are below `optimizer`, is on the host where it is stepped there:
/// nothing where nobody says a fraction. An Error unless that is 0 to 1.
base::Result<HostShare> verl_host_share(const syntax::SettingTree& tree, std::string_view optimizer);

}  // namespace dovetail::trainers
