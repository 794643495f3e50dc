// Inside the reader of FlexFusion traces: the cells of a trace, and the problem that they are of.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// One `[model, microbatch, stage, start, end, activation]` as it stands in the file.
struct TraceCell {
  int pipeline = 0;
  int microbatch = 0;
  int stage = 0;  ///< 0 ... 2S-1
  Ticks start;
  Ticks end;
  Memory held;  ///< on the device after the op
  base::FilePlace place;
  base::FilePlace pipeline_place;
  base::FilePlace microbatch_place;
  base::FilePlace stage_place;
};

/// What the text of a trace says.
struct Trace {
  std::vector<std::vector<TraceCell>> devices;
  std::vector<base::FilePlace> device_places;  ///< of each line
  Claims claims;                               ///< of the block `Ours:`
  base::FilePlace makespan_place;
  base::FilePlace peak_activation_place;
};

/// The rows of a device in order of start; of equal starts the first in the file first. What an op leaves held is a
/// matter of time, not of where its cell stands.
std::vector<std::size_t> rows_by_start(const std::vector<TraceCell>& cells);

/// Reads the text; times are decimals of `unit`, or ticks where no problem says which.
base::Result<Trace> parse_trace_cells(std::string_view content, const std::string& path, std::optional<TimeUnit> unit);

/// The problem that the cells are a schedule of, its models called model0, model1, ...
base::Result<Problem> infer_problem(const Trace& trace, const std::string& path);

}  // namespace dovetail::pipeline
