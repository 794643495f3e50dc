// dovetail/schedule@1: reading and writing schedules. The format is in docs/formats.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_place.h"
#include "base/result.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

inline constexpr std::string_view schedule_format = "dovetail/schedule@1";

struct Violation;

/// A schedule with the places of what it says, so that a violation can be shown where it is.
struct ScheduleFile {
  Schedule schedule;
  std::vector<std::vector<base::FilePlace>> places;  ///< [device][row]
  std::vector<std::string> notes;                    ///< what the reader assumed: a dialect, an inferred problem
  std::vector<base::FilePlace> device_places =
      {};                                      ///< [device]: of its list, line or row; unknown where the file has none
  base::FilePlace devices_place = {};          ///< of all devices together
  base::FilePlace makespan_place = {};         ///< of the claim, where there is one
  base::FilePlace peak_activation_place = {};  ///< likewise
  /// FlexFusion traces: the first printed activation that is not the exact one, with both. To be reported where
  /// validate finds nothing, because every other violation (a dropped op, swapped devices) makes later activations
  /// differ too.
  std::optional<base::Error> activation_mismatch = std::nullopt;
};

/// Reads a schedule from JSON text; `path` is for messages. Its problem may be replaced by the caller afterwards.
/// Values that cannot be (a negative start, an unknown kind of op) are Errors; a schedule that breaks a rule is read as
/// it is.
base::Result<ScheduleFile> parse_schedule(std::string_view content, const std::string& path);

/// Where `violation` (of file.schedule) shows: the row to blame, else the claim that is false, else the device, else
/// all devices.
base::FilePlace place_of(const ScheduleFile& file, const Violation& violation);

/// The schedule as JSON text, a row of ops for each device on one line.
std::string schedule_to_json(const Schedule& schedule);

}  // namespace dovetail::pipeline
