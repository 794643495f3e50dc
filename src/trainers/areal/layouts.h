// How AReaL lays out an engine over its GPUs, and how it cuts micro-batches: of actor, critic and reference, and of
// rollout.
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

/// The layout of training of an engine, whose settings tell what its allocation does not. Passes have it without
/// recomputation. An Error at the key that AReaL would stop at.
base::Result<llm::Layout> areal_layout(const syntax::SettingTree& tree, const ArealEngine& engine,
                                       const llm::Transformer& model);

/// Micro-batches of training as of passes: of at most so many tokens, else so many of them.
base::Result<plan::MicroBatching> areal_micro_batching(const syntax::SettingTree& tree, const ArealEngine& engine);

/// Whether the optimizer of an engine is on the host.
base::Result<bool> areal_optimizer_on_host(const syntax::SettingTree& tree, const ArealEngine& engine);

/// Instances of the rollout engine and their settings. AReaL lets `sequences` be generated at once by all of them.
struct ArealRollout {
  llm::Layout layout;
  plan::Engine engine;
};
base::Result<ArealRollout> areal_rollout(const syntax::SettingTree& tree, const ArealEngine& rollout,
                                         const llm::Transformer& model, std::int64_t sequences);

}  // namespace dovetail::trainers
