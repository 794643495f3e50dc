// What is replayed: a schedule that is read, that of a problem, or that of a job's training.
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

/// What was named.
enum class ReplaySourceKind : std::uint8_t { problem, schedule, job };
constexpr auto names_of(ReplaySourceKind) {
  return std::array{base::EnumName{"problem", ReplaySourceKind::problem},
                    base::EnumName{"schedule", ReplaySourceKind::schedule},
                    base::EnumName{"job", ReplaySourceKind::job}};
}

/// How the schedule comes about where it is not read.
struct ReplaySearch {
  std::optional<Input> plan = std::nullopt;               ///< of a job; nothing: the best that is found
  std::optional<study::FusionMode> fuse = std::nullopt;   ///< likewise; nothing: as planned
  std::optional<std::int64_t> iterations = std::nullopt;  ///< of each chain
  std::optional<double> time_limit = std::nullopt;        ///< seconds
};

struct ReplaySource {
  std::string name;
  ReplaySourceKind kind = ReplaySourceKind::schedule;
  pipeline::Schedule schedule;
};

/// Reads what `input` names: a schedule, which has to be valid; a problem or a bundled instance, which is scheduled as
/// `dovetail schedule` does; a job, or a folder with a job.yaml, whose plan is that of `search`, else the plan.json in
/// the folder, else the best: its training is the fused schedule, or without fusion 1F1B. Errors of all of these; an
/// option that is not for this kind; trainings of a plan that are not in one schedule.
base::Result<ReplaySource> read_replay_source(const Input& input, const ReplaySearch& search, const Watch& watch);

}  // namespace dovetail::answer
