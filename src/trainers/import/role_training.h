// Software settings that have one value in a job, although trainers may set them for each role or for the engine.
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

/// Types of a role's states, and the number of ranks over which they are sharded.
struct RoleTypes {
  plan::Software types = {};            ///< only types and `shard_group` are used
  std::vector<Finding> otherwise = {};  ///< findings to report if another role has different types
};

/// Sets the state types and the shard group of the run if all roles have the same ones. Otherwise, the run keeps the
/// defaults of its memory conventions, and the `otherwise` of each role is added to `not_modelled`.
void take_types(const std::vector<RoleTypes>& roles, ImportedRun& run);

/// Share of a role's optimizer that is kept and stepped on the host.
struct HostShare {
  std::string key;     ///< key of the share
  double share = 0;    ///< 0: nothing is on the host, even if stepping on the host is enabled
  bool steps = false;  ///< whether stepping on the host is enabled

  bool has_part() const { return steps && share > 0; }
  bool has_all() const { return steps && share == 1; }
};

/// Reads the share at `key`; the default is `otherwise`. Returns an Error unless it is from 0 to 1.
base::Result<HostShare> host_share_at(const syntax::SettingTree& tree, std::string key, double otherwise);

/// Sets the run's host share of the optimizer: the share of the first role that steps on the host, or else the first
/// share above 0. Adds different shares of other roles that step on the host to `not_modelled`.
void take_host_shares(const syntax::SettingTree& tree, const std::vector<HostShare>& roles, ImportedRun& run);

/// Sets the bucket size of the weight sync to the value at `key`, in units of `unit` bytes, if the size differs from
/// the framework's default. Returns an Error if the value is less than 1 or too large.
base::Status take_sync_bucket(const syntax::SettingTree& tree, const std::string& key, std::int64_t unit,
                              ImportedRun& run);

/// Returns the engine named at `key`. Returns vLLM if the key is missing or names an engine that jobs cannot describe.
base::Result<plan::EngineKind> engine_kind(const syntax::SettingTree& tree, std::string_view key);

/// Returns the bits per weight that a name implies, 8 or 4 ("fp8_e5m2", "/models/Qwen3-8B-AWQ"), or nullopt.
std::optional<int> named_bits(std::string_view name);

/// Sets the bits per weight of the engine from the setting at `key`. Adds the setting's other effects to
/// `not_modelled`. Returns an Error if the value is unknown before the script runs.
base::Status take_engine_weights(const syntax::SettingTree& tree, const std::string& key, ImportedRun& run);

/// Like take_engine_weights, for the bits per value of the engine's KV cache.
base::Status take_key_values(const syntax::SettingTree& tree, const std::string& key, ImportedRun& run);

/// Returns the type named "fp32", "float32", "bf16", ..., or nullopt for any other name.
std::optional<plan::StateType> state_type(std::string_view word);

/// Sets the critic's mini-batch to `samples` samples, if it differs from the run's mini-batch. If it does not divide
/// the samples of an iteration, adds `otherwise` to `not_modelled` instead. REQUIRES: the prompts, samples per prompt
/// and mini-batch of the run are set.
void take_critic_batch(std::int64_t samples, Finding otherwise, ImportedRun& run);

}  // namespace dovetail::trainers
