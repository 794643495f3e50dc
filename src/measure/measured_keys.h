// What the times are that verl, NeMo-RL and Dovetail's own runs log.
//
// Of verl: `timing_s/...` of its PPO trainer, in seconds (verl/trainer/ppo/ray_trainer.py and metric_utils.py). Of
// NeMo-RL: `timing/train/...` of its GRPO and PPO (nemo_rl/algorithms/grpo.py, ppo.py). Both names have changed over
// versions; the table has all. Of Dovetail: `timing` of metrics.jsonl (docs/training.md).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "measure/measurement.h"

namespace dovetail::measure {

enum class LogFormat { verl, nemo_rl, dovetail };
constexpr auto names_of(LogFormat) {
  return std::array{base::EnumName{"verl", LogFormat::verl}, base::EnumName{"nemo-rl", LogFormat::nemo_rl},
                    base::EnumName{"dovetail", LogFormat::dovetail}};
}

/// What a logged time is of the iteration.
enum class TimeKind {
  iteration,     ///< all of it
  phase,         ///< a phase of plans
  other,         ///< inside the iteration, but no phase of plans: advantages, data
  interruption,  ///< what not every iteration has: validation, checkpoints
  part,          ///< contained in another time
  rate,          ///< no time at all
};
constexpr auto names_of(TimeKind) {
  return std::array{
      base::EnumName{"iteration", TimeKind::iteration}, base::EnumName{"phase", TimeKind::phase},
      base::EnumName{"other", TimeKind::other},         base::EnumName{"interruption", TimeKind::interruption},
      base::EnumName{"part", TimeKind::part},           base::EnumName{"rate", TimeKind::rate}};
}

struct TimedKey {
  std::string_view name;  ///< behind the prefix
  TimeKind use = TimeKind::other;
  std::optional<PhaseKind> phase = {};       ///< of a phase: its kind
  std::vector<std::string_view> roles = {};  ///< of a phase: whose tasks it times; empty where the kind has no role
};

/// What stands before the names of times: "timing_s/", "timing/train/", "timing/".
std::string_view time_prefix(LogFormat format);

/// All names that are known, the iteration's first.
const std::vector<TimedKey>& timed_keys(LogFormat format);

/// The name behind the prefix of a key that is a time, whatever stands before it ("data/timing_s/gen" is "gen");
/// nothing of other keys. `/` and `_` are the same, as TensorBoard puts one for the other in the names of files; not in
/// metrics.jsonl, whose prefix begins as those of others do.
std::optional<std::string> time_name(LogFormat format, std::string_view key);

/// What is known of a time. A name below a known one ("policy_training/sharding") is a part of it; nothing of others.
std::optional<TimedKey> find_timed_key(LogFormat format, std::string_view name);

/// Whether a series is the mean length of responses, the longest one, or the fraction of them that ended at the cap.
enum class LengthFigure { mean_response, max_response, at_cap };
std::optional<LengthFigure> length_figure(LogFormat format, std::string_view key);

}  // namespace dovetail::measure
