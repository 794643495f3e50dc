// What the keys of a trainer's log mean: which are times and of what, which are lengths of responses.
//
// Each trainer has its table in its own folder (as src/trainers/verl/log.cpp); log_formats.h has them all.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"

namespace dovetail::trainers {

/// Kinds of steps that are timed together.
enum class PhaseKind {
  generation,
  inference,
  training,
  offload,  ///< what comes from host memory before a training and goes back behind it, which is often timed apart
  refit,    ///< new weights from where they are trained to where they are used
};
constexpr auto names_of(PhaseKind) {
  return std::array{base::EnumName{"generation", PhaseKind::generation},
                    base::EnumName{"scoring", PhaseKind::inference}, base::EnumName{"training", PhaseKind::training},
                    base::EnumName{"offload", PhaseKind::offload}, base::EnumName{"refit", PhaseKind::refit}};
}

/// What a logged time is of the iteration.
enum class TimeKind {
  iteration,     ///< all of it
  phase,         ///< a phase of plans
  other,         ///< inside the iteration, but no phase of plans: advantages, data
  interruption,  ///< what not every iteration has: validation, checkpoints
  part,          ///< contained in another time, or contains others
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
  std::string_view unless = {};              ///< where the log times that name, too, it is a part of that
};

/// What a series of lengths is, in tokens a sample. Where the mean response is not logged it is the mean sequence
/// without the mean prompt.
enum class LengthFigure {
  mean_response,
  max_response,
  at_cap,  ///< fraction of the responses that ended at the cap
  mean_prompt,
  max_prompt,
  mean_sequence,  ///< prompt and response
};

struct LengthKey {
  std::string_view name;
  LengthFigure figure = LengthFigure::mean_response;
};

/// The keys of one trainer.
struct LogKeys {
  std::vector<std::string_view> prefixes;  ///< what stands before the names of times, today's first: "timing_s/"
  std::string_view suffix = {};            ///< what their names end with: "_time"
  std::vector<TimedKey> times;             ///< all that are known, the iteration's first
  std::vector<LengthKey> lengths;
  /// Whether keys are as the tables have them to the letter. Else anything may stand before a prefix, and '_' is '/'
  /// in the first prefix and in names.
  bool exact = false;
  /// Where no key times the iteration, it is the sum of its phases and of what stands beside them, as one loop runs
  /// them.
  bool sums_iteration = false;
  /// Where the first step's iteration took 0 s, each step has the time of the one before.
  bool may_log_previous = false;
  /// Where no key times the weight sync it is part of generation.
  bool weight_sync_within_generation = false;
};

/// The name behind the prefix of a key that is a time, whatever stands before it ("data/timing_s/gen" is "gen");
/// nothing of other keys. `/` and `_` are the same, as TensorBoard puts one for the other in the names of files, unless
/// the keys are exact.
std::optional<std::string> time_name(const LogKeys& keys, std::string_view key);

/// What is known of a time. A name below a known one ("policy_training/sharding") is a part of it; nothing of others.
std::optional<TimedKey> find_timed_key(const LogKeys& keys, std::string_view name);

/// Which lengths a series has, if it has any.
std::optional<LengthFigure> length_figure(const LogKeys& keys, std::string_view key);

}  // namespace dovetail::trainers
