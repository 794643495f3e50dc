// Interface through which a run reports metrics and progress, and saves checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/algorithm/experience.h"

namespace dovetail::control {

struct RunState;

/// Named number that describes an iteration or an evaluation.
struct Metric {
  std::string name;
  double value = 0;
  bool is_timing = false;  ///< true if the value differs between runs with the same seed
};
/// Metrics in display order. The first is `iteration`, counted from 1; 0 in an evaluation of the initial models.
using Metrics = std::vector<Metric>;

/// Returns null if no metric has this name.
const Metric* find_metric(const Metrics& metrics, std::string_view name);

/// Progress within one phase of an iteration.
struct RunProgress {
  std::int64_t iteration = 0;  ///< from 1
  std::int64_t iterations = 0;
  std::string_view phase;  ///< task, or "evaluate"
  std::int64_t done = 0;   ///< finished responses, sequences or mini-batches, of `total`
  std::int64_t total = 0;
};

/// Why a checkpoint is saved.
enum class CheckpointReason {
  due,         ///< it is due, or has the best evaluation so far
  end,         ///< the run is complete
  interrupted  ///< a stop request or an Error ended the run
};

/// Receives the results of a run and saves its checkpoints. An Error ends the run.
struct RunSink {
  std::function<base::Status(const Metrics&)> on_metrics;
  std::function<base::Status(const Metrics&)> on_evaluation;
  std::function<base::Status(std::int64_t iteration, std::span<const Sample>)> on_samples;
  std::function<void(const RunProgress&)> on_progress;
  std::function<void(const std::string&)> on_warning;
  /// Saves the current state and models. `is_best`: the state has the best evaluation so far, by
  /// CheckpointSettings::best.
  std::function<base::Status(const RunState&, CheckpointReason, bool is_best)> on_checkpoint;
};

}  // namespace dovetail::control
