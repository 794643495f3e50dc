#include "answer/runs/simulation.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "answer/words/plan_words.h"
#include "cluster/mesh.h"
#include "plan/fusion.h"
#include "planner/rank/fusion_choice.h"
#include "predict/closed_form/estimate.h"
#include "trainers/import_run.h"

namespace dovetail::answer {
namespace {

/// Simulates the plan at every threshold if generation can be fused with inference. Otherwise adds a note with the
/// reason.
void sweep_thresholds(const PlayOptions& play, const Watch& watch, SimulationAnswer& answer) {
  study::SweepOptions options;
  options.over = study::SweepInput::threshold;
  options.simulate = true;
  options.simulation = simulation_options(play);
  // A single draw does not identify the best threshold.
  options.simulation.draws = std::max(options.simulation.draws, 3);
  options.on_point = [&watch](std::size_t point, std::size_t points) {
    tell_work(watch, fmt::format("threshold {} of {}", point + 1, points));
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

base::Result<SimulationAnswer> ask(const SimulationRequest& request, const Watch& watch) {
  const PlayOptions& play = request.play;
  const parallel::Cancellation stop(watch.cancellation, play.search.budget.time_limit);
  DOVETAIL_TRY(AskedJob asked, read_asked(request.job, request.plan, watch, &stop));
  DOVETAIL_CHECK(tell_read(watch));
  DOVETAIL_CHECK(check_playable(asked.scenario.job, request.job));
  DOVETAIL_TRY(ChosenPlan chosen, choose_plan(play, request.job, asked, request.compared, watch));
  if (request.compared && !play.fuse && !asked.scenario.is_stopped())
    chosen.notes = planner::why_not_fused(asked.scenario, chosen.plan);
  DOVETAIL_TRY(PlayedPlan played, play_plan(play, asked.scenario, chosen.plan, watch));
  SimulationAnswer answer{.scenario = std::move(asked.scenario),
                          .plan = std::move(chosen.plan),
                          .found = !request.plan && !asked.own_plan,
                          .seed = play.search.budget.seed,
                          .bound = chosen.bound,
                          .simulation = std::move(played.simulation),
                          .variants = std::move(played.variants),
                          .notes = std::move(chosen.notes),
                          .as_configured = asked.own_plan,
                          .outcome = unless_interrupted(watch, Outcome::done)};
  if (request.compared) {
    answer.ranking = std::move(chosen.ranking);
    if (request.plan) {
      DOVETAIL_TRY(answer.configured, configured_plan(request.job, answer.scenario));
    }
    sweep_thresholds(play, watch, answer);
    answer.outcome = unless_interrupted(watch, Outcome::done);
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
    ActivityLine line{index, activity_words(job, activities[index].kind, activities[index].task), {}, 0, 0, 0};
    for (const plan::Activity& other : activities)
      if (other.within == index) line.name += " + " + activity_words(job, other.kind, other.task);
    if (const cluster::Mesh mesh = plan.tasks[activities[index].task].mesh; mesh.count > 0)
      line.devices = cluster::name_of(job.cluster, mesh);
    const plan::ActivityTime& time = iteration.activities[index];
    line.begin = base::seconds_of_ticks(
        plan::with_overheads(time.begin, iteration.stretch, iteration.trace.end - iteration.stretch));
    line.simulated = base::seconds_of_ticks(time.end - time.begin);
    line.closed = simulation.closed.activities[index].seconds;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace dovetail::answer
