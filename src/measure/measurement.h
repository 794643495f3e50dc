// Measured runs of RLHF training: each has a job, a plan, and the seconds of an iteration and of its phases.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cost/efficiency.h"
#include "plan/iteration_graph.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "predict/closed_form/activity_seconds.h"
#include "trainers/logs/log_keys.h"

namespace dovetail::measure {

using trainers::PhaseKind;

/// All kinds of phases in display order.
inline constexpr std::array phase_kinds{PhaseKind::generation, PhaseKind::inference, PhaseKind::training,
                                        PhaseKind::offload, PhaseKind::refit};

/// Phase of an iteration: all activities of a kind, or one task.
using Phase = std::variant<PhaseKind, workflow::TaskId>;

/// Returns the phase's name in files: the name of its kind or task.
std::string name_of(const Phase& phase, const plan::Job& job);
/// Returns the title of a phase in tables and messages, given its name in files: "inference" for "scoring",
/// "weight sync" for "refit", otherwise the name itself.
std::string phase_title(const std::string& name);
/// Returns the phase with this name; nullopt if the name is unknown. A kind takes precedence over a task of the same
/// name.
std::optional<Phase> phase_named(std::string_view name, const plan::Job& job);

/// Measured seconds of a phase.
struct MeasuredPhase {
  Phase phase;
  double seconds = 0;
};

/// Response lengths of a row, if their spread is not known.
struct OpenLengths {
  double mean = 0;       ///< tokens
  std::int64_t cap = 0;  ///< maximum length in tokens
};

/// A measured run. REQUIRES for all computations: the plan is valid and belongs to the job.
struct Measurement {
  std::string name;
  std::string group;  ///< rows of one group, such as those of one model, are left out together in cross-validation
  plan::Job job;
  plan::Plan plan;
  double seconds = 0;  ///< seconds of an iteration
  std::vector<MeasuredPhase> phases = {};
  double weight = 1;                          ///< weight in the fit and in the mean error; 0 if the row is only shown
  std::string caveat = {};                    ///< why the row is doubtful, so that its weight is 0; empty: not doubtful
  std::optional<OpenLengths> responses = {};  ///< replaces the job's response lengths; the spread is fitted
};

/// Start and bounds of the fitted spread of all open response lengths. The spread is the standard deviation of the
/// logarithm of the length.
struct Spread {
  double start = 0.8;
  double low = 0.3;
  double high = 1.3;
};

/// Runs that share one set of efficiencies: on one GPU type, with one version of the software, at one site.
struct Measurements {
  std::string name;        ///< name of the set
  std::string source;      ///< source of the measurements
  cost::Efficiency start;  ///< efficiencies at the start of the fit
  /// Names of constants to fit (cost/efficiency.h); empty: all that the rows determine.
  std::vector<std::string> fitted;
  Spread spread;
  std::vector<Measurement> rows;
};

/// Whether an activity belongs to the phase. Rule tasks (TaskKind::rule) belong to no phase. Neither do prefetched host
/// transfers, which overlap tasks.
bool is_in_phase(const Phase& phase, const plan::Job& job, const plan::Activity& step);

/// Returns the seconds of an activity that belong to the phase. `training` and `offload` divide the seconds of a train
/// task; other phases get all seconds of their activities.
double seconds_in_phase(const Phase& phase, const plan::Job& job, const plan::Activity& step,
                        const predict::ActivitySeconds& seconds);

/// Returns the weight in the fit of a phase that takes `seconds`: half of the row's weight if the phase takes at least
/// 10% of the iteration, otherwise a tenth of the row's weight.
double phase_weight(const Measurement& row, double seconds);

}  // namespace dovetail::measure
