// Meaning of the keys in a trainer's log: times by phase, and lengths of responses.
//
// Each trainer defines its keys in its folder (for example src/trainers/verl/log.cpp). log_formats.h lists all
// trainers.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"

namespace dovetail::trainers {

/// Phases of an iteration that trainers time.
enum class PhaseKind {
  generation,
  inference,
  training,
  offload,  ///< states move between host and device memory before or after a phase
  refit,    ///< weight sync: copies new weights from training to generation
};
constexpr auto names_of(PhaseKind) {
  return std::array{base::EnumName{"generation", PhaseKind::generation},
                    base::EnumName{"scoring", PhaseKind::inference, "inference"},
                    base::EnumName{"training", PhaseKind::training}, base::EnumName{"offload", PhaseKind::offload},
                    base::EnumName{"refit", PhaseKind::refit, "weight sync"}};
}

/// Relation of a logged time to the iteration.
enum class TimeKind {
  iteration,     ///< the whole iteration
  phase,         ///< a phase of the iteration (PhaseKind)
  other,         ///< another part of the iteration, such as computing advantages or loading data
  interruption,  ///< only in some iterations: validation, checkpoints
  part,          ///< contained in another time, or contains others
  rate,          ///< not a time, but a rate or an amount, such as tokens per second
};
constexpr auto names_of(TimeKind) {
  return std::array{
      base::EnumName{"iteration", TimeKind::iteration}, base::EnumName{"phase", TimeKind::phase},
      base::EnumName{"other", TimeKind::other},         base::EnumName{"interruption", TimeKind::interruption},
      base::EnumName{"part", TimeKind::part},           base::EnumName{"rate", TimeKind::rate}};
}

struct TimedKey {
  std::string_view name;  ///< name after the prefix
  TimeKind use = TimeKind::other;
  std::optional<PhaseKind> phase = {};       ///< nullopt unless `use` is TimeKind::phase
  std::vector<std::string_view> roles = {};  ///< roles whose tasks are timed; empty: no specific role
  std::string_view unless = {};              ///< name of a time that, if also logged, contains this one
};

/// Meaning of a series of lengths. Lengths are in tokens per sample.
enum class LengthFigure {
  mean_response,  ///< if not logged: mean_sequence minus mean_prompt
  max_response,
  at_cap,  ///< fraction of responses that end at the cap
  mean_prompt,
  max_prompt,
  mean_sequence,  ///< prompt plus response
};

struct LengthKey {
  std::string_view name;
  LengthFigure figure = LengthFigure::mean_response;
};

/// The keys of one trainer.
struct LogKeys {
  std::vector<std::string_view> prefixes;  ///< prefixes of the names of times, current ones first: "timing_s/"
  std::string_view suffix = {};            ///< suffix of the names of times: "_time"
  std::vector<TimedKey> times;             ///< all known times, the iteration first
  std::vector<LengthKey> lengths;
  /// Whether keys must match exactly. Otherwise any text may precede a prefix, and '_' equals '/' in the first prefix
  /// and in names.
  bool exact = false;
  /// Whether the time of an iteration is the sum of its phases and other times, in logs that have no key for the
  /// iteration. This is so if one loop runs the phases in sequence.
  bool sums_iteration = false;
  /// Whether each step logs the time of the previous iteration, in logs whose first iteration takes 0 s.
  bool may_log_previous = false;
  /// Whether the time of generation includes the weight sync, in logs that have no key for the weight sync.
  bool weight_sync_within_generation = false;
};

/// Returns the name of a time without its prefix and any text before the prefix ("data/timing_s/gen" gives "gen"), or
/// nullopt if the key is not a time. Unless keys are exact, `_` equals `/` in the first prefix, because TensorBoard's
/// file names have `_` in place of `/`.
std::optional<std::string> time_name(const LogKeys& keys, std::string_view key);

/// Returns the entry of a time, or nullopt if it is unknown. A name below a known one ("policy_training/sharding") is a
/// part of that time.
std::optional<TimedKey> find_timed_key(const LogKeys& keys, std::string_view name);

/// Returns the meaning of a series of lengths, or nullopt if the key does not name lengths.
std::optional<LengthFigure> length_figure(const LogKeys& keys, std::string_view key);

}  // namespace dovetail::trainers
