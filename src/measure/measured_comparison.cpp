#include "measure/measured_comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "measure/measurement.h"

namespace dovetail::measure {
namespace {

using workflow::Task;
using workflow::TaskKind;

constexpr double notable_length_difference = 0.05;  // relative difference of mean lengths
constexpr double notable_cap_difference = 0.02;     // fraction of the responses
constexpr double wide_spread = 0.2;                 // distance between the quartiles, as a fraction of the median

/// Run, job and plan to search for reasons.
struct ReasonScenario {
  const MeasuredRun& run;
  const plan::Job& job;
  const plan::Plan& plan;
};

/// The plan of the first task of a kind; null if the job has no such task.
const plan::TaskPlan* first_of(const ReasonScenario& scenario, TaskKind kind) {
  for (std::size_t task = 0; task < scenario.job.workflow.tasks.size(); ++task)
    if (scenario.job.workflow.tasks[task].kind == kind) return &scenario.plan.tasks[task];
  return nullptr;
}

void add_lengths(const ReasonScenario& scenario, bool longer, std::vector<std::string>& reasons) {
  const double specified = scenario.job.workload.response_length.mean();
  const double found = scenario.run.mean_response.value_or(specified);
  if (std::abs(found - specified) > notable_length_difference * specified && (found > specified) == longer)
    reasons.push_back(
        fmt::format("responses had {:.0f} tokens on average, but the job specifies {:.0f}: use the measured lengths",
                    found, specified));
  if (longer && scenario.run.at_cap.value_or(0) > notable_cap_difference)
    reasons.push_back(fmt::format("{:.0f}% of the responses ended at the cap, which makes the tail as long as possible",
                                  100 * *scenario.run.at_cap));
}

void add_generation(const ReasonScenario& scenario, bool longer, std::vector<std::string>& reasons) {
  add_lengths(scenario, longer, reasons);
  const plan::TaskPlan* engine = first_of(scenario, TaskKind::generate);
  if (!longer) {
    reasons.emplace_back(
        "the tail is shorter than the job's lengths imply, or the prefix cache saves more than the plan assumes (one "
        "prefill per prompt)");
    reasons.emplace_back("the engine uses speculative decoding or computes in fp8, which plans do not model");
    return;
  }
  reasons.emplace_back(
      "the tail: a few long responses keep all devices waiting; specify the mean and the spread of the lengths");
  if (engine != nullptr)
    reasons.push_back(
        fmt::format("preemption: with max_num_seqs {} and memory_utilization {} the engine may admit more sequences "
                    "than its cache holds; check its log for preemptions",
                    engine->engine.max_num_seqs, engine->engine.memory_utilization));
  reasons.emplace_back(
      "engine settings: eager mode without CUDA graphs, a small token budget for prefill, logging of each request");
  reasons.emplace_back("tools, environments or rewards that run during generation");
}

/// `alone`: the log times this single task, so the run did not skip it.
void add_inference(const ReasonScenario& scenario, bool longer, bool alone, std::vector<std::string>& reasons) {
  add_lengths(scenario, longer, reasons);
  if (longer) {
    reasons.emplace_back("smaller micro-batches than the plan's, or padded instead of packed sequences");
    const plan::TaskPlan* score = first_of(scenario, TaskKind::infer);
    if (score == nullptr || !score->offload.weights)
      reasons.emplace_back("weights are loaded from host memory before each pass");
    reasons.emplace_back("entropies are computed along with log-probabilities");
  } else if (alone) {
    reasons.emplace_back(
        "larger micro-batches than the plan's, or kernels faster than the efficiencies imply: fit the efficiencies "
        "with dovetail calibrate");
  } else {
    reasons.emplace_back("the run skips a pass of the job, such as the reference's or the policy's");
  }
}

/// Adds reasons about the offload of a train task's states.
void add_states(const plan::TaskPlan* train, bool longer, std::vector<std::string>& reasons) {
  const plan::Offload offload = train != nullptr ? train->offload : plan::Offload();
  const bool moves = offload.gradients || offload.optimizer;
  if (!longer) {
    if (moves)
      reasons.emplace_back("states that the plan offloads stay on the devices, or their transfers overlap other work");
    return;
  }
  if (moves)
    reasons.emplace_back(
        "offload transfers are slower than predicted: host memory is not pinned, or many processes share it");
  if (!offload.gradients)
    reasons.emplace_back("gradients are offloaded to host memory, but the plan keeps them on the devices");
  if (!offload.optimizer && !offload.optimizer_on_host)
    reasons.emplace_back("optimizer states are offloaded to host memory, but the plan keeps them on the devices");
}

void add_training(const ReasonScenario& scenario, bool longer, std::vector<std::string>& reasons) {
  add_lengths(scenario, longer, reasons);
  const plan::TaskPlan* train = first_of(scenario, TaskKind::train);
  const bool again = train != nullptr && train->layout.recomputation == llm::Recomputation::full;
  if (longer) {
    if (!again) reasons.emplace_back("full activation recomputation, which the plan does not use");
    reasons.emplace_back(
        "smaller micro-batches than the plan's, padded instead of packed sequences, or unequal tokens across "
        "data-parallel ranks");
  } else {
    if (again) reasons.emplace_back("the run keeps activations that the plan recomputes");
    reasons.emplace_back("fewer optimizer steps, or fewer tokens per step: filtered groups or dropped samples");
  }
  add_states(train, longer, reasons);
}

void add_weight_sync(bool longer, std::vector<std::string>& reasons) {
  if (longer) {
    reasons.emplace_back("weights are sent tensor by tensor, or through host memory or gloo instead of NCCL");
    reasons.emplace_back("engines wake up, allocate their cache and capture graphs within this time");
  } else {
    reasons.emplace_back("weights are sent in large buckets, or engines use the weights of training directly");
  }
}

void add_spread(const ReasonScenario& scenario, const MeasuredAgainst& phase, std::vector<std::string>& reasons) {
  const double apart = phase.measured.upper - phase.measured.lower;
  if (apart > wide_spread * phase.measured.median && apart > std::abs(phase.difference()))
    reasons.push_back(
        fmt::format("its time varies between steps by more than this difference: the interquartile range over {} steps "
                    "is {:.1f} to {:.1f} s",
                    phase.measured.steps, phase.measured.lower, phase.measured.upper));
  if (scenario.run.steps.size() < 3)
    reasons.push_back(fmt::format(
        "only {} evaluated; the first steps of a run include kernel compilation, graph capture and cold caches",
        scenario.run.steps.size() == 1 ? "one step was" : "two steps were"));
}

/// Possible reasons for the difference in a phase, the likeliest first: those that the log shows, then the usual ones.
/// REQUIRES: the phase has a kind.
std::vector<std::string> reasons_of(const ReasonScenario& scenario, const MeasuredAgainst& phase) {
  const bool longer = phase.difference() > 0;
  std::vector<std::string> reasons;
  add_spread(scenario, phase, reasons);
  switch (*phase.kind) {
    case PhaseKind::generation:
      add_generation(scenario, longer, reasons);
      break;
    case PhaseKind::inference:
      add_inference(scenario, longer, phase.alone, reasons);
      break;
    case PhaseKind::training:
      add_training(scenario, longer, reasons);
      break;
    case PhaseKind::refit:
      add_weight_sync(longer, reasons);
      break;
    case PhaseKind::offload:
      reasons.emplace_back(longer ? "host memory is not pinned, or many processes of a node share it"
                                  : "states stay on the device, or their transfers overlap other work");
      break;
  }
  return reasons;
}

/// Possible reasons for the difference in an iteration, given the seconds of all its phases: differing phases, overlap
/// on one side only, and time outside phases.
std::vector<std::string> iteration_reasons(const ReasonScenario& scenario, const MeasuredAgainst& iteration,
                                           double measured_in_phases, double predicted_in_phases) {
  const double phases = measured_in_phases - predicted_in_phases;
  // Time outside phases; negative if phases overlap.
  const double outside = iteration.seconds - measured_in_phases;
  const double predicted_outside = iteration.predicted - predicted_in_phases;
  const double apart = outside - predicted_outside;
  const double notable = notable_difference / 2 * iteration.predicted;
  constexpr double printed = 0.05;  // rounds to more than 0.0 s
  const bool longer = iteration.difference() > 0;
  std::vector<std::string> reasons;
  add_spread(scenario, iteration, reasons);
  if (std::abs(phases) > notable && (phases > 0) == longer)
    reasons.push_back(
        fmt::format("all phases together take {:.1f} s {} than predicted: see the difference of each phase",
                    std::abs(phases), longer ? "more" : "less"));
  if (longer && apart > notable && predicted_outside < -printed)
    reasons.push_back(fmt::format("phases overlap by {:.1f} s in the plan, but less in the run", -predicted_outside));
  if (longer && apart > notable && outside > 0)
    reasons.emplace_back(
        "time outside phases: data, rewards, advantages, logging or waiting; see the times that are only measured");
  if (!longer && apart < -notable && outside < -printed)
    reasons.push_back(fmt::format("phases overlap by {:.1f} s in the run, but less in the plan", -outside));
  if (!longer && apart < -notable && predicted_outside > printed)
    reasons.push_back(fmt::format(
        "the plan spends {:.1f} s outside these phases: see the times that are only predicted", predicted_outside));
  return reasons;
}

/// A time of the log and the job's tasks that it covers.
struct TimedTasks {
  const MeasuredTime* time;
  std::vector<std::size_t> tasks;
};

class Comparer {
 public:
  Comparer(const MeasuredRun& run, const plan::Job& job, const planner::EstimatedPlan& predicted)
      : run_(run), job_(job), of_(predicted), covered_(job.workflow.tasks.size()) {}

  MeasuredComparison compare() {
    for (const PhaseKind kind : phase_kinds) add_kind(kind);
    add_weight_sync_within();
    add_others();
    add_iteration();
    add_reasons();
    return std::move(result_);
  }

 private:
  const std::vector<Task>& tasks() const { return job_.workflow.tasks; }

  static bool is_of_kind(const Task& task, PhaseKind kind) {
    return (kind == PhaseKind::generation && task.kind == TaskKind::generate) ||
           (kind == PhaseKind::inference && task.kind == TaskKind::infer) ||
           (kind == PhaseKind::training && task.kind == TaskKind::train);
  }

  /// Predicted seconds of a phase, restricted to the tasks in `among` unless it is empty.
  double predicted(const Phase& phase, const std::vector<std::size_t>& among = {}) const {
    const std::vector<plan::Activity>& steps = of_.estimate.graph.activities;
    double seconds = 0;
    for (std::size_t index = 0; index < steps.size(); ++index)
      if (among.empty() || std::find(among.begin(), among.end(), steps[index].task) != among.end())
        seconds += seconds_in_phase(phase, job_, steps[index], of_.estimate.activities[index]);
    return seconds;
  }

  /// Returns the times of a kind. Times without a matching task of the job go to only_measured.
  std::vector<TimedTasks> times_of(PhaseKind kind) {
    std::vector<TimedTasks> times;
    for (const MeasuredTime& time : run_.times) {
      if (time.known.use != TimeKind::phase || time.known.phase != kind) continue;
      TimedTasks timed{&time, {}};
      for (std::size_t task = 0; task < tasks().size(); ++task) {
        const auto& roles = time.known.roles;
        if (is_of_kind(tasks()[task], kind) && std::find(roles.begin(), roles.end(), tasks()[task].role) != roles.end())
          timed.tasks.push_back(task);
      }
      if (time.known.roles.empty() || !timed.tasks.empty())
        times.push_back(std::move(timed));
      else
        add_only_measured(time);
    }
    return times;
  }

  void add_kind(PhaseKind kind) {
    const std::vector<TimedTasks> times = times_of(kind);
    if (times.empty()) return;
    std::vector<std::size_t> all;
    std::size_t named = 0;
    for (const TimedTasks& timed : times) {
      named += timed.tasks.size();
      for (const std::size_t task : timed.tasks)
        if (std::find(all.begin(), all.end(), task) == all.end()) all.push_back(task);
      for (const std::size_t task : timed.tasks) covered_[task] = true;
    }
    const bool each_alone = named == times.size() && all.size() == times.size();
    // Training is compared without offload if the log times offload separately.
    const bool apart = kind == PhaseKind::training && times_offload();
    if (each_alone && !apart)
      for (const TimedTasks& timed : times) add_phase(workflow::TaskId(timed.tasks.front()), kind, {timed.time}, {});
    else
      add_phase(kind, kind, pointers(times), all);
  }

  static std::vector<const MeasuredTime*> pointers(const std::vector<TimedTasks>& times) {
    std::vector<const MeasuredTime*> result;
    for (const TimedTasks& timed : times) result.push_back(timed.time);
    return result;
  }

  bool times_offload() const {
    return std::any_of(run_.times.begin(), run_.times.end(), [](const MeasuredTime& time) {
      return time.known.use == TimeKind::phase && time.known.phase == PhaseKind::offload;
    });
  }

  void add_phase(const Phase& of, PhaseKind kind, const std::vector<const MeasuredTime*>& times,
                 const std::vector<std::size_t>& among) {
    MeasuredAgainst phase{.phase = name_of(of, job_),
                          .kind = kind,
                          .alone = std::holds_alternative<workflow::TaskId>(of),
                          .keys = {},
                          .measured = spread_of_sum(times),
                          .reasons = {}};
    for (const MeasuredTime* time : times) phase.keys.push_back(time->key);
    phase.seconds = phase.measured.by(run_.statistic);
    phase.predicted = predicted(of, among);
    if (!among.empty() && phase.predicted < predicted(of)) phase.whole = false;
    result_.phases.push_back(std::move(phase));
  }

  std::vector<MeasuredAgainst>::iterator first_of(PhaseKind kind) {
    return std::find_if(result_.phases.begin(), result_.phases.end(),
                        [kind](const MeasuredAgainst& phase) { return phase.kind == kind; });
  }

  /// Adds the weight sync to generation if the log does not time it. verl did not time `update_weights` at first.
  void add_weight_sync_within() {
    const double refit = predicted(PhaseKind::refit);
    if (refit == 0 || first_of(PhaseKind::refit) != result_.phases.end()) return;
    const auto generation = first_of(PhaseKind::generation);
    if (generation == result_.phases.end() || !trainers::log_keys(run_.format).weight_sync_within_generation) {
      result_.only_predicted.push_back({"refit", refit});
      return;
    }
    generation->with_weight_sync = true;
    generation->whole = false;
    generation->predicted += refit;
  }

  void add_only_measured(const MeasuredTime& time) {
    result_.only_measured.push_back({time.key, time.spread.by(run_.statistic)});
  }

  void add_others() {
    for (const MeasuredTime& time : run_.times)
      if (time.known.use == TimeKind::other || time.known.use == TimeKind::interruption) add_only_measured(time);
    for (std::size_t task = 0; task < tasks().size(); ++task)
      if (!covered_[task] && tasks()[task].kind != TaskKind::rule)
        result_.only_predicted.push_back({tasks()[task].name, predicted(workflow::TaskId(task))});
  }

  void add_iteration() {
    const MeasuredTime* time = iteration_of(run_);
    if (time == nullptr) return;
    result_.iteration = MeasuredAgainst{.phase = "iteration",
                                        .kind = std::nullopt,
                                        .keys = {time->key},
                                        .measured = time->spread,
                                        .seconds = time->spread.by(run_.statistic),
                                        .predicted = of_.estimate.iteration_seconds,
                                        .reasons = {}};
  }

  void add_reasons() {
    const ReasonScenario scenario{run_, job_, of_.plan};
    const double part = notable_share * of_.estimate.iteration_seconds;
    const auto is_notable = [part](const MeasuredAgainst& phase) {
      const double off = std::abs(phase.difference());
      return off > notable_difference * phase.predicted && off > part;
    };
    for (MeasuredAgainst& phase : result_.phases)
      if (is_notable(phase)) phase.reasons = reasons_of(scenario, phase);
    if (result_.iteration && is_notable(*result_.iteration))
      result_.iteration->reasons = iteration_reasons(scenario, *result_.iteration, sum(&MeasuredAgainst::seconds),
                                                     sum(&MeasuredAgainst::predicted));
  }

  double sum(double MeasuredAgainst::* seconds) const {
    double all = 0;
    for (const MeasuredAgainst& phase : result_.phases) all += phase.*seconds;
    return all;
  }

  const MeasuredRun& run_;
  const plan::Job& job_;
  const planner::EstimatedPlan& of_;
  MeasuredComparison result_;
  std::vector<bool> covered_;  // [task] whether the log times it
};

}  // namespace

std::vector<const MeasuredAgainst*> MeasuredComparison::by_difference() const {
  std::vector<const MeasuredAgainst*> sorted;
  for (const MeasuredAgainst& phase : phases) sorted.push_back(&phase);
  std::stable_sort(sorted.begin(), sorted.end(), [](const MeasuredAgainst* a, const MeasuredAgainst* b) {
    return std::abs(a->difference()) > std::abs(b->difference());
  });
  return sorted;
}

MeasuredComparison compare_measured(const MeasuredRun& run, const plan::Job& job,
                                    const planner::EstimatedPlan& predicted) {
  return Comparer(run, job, predicted).compare();
}

}  // namespace dovetail::measure
