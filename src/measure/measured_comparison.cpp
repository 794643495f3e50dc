#include "measure/measured_comparison.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "measure/measured_reasons.h"
#include "measure/measurement.h"

namespace dovetail::measure {
namespace {

using workflow::Task;
using workflow::TaskKind;

/// A time of the log with the tasks of the job that it is of.
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

  /// Seconds of the plan's steps in a phase; where `among` is not empty only of those tasks.
  double predicted(const Phase& phase, const std::vector<std::size_t>& among = {}) const {
    const std::vector<plan::Activity>& steps = of_.estimate.graph.activities;
    double seconds = 0;
    for (std::size_t index = 0; index < steps.size(); ++index)
      if (among.empty() || std::find(among.begin(), among.end(), steps[index].task) != among.end())
        seconds += seconds_in_phase(phase, job_, steps[index], of_.estimate.activities[index]);
    return seconds;
  }

  /// The times of a kind; those whose tasks the job lacks are told to be only measured.
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
    // What a training takes of host memory is apart where the log times it so.
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

  /// Without a time of its own a refit is part of generation, as verl had it before it timed `update_weights`.
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
    const double part = noticed_part * of_.estimate.iteration_seconds;
    const auto is_noticed = [part](const MeasuredAgainst& phase) {
      const double off = std::abs(phase.difference());
      return off > noticed_difference * phase.predicted && off > part;
    };
    for (MeasuredAgainst& phase : result_.phases)
      if (is_noticed(phase)) phase.reasons = reasons_of(scenario, phase);
    if (result_.iteration && is_noticed(*result_.iteration))
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
