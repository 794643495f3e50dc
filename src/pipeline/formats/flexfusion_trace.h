// FlexFusion traces: one line a device, `[model, microbatch, stage, start, end, activation after the op]`, and a
// summary. Models are pipelines in file order; a stage from S on is the backward of stage 2S-1-stage.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "pipeline/formats/schedule_file.h"

namespace dovetail::pipeline {

/// What is accepted between a printed activation and the exact one: traces hold rounded sums of floats.
inline constexpr Memory trace_activation_tolerance{100};

/// Reads a trace: a line of cells for each device up to the first blank line, then, optionally, the summary; a leading
/// byte order mark is skipped. With `problem` its ops are those of that problem, and its times decimals of that
/// problem's unit; without, times are ticks and the problem is inferred: stages, devices, durations and activations
/// from the ops, neighbouring pipelines that are alike as replicas of one model. A note says so, and which bundled
/// instance it is where it is one up to the names. The cells of a line may stand in any order. The printed activation
/// after each op (in time) is compared with the exact one within trace_activation_tolerance; the first that differs is
/// ScheduleFile::activation_mismatch. The latency and the peak of the summary's block `Ours:` become claims, as
/// printed: validate with Tolerance{trace_activation_tolerance}.
base::Result<ScheduleFile> parse_trace(std::string_view content, const std::string& path, const Problem* problem);

/// The schedule as a trace, the ops of each device in order of start, with the block `Ours:`, and `Theoretically best:`
/// where the claims have a bound of the makespan. An Error where the format cannot say it: split backward, steps,
/// several stages of a pipeline on a device, a device without ops. REQUIRES: validate(schedule) found nothing.
base::Result<std::string> schedule_to_trace(const Schedule& schedule);

}  // namespace dovetail::pipeline
