#include "runtime/run/measured_phases.h"

#include <string>
#include <utility>

#include "execute/common_clock.h"
#include "execute/ops_timeline.h"
#include "execute/replay_figures.h"
#include "pipeline/program/rank_schedule.h"
#include "pipeline/schedule/retimed.h"

namespace dovetail::runtime {
namespace {

constexpr std::size_t max_runs = 9;

execute::OpMedians medians_of(const std::deque<execute::OpMedians>& runs) {
  return execute::medians_of(std::vector<execute::OpMedians>(runs.begin(), runs.end()));
}

/// "actor_train+critic_train"
std::string name_of(const std::vector<std::size_t>& tasks, const workflow::Workflow& workflow) {
  std::string name;
  for (const std::size_t task : tasks) name += (name.empty() ? "" : "+") + workflow.tasks[task].name;
  return name;
}

}  // namespace

void MeasuredPhases::add(const std::vector<std::size_t>& tasks, const PhaseProgram& phase, execute::ReplayTimes times) {
  Runs& runs = runs_[tasks];
  runs.latest.push_back(execute::medians_of(phase.all, times));
  if (runs.latest.size() > max_runs) runs.latest.pop_front();
  runs.last = &phase;
  runs.last_times = std::move(times);
}

execute::OpMedians MeasuredPhases::medians(const std::vector<std::size_t>& tasks) const {
  const auto known = runs_.find(tasks);
  return known == runs_.end() ? execute::OpMedians() : medians_of(known->second.latest);
}

std::vector<records::TrainingPhase> MeasuredPhases::phases(const workflow::Workflow& workflow) const {
  std::vector<records::TrainingPhase> phases;
  for (const auto& [tasks, runs] : runs_) {
    const PhaseProgram& program = *runs.last;
    pipeline::Schedule planned = pipeline::schedule_of_ranks(program.phase.schedule, program.phase.placement);
    const pipeline::Placement ranks = pipeline::rank_per_device(planned.problem);
    auto measured =
        pipeline::retimed(planned, execute::with_measured_times(planned.problem, ranks, medians_of(runs.latest)));
    // A schedule has limits of its own (pipeline::find_fault): all groups together may be beyond them.
    if (!measured.ok()) continue;
    const auto ops =
        execute::replayed_ops(planned, ranks, program.all, execute::on_common_clock(program.all, runs.last_times));
    std::string name = name_of(tasks, workflow);
    timeline::Timeline trace = execute::measured_timeline(planned.problem, ops, name + ", in the last run");
    phases.push_back({std::move(name), std::move(planned), std::move(measured).value(), std::move(trace)});
  }
  return phases;
}

}  // namespace dovetail::runtime
