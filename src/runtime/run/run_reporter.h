// Who listens to a run: its folder, its line of progress, its account of memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/progress_line.h"
#include "control/models.h"
#include "control/run/run_sink.h"
#include "records/checkpoints.h"
#include "records/run_folder.h"
#include "runtime/run/memory_account.h"

namespace dovetail::runtime {

/// Shows how a run goes on, keeps it in its folder, and follows it in an account of memory. All must outlive it.
class RunReporter {
 public:
  RunReporter(records::RunFolder& folder, const records::CheckpointPlace& place, const control::Models& models,
              std::int64_t iterations, MemoryAccount& account)
      : folder_(folder), place_(place), models_(models), iterations_(iterations), account_(account), line_("train") {}

  control::RunSink sink();

 private:
  base::Status take_metrics(const control::Figures& figures);
  base::Status take_evaluation(const control::Figures& figures);
  void take_progress(const control::RunProgress& progress);
  base::Status keep_checkpoint(const control::RunState& state, control::CheckpointReason reason, bool is_best);

  records::RunFolder& folder_;
  const records::CheckpointPlace& place_;
  const control::Models& models_;
  std::int64_t iterations_;
  MemoryAccount& account_;
  cli::ProgressLine line_;
  control::Figures before_;
  std::int64_t done_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Who listens on a rank that reports nothing: it follows `account`, and keeps its part of checkpoints. Both must
/// outlive it.
control::RunSink silent_sink(const control::Models& models, MemoryAccount& account);

}  // namespace dovetail::runtime
