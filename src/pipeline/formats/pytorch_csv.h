// The CSV of torch.distributed.pipelining: one row a rank, one cell an action ("0F3", "1I2", "2RECV_B0"), one pipeline
// a file. Grammar and dialects: PyTorch, torch/distributed/pipelining/schedules.py (_load_csv, _dump_csv).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pipeline/formats/schedule_file.h"

namespace dovetail::pipeline {

/// Which actions a file holds.
enum class CsvActions {
  compute_only,   ///< F, I, W, B
  compute_comms,  ///< and SEND/RECV, each RECV directly before its consumer
};

/// Reads a CSV in any of its three dialects (2024: B is the input gradient and BW the whole backward; 2025: I, W, B;
/// later: with OVERLAP_F_B and REDUCE_GRAD) and times it by earliest starts. With `problem` (which must have one
/// pipeline) its durations are used, and row r is the r-th device that its stages visit; without, a problem is inferred
/// with a stage's F, I and W of one tick each, B of two, activation 1, and row r as device r. Notes say which dialect
/// and which problem. What breaks a rule of the file (an op missing, twice or in a wrong row, an order that deadlocks,
/// a RECV without its SEND) is an Error of Failure::invalid with its place: such an order has no times. What is read is
/// a valid schedule, unless it needs more than the capacity.
base::Result<ScheduleFile> parse_pytorch_csv(std::string_view content, const std::string& path, const Problem* problem);

/// One file of the schedule: one model and replica.
struct CsvFile {
  std::string suffix;  ///< "" for the only one, else "-MODEL-rREPLICA", to go before the extension
  std::string content;
};
/// The order of `schedule` as CSV, one file a pipeline. An Error where it has optimizer steps.
base::Result<std::vector<CsvFile>> schedule_to_pytorch_csv(const Schedule& schedule, CsvActions actions);

}  // namespace dovetail::pipeline
