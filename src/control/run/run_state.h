// State that a run needs to continue, except weights and optimizer state, which Models saves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/algorithm/experience.h"
#include "control/algorithm/mini_batch.h"

namespace dovetail::control {

/// Progress and statistics of one train task in the current iteration.
struct TrainingRecord {
  TrainingSums sums;              ///< over all mini-batches except skipped ones
  TrainingSums first;             ///< of the first mini-batch, before any step; 0 if it was skipped
  std::int64_t mini_batches = 0;  ///< number of computed mini-batches
  std::int64_t tokens = 0;        ///< tokens of all sequences in computed mini-batches
  std::int64_t steps = 0;         ///< number of steps taken
  std::int64_t skipped = 0;       ///< steps skipped because loss or gradients were not finite
  bool is_stopped = false;        ///< true if the remaining mini-batches take no step (`early_stop_kl`)
  double norm = 0;                ///< gradient norm, summed over all mini-batches except skipped ones
  double max_norm = 0;
  double rate = 0;  ///< learning rate of the last step
};

/// Values for warnings, kept over the iterations of a run.
struct HealthRecord {
  std::optional<double> first_entropy;       ///< per token, in the first iteration
  std::vector<std::string> active_warnings;  ///< kinds of warnings in effect
};

struct RunState {
  std::int64_t iterations = 0;  ///< number of completed iterations
  Scales scales;
  std::map<std::string, std::int64_t> skipped_in_a_row;  ///< consecutive skipped steps, by role
  std::optional<double> best;       ///< score of the best evaluation so far: reward, or negated loss
  bool is_to_be_evaluated = false;  ///< true until any evaluation that is due after `iterations` is done
  HealthRecord health;

  // State of the current iteration:
  std::size_t tasks_done = 0;          ///< number of tasks of Workflow::order that are done
  std::int64_t mini_batches_done = 0;  ///< of the current train task
  bool is_settled = false;             ///< true if the samples have advantages
  std::vector<Sample> samples;
  std::map<std::string, TrainingRecord> training;  ///< by task
  double seconds = 0;                              ///< time spent before the last interruption
  std::map<std::string, double> phase_seconds;     ///< time spent so far, by task or fused tasks
};

/// Converts the state to JSON, or back, without loss. parse_state returns an Error that names `path` if the text is not
/// JSON, lacks a member of the state, or has a value of the wrong type.
std::string state_to_json(const RunState& state);
base::Result<RunState> parse_state(const std::string& content, const std::string& path);

}  // namespace dovetail::control
