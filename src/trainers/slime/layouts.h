// Model shape, devices and layouts of a slime run. Megatron-LM trains and infers, and SGLang generates.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "cluster/mesh.h"
#include "llm/layout.h"
#include "llm/transformer.h"
#include "plan/task_plan.h"
#include "syntax/tree.h"
#include "trainers/import/roles.h"

namespace dovetail::trainers {

/// Devices of training and of generation.
struct SlimePools {
  cluster::Mesh trainer;
  cluster::Mesh engines;
};

/// Assigns devices (slime/ray/placement_group.py). If trainer and engines are colocated, both meshes begin at the first
/// GPU. Otherwise, the engines follow the trainer, on a new node if its last node has too few GPUs left. Sets the run's
/// cluster to the user's choice, or else to nodes of the size that the flags give or imply. Returns an Error at a flag
/// that is missing or requests too many GPUs, and an Error without a position if the user's cluster is too small.
base::Result<SlimePools> slime_pools(const syntax::SettingTree& tree, const ImportOptions& options, ImportedRun& run);

/// Returns the training layout on `devices` devices. Returns an Error at the flag of a degree that does not divide the
/// devices, or at which Megatron-LM stops.
base::Result<llm::Layout> slime_layout(const syntax::SettingTree& tree, int devices, const llm::Transformer& model);

/// Returns the micro-batches of training and inference in `layout`. A token budget is per device, so devices that share
/// a sequence add up their budgets. Returns an Error if slime would stop because of how a mini-batch of `samples`
/// samples is split.
base::Result<plan::MicroBatching> slime_micro_batching(const syntax::SettingTree& tree, const llm::Layout& layout,
                                                       std::int64_t samples);

/// Generation engines and their settings.
struct SlimeEngines {
  llm::Layout layout;
  plan::Engine engine;
};

/// Returns the generation engines on `devices` devices. With data-parallel attention, each data-parallel rank of an
/// engine counts as an instance, and the experts are spread over all of them. For a dense model, the engine counts as
/// one instance. Returns an Error at the flag of a degree that does not divide the devices.
base::Result<SlimeEngines> slime_engines(const syntax::SettingTree& tree, int devices, const llm::Transformer& model);

/// Flag at which unsupported shapes are reported.
inline constexpr const char* slime_shape_key = "--num-layers";

/// Describes what the layers of a `--spec` add to a standard transformer. The additions are not modeled. Returns
/// nullopt if the layers are unknown or unsupported.
std::optional<std::string_view> slime_uncounted(const syntax::Setting& spec);

/// Returns the shape given by the flags, with Megatron-LM's defaults. `vocabulary` is the vocabulary size to use
/// without `--vocab-size`; 0: unknown. Returns an Error at a flag that is missing, that Megatron-LM rejects, or that
/// requests unsupported layers.
base::Result<llm::Transformer> slime_shape(const syntax::SettingTree& tree, std::int64_t vocabulary);

}  // namespace dovetail::trainers
