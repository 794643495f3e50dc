// Engines of an AReaL run: their allocation strings, which of them share GPUs, and checks of their settings.
//
// An allocation string names a backend and its parallel degrees, whose product is its number of GPUs.
// areal/api/alloc_mode.py defines the grammar. Since March 2026 each engine has its own string ("sglang:d4t2",
// "megatron:(attn:d4p2t2|ffn:d2p2e4)"). Before that, one string described all engines ("sglang:d4+fsdp:d4",
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
  std::string name;     ///< name in brackets: "fsdp[actor]:d4"; empty: none
  int data = 1;
  int tensor = 1;
  int pipeline = 1;
  int context = 1;
  int expert = 1;
  int expert_tensor = 1;

  /// Returns the number of GPUs: the product of the data, tensor, pipeline and context degrees, capped at max_devices +
  /// 1.
  std::int64_t devices() const;
  /// Returns whether the backend is a generation engine.
  bool generates() const { return backend == "sglang" || backend == "vllm"; }

  bool operator==(const ArealAllocation&) const = default;
};

/// Parses the string of one engine. Fails without a place ("..., which AReaL rejects; accepted: ...") if the backend is
/// missing or does not support a degree, if there are several engines, if experts do not divide the GPUs, or if
/// attention and experts use different numbers of GPUs.
base::Result<ArealAllocation> parse_areal_backend(std::string_view text);

/// Result of parsing one string for all engines: the generation engine and the training engine.
struct ArealMode {
  ArealAllocation rollout;
  ArealAllocation actor;
  bool colocated = false;  ///< whether they share GPUs
};

/// Parses one string for all engines, in the syntax of any version. Older ones have a dot in place of the colon, `m` in
/// place of `t`, or no training backend (Megatron if there are pipelines or expert degrees, otherwise FSDP). Fails as
/// parse_areal_backend does, and unless there is exactly one engine of each kind.
base::Result<ArealMode> parse_areal_mode(std::string_view text);

struct ArealEngine {
  std::string role;  ///< key of its settings: "actor", "critic", "ref", "rollout"
  std::string key;   ///< key of its allocation string
  ArealAllocation allocation;
  std::string target;  ///< role whose GPUs it shares; empty: it has separate GPUs
};

/// Returns the engines in the order in which AReaL creates them: actor, critic if it has settings, reference if the run
/// has one, rollout. Reads the `allocation_mode` of files from before March 2026, unless engines have their own
/// strings. Fails at an invalid allocation, at a generation backend for training or vice versa, and at engines that
/// AReaL does not let share GPUs. Adds assumptions and ignored settings to `run`.
base::Result<std::vector<ArealEngine>> areal_engines(const syntax::SettingTree& tree, ImportedRun& run);

/// Returns whether the role has settings, that is, whether the member is a map.
bool areal_has_role(const syntax::SettingTree& tree, const std::string& role);

/// Returns the engine of a role. REQUIRES: it exists.
const ArealEngine& areal_engine_of(const std::vector<ArealEngine>& engines, std::string_view role);

/// Returns whether rollout and actor share GPUs, so that each frees its memory for the other.
bool areal_is_colocated(const std::vector<ArealEngine>& engines);

/// Fails at the key of the first setting that stops AReaL at startup or makes it wait forever for a batch.
/// areal_engines and areal_layout check allocations and layouts. REQUIRES: `run` has its workload.
base::Status check_areal_start(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines,
                               const ImportedRun& run);

/// Completes an imported run. Adds settings that affect time or memory and are not modeled to `not_modelled`, and
/// settings that have no effect or do not exist to `ignored`. Sets the run's types and engine. `model` is the actor.
/// Fails at a setting whose value is unknown.
base::Status add_areal_unmodeled(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines,
                                 const llm::Transformer& model, ImportedRun& run);

}  // namespace dovetail::trainers
