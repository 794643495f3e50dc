// Sinks for the results and progress of a run: one for the rank that reports them, and one for all other ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "cli/progress_line.h"
#include "control/models.h"
#include "control/run/run.h"
#include "control/run/run_sink.h"
#include "records/checkpoints.h"
#include "records/run_folder.h"
#include "runtime/run/rank_usage.h"

namespace dovetail::runtime {

/// Shows the progress of a run, writes its directory and updates the current phase in a memory account. All references
/// must outlive this object.
class RunReporter {
 public:
  RunReporter(records::RunFolder& folder, const records::CheckpointPlace& place, const control::Models& models,
              const control::RunSetup& setup, MemoryAccount& account)
      : folder_(folder),
        place_(place),
        models_(models),
        prompts_(setup.inputs.train.prompts),
        iterations_(setup.iterations),
        account_(account),
        line_("train") {}

  control::RunSink sink();

 private:
  base::Status take_metrics(const control::Metrics& metrics);
  base::Status take_evaluation(const control::Metrics& metrics);
  void take_progress(const control::RunProgress& progress);
  base::Status keep_checkpoint(const control::RunState& state, control::CheckpointReason reason, bool is_best);

  records::RunFolder& folder_;
  const records::CheckpointPlace& place_;
  const control::Models& models_;
  std::span<const control::PromptTokens> prompts_;  // prompts of the training samples
  std::int64_t iterations_;
  MemoryAccount& account_;
  cli::ProgressLine line_;
  control::Metrics before_;
  std::int64_t done_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Returns the sink of a rank that reports nothing. It updates the current phase in `account` and saves the rank's part
/// of checkpoints. Both arguments must outlive it.
control::RunSink silent_sink(const control::Models& models, MemoryAccount& account);

}  // namespace dovetail::runtime
