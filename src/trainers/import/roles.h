// Models and GPUs of an imported run. The user's options take precedence over the configuration.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/mesh.h"
#include "llm/transformer.h"
#include "syntax/files.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"
#include "trainers/import/models.h"
#include "trainers/import/options.h"

namespace dovetail::trainers {

/// Maximum number of GPUs of a run.
inline constexpr std::int64_t max_devices = 65536;

/// Default number of GPUs per node.
inline constexpr std::int64_t default_gpus_per_node = 8;

/// Input common to all readers of configurations.
struct RunRequest {
  ImportOptions options;
  syntax::FileReader read;         ///< reader of files that the configuration names, and of config.json of models
  std::string hub_cache;           ///< cache folder of Hugging Face's hub (models.h); empty: none
  syntax::FileReader read_cached;  ///< reader of files in that cache
  std::string name;                ///< name of the job
  std::map<std::string, std::string> environment;  ///< environment given in the options
};

/// Returns an Error if the options name a model for a role other than actor, critic and reward.
base::Status check_given_models(const ImportOptions& options);

/// Returns the shape of a role's model, which the user or the setting at `key` names, and adds the model to the run.
/// Records a guessed shape, and parts of the model that are not modeled, as findings. Returns an Error at the key, or
/// about the user's option, if the shape is unknown.
base::Result<llm::Transformer> role_model(const syntax::SettingTree& tree, const RunRequest& request,
                                          const std::string& role, const std::string& key, ImportedRun& run);

/// Returns the model named at `key`, or nullopt if the value or the model is unknown.
std::optional<FoundModel> seen_model(const syntax::SettingTree& tree, const RunRequest& request, std::string_view key);

/// Like role_model, for a trainer whose flags set the model's shape. If the user names a model, calls role_model.
/// Otherwise uses `shape`: the run refers to a bundled model of that shape, preferably the one named at `key`. If no
/// bundled model has the shape, the run contains it inline. Returns the Error of `shape` if there is one, and an Error
/// at `shape_key` if jobs cannot express the shape.
base::Result<llm::Transformer> shaped_model(const syntax::SettingTree& tree, const RunRequest& request,
                                            const std::string& role, const std::string& key,
                                            const base::Result<llm::Transformer>& shape, const std::string& shape_key,
                                            ImportedRun& run);

/// Reads the rank of adapters at `key`; 0 means no adapters.
base::Result<int> adapter_rank_at(const syntax::SettingTree& tree, const std::string& key);

/// Sets the cluster of the run to `nodes` nodes of `gpus_per_node` GPUs. The GPU type is the user's, or else a
/// default, which is recorded in `assumed`.
base::Status choose_gpu(const ImportOptions& options, std::int64_t nodes, std::int64_t gpus_per_node, ImportedRun& run);

/// Devices assigned to pools.
struct AssignedPools {
  std::vector<cluster::Mesh> meshes;  ///< [pool] devices of the pool
  std::int64_t nodes = 0;             ///< number of nodes used
};

/// Assigns disjoint devices to pools of `counts` GPUs on nodes of `per_node` GPUs, the largest pool first. A pool
/// crosses a node boundary only if it starts at one. REQUIRES: counts are at least 1 and sum to at most max_devices.
AssignedPools assign_pools(const std::vector<std::int64_t>& counts, std::int64_t per_node);

/// Assigns disjoint devices to pools of `counts` GPUs like assign_pools, and sets the cluster of the run. Without a
/// cluster from the user, the cluster has as many nodes as needed. Each of these nodes has `per_node` GPUs or as many
/// as needed, up to 8, whichever is more. Returns an Error if the user's cluster is too small, if a pool has no GPUs,
/// or if the pools exceed max_devices.
base::Result<std::vector<cluster::Mesh>> choose_pools(const ImportOptions& options,
                                                      const std::vector<std::int64_t>& counts, std::int64_t per_node,
                                                      ImportedRun& run);

/// Records in `assumed` that prompts and responses have the length of their cap, unless the user gives their lengths.
void assume_lengths(const syntax::SettingTree& tree, const ImportOptions& options, std::string_view prompt_key,
                    std::string_view response_key, ImportedRun& run);

/// Limits prompt plus response to `cap` tokens, the setting at `key`. Responses get the tokens that the longest prompts
/// leave. If none are left, or if sequences are padded beyond the cap, adds the setting to `not_modelled` instead. A
/// cap of 0 or less has no effect. REQUIRES: the other caps of the run are set.
void take_sequence_cap(const syntax::SettingTree& tree, std::string_view key, std::int64_t cap, ImportedRun& run);

}  // namespace dovetail::trainers
