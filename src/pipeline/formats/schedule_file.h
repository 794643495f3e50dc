// Reads and writes schedules in three formats:
//
// - dovetail/schedule@1 files, described in docs/formats.md.
// - FlexFusion traces: a line per device with cells `[model, microbatch, stage, start, end, activation after the op]`,
//   then a summary. `model` is the number of a pipeline of the problem. In a pipeline of S stages, a stage number from
//   S on is a backward: number x is the backward of stage 2S-1-x.
// - The CSV of torch.distributed.pipelining: a row per rank with an action per cell ("0F3", "1I2", "2RECV_B0"), one
//   pipeline per file. Grammar and dialects are those of torch/distributed/pipelining/schedules.py (_load_csv,
//   _dump_csv).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

inline constexpr std::string_view schedule_format = "dovetail/schedule@1";

struct Violation;

/// A schedule with positions in its file, so that a violation can be shown where it occurs.
struct ScheduleFile {
  Schedule schedule;
  std::vector<std::vector<base::FilePlace>> places;  ///< [device][row] position of the op
  std::vector<std::string> notes;                    ///< assumptions of the reader: a dialect, an inferred problem
  /// [device] position of the device's list, line or row; unknown if the file has none
  std::vector<base::FilePlace> device_places = {};
  base::FilePlace devices_place = {};          ///< position of the list of devices
  base::FilePlace makespan_place = {};         ///< position of the claimed makespan, if any
  base::FilePlace peak_activation_place = {};  ///< position of the claimed peak activation, if any

  /// For FlexFusion traces: the first printed activation that differs from the exact one, with both values. Report it
  /// only if validate finds nothing, because any other violation (a dropped op, swapped devices) changes later
  /// activations too.
  std::optional<base::Error> activation_mismatch = std::nullopt;
};

/// Reads a schedule from JSON text. `path` appears in messages. The caller may replace the schedule's problem
/// afterwards. Impossible values (a negative start, an unknown kind of op) are Errors. A schedule that breaks a rule is
/// read as it is.
base::Result<ScheduleFile> parse_schedule(std::string_view content, const std::string& path);

/// Returns where in the file `violation` is, which validate found in file.schedule: at the false claim; otherwise at
/// the violation's row if it has one, otherwise at its device, otherwise at the list of devices.
base::FilePlace place_of(const ScheduleFile& file, const Violation& violation);

/// Returns the schedule as JSON text, with the ops of each device on one line.
std::string schedule_to_json(const Schedule& schedule);

/// Accepted difference between a printed activation and the exact one, in millionths of the unit of activation. Traces
/// contain rounded sums of floats.
inline constexpr Memory trace_activation_tolerance{100};

/// Reads a FlexFusion trace: a line of cells for each device up to the first blank line, then, optionally, the summary.
/// The cells of a line may be in any order. A leading byte order mark is skipped.
///
/// With `problem`, the ops belong to that problem, and times are decimals in its unit. Without it, times are ticks and
/// the problem is inferred: stages, devices, durations and activations follow from the ops, and consecutive pipelines
/// that are equal become replicas of one model. A note describes the inferred problem. If it equals a bundled instance
/// except for names, the note names the instance.
///
/// Device by device and in order of time, the printed activation after each op is compared with the exact one. The
/// first that differs by more than trace_activation_tolerance is ScheduleFile::activation_mismatch. The makespan and
/// the peak in the `Ours:` block of the summary become claims, as printed. Pass Tolerance{trace_activation_tolerance}
/// to validate, because the printed peak is rounded.
base::Result<ScheduleFile> parse_trace(std::string_view content, const std::string& path, const Problem* problem);

/// Writes the schedule as a trace, with the ops of each device in order of start. The summary has the block `Ours:`,
/// and `Theoretically best:` if the claims have a makespan bound. Returns an Error if the format cannot express the
/// schedule: it has a split backward, steps, several stages of a pipeline on a device, or a device without ops.
/// REQUIRES: validate(schedule) found nothing.
base::Result<std::string> schedule_to_trace(const Schedule& schedule);

/// Kinds of actions to write to a CSV.
enum class CsvActions {
  compute_only,   ///< only F, I, W and B
  compute_comms,  ///< also SEND and RECV, each RECV directly before its consumer
};

/// Reads a PyTorch CSV in any of its three dialects. Each op starts as early as the order of the file allows. In the
/// dialect of 2024, B is the input gradient and BW the whole backward. In the dialect of 2025, I is the input gradient
/// and B the whole backward. The third dialect adds OVERLAP_F_B and REDUCE_GRAD to the second.
///
/// With `problem`, which must have one pipeline, ops take the durations of the problem, and row r is the r-th device
/// that its stages visit. Without it, a problem is inferred: F, I and W last one tick, B lasts two, the activation is
/// 1, and row r is device r. Notes name the dialect and describe an inferred problem.
///
/// A file that breaks a rule (an op missing, repeated or in the wrong row, an order that deadlocks, a RECV without its
/// SEND) has no valid times. The violation is reported as a Failure::invalid Error with its position. Any schedule that
/// is returned is valid, except that it may exceed the capacity.
base::Result<ScheduleFile> parse_pytorch_csv(std::string_view content, const std::string& path, const Problem* problem);

/// The CSV file of one pipeline (a replica of a model).
struct CsvFile {
  std::string suffix;  ///< "" for a single file, otherwise "-MODEL-rREPLICA"; goes before the extension
  std::string content;
};
/// Writes the order of `schedule` as CSV, one file per pipeline. Returns an Error if the schedule has optimizer steps.
base::Result<std::vector<CsvFile>> schedule_to_pytorch_csv(const Schedule& schedule, CsvActions actions);

}  // namespace dovetail::pipeline
