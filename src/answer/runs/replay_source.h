// Input of a replay: a schedule, a problem, or the training of a job.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "answer/question/input.h"
#include "answer/question/watch.h"
#include "base/enum_names.h"
#include "base/result.h"
#include "pipeline/schedule/schedule.h"
#include "study/fusion_variants.h"

namespace dovetail::answer {

/// Kind of the input.
enum class ReplaySourceKind : std::uint8_t { problem, schedule, job };
constexpr auto names_of(ReplaySourceKind) {
  return std::array{base::EnumName{"problem", ReplaySourceKind::problem},
                    base::EnumName{"schedule", ReplaySourceKind::schedule},
                    base::EnumName{"job", ReplaySourceKind::job}};
}

/// How to obtain the schedule, unless it is read from a file.
struct ReplaySearch {
  std::optional<Input> plan = std::nullopt;               ///< for a job; nullopt: the best plan found
  std::optional<study::FusionMode> fuse = std::nullopt;   ///< for a job; nullopt: as planned
  std::optional<std::int64_t> iterations = std::nullopt;  ///< per chain
  std::optional<double> time_limit = std::nullopt;        ///< in seconds
};

struct ReplaySource {
  std::string name;
  ReplaySourceKind kind = ReplaySourceKind::schedule;
  pipeline::Schedule schedule;
};

/// Reads what `input` names. A schedule must be valid. A problem or a bundled instance is scheduled as by `dovetail
/// schedule`. A job (or a folder with a job.yaml) uses the plan of `search`, otherwise the plan.json in its folder,
/// otherwise the best plan found. Its training runs the fused schedule, or 1F1B without fusion. Errors: those of all
/// these, an option that does not apply to the kind of input, and train tasks that do not form one schedule.
base::Result<ReplaySource> read_replay_source(const Input& input, const ReplaySearch& search, const Watch& watch);

}  // namespace dovetail::answer
