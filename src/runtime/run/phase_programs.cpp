#include "runtime/run/phase_programs.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "execute/measured_times.h"
#include "execute/replay_figures.h"
#include "pipeline/program/check.h"
#include "pipeline/program/compile.h"
#include "pipeline/program/rank_ops.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::runtime {
namespace {

constexpr std::size_t max_runs = 9;

execute::OpMedians medians_of(const std::deque<execute::OpMedians>& runs) {
  return execute::medians_of(std::vector<execute::OpMedians>(runs.begin(), runs.end()));
}

/// Returns, for example, "actor_train+critic_train".
std::string name_of(const std::vector<std::size_t>& tasks, const workflow::Workflow& workflow) {
  std::string name;
  for (const std::size_t task : tasks) name += (name.empty() ? "" : "+") + workflow.tasks[task].name;
  return name;
}

using execute::ReplayTimes;
using execute::Span;

/// Returns a view of spans, which must outlive it.
transport::Buffer buffer_of(std::vector<Span>& spans) {
  return {reinterpret_cast<std::byte*>(spans.data()), spans.size() * sizeof(Span), nullptr};
}

}  // namespace

using base::Result;
using pipeline::Program;

std::vector<std::size_t> PhasePrograms::phase_of(std::size_t task) const {
  const auto& pair = plan_.fusion.training;
  if (pair && plan::partner_of(*pair, task)) return {(*pair)[0], (*pair)[1]};
  return {task};
}

Result<const PhaseProgram*> PhasePrograms::find(const std::vector<std::size_t>& tasks,
                                                const std::vector<predict::PhaseCounts>& counts) {
  const Key key{tasks, counts, times_.contains(tasks)};
  const auto known = programs_.find(key);
  if (known != programs_.end()) return &known->second;
  PhaseProgram made;
  DOVETAIL_TRY(made, make(tasks, counts));
  return &programs_.emplace(key, std::move(made)).first->second;
}

void PhasePrograms::take_times(const std::vector<std::size_t>& tasks, execute::OpMedians measured) {
  times_[tasks] = std::move(measured);
}

Result<PhaseProgram> PhasePrograms::make(const std::vector<std::size_t>& tasks,
                                         const std::vector<predict::PhaseCounts>& counts) const {
  predict::PhaseSchedule phase;
  DOVETAIL_TRY(phase, predict::phase_schedule(scenario_, plan_, tasks, counts));
  if (const auto times = times_.find(tasks); times != times_.end()) {
    const pipeline::Problem measured =
        execute::with_measured_times(phase.schedule.problem, phase.placement, times->second);
    DOVETAIL_TRY(phase.schedule, predict::reordered(scenario_, plan_, phase.schedule, measured));
  }
  std::vector<pipeline::Exchanges> exchanges = pipeline::exchanges_of(phase.schedule.problem);
  for (std::size_t m = 0; m < tasks.size(); ++m)
    exchanges[m].tied = predict::facts_of(scenario_, tasks[m]).model.tied_embeddings;
  DOVETAIL_TRY(std::vector<Program> programs, pipeline::compile(phase.schedule, phase.placement, exchanges));
  for (const pipeline::Delivery delivery : pipeline::deliveries) DOVETAIL_ASSERT(!pipeline::check(programs, delivery));
  Program own = programs[static_cast<std::size_t>(rank_)];
  if (rank_ != 0) programs.clear();
  return PhaseProgram{std::move(phase), std::move(own), std::move(programs)};
}

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
    // Schedules have limits (pipeline::find_fault) that all groups together may exceed.
    if (!measured.ok()) continue;
    const auto ops =
        execute::replayed_ops(planned, ranks, program.all, execute::on_common_clock(program.all, runs.last_times));
    std::string name = name_of(tasks, workflow);
    timeline::Timeline trace = execute::measured_timeline(planned.problem, ops, name + ", last run");
    phases.push_back({std::move(name), std::move(planned), std::move(measured).value(), std::move(trace)});
  }
  return phases;
}

base::Result<ReplayTimes> gather_times(transport::Transport& transport, std::span<const pipeline::Program> programs,
                                       const execute::Trace& own, transport::Clock::time_point origin,
                                       std::uint32_t number, transport::Deadline deadline) {
  std::vector<Span> spans = execute::spans_of(own, origin);
  if (transport.rank() != 0) {
    transport.send(transport::control_address(0, number), buffer_of(spans));
    DOVETAIL_CHECK(transport.flush(transport::Lane::control, deadline));
    return ReplayTimes{};
  }
  ReplayTimes all(programs.size());
  all.front() = std::move(spans);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    all[rank].resize(programs[rank].code.size());
    transport.receive(transport::control_address(static_cast<int>(rank), number), buffer_of(all[rank]));
  }
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    DOVETAIL_CHECK(transport.wait(transport::control_address(static_cast<int>(rank), number), deadline));
  return all;
}

}  // namespace dovetail::runtime
