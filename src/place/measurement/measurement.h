// What was measured of RLHF iterations: each run as a job and a plan, with the seconds that it took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/efficiency.h"
#include "place/predict/step_seconds.h"
#include "plan/iteration_graph.h"
#include "plan/job.h"
#include "plan/plan.h"

namespace dovetail::place {

/// Seconds of a part of an iteration: all steps of a kind, or one task by its name.
struct MeasuredPhase {
  std::string name;
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
  double weight = 1;                          ///< in the fit and in the mean error; 0 where it is only shown
  std::string doubtful = {};                  ///< why it does not count; empty: it does
  std::optional<OpenLengths> responses = {};  ///< in place of the job's response lengths, with the spread that is fitted
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
  std::vector<std::string> fitted;  ///< names of constants (cost/efficiency_file.h); empty: all that the rows say anything of
  Spread spread;
  std::vector<Measurement> rows;
};

/// The kinds of phases: "generation", "scoring", "training", "offload", what comes from host memory before a training and goes back behind
/// it, which is often timed apart, and "refit", new weights from where they are trained to where they are used.
const std::vector<std::string_view>& phase_kinds();

/// Whether a step has something of the phase of that name: of a kind, or of a task of the workflow but rules. Host transfers beside other
/// tasks are of none: no task waits for them.
bool is_in_phase(std::string_view phase, const plan::Job& job, const plan::Step& step);

/// How many of a step's seconds belong to the phase: all of a task, of training and offload their parts.
double seconds_in_phase(std::string_view phase, const plan::Job& job, const plan::Step& step, const StepSeconds& seconds);

/// How much a phase weighs in the fit beside its row's iteration: half of it where it is a tenth of the iteration or more, else a tenth.
double phase_weight(const Measurement& row, double seconds);

}  // namespace dovetail::place
