// The folder of a run: what it was told, and what it tells while it goes on.
//
//   job.yaml plan.json                    what is run
//   metrics.jsonl                         a row an iteration
//   eval.jsonl                            a row an evaluation
//   samples.jsonl                         a row a response
//   tensorboard/ checkpoints/ export/
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/line_file.h"
#include "base/result.h"
#include "control/algorithm/experience.h"
#include "control/run/run_sink.h"
#include "records/tensorboard.h"

namespace dovetail::records {

inline constexpr const char* metrics_file_name = "metrics.jsonl";
inline constexpr const char* evaluations_file_name = "eval.jsonl";

/// A row of metrics.jsonl or eval.jsonl: the figures in their order, those that are timings in an object at the end;
/// numbers as the shortest text that reads back the same, what is none as null.
std::string row_of(const control::Figures& figures);

/// A row of samples.jsonl: what a script needs to compute rewards and losses anew. Numbers of tokens are lists; those
/// that are not there are left out.
std::string row_of(std::int64_t iteration, const control::Sample& sample);

/// The files that grow. Each row is there whole or not at all, but for the last one of a program that is ended while it
/// writes. A Failure::io Error says the path where a row could not be added; nothing of it is left then.
class RunFolder {
 public:
  /// Opens the folder of a run that has `iterations` done, making what is not there; rows of later iterations, and half
  /// a row at the end, are cut off, and the evaluation after them where it `is_to_be_evaluated` (RunState).
  /// What processes that were killed have left half written is removed.
  static base::Result<RunFolder> open(const std::string& folder, std::int64_t iterations,
                                      bool is_to_be_evaluated = false);

  base::Status add_metrics(const control::Figures& figures);
  base::Status add_evaluation(const control::Figures& figures);
  base::Status add_samples(std::int64_t iteration, std::span<const control::Sample> samples);
  /// Flushes all rows to the disk: before a checkpoint is kept, so that it never has more iterations than they have.
  base::Status flush();

 private:
  RunFolder(base::LineFile metrics, base::LineFile evaluations, base::LineFile samples, EventFile events);

  base::LineFile metrics_;
  base::LineFile evaluations_;
  base::LineFile samples_;
  EventFile events_;
};

}  // namespace dovetail::records
