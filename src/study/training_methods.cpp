#include "study/training_methods.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "base/assert.h"
#include "cost/machine.h"
#include "cost/passes.h"
#include "fuse/constructions/constructions.h"
#include "predict/closed_form/intra_stage.h"
#include "predict/closed_form/memory.h"
#include "predict/closed_form/training_phase.h"
#include "predict/closed_form/variations.h"

namespace dovetail::study {
namespace {

using base::Ticks;
using pipeline::Problem;
using plan::TaskPlan;
using Construction = fuse::Answer (*)(const Problem& problem, const fuse::SolveOptions& options);

/// Result of one train task by one method, or the reason why that method is not possible.
struct TaskRun {
  TaskPlan planned = {};  // the task's changed plan
  double seconds = 0;
  std::int64_t activations = 0;
  predict::Fit fit = predict::Fit::does_not_fit;
  std::string how = {};
  std::string why_not = {};

  bool fits() const { return fit != predict::Fit::does_not_fit; }
};

TaskRun without(std::string why) { return {.why_not = std::move(why)}; }

constexpr const char* already_smallest = "micro-batches cannot be smaller";

/// Whether `one` is better. A run that fits is better than one that does not; otherwise, the faster one is better.
/// Compares tasks or phases.
template <class Run>
bool is_better(const Run& one, const Run& other) {
  if (one.fits() != other.fits()) return one.fits();
  return one.seconds < other.seconds;
}

/// Evaluates the methods of running one train task of a plan.
class TaskMethods {
 public:
  TaskMethods(const predict::Scenario& scenario, const plan::Plan& plan, std::size_t task)
      : scenario_(scenario), plan_(plan), task_(task), planned_(plan.tasks[task]) {
    planned_.layout.virtual_stages = 1;
  }

  TaskRun serial() const { return scheduled(planned_, fuse::solve_1f1b); }

  TaskRun interleaved() const {
    TaskRun best = without("the layers cannot be split into virtual stages");
    for (const int chunks : {2, 4, 8}) {
      TaskPlan planned = planned_;
      planned.layout.virtual_stages = chunks;
      if (llm::find_fault(planned.layout, facts().model)) continue;
      TaskRun run = scheduled(planned, fuse::solve_interleaved_1f1b);
      run.how = fmt::format("{} with {} virtual stages", name(), chunks);
      if (run.why_not.empty() && (!best.why_not.empty() || is_better(run, best))) best = std::move(run);
    }
    return best;
  }

  TaskRun as_planned() const {
    const int chunks = plan_.tasks[task_].layout.virtual_stages;
    if (chunks == 1) return serial();
    TaskRun run = scheduled(plan_.tasks[task_], fuse::solve_interleaved_1f1b);
    run.how = fmt::format("{} with {} virtual stages", name(), chunks);
    return run;
  }

  TaskRun zero_bubble() const {
    if (facts().model.adapter_rank > 0) return without("frozen weights have no weight gradients to defer");
    auto problem = predict::training_problem(scenario_, {task_, planned_});
    if (!problem.ok()) return without(problem.error().message);
    const TaskRun serial_run = serial();
    split_backward(problem->models.front());
    const predict::TaskMemory memory = memory_of(planned_);
    const auto run_of = [&](Construction construct, const char* name_of_schedule) {
      TaskRun run = measured(*problem, construct, planned_);
      predict::TaskMemory with = memory;
      with.usable -= run.activations - serial_run.activations;
      run.fit = with.fit();
      run.how = fmt::format("{} with {}", name(), name_of_schedule);
      return run;
    };
    TaskRun one = run_of(fuse::solve_zb_h1, "ZB-H1");
    TaskRun two = run_of(fuse::solve_zb_h2, "ZB-H2");
    return one.why_not.empty() && two.fits() && is_better(two, one) ? two : one;
  }

  TaskRun smaller_micro_batches() const {
    TaskRun best = without(already_smallest);
    for (const TaskPlan& smaller : smaller_plans()) {
      TaskRun run = scheduled(smaller, fuse::solve_1f1b);
      run.how = difference(smaller);
      if (run.why_not.empty() && (!best.why_not.empty() || is_better(run, best))) best = std::move(run);
    }
    return best;
  }

  /// Variants of the task with smaller micro-batches, largest first.
  std::vector<TaskPlan> smaller_plans() const {
    std::vector<TaskPlan> smaller;
    int most = count_of(planned_);
    for (const TaskPlan& varied : predict::variations_of(scenario_, task_, planned_)) {
      TaskPlan same = planned_;
      same.micro_batching = varied.micro_batching;
      if (same != varied || count_of(varied) <= most) continue;
      most = count_of(varied);
      smaller.push_back(varied);
    }
    return smaller;
  }

  /// Describes the change: "actor_train with 7 micro-batches instead of 2".
  std::string difference(const TaskPlan& smaller) const {
    return fmt::format("{} with {} micro-batches instead of {}", name(), count_of(smaller), count_of(planned_));
  }

  int stages() const { return planned_.layout.pipeline; }

 private:
  const cost::ModelFacts& facts() const { return predict::facts_of(scenario_, task_); }
  const std::string& name() const { return scenario_.job.workflow.tasks[task_].name; }

  int count_of(const TaskPlan& planned) const {
    return predict::training_passes(scenario_, {task_, planned}).micro_batches;
  }

  predict::TaskMemory memory_of(const TaskPlan& planned) const {
    plan::Plan plan = plan_;
    plan.fusion = {};
    plan.tasks[task_] = planned;
    return predict::task_memory(scenario_, plan)[task_];
  }

  /// Time and activations of the schedule. Does not check whether it fits.
  TaskRun measured(const Problem& problem, Construction construct, const TaskPlan& planned) const {
    const fuse::Answer answer = construct(problem, {});
    if (const auto* none = std::get_if<fuse::NotApplicable>(&answer)) return without(none->why);
    const pipeline::Evaluation& evaluation = std::get<fuse::Solution>(answer).evaluation;
    const double fullest = predict::fullest_over_average(scenario_, task_, planned);
    return {planned, base::seconds_of_ticks(evaluation.makespan),
            std::llround(fullest * static_cast<double>(evaluation.peak_activation.count()))};
  }

  TaskRun scheduled(const TaskPlan& planned, Construction construct) const {
    const auto problem = predict::training_problem(scenario_, {task_, planned});
    if (!problem.ok()) return without(problem.error().message);
    TaskRun run = measured(*problem, construct, planned);
    run.fit = memory_of(planned).fit();
    return run;
  }

  void split_backward(pipeline::Model& model) const {
    const cost::Machine machine = cost::machine_of(scenario_.job.cluster, planned_.mesh, scenario_.software.efficiency);
    const llm::Tokens tokens = predict::training_passes(scenario_, {task_, planned_}).micro_batch;
    for (std::size_t stage = 0; stage < model.backward.size(); ++stage) {
      const cost::StageLayers layers = cost::layers_of_stage(facts(), planned_.layout, static_cast<int>(stage));
      // Attention scores have no weights, so only matrix products of weights count.
      const cost::PassSeconds products = cost::forward_pass(facts(), planned_.layout, layers, {tokens.count, 0},
                                                            machine, scenario_.software.efficiency);
      const std::int64_t most = std::max<std::int64_t>(1, model.backward[stage].count() - 1);
      const Ticks weights(std::clamp<std::int64_t>(base::ticks_of_seconds(products.compute).count(), 1, most));
      model.backward[stage] = std::max(Ticks(1), model.backward[stage] - weights);
      model.weight_gradient.push_back(weights);
    }
    model.weight_activation = model.activation;
  }

  const predict::Scenario& scenario_;
  const plan::Plan& plan_;
  const std::size_t task_;
  TaskPlan planned_;  // without virtual stages
};

std::vector<std::size_t> train_tasks_of(const plan::Job& job) {
  std::vector<std::size_t> tasks;
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
    if (job.workflow.tasks[task].kind == workflow::TaskKind::train) tasks.push_back(task);
  return tasks;
}

/// Whether an unfused phase equals the plan.
bool is_planned(const plan::Job& job, const plan::Plan& plan, const TrainingAlternative& phase) {
  // Plans cannot specify split backwards.
  if (plan.fusion.training || phase.method == TrainingMethod::zero_bubble || !phase.why_not.empty()) return false;
  const std::vector<std::size_t> tasks = train_tasks_of(job);
  return std::all_of(tasks.begin(), tasks.end(),
                     [&](std::size_t task) { return phase.plan.tasks[task] == plan.tasks[task]; });
}

/// Adds a task's run on `mesh` to the busy time of each device and to the totals of the phase.
void add(const TaskRun& run, const cluster::Mesh& mesh, std::vector<double>& busy, TrainingAlternative& phase) {
  for (int device = mesh.first; device < mesh.first + mesh.count; ++device) {
    double& seconds = busy[static_cast<std::size_t>(device)];
    seconds += run.seconds;
    phase.seconds = std::max(phase.seconds, seconds);
  }
  phase.activations = std::max(phase.activations, run.activations);
  phase.fit = std::max(phase.fit, run.fit);
  if (!run.how.empty()) phase.how += (phase.how.empty() ? "" : ", ") + run.how;
}

TaskRun run_of(const TaskMethods& methods, TrainingMethod method) {
  if (method == TrainingMethod::serial) return methods.serial();
  if (method == TrainingMethod::as_planned) return methods.as_planned();
  if (methods.stages() == 1) return without("a pipeline of one stage has no bubbles");
  if (method == TrainingMethod::interleaved) return methods.interleaved();
  if (method == TrainingMethod::zero_bubble) return methods.zero_bubble();
  DOVETAIL_ASSERT(method == TrainingMethod::smaller_micro_batches);
  return methods.smaller_micro_batches();
}

/// Describes the order of several trainings. Returns an empty string if there is only one.
std::string order_of(const plan::Job& job, const plan::Plan& plan) {
  const std::vector<std::size_t> tasks = train_tasks_of(job);
  int pairs = 0;
  int shared = 0;
  for (std::size_t two = 1; two < tasks.size(); ++two)
    for (std::size_t one = 0; one < two; ++one) {
      ++pairs;
      if (cluster::overlap(plan.tasks[tasks[one]].mesh, plan.tasks[tasks[two]].mesh)) ++shared;
    }
  if (pairs == 0) return "";
  if (shared == 0) return "the trainings run in parallel on separate devices";
  return shared == pairs ? "one training after the other" : "trainings that share devices run one after the other";
}

}  // namespace

std::string_view name_of(TrainingMethod method) {
  switch (method) {
    case TrainingMethod::serial:
      return "1F1B";
    case TrainingMethod::interleaved:
      return "interleaved 1F1B";
    case TrainingMethod::zero_bubble:
      return "zero bubble";
    case TrainingMethod::smaller_micro_batches:
      return "smaller micro-batches";
    case TrainingMethod::fused:
      return "fused";
    case TrainingMethod::fused_smaller:
      return "fused smaller micro-batches";
    case TrainingMethod::as_planned:
      return "as planned";
  }
  DOVETAIL_ASSERT(false);
}

TrainingAlternative training_alternative(const predict::Scenario& scenario, const plan::Plan& plan,
                                         TrainingMethod method) {
  TrainingAlternative phase;
  phase.method = method;
  phase.fit = predict::Fit::fits;
  phase.plan = plan;
  std::vector<double> busy(static_cast<std::size_t>(cluster::device_count(scenario.job.cluster)), 0.0);
  bool changed = false;
  std::string why_not = "the job has no training task";
  for (const std::size_t task : train_tasks_of(scenario.job)) {
    const TaskMethods methods(scenario, plan, task);
    TaskRun run = run_of(methods, method);
    changed = changed || run.why_not.empty();
    if (!run.why_not.empty()) {
      why_not = run.why_not;
      run = methods.serial();
    }
    if (!run.why_not.empty()) {
      phase.why_not = run.why_not;
      return phase;
    }
    phase.plan.tasks[task] = run.planned;
    add(run, plan.tasks[task].mesh, busy, phase);
  }
  if (!changed) phase.why_not = std::move(why_not);
  if (method == TrainingMethod::serial) phase.how = order_of(scenario.job, plan);
  phase.planned = is_planned(scenario.job, plan, phase);
  return phase;
}

TrainingAlternative fused_alternative(const predict::Scenario& scenario, const plan::Plan& plan, plan::TrainPair pair,
                                      const FusedPhase& fused) {
  TrainingAlternative phase;
  phase.method = TrainingMethod::fused;
  phase.fit = predict::Fit::fits;
  phase.planned = plan.fusion.training == pair;
  phase.plan = plan;
  std::vector<double> busy(static_cast<std::size_t>(cluster::device_count(scenario.job.cluster)), 0.0);
  plan::Plan with = plan;
  with.fusion = {std::nullopt, pair};
  const std::vector<predict::TaskMemory> memory = predict::task_memory(scenario, with, fused.activations);
  const TaskRun run{{}, fused.seconds, fused.activations, std::max(memory[pair[0]].fit(), memory[pair[1]].fit())};
  add(run, plan.tasks[pair[0]].mesh, busy, phase);
  for (const std::size_t task : train_tasks_of(scenario.job))
    if (task != pair[0] && task != pair[1])
      add(TaskMethods(scenario, plan, task).serial(), plan.tasks[task].mesh, busy, phase);
  return phase;
}

TrainingAlternative fused_smaller_alternative(const predict::Scenario& scenario, const plan::Plan& plan,
                                              plan::TrainPair pair) {
  const TaskMethods methods[2] = {{scenario, plan, pair[0]}, {scenario, plan, pair[1]}};
  const std::vector<TaskPlan> smaller[2] = {methods[0].smaller_plans(), methods[1].smaller_plans()};
  TrainingAlternative best{.method = TrainingMethod::fused_smaller, .why_not = already_smallest};
  // Each size needs a separate search.
  constexpr std::size_t tried = 2;
  for (std::size_t number = 0; number < std::min(tried, std::max(smaller[0].size(), smaller[1].size())); ++number) {
    plan::Plan other = plan;
    other.fusion = {std::nullopt, pair};
    std::string how;
    for (std::size_t index = 0; index < 2; ++index) {
      if (smaller[index].empty()) continue;
      other.tasks[pair[index]] = smaller[index][std::min(number, smaller[index].size() - 1)];
      how += (how.empty() ? "" : ", ") + methods[index].difference(other.tasks[pair[index]]);
    }
    const bool failed = !best.why_not.empty();
    if (scenario.is_stopped()) {
      if (failed) best.why_not = no_time;
      break;
    }
    const predict::IntraStage fused = predict::intra_stage(scenario, other);
    if (!fused.activations) {
      if (failed) best.why_not = too_large;
      continue;
    }
    TrainingAlternative phase = fused_alternative(scenario, other, pair, {fused.schedule_seconds, *fused.activations});
    if (!best.why_not.empty() || is_better(phase, best)) {
      best = std::move(phase);
      best.how = std::move(how);
    }
  }
  best.method = TrainingMethod::fused_smaller;
  best.planned = false;
  best.plan.fusion = plan.fusion;
  return best;
}

}  // namespace dovetail::study
