// Engines of an AReaL run: their allocation strings, how they share GPUs, and checks of their settings.
//
// An allocation string names the backend of an engine and its parallel degrees, which determine its number of GPUs.
// areal/api/alloc_mode.py defines the grammar. Since March 2026 each engine has its own string ("sglang:d4t2",
// "megatron:(attn:d4p2t2|ffn:d2p2e4)"). Before March 2026, one string described all engines ("sglang:d4+fsdp:d4",
// "sglang.d4p1t1+d4p1t1"), with + between engines on separate GPUs and | between engines that share GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/transformer.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"

namespace dovetail::trainers {

/// Allocation of one engine. Degrees are from 1 to 65536.
struct ArealAllocation {
  std::string backend;  ///< sglang, vllm, fsdp, megatron or archon; empty: unspecified
  std::string name;     ///< name in brackets, as in "fsdp[actor]:d4"; empty: no name
  int data = 1;
  int tensor = 1;
  int pipeline = 1;
  int context = 1;
  int expert = 1;
  int expert_tensor = 1;

  /// Returns data x tensor x pipeline x context, the number of GPUs, or max_devices + 1 if there are more.
  std::int64_t devices() const;
  /// Returns whether the backend is a generation engine.
  bool generates() const { return backend == "sglang" || backend == "vllm"; }

  bool operator==(const ArealAllocation&) const = default;
};

/// Parses the allocation string of one engine. Returns an Error without location ("... (character N); accepted: ...")
/// if the string is malformed, if the backend is missing or does not support a degree, or if the string describes
/// several engines. Also returns an Error if the expert degrees do not divide the GPUs, or if attention and experts use
/// different numbers of GPUs.
base::Result<ArealAllocation> parse_areal_backend(std::string_view text);

/// The generation engine and the training engine that a single allocation string describes.
struct ArealMode {
  ArealAllocation rollout;
  ArealAllocation actor;
  bool colocated = false;  ///< whether the two engines share GPUs
};

/// Parses a single allocation string for all engines, in the syntax of any version. Older versions write a dot for the
/// colon and `m` for `t`. They may omit the training backend, which is then Megatron if there are pipeline or expert
/// degrees, otherwise FSDP. Apart from this leniency, returns the Errors of
/// parse_areal_backend. Also returns an Error unless the string has exactly one generation and one training engine,
/// with equal numbers of GPUs if they share them.
base::Result<ArealMode> parse_areal_mode(std::string_view text);

struct ArealEngine {
  std::string role;  ///< key of its settings: "actor", "critic", "ref", "rollout"
  std::string key;   ///< key of its allocation string
  ArealAllocation allocation;
  std::string target;  ///< role whose GPUs it shares; empty: it has a separate pool
};

/// Returns the engines in the order in which AReaL creates them: actor, critic if it has settings, reference if the run
/// has one, rollout. Reads the `allocation_mode` of files from before March 2026, unless engines have their own
/// strings. Returns an Error at an invalid allocation, at a generation backend for training or vice versa, and at
/// engines that share GPUs although AReaL does not allow it. Adds assumptions and ignored settings to `run`.
base::Result<std::vector<ArealEngine>> areal_engines(const syntax::SettingTree& tree, ImportedRun& run);

/// Returns whether the role has settings: a top-level member with its name that is a map.
bool areal_has_role(const syntax::SettingTree& tree, const std::string& role);

/// Returns the engine of a role. REQUIRES: it exists.
const ArealEngine& areal_engine_of(const std::vector<ArealEngine>& engines, std::string_view role);

/// Returns whether rollout and actor share GPUs, so that each frees its memory for the other.
bool areal_is_colocated(const std::vector<ArealEngine>& engines);

/// Returns an Error at the key of the first setting that stops AReaL at startup or makes it wait forever for a batch.
/// Does not check allocations and layouts, which areal_engines and areal_layout check. REQUIRES: the workload of `run`
/// is set.
base::Status check_areal_start(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines,
                               const ImportedRun& run);

/// Completes an imported run. Adds to `not_modelled` the settings that affect time or memory but are not modeled. Adds
/// to `ignored` the settings that have no effect or do not exist. Sets the run's data types and engine. `model` is the
/// actor's shape. Returns an Error at a setting whose value is unknown.
base::Status add_areal_unmodeled(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines,
                                 const llm::Transformer& model, ImportedRun& run);

}  // namespace dovetail::trainers
