#include "predict/played/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "cluster/cluster.h"
#include "predict/closed_form/intra_stage.h"
#include "predict/played/activities.h"
#include "predict/played/memory.h"
#include "simulate/step_clock.h"

namespace dovetail::predict {
namespace {

/// What both models' average micro-batches may hold of each device; nothing where nothing is left.
std::optional<std::int64_t> room_for_activations(const Scenario& scenario, const plan::Plan& plan) {
  const std::int64_t room = activation_room(scenario, plan);
  if (room <= 0) return std::nullopt;
  return static_cast<std::int64_t>(static_cast<double>(room) /
                                   fullest_over_average(scenario, *plan.fusion.training, plan));
}

bool is_generation(const plan::Job& job, const plan::Activity& activity) {
  return activity.kind == plan::Activity::Kind::task &&
         job.workflow.tasks[activity.task].kind == workflow::TaskKind::generate;
}

}  // namespace

Simulator::Simulator(const Scenario& scenario, SimulationOptions options)
    : scenario_(scenario), options_(std::move(options)) {}

void Simulator::tell(std::string_view work) const {
  if (options_.on_progress) options_.on_progress(work);
}

/// An Error where it is stopped.
base::Status Simulator::go_on() const {
  if (const auto ended_by = parallel::ended_by(scenario_.cancellation))
    return parallel::stopped_before("an iteration was played", *ended_by);
  return {};
}

base::Result<FusedTraining> Simulator::fused_training(const plan::Plan& plan) {
  const plan::TrainPair tasks = plan.fusion.training.value();
  const plan::TaskPlan& first = plan.tasks[tasks[0]];
  const plan::TaskPlan& second = plan.tasks[tasks[1]];
  FusedSearch search = options_.fused;
  search.max_activations = room_for_activations(scenario_, plan);
  if (fused_ && fused_->tasks == tasks && fused_->first == first && fused_->second == second &&
      fused_->max_activations == search.max_activations)
    return fused_->training;
  tell("fusing the trainings");
  DOVETAIL_TRY(FusedTraining training, fused_training_trace(scenario_, {tasks[0], first}, {tasks[1], second}, search));
  fused_ = Fused{tasks, first, second, search.max_activations, training};
  return training;
}

base::Result<std::vector<simulate::Activity>> Simulator::fixed_activities(const plan::Plan& plan,
                                                                          const Simulation& simulation) const {
  std::vector<simulate::Activity> activities;
  for (std::size_t index = 0; index < simulation.closed.graph.activities.size(); ++index) {
    DOVETAIL_CHECK(go_on());
    const plan::Activity& activity = simulation.closed.graph.activities[index];
    simulate::Activity& made = activities.emplace_back();
    made.task = static_cast<std::int32_t>(activity.task);
    if (activity.within || is_generation(scenario_.job, activity)) continue;
    if (activity.kind == plan::Activity::Kind::reallocation) {
      made = reallocation_activity(scenario_, plan, activity);
    } else if (plan::is_host_transfer(activity)) {
      made = host_transfer_activity(scenario_, plan, activity);
    } else if (simulation.training && index == (*plan.fusion.training)[0]) {
      made = fused_training_activity(plan, *simulation.training, simulation.closed.intra_stage.value().overhead);
    } else {
      DOVETAIL_TRY(made, task_activity(scenario_, plan, simulation.closed.graph, activity.task));
    }
  }
  return activities;
}

void Simulator::add_draw(const plan::Plan& plan, const Draw& draw, Simulation& simulation,
                         simulate::Workload& workload) const {
  plan::IterationGraph graph = simulation.closed.graph;
  if (plan.fusion.threshold) simulation.migrations.emplace_back();
  for (std::size_t index = 0; index < graph.activities.size(); ++index) {
    const plan::Activity& activity = graph.activities[index];
    if (!is_generation(scenario_.job, activity)) continue;
    GenerationActivity made = generation_activity(scenario_, plan, activity.task, draw);
    workload.activities[index] = std::move(made.activity);
    plan::release(graph, index, made.early);
    if (made.migration) simulation.migrations.back() = std::move(made.migration);
  }
  workload.edges = std::move(graph.edges);
}

base::Result<Simulation> Simulator::simulate(const plan::Plan& plan) {
  tell("estimating");
  return simulate(plan, estimate(scenario_, plan));
}

base::Result<Simulation> Simulator::simulate(const plan::Plan& plan, Estimate closed) {
  Simulation simulation;
  simulation.closed = std::move(closed);
  if (plan.fusion.training) {
    DOVETAIL_TRY(simulation.training, fused_training(plan));
  }
  DOVETAIL_CHECK(go_on());
  simulate::Workload workload;
  workload.devices = cluster::device_count(scenario_.job.cluster);
  workload.overhead = base::ticks_of_seconds(scenario_.software.efficiency.iteration);
  workload.max_iterations = options_.max_iterations;
  workload.courses = &courses_;
  workload.cancellation = scenario_.cancellation;
  DOVETAIL_TRY(workload.activities, fixed_activities(plan, simulation));
  workload.resident = resident_of(scenario_, plan, simulation.closed);
  for (int draw = 0; draw < options_.draws; ++draw) {
    if (scenario_.is_stopped()) break;
    tell(fmt::format("playing draw {} of {}", draw + 1, options_.draws));
    add_draw(plan, {options_.seed, static_cast<std::uint64_t>(draw)}, simulation, workload);
    if (scenario_.is_stopped()) break;
    simulate::Iteration iteration = simulate::play_iterations(workload);
    if (scenario_.is_stopped()) break;  // it may have been cut off
    simulation.draws.push_back(base::seconds_of_ticks(iteration.period + workload.overhead));
    if (draw == 0) simulation.iteration = std::move(iteration);
  }
  if (simulation.draws.empty()) DOVETAIL_CHECK(go_on());
  if (plan.fusion.threshold) simulation.migrations.resize(simulation.draws.size());
  simulation.iteration_seconds = std::accumulate(simulation.draws.begin(), simulation.draws.end(), 0.0) /
                                 static_cast<double>(simulation.draws.size());
  return simulation;
}

}  // namespace dovetail::predict
