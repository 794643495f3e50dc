// The models of an imported run's roles, and its GPUs, where a user may say others than the configuration.
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

/// The most GPUs that a run may have.
inline constexpr std::int64_t max_devices = 65536;

/// GPUs of a node where nobody asks for more.
inline constexpr std::int64_t usual_node = 8;

/// What every reader of a configuration is given.
struct RunRequest {
  ImportOptions options;
  syntax::FileReader read;                         ///< for files that it names, and the config.json of models
  std::string hub_cache;                           ///< of models from Hugging Face's hub (hub_cache.h); empty: none
  syntax::FileReader read_cached;                  ///< for files there
  std::string name;                                ///< of the job
  std::map<std::string, std::string> environment;  ///< what the options say of it
};

/// An Error where the options name a model of a role that runs do not have.
base::Status check_said_models(const ImportOptions& options);

/// The shape of a role's model, which is added to the run: what the user says, else what `key` says. A guess is listed,
/// and what of the model is not counted. An Error at the key, or of the option, where the shape is not known.
base::Result<llm::Transformer> role_model(const syntax::SettingTree& tree, const RunRequest& request,
                                          const std::string& role, const std::string& key, ImportedRun& run);

/// The model that `key` seems to name; nothing where none is known.
std::optional<FoundModel> seen_model(const syntax::SettingTree& tree, const RunRequest& request, std::string_view key);

/// The same as role_model of a role whose shape flags say, unless the user says another model. The run has it by the
/// name of a bundled model of that shape, best the one that `key` seems to name, else in line. An Error at `shape_key`
/// where a job cannot say such a shape.
base::Result<llm::Transformer> shaped_model(const syntax::SettingTree& tree, const RunRequest& request,
                                            const std::string& role, const std::string& key,
                                            const base::Result<llm::Transformer>& shape, const std::string& shape_key,
                                            ImportedRun& run);

/// A rank of adapters as it is written at `key`: 0 where there is none.
base::Result<int> adapter_rank_at(const syntax::SettingTree& tree, const std::string& key);

/// Makes the run's cluster `nodes` of `gpus_per_node`, of the GPU that the user says. `assumed` has it where nobody
/// does.
base::Status choose_gpu(const ImportOptions& options, std::int64_t nodes, std::int64_t gpus_per_node, ImportedRun& run);

/// Pools dealt out over nodes.
struct DealtPools {
  std::vector<cluster::Mesh> meshes;  ///< [pool]
  std::int64_t nodes = 0;             ///< that they take
};

/// Devices of their own for pools of `counts` GPUs on nodes of `per_node`: the largest first, none over the border of a
/// node unless it begins at one. REQUIRES counts of at least 1 that max_devices hold together.
DealtPools deal_pools(const std::vector<std::int64_t>& counts, std::int64_t per_node);

/// Devices of their own for pools of `counts` GPUs, of which a pool has at most `per_node` on one node: the largest
/// first, none over the border of a node unless it has whole nodes. Makes the run's cluster what the user says, else as
/// many nodes of 8, or of what is asked for, as that takes. An Error of the option where that has too few.
base::Result<std::vector<cluster::Mesh>> choose_pools(const ImportOptions& options,
                                                      const std::vector<std::int64_t>& counts, std::int64_t per_node,
                                                      ImportedRun& run);

/// Lists in `assumed` that prompts and responses are as long as their caps, where the user says nothing of them.
void assume_lengths(const syntax::SettingTree& tree, const ImportOptions& options, std::string_view prompt_key,
                    std::string_view response_key, ImportedRun& run);

/// Prompt and response end together after so many tokens, by the setting at `key`: responses have what prompts leave.
/// Where that is nothing, or where rows are padded to more, the setting is not modelled; 0 and less cut nothing.
/// REQUIRES: the run has its other caps.
void take_sequence_cap(const syntax::SettingTree& tree, std::string_view key, std::int64_t cap, ImportedRun& run);

}  // namespace dovetail::trainers
