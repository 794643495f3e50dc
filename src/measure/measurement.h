// What was measured of RLHF iterations: each run as a job and a plan, with the seconds that it took.
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

/// All, in the order in which they are shown.
inline constexpr std::array phase_kinds{PhaseKind::generation, PhaseKind::inference, PhaseKind::training,
                                        PhaseKind::offload, PhaseKind::refit};

/// A part of an iteration: all steps of a kind, or one task.
using Phase = std::variant<PhaseKind, workflow::TaskId>;

/// What files and tables call it: its kind, or the task's name.
std::string name_of(const Phase& phase, const plan::Job& job);
/// The phase of that name, if there is one; a kind comes before a task of its name.
std::optional<Phase> phase_named(std::string_view name, const plan::Job& job);

/// What a part of an iteration took.
struct MeasuredPhase {
  Phase phase;
  double seconds = 0;
};

/// What is known of a row's responses where nobody says how far their lengths spread.
struct OpenLengths {
  double mean = 0;       ///< tokens
  std::int64_t cap = 0;  ///< what would be longer ends here
};

/// A measured run. REQUIRES of what is calculated from it: the plan is without fault, and one of the job.
struct Measurement {
  std::string name;
  std::string group;  ///< left out together: a model, or a sweep
  plan::Job job;
  plan::Plan plan;
  double seconds = 0;  ///< of an iteration
  std::vector<MeasuredPhase> phases = {};
  double weight = 1;          ///< in the fit and in the mean error; 0 where it is only shown
  std::string doubtful = {};  ///< why it does not count; empty: it does
  std::optional<OpenLengths> responses =
      {};  ///< in place of the job's response lengths, with the spread that is fitted
};

/// The standard deviation of the logarithm of the lengths of all responses that leave it open.
struct Spread {
  double start = 0.8;
  double low = 0.3;
  double high = 1.3;
};

/// Runs on one GPU type with one software, in its version, at one site: what one set of efficiencies belongs to.
struct Measurements {
  std::string name;    ///< of the set
  std::string source;  ///< who measured
  cost::Efficiency start;
  /// Names of constants (cost/efficiency.h); empty: all that the rows say anything of.
  std::vector<std::string> fitted;
  Spread spread;
  std::vector<Measurement> rows;
};

/// Whether a step has something of the phase. Rules have no phase; nor have host transfers beside other tasks: no task
/// waits for them.
bool is_in_phase(const Phase& phase, const plan::Job& job, const plan::Activity& step);

/// How many of a step's seconds belong to the phase: all of a task, of training and offload their parts.
double seconds_in_phase(const Phase& phase, const plan::Job& job, const plan::Activity& step,
                        const predict::ActivitySeconds& seconds);

/// How much a phase weighs in the fit beside its row's iteration: half of it where it is a tenth of the iteration or
/// more, else a tenth.
double phase_weight(const Measurement& row, double seconds);

}  // namespace dovetail::measure
