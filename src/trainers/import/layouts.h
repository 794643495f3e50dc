// Layouts from the parallel degrees of Megatron-LM and of generation engines, shared by all trainers.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/layout.h"
#include "llm/transformer.h"
#include "plan/task_plan.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"

namespace dovetail::trainers {

/// Reads a parallel degree from 1 to 65536. The default is 1.
base::Result<int> degree_at(const syntax::SettingTree& tree, const std::string& key);

/// Keys of Megatron-LM's parallel degrees and related settings. `first_stage` and `last_stage` are the keys of the
/// numbers of layers on these stages.
struct MegatronKeys {
  std::string tensor;
  std::string pipeline;
  std::string context;
  std::string virtual_stages;
  std::string expert;
  std::string expert_tensor;
  std::string sequence_parallel;
  std::string first_stage;
  std::string last_stage;
};

/// Returns the layout on `devices` GPUs, without ZeRO stage and recomputation. The expert tensor degree defaults to the
/// tensor degree. Returns an Error at the key of a degree that does not divide the GPUs, the GPUs of a stage, or the
/// experts, or of a number of layers that leaves unequal numbers to other stages. Megatron-LM rejects these degrees too
/// (`parallel_state.initialize_model_parallel`).
base::Result<llm::Layout> megatron_degrees(const syntax::SettingTree& tree, const MegatronKeys& keys, int devices,
                                           const llm::Transformer& model);

/// Like megatron_degrees above, for keys with Megatron-LM's own names (`tensor_model_parallel_size`, ...) below `keys`.
/// The keys for the layers of the first and last stage are below `stages`.
base::Result<llm::Layout> megatron_degrees(const syntax::SettingTree& tree, std::string_view keys,
                                           std::string_view stages, int devices, const llm::Transformer& model);

/// Keys of Megatron-LM's recomputation settings. An empty key means that the trainer lacks the setting.
struct RecomputationKeys {
  std::string granularity;   ///< `full`, `selective` or null
  std::string modules = {};  ///< modules that `selective` recomputes; default: attention
  std::string experts = {};  ///< older flag for expert layers
};

/// Reads which parts of a layer are recomputed. Recomputation of experts may include attention, which flash attention
/// recomputes anyway. Returns an Error for a combination that Megatron-LM rejects.
base::Result<llm::Recomputation> recomputation_at(const syntax::SettingTree& tree, const RecomputationKeys& keys);

/// Adds the `recompute_modules` at `key` to `not_modelled` if they name modules other than attention and experts.
/// Returns an Error if the value is unknown before the script runs.
base::Status add_unmodeled_modules(const syntax::SettingTree& tree, const std::string& key, ImportedRun& run);

/// Keys of an engine's parallel degrees. An empty key means a degree of 1.
struct EngineSizes {
  std::string tensor;
  std::string pipeline;
  std::string data;
};

/// Returns the layout of the engine's instances on `devices` GPUs. Returns an Error if the product of the degrees does
/// not divide the GPUs.
base::Result<llm::Layout> engine_degrees(const syntax::SettingTree& tree, const EngineSizes& keys, int devices);

/// Returns micro-batches of at most this many tokens.
plan::MicroBatching tokens_at_most(double tokens);
/// Returns micro-batches of at most this many sequences.
plan::MicroBatching sequences_at_most(double sequences);

}  // namespace dovetail::trainers
