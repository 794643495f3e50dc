#include "answer/runs/simulation.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "answer/text/plan_text.h"
#include "cluster/mesh.h"
#include "plan/fusion.h"
#include "planner/rank/fusion_choice.h"
#include "predict/closed_form/estimate.h"
#include "trainers/import_run.h"

namespace dovetail::answer {
namespace {

/// Simulates the plan at every threshold if generation can be fused with inference. Otherwise adds a note with the
/// reason.
void sweep_thresholds(const ChosenPlanOptions& plan_options, const Callbacks& callbacks, SimulationAnswer& answer) {
  study::SweepOptions options;
  options.over = study::SweepInput::threshold;
  options.simulate = true;
  options.simulation = simulation_options(plan_options);
  // A single draw does not identify the best threshold.
  options.simulation.draws = std::max(options.simulation.draws, 3);
  options.on_point = [&callbacks](std::size_t point, std::size_t points) {
    notify_work(callbacks, fmt::format("threshold {} of {}", point + 1, points));
  };
  auto swept = study::sweep(answer.scenario, &answer.plan, options);
  if (swept.ok()) {
    if (swept->fastest) answer.thresholds = std::move(swept).value();
    return;
  }
  // If a fusion was requested and is impossible, the note already exists.
  const std::string reason = plan::as_reason(swept.error().message);
  const auto is_reported = [&](const std::string& note) { return note.find(reason) != std::string::npos; };
  if (std::none_of(answer.notes.begin(), answer.notes.end(), is_reported))
    answer.notes.push_back("generation cannot be fused with inference: " + reason);
}

/// Returns the plan of a trainer's configuration with its estimate; nullopt if the job is a job file.
base::Result<std::optional<SimulationAnswer::Configured>> configured_plan(const JobInput& job,
                                                                          const predict::Scenario& scenario) {
  DOVETAIL_TRY(const std::string text, read_input({trainers::file_of(job.path), job.text}));
  if (!trainers::is_foreign(job.path, text)) return std::optional<SimulationAnswer::Configured>();
  DOVETAIL_TRY(trainers::Import import, read_import(job, {}));
  predict::Estimate estimate = predict::estimate(scenario, import.plan);
  return std::optional(SimulationAnswer::Configured{std::move(import.plan), std::move(estimate)});
}

}  // namespace

base::Result<SimulationAnswer> answer_to(const SimulationRequest& request, const Callbacks& callbacks) {
  const ChosenPlanOptions& plan_options = request.plan_options;
  const parallel::Cancellation stop(callbacks.cancellation, plan_options.search.budget.time_limit);
  DOVETAIL_TRY(LoadedJob loaded, load_job(request.job, request.plan, callbacks, &stop));
  DOVETAIL_CHECK(notify_read(callbacks));
  DOVETAIL_CHECK(check_can_simulate(loaded.scenario.job, request.job));
  DOVETAIL_TRY(ChosenPlan chosen, choose_plan(plan_options, request.job, loaded, request.compared, callbacks));
  if (request.compared && !plan_options.fuse && !loaded.scenario.is_stopped())
    chosen.notes = planner::why_not_fused(loaded.scenario, chosen.plan);
  DOVETAIL_TRY(SimulatedPlan simulated_plan, simulate_plan(plan_options, loaded.scenario, chosen.plan, callbacks));
  SimulationAnswer answer{.scenario = std::move(loaded.scenario),
                          .plan = std::move(chosen.plan),
                          .found = !request.plan && !loaded.own_plan,
                          .seed = plan_options.search.budget.seed,
                          .bound = chosen.bound,
                          .simulation = std::move(simulated_plan.simulation),
                          .variants = std::move(simulated_plan.variants),
                          .notes = std::move(chosen.notes),
                          .as_configured = loaded.own_plan,
                          .outcome = unless_interrupted(callbacks, Outcome::done)};
  if (request.compared) {
    answer.ranking = std::move(chosen.ranking);
    if (request.plan) {
      DOVETAIL_TRY(answer.configured, configured_plan(request.job, answer.scenario));
    }
    sweep_thresholds(plan_options, callbacks, answer);
    answer.outcome = unless_interrupted(callbacks, Outcome::done);
  }
  answer.scenario.cancellation = nullptr;
  return answer;
}

std::vector<ActivityLine> activity_lines(const predict::Scenario& scenario, const plan::Plan& plan,
                                         const predict::Simulation& simulation) {
  const plan::Job& job = scenario.job;
  const std::vector<plan::Activity>& activities = simulation.closed.graph.activities;
  const simulate::Iteration& iteration = simulation.iteration;
  std::vector<ActivityLine> lines;
  for (std::size_t index = 0; index < activities.size(); ++index) {
    if (activities[index].within) continue;
    ActivityLine line{index, activity_text(job, activities[index].kind, activities[index].task), {}, 0, 0, 0};
    for (const plan::Activity& other : activities)
      if (other.within == index) line.name += " + " + activity_text(job, other.kind, other.task);
    if (const cluster::Mesh mesh = plan.tasks[activities[index].task].mesh; mesh.count > 0)
      line.devices = cluster::name_of(job.cluster, mesh);
    const plan::ActivityTime& time = iteration.activities[index];
    line.begin = base::seconds_of_ticks(
        plan::with_overheads(time.begin, iteration.cycle, iteration.trace.end - iteration.cycle));
    line.simulated = base::seconds_of_ticks(time.end - time.begin);
    line.closed = simulation.closed.activities[index].seconds;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace dovetail::answer
