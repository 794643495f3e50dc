// Layouts and micro-batches of AReaL's engines.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "llm/layout.h"
#include "llm/transformer.h"
#include "plan/task_plan.h"
#include "syntax/tree.h"
#include "trainers/areal/engines.h"

namespace dovetail::trainers {

/// Returns the training layout of an actor, critic or reference, from its allocation and settings. Inference uses the
/// same layout without recomputation. Returns an Error at the key of a setting at which AReaL would stop.
base::Result<llm::Layout> areal_layout(const syntax::SettingTree& tree, const ArealEngine& engine,
                                       const llm::Transformer& model);

/// Returns the micro-batches of training and inference. If the configuration limits the tokens of a micro-batch, this
/// limit applies; otherwise the number of micro-batches is fixed.
base::Result<plan::MicroBatching> areal_micro_batching(const syntax::SettingTree& tree, const ArealEngine& engine);

/// Returns whether the engine keeps its optimizer in host memory.
base::Result<bool> areal_optimizer_on_host(const syntax::SettingTree& tree, const ArealEngine& engine);

/// Rollout instances and their settings.
struct ArealRollout {
  llm::Layout layout;
  plan::Engine engine;
};
/// Returns the rollout instances of the engine `rollout`. Each generates at most an equal share of `sequences`
/// sequences at a time, rounded up.
base::Result<ArealRollout> areal_rollout(const syntax::SettingTree& tree, const ArealEngine& rollout,
                                         const llm::Transformer& model, std::int64_t sequences);

}  // namespace dovetail::trainers
