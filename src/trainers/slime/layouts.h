// How slime lays out training and its passes, which Megatron-LM runs, and generation, which SGLang runs.
#pragma once

#include "base/result.h"
#include "llm/layout.h"
#include "llm/transformer.h"
#include "plan/task_plan.h"
#include "syntax/tree.h"

namespace dovetail::trainers {

/// Of training on `devices` of them. An Error at the flag that does not divide them, or at which Megatron-LM stops.
base::Result<llm::Layout> slime_layout(const syntax::SettingTree& tree, int devices, const llm::Transformer& model);

/// In `layout`, of training as of passes: a budget counts for each of the devices that share a sequence. An Error where
/// a mini-batch of `samples` is cut in a way at which slime stops.
base::Result<plan::MicroBatching> slime_micro_batching(const syntax::SettingTree& tree, const llm::Layout& layout,
                                                       std::int64_t samples);

/// The engines of generation.
struct SlimeEngines {
  llm::Layout layout;
  plan::Engine engine;
};

/// On `devices` of them. An engine whose attention is data parallel is as many instances as it has such ranks, with
/// experts over all of them; of a dense model it is one. An Error at the flag that does not divide the devices.
base::Result<SlimeEngines> slime_engines(const syntax::SettingTree& tree, int devices, const llm::Transformer& model);

}  // namespace dovetail::trainers
