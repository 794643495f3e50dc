// All that a run needs to go on, but for weights and optimizers, which Models saves.
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

/// What one train task of an iteration has done so far.
struct TrainingRecord {
  TrainingSums sums;              ///< over all mini-batches
  TrainingSums first;             ///< of the first one, before any step
  std::int64_t mini_batches = 0;  ///< that were computed
  std::int64_t tokens = 0;        ///< of all their sequences
  std::int64_t steps = 0;         ///< that were taken
  std::int64_t skipped = 0;       ///< as their loss or gradients were no numbers
  bool is_stopped = false;        ///< the epochs that are left take no step: `early_stop_kl`
  double norm = 0;                ///< of gradients, the sum over steps
  double max_norm = 0;
  double rate = 0;  ///< the learning rate of the last step
};

/// What warnings are told by, followed over the iterations.
struct HealthRecord {
  std::optional<double> first_entropy;  ///< of the first iterations, a token
  std::vector<std::string> standing;    ///< warnings that were said and hold on
};

struct RunState {
  std::int64_t iterations = 0;  ///< done
  Scales scales;
  std::map<std::string, std::int64_t> skipped_in_a_row;  ///< steps, by role
  std::optional<double> best;                            ///< the best evaluation so far
  bool is_to_be_evaluated = false;  ///< evaluation and checkpoint after `iterations`, where they are due, come first
  HealthRecord health;

  // Of the iteration under way.
  std::size_t tasks_done = 0;          ///< of Workflow::order
  std::int64_t mini_batches_done = 0;  ///< of the train task that is under way
  bool is_settled = false;             ///< the samples have advantages
  std::vector<Sample> samples;
  std::map<std::string, TrainingRecord> training;  ///< by task
  double seconds = 0;                              ///< that it took before it was stopped
  std::map<std::string, double> phase_seconds;     ///< the same of each task that was begun, or of tasks that are fused
};

/// The state as JSON, and back to the bit. An Error where the text is none that state_to_json wrote; `path` is for it.
std::string state_to_json(const RunState& state);
base::Result<RunState> parse_state(const std::string& content, const std::string& path);

}  // namespace dovetail::control
