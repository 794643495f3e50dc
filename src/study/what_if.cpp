#include "study/what_if.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "plan/fusion.h"
#include "planner/search/placements.h"
#include "predict/closed_form/estimate.h"
#include "predict/simulated/inter_stage.h"
#include "simulate/partial_rollout.h"

namespace dovetail::study {
namespace {

using workflow::TaskKind;

/// The mesh of the first task of that kind; -1 if there is no such task.
std::int32_t mesh_of(const planner::SearchSpace& space, const planner::Selection& selection, TaskKind kind) {
  const std::vector<workflow::Task>& tasks = space.scenario->job.workflow.tasks;
  const auto found =
      std::find_if(tasks.begin(), tasks.end(), [kind](const workflow::Task& task) { return task.kind == kind; });
  return found == tasks.end() ? -1 : selection[static_cast<std::size_t>(found - tasks.begin())].mesh;
}

/// Moves each infer task to the training devices if that is faster.
void move_inference(const planner::SearchSpace& space, planner::Trial& trial, planner::Selection& selection) {
  const std::vector<workflow::Task>& tasks = space.scenario->job.workflow.tasks;
  const std::int32_t training = mesh_of(space, selection, TaskKind::train);
  const std::int64_t usable = planner::min_memory(space);
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    if (tasks[task].kind != TaskKind::infer || !space.links[task].empty() || !space.is_open(task, training)) continue;
    planner::Selection moved = selection;
    moved[task] = {training, 0};
    if (planner::improve_choices(space, trial, moved, planner::DescentObjective::cost).cost(usable) <
        trial.score(selection).cost(usable))
      selection = std::move(moved);
  }
}

}  // namespace

std::vector<DeviceSplit> device_splits(const planner::SearchSpace& space) {
  planner::Trial trial(space);
  std::vector<DeviceSplit> splits;
  for (planner::Selection& selection : planner::selection_of(space, planner::Placement::disaggregated)) {
    const std::int32_t training = mesh_of(space, selection, TaskKind::train);
    const std::int32_t rollout = mesh_of(space, selection, TaskKind::generate);
    if (training < 0 || rollout < 0) continue;
    const cluster::Mesh& trains = space.meshes[static_cast<std::size_t>(training)];
    const cluster::Mesh& generates = space.meshes[static_cast<std::size_t>(rollout)];
    // Fixed settings of the job may keep training and generation together.
    if (cluster::overlap(trains, generates)) continue;
    move_inference(space, trial, selection);
    DeviceSplit split{trains.count, generates.count, trains.first,
                      planner::plan_of(space, selection, std::string(name_of(planner::Placement::disaggregated)))};
    const predict::Estimate closed = predict::estimate(*space.scenario, split.plan);
    if (!closed.keeps_margin()) continue;
    split.iteration_seconds = closed.iteration_seconds;
    splits.push_back(std::move(split));
  }
  std::sort(splits.begin(), splits.end(), [](const DeviceSplit& a, const DeviceSplit& b) {
    return std::tie(a.iteration_seconds, a.training, a.training_first) <
           std::tie(b.iteration_seconds, b.training, b.training_first);
  });
  return splits;
}

namespace {

/// Figures of a plan, from its simulation or its closed-form estimate.
struct SimulatedPlan {
  plan::IterationGraph graph;
  plan::Timing timing;
  double iteration_seconds = 0;
  predict::Fit fit = predict::Fit::does_not_fit;
  bool simulated = false;
  std::optional<predict::FusedTraining> training;
};

SimulatedPlan simulate_plan(const predict::Scenario& scenario, predict::Simulator& simulator, const plan::Plan& plan) {
  auto simulation = simulator.simulate(plan);
  if (simulation.ok())
    return {simulation->closed.graph,
            {simulation->iteration.period, simulation->iteration.activities},
            simulation->iteration_seconds,
            simulation->closed.fit(),
            true,
            std::move(simulation->training)};
  predict::Estimate closed = predict::estimate(scenario, plan);
  return {
      std::move(closed.graph), std::move(closed.timing), closed.iteration_seconds, closed.fit(), false, std::nullopt};
}

/// Copy of the job at a given number of steps off policy, with its scenario. Not copyable.
struct OtherJob {
  OtherJob(const predict::Scenario& from, int steps)
      : job(with_steps(from.job, steps)), scenario(predict::scenario_of(job, from.software, from.cancellation)) {}
  OtherJob(const OtherJob&) = delete;
  OtherJob& operator=(const OtherJob&) = delete;

  static plan::Job with_steps(plan::Job job, int steps) {
    job.workload.steps_off_policy = steps;
    return job;
  }

  plan::Job job;
  predict::Scenario scenario;
};

class Study {
 public:
  Study(const predict::Scenario& scenario, const plan::Plan& plan, const WhatIfOptions& options)
      : scenario_(scenario),
        plan_(plan),
        options_(options),
        simulator_(scenario, options.simulation),
        policy_(policy_task(scenario.job.workflow)) {}

  WhatIfs run() {
    choose_fusions();
    for (const bool inter : {false, true})
      for (const bool intra : {false, true})
        try_alternative({.kind = Working::Kind::fusion, .inter = inter, .intra = intra});
    if (plan_.fusion.threshold && best_threshold() && best_threshold() != plan_.fusion.threshold)
      try_alternative({.kind = Working::Kind::fusion,
                       .inter = true,
                       .intra = plan_.fusion.training.has_value(),
                       .best_threshold = true});
    if (scenario_.job.workload.steps_off_policy > 0) try_alternative({.kind = Working::Kind::off_policy, .steps = 0});
    for (const int steps : options_.steps_off_policy)
      try_alternative({.kind = Working::Kind::off_policy, .steps = steps});
    for (const double finished : options_.finished)
      try_alternative({.kind = Working::Kind::partial, .finished = finished});
    return std::move(found_);
  }

 private:
  void try_alternative(const Working& working) {
    if (scenario_.is_stopped()) found_.complete = false;
    if (!found_.complete) return;
    WhatIf what_if{working, false, std::nullopt, {}};
    if (working.kind == Working::Kind::fusion) try_fusion(what_if);
    if (working.kind == Working::Kind::off_policy) try_off_policy(what_if);
    if (working.kind == Working::Kind::partial) try_partial(what_if);
    if (scenario_.is_stopped()) found_.complete = false;
    if (found_.complete) found_.alternatives.push_back(std::move(what_if));
  }

  void report_work(const std::string& work) const {
    if (options_.simulation.on_progress) options_.simulation.on_progress(work);
  }

  /// nullopt if there is no threshold, or none is better than no fusion.
  std::optional<double> best_threshold() const {
    return found_.thresholds ? found_.thresholds->points[found_.thresholds->best].threshold : std::nullopt;
  }

  /// Chooses the threshold and the trainings to fuse, or records the reason for having none.
  void choose_fusions() {
    const plan::Job& job = scenario_.job;
    constexpr double any = 0.5;
    if (const auto fault = plan::find_threshold_fault(any, job, plan_.tasks)) {
      no_threshold_ = plan::as_reason(*fault);
    } else {
      report_work("choosing the threshold");
      found_.thresholds =
          predict::simulated_thresholds(scenario_, plan_, options_.simulation.seed, options_.simulation.draws);
      threshold_ = plan_.fusion.threshold ? plan_.fusion.threshold : best_threshold();
      if (!found_.thresholds) return;
      no_threshold_ =
          predict::find_migration_fault(scenario_, plan_, *found_.thresholds)
              .value_or("no threshold makes fused generation and inference faster than running them in sequence");
    }
    pair_ = plan_.fusion.training ? plan_.fusion.training : plan::train_pair(job);
    if (!pair_) {
      no_pair_ = fmt::format("{} does not train a second model", job.workflow.name);
    } else if (const auto fault =
                   plan::find_training_fault(job, *pair_, plan_.tasks[(*pair_)[0]], plan_.tasks[(*pair_)[1]])) {
      no_pair_ = plan::as_reason(*fault);
      pair_.reset();
    }
  }

  void try_fusion(WhatIf& what_if) {
    const auto [kind, inter, intra, best, steps, finished] = what_if.working;
    what_if.planned =
        !best && inter == plan_.fusion.threshold.has_value() && intra == plan_.fusion.training.has_value();
    if (inter && !threshold_) what_if.why_not = no_threshold_;
    if (intra && !pair_) what_if.why_not = no_pair_;
    if (!what_if.why_not.empty()) return;
    plan::Plan plan = plan_;
    plan.fusion = {!inter ? std::nullopt : best ? best_threshold() : threshold_, intra ? pair_ : std::nullopt};
    SimulatedPlan simulated_plan = simulate_plan(scenario_, simulator_, plan);
    if (simulated_plan.training && !found_.training) found_.training = std::move(simulated_plan.training);
    what_if.figures = figures_of(scenario_, plan, simulated_plan);
    // Partial rollout starts from the plan without inter-stage fusion, but with its fusion of trainings.
    if (!inter && intra == plan_.fusion.training.has_value()) base_ = std::move(simulated_plan);
  }

  WhatIfFigures figures_of(const predict::Scenario& scenario, const plan::Plan& plan,
                           const SimulatedPlan& simulated_plan) const {
    WhatIfFigures figures;
    figures.plan = plan;
    figures.fit = simulated_plan.fit;
    figures.simulated = simulated_plan.simulated;
    if (policy_) {
      std::vector<double> by_age(
          static_cast<std::size_t>(version_lag(scenario.job, simulated_plan.graph, simulated_plan.timing, *policy_)) +
              1,
          0.0);
      by_age.back() = 1;
      figures.staleness = staleness_of(by_age);
    }
    set_throughput(simulated_plan.iteration_seconds, figures);
    return figures;
  }

  void set_throughput(double seconds, WhatIfFigures& figures) const {
    figures.iteration_seconds = seconds;
    figures.samples_per_second = static_cast<double>(scenario_.job.workload.samples()) / seconds;
    figures.tokens_per_second = predict::sequences_of_iteration(scenario_.job) * scenario_.lengths.mean() / seconds /
                                cluster::device_count(scenario_.job.cluster);
  }

  void try_off_policy(WhatIf& what_if) {
    if (!policy_) {
      what_if.why_not = fmt::format("{} does not generate with a trained model, so no policy can be stale",
                                    scenario_.job.workflow.name);
      return;
    }
    report_work(fmt::format("splitting devices (steps off policy: {})", what_if.working.steps));
    const OtherJob other(scenario_, what_if.working.steps);
    if (!space_)
      space_ = planner::make_search_space(scenario_, planner::search_meshes(scenario_.job), {}, options_.threads);
    // The space can be reused: choices for tasks do not depend on the staleness of weights.
    space_->scenario = &other.scenario;
    std::vector<DeviceSplit> splits =
        planner::impossible_task(*space_) ? std::vector<DeviceSplit>() : device_splits(*space_);
    space_->scenario = &scenario_;
    if (splits.empty()) {
      what_if.why_not = "no allowed split of the devices between training and rollout keeps the memory margin";
      return;
    }
    predict::Simulator simulator(other.scenario, options_.simulation);
    what_if.figures =
        figures_of(other.scenario, splits.front().plan, simulate_plan(other.scenario, simulator, splits.front().plan));
    what_if.figures->training_devices = splits.front().training;
    what_if.figures->rollout_devices = splits.front().rollout;
    what_if.figures->training_first = splits.front().training_first;
    if (what_if.working.steps == 1) found_.splits = std::move(splits);
  }

  void try_partial(WhatIf& what_if) {
    const workflow::Workflow& workflow = scenario_.job.workflow;
    const auto generates = [](const workflow::Task& task) { return task.kind == workflow::TaskKind::generate; };
    if (!policy_)
      what_if.why_not = fmt::format("{} does not generate with a trained model", workflow.name);
    else if (std::count_if(workflow.tasks.begin(), workflow.tasks.end(), generates) > 1)
      what_if.why_not = fmt::format("{} has several generate tasks, which would have to end together", workflow.name);
    else if (!base_)
      what_if.why_not = "the plan was not simulated without inter-stage fusion";
    if (!what_if.why_not.empty()) return;
    report_work("simulating partial rollout");
    plan::Plan plan = plan_;
    plan.fusion.threshold.reset();
    const std::vector<simulate::PartialRollout> rollouts = rollouts_of(what_if.working.finished);
    base::Ticks generation;
    std::vector<double> by_age(base_age() + 1, 0.0);
    for (const simulate::PartialRollout& rollout : rollouts) {
      generation += rollout.end;
      by_age.resize(std::max(by_age.size(), base_age() + rollout.by_age.size()), 0.0);
      for (std::size_t age = 0; age < rollout.by_age.size(); ++age)
        by_age[base_age() + age] += static_cast<double>(rollout.by_age[age]);
    }
    const auto count = static_cast<std::int64_t>(rollouts.size());
    what_if.figures = figures_of(scenario_, plan, *base_);
    what_if.figures->staleness = staleness_of(by_age);
    set_throughput(seconds_with_generation(plan, base::Ticks(generation.count() / count)), *what_if.figures);
  }

  /// Staleness, in versions, of all tokens without partial rollout.
  std::size_t base_age() const {
    return static_cast<std::size_t>(version_lag(scenario_.job, base_->graph, base_->timing, *policy_));
  }

  std::vector<simulate::PartialRollout> rollouts_of(double finished) const {
    const workflow::Workload& workload = scenario_.job.workload;
    const workflow::SequenceCount& sequences = scenario_.job.workflow.tasks[*policy_].sequences;
    const auto samples_of = [&](std::uint64_t draw) {
      return simulate::draw_samples(workload, sequences, options_.simulation.seed, draw);
    };
    simulate::PartialRolloutOptions options;
    options.trained = static_cast<std::size_t>(workload.prompts);
    options.in_progress = static_cast<std::size_t>(std::ceil(static_cast<double>(workload.prompts) / finished));
    return simulate::simulate_partial_rollout(predict::generation_task(scenario_, *policy_, plan_.tasks[*policy_]),
                                              workload.max_sequence(), samples_of, options);
  }

  /// Seconds of an iteration of the plan without inter-stage fusion if generation takes this long.
  double seconds_with_generation(const plan::Plan& plan, base::Ticks generation) const {
    std::vector<base::Ticks> durations;
    for (std::size_t step = 0; step < base_->graph.activities.size(); ++step) {
      const plan::ActivityTime& time = base_->timing.activities[step];
      durations.push_back(base_->graph.activities[step].within ? base::Ticks(0) : time.end - time.begin);
    }
    durations[*policy_] = generation;
    const plan::Timing timing = plan::time_iterations(base_->graph, scenario_.job, plan, durations);
    return iteration_seconds(scenario_, base::seconds_of_ticks(timing.period));
  }

  const predict::Scenario& scenario_;
  const plan::Plan& plan_;
  const WhatIfOptions& options_;
  predict::Simulator simulator_;
  const std::optional<std::size_t> policy_;
  std::optional<double> threshold_;
  std::string no_threshold_;  // why it is missing
  std::optional<plan::TrainPair> pair_;
  std::string no_pair_;  // why it is missing
  std::optional<SimulatedPlan> base_;
  std::optional<planner::SearchSpace> space_;
  WhatIfs found_;
};

}  // namespace

const WhatIf* find_fusion(const WhatIfs& what_ifs, bool inter, bool intra) {
  const auto found =
      std::find_if(what_ifs.alternatives.begin(), what_ifs.alternatives.end(), [&](const WhatIf& what_if) {
        const Working& working = what_if.working;
        return working.kind == Working::Kind::fusion && working.inter == inter && working.intra == intra &&
               !working.best_threshold;
      });
  return found == what_ifs.alternatives.end() ? nullptr : &*found;
}

const WhatIf* find_threshold(const WhatIfs& what_ifs, double threshold, bool intra) {
  const auto found =
      std::find_if(what_ifs.alternatives.begin(), what_ifs.alternatives.end(), [&](const WhatIf& what_if) {
        const Working& working = what_if.working;
        return working.kind == Working::Kind::fusion && working.intra == intra && what_if.figures &&
               what_if.figures->plan.fusion.threshold == threshold;
      });
  return found == what_ifs.alternatives.end() ? nullptr : &*found;
}

WhatIfs what_ifs(const predict::Scenario& scenario, const plan::Plan& plan, const WhatIfOptions& options) {
  return Study(scenario, plan, options).run();
}

}  // namespace dovetail::study
