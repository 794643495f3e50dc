// Internal to the reader of FlexFusion traces: the cells of a trace, and the problem inferred from them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// A cell `[model, microbatch, stage, start, end, activation]` as written in the file.
struct TraceCell {
  int pipeline = 0;
  int microbatch = 0;
  int stage = 0;  ///< with S stages: 0 to S-1 for F of stages 0 to S-1, S to 2S-1 for B of stages S-1 to 0
  Ticks start;
  Ticks end;
  Memory held;  ///< activation held on the device after the op
  base::FilePlace place;
  base::FilePlace pipeline_place;
  base::FilePlace microbatch_place;
  base::FilePlace stage_place;
};

/// The cells of a trace, the claims of its summary, and their positions in the file.
struct Trace {
  std::vector<std::vector<TraceCell>> devices;
  std::vector<base::FilePlace> device_places;  ///< [device] position of its line
  Claims claims;                               ///< claims from the block `Ours:`
  base::FilePlace makespan_place;
  base::FilePlace peak_activation_place;
};

/// Returns the indices of a device's cells in order of start; ties keep the order of the file. Activations must be read
/// in order of start, because the cells in the file may be in any order.
std::vector<std::size_t> rows_by_start(const std::vector<TraceCell>& cells);

/// Reads the cells and the claims of a trace. Times are decimals in `unit`, or ticks if it is nullopt.
base::Result<Trace> parse_trace_cells(std::string_view content, const std::string& path, std::optional<TimeUnit> unit);

/// Infers the problem of the schedule in the cells, with models named model0, model1, ...
base::Result<Problem> infer_problem(const Trace& trace, const std::string& path);

}  // namespace dovetail::pipeline
