// What jobs say of the software once: of roles that train, which may have it each by itself, of the critic alone, of
// the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/job.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"

namespace dovetail::trainers {

/// The types that a role keeps its states in, and the groups of ranks that it cuts them over.
struct RoleTypes {
  plan::Software types = {};            ///< of which only these count
  std::vector<Finding> otherwise = {};  ///< what is not modelled where another role has others
};

/// Gives the run the types of its roles. Where these differ it has those of the conventions, and each role's
/// `otherwise` is not modelled.
void take_types(const std::vector<RoleTypes>& roles, ImportedRun& run);

/// What a role that trains has on the host of an optimizer that is stepped there, by a setting.
struct HostShare {
  std::string key;
  double share = 0;    ///< 0: nothing, even where it is stepped there
  bool steps = false;  ///< it is stepped there now

  bool has_part() const { return steps && share > 0; }
  bool has_all() const { return steps && share == 1; }
};

/// The share at `key`, `otherwise` where nothing is said. An Error unless it is 0 to 1.
base::Result<HostShare> host_share_at(const syntax::SettingTree& tree, std::string key, double otherwise);

/// Gives the run the share of the first role that steps on the host, else of the first that says one. Others that step
/// there are not modelled.
void take_host_shares(const syntax::SettingTree& tree, const std::vector<HostShare>& roles, ImportedRun& run);

/// Gives the run the bucket of its weight sync that is said at `key`, in units of so many bytes, where it is another
/// than the framework's own. An Error unless it is at least 1.
base::Status take_sync_bucket(const syntax::SettingTree& tree, const std::string& key, std::int64_t unit,
                              ImportedRun& run);

/// The engine that is named at `key`; vLLM where it is none that jobs know.
base::Result<plan::EngineKind> engine_kind(const syntax::SettingTree& tree, std::string_view key);

/// Bits of the weights that a name says by one of its words, as "fp8_e5m2" and "/models/Qwen3-8B-AWQ" do: 8 or 4;
/// nothing of another name.
std::optional<int> named_bits(std::string_view name);

/// Gives the run the bits of its engine's weights that the setting at `key` names, and says of what is not counted of
/// them. An Error where only running would tell the value.
base::Status take_engine_weights(const syntax::SettingTree& tree, const std::string& key, ImportedRun& run);

/// Likewise of the engine's keys and values.
base::Status take_key_values(const syntax::SettingTree& tree, const std::string& key, ImportedRun& run);

/// "fp32", "float32", "bf16", ... as a type; nothing of another word.
std::optional<plan::StateType> state_type(std::string_view word);

/// Gives the run's critic mini-batches of so many samples. Where these do not divide the samples of an iteration,
/// `otherwise` is not modelled. REQUIRES: the run has its prompts, samples and mini-batch.
void take_critic_batch(std::int64_t samples, Finding otherwise, ImportedRun& run);

}  // namespace dovetail::trainers
