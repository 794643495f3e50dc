// Reader, writer, flags and log format of slime (THUDM/slime).
//
// Implements the rules of slime/utils/arguments.py, train.py, train_async.py, slime/ray/placement_group.py and
// slime/backends at 624b824a8. docs/trainer-slime.md summarizes them.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "llm/transformer.h"
#include "syntax/arguments.h"
#include "syntax/tree.h"
#include "trainers/export/trainer_writer.h"
#include "trainers/import/imported_run.h"
#include "trainers/import/trainer_reader.h"
#include "trainers/logs/console.h"
#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// Commit of slime whose flags and rules are implemented.
inline constexpr std::string_view slime_version = "624b824a8";

/// Reads slime's launch scripts. Returns an Error at a flag that slime rejects, or whose value is needed but unknown.
/// Also returns an Error if slime would stop at startup, or if a job cannot describe the model or trainer.
extern const TrainerReader slime_reader;

/// Writes plans as slime flags, and jobs as complete launch scripts. Returns an Error if slime cannot run the job, or
/// if a file without a base cannot express it.
extern const TrainerWriter slime_writer;

/// Returns the keys of slime's logs (slime/observability/{train_metric_utils,rollout_metrics}.py): `perf/..._time` in
/// seconds.
const LogKeys& slime_log_keys();

/// Reads console output: "perf 12: {'perf/rollout_time': 30.1, ...}" of rollout and training, and "rollout 12: {...}".
/// The number before the colon is the index of the rollout.
LineReader slime_line_reader();

/// Returns all flags with their defaults: slime's own, SGLang's after `--sglang-`, and those of Megatron-LM that
/// slime's scripts use or that affect time or memory.
std::span<const syntax::Flag> slime_flags();

/// Returns whether a flag has a value, which may be unknown, or, for a switch, is on.
base::Result<bool> is_given(const syntax::SettingTree& tree, std::string_view key);

/// Returns an Error at a flag for which slime would stop before its first step, or that makes it only train, only
/// generate, or generate on engines outside the run. Does not check whether degrees divide the devices, which
/// slime_layout and slime_engines check. `async`: the program is train_async.py. Sources: slime/utils/arguments.py,
/// train_async.py, and the argument checks of Megatron-LM and SGLang.
base::Status check_slime_start(const syntax::SettingTree& tree, bool async);

/// Completes an imported run. Adds to `not_modelled` the flags that affect time or memory but are not modeled. Adds to
/// `ignored` the flags without effect. Sets the run's data types. `async`: the program is train_async.py. `model` is
/// the actor's shape.
base::Status add_slime_unmodeled(const syntax::SettingTree& tree, bool async, const llm::Transformer& model,
                                 ImportedRun& run);

}  // namespace dovetail::trainers
