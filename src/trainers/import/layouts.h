// Layouts by the names that Megatron-LM and engines have for their degrees, whichever trainer writes them.
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

/// A parallel degree: 1 where nothing is said.
base::Result<int> degree_at(const syntax::SettingTree& tree, const std::string& key);

/// The settings of Megatron-LM's degrees, and of the layers of its first and last stage.
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

/// Those degrees on `devices` of them. Experts have the tensor parallelism of all else where nobody says another.
/// Neither optimizer nor recomputation is read. An Error at the key that does not divide the devices, those of a stage
/// or the experts: Megatron-LM stops (`parallel_state.initialize_model_parallel`).
base::Result<llm::Layout> megatron_degrees(const syntax::SettingTree& tree, const MegatronKeys& keys, int devices,
                                           const llm::Transformer& model);

/// The same of the degrees below `keys` (`tensor_model_parallel_size`, ...), with the layers of the first and last
/// stage below `stages`.
base::Result<llm::Layout> megatron_degrees(const syntax::SettingTree& tree, std::string_view keys,
                                           std::string_view stages, int devices, const llm::Transformer& model);

/// Megatron-LM's settings of what is computed again, by their keys; empty ones are not there.
struct RecomputationKeys {
  std::string granularity;   ///< `full`, `selective` or nothing
  std::string modules = {};  ///< that are meant by `selective`; attention where nothing is said
  std::string experts = {};  ///< the older flag for the layers of experts
};

/// How much is computed again. With experts attention may be as well: flash attention does so anyway. An Error where
/// both are said that Megatron-LM does not have together.
base::Result<llm::Recomputation> recomputation_at(const syntax::SettingTree& tree, const RecomputationKeys& keys);

/// Adds the `recompute_modules` at `key` to what is not modelled where they name others than attention and experts. An
/// Error where only running would tell them.
base::Status watch_modules(const syntax::SettingTree& tree, const std::string& key, ImportedRun& run);

/// The sizes of an engine, by their keys; an empty one is 1.
struct EngineSizes {
  std::string tensor;
  std::string pipeline;
  std::string data;
};

/// Instances of an engine on `devices` of them. An Error where the sizes do not divide these.
base::Result<llm::Layout> engine_degrees(const syntax::SettingTree& tree, const EngineSizes& keys, int devices);

/// Micro-batches of at most so many tokens, or of so many sequences.
plan::MicroBatching tokens_at_most(double tokens);
plan::MicroBatching sequences_at_most(double sequences);

}  // namespace dovetail::trainers
