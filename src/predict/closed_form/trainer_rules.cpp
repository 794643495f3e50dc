#include "predict/closed_form/trainer_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "cost/conventions.h"
#include "plan/iteration_graph.h"

namespace dovetail::predict {
namespace {

using cost::Ability;
using workflow::TaskKind;

/// Returns, for each task, whether it runs on the trainer's model. Training does, and so does inference of trained
/// roles if the trainer shares the model.
std::vector<bool> trainer_tasks(const plan::Job& job, const cost::TrainerLimits& limits) {
  const workflow::Workflow& workflow = job.workflow;
  std::vector<bool> tasks;
  for (std::size_t task = 0; task < workflow.tasks.size(); ++task) {
    const TaskKind kind = workflow.tasks[task].kind;
    const bool trained = workflow.role_of[task] && workflow.trained_by[workflow.role_of[task]->index()].has_value();
    tasks.push_back(kind == TaskKind::train || (limits.one_layout && kind == TaskKind::infer && trained));
  }
  return tasks;
}

std::string one_degree(const std::string& task, const cost::Conventions& conventions, std::string_view key,
                       std::string_view kind, int degree) {
  return fmt::format("{}: `{}` is {}, but {} has no {} parallelism; accepted: 1", task, key, degree, conventions.name,
                     kind);
}

std::string no_zero(const std::string& task, const cost::Conventions& conventions, int zero,
                    const std::vector<int>& stages) {
  return fmt::format("{}: `zero` is {}, which {} does not support; accepted: {}", task, zero, conventions.name,
                     fmt::join(stages, ", "));
}

std::string two_layouts(const plan::Job& job, const cost::Conventions& conventions, std::size_t task,
                        std::size_t other) {
  return fmt::format("{}: {} uses one model for training and inference; accepted: the devices and layout of {}",
                     job.workflow.tasks[task].name, conventions.name, job.workflow.tasks[other].name);
}

bool has(const std::vector<int>& stages, int zero) {
  return std::find(stages.begin(), stages.end(), zero) != stages.end();
}

/// Returns whether no mesh and layout satisfy both pins.
bool contradict(const plan::TaskPin& a, const plan::TaskPin& b) {
  const auto differ = [](const auto& one, const auto& other) { return one && other && *one != *other; };
  const auto differ_in = [&](int llm::Layout::* member) {
    return differ(a.layout.find(member), b.layout.find(member));
  };
  const auto pins_zero_3 = [](const plan::TaskPin& pin) { return pin.layout.find(&llm::Layout::zero) == 3; };
  bool degrees = false;
  llm::for_each_degree([&](const auto& degree) { degrees = degrees || differ_in(degree.member); });
  return degrees || differ(a.mesh, b.mesh) || (differ_in(&llm::Layout::zero) && (pins_zero_3(a) || pins_zero_3(b)));
}

std::optional<TrainerFault> find_pin_fault(const plan::Job& job, const cost::Conventions& conventions,
                                           std::size_t task) {
  const cost::TrainerLimits& limits = cost::trainer_limits(conventions.name);
  const plan::TaskPin& pin = job.fixed[task];
  const plan::PinPlaces places = task < job.fixed_places.size() ? job.fixed_places[task] : plan::PinPlaces{};
  const std::string& name = job.workflow.tasks[task].name;
  const auto pinned = [&](int llm::Layout::* member) { return pin.layout.find(member); };
  const std::optional<int> tensor = pinned(&llm::Layout::tensor);
  const std::optional<int> pipeline = pinned(&llm::Layout::pipeline);
  const std::optional<int> zero = pinned(&llm::Layout::zero);
  if (limits.tensor == Ability::absent && tensor.value_or(1) > 1)
    return TrainerFault{task, places.tensor, one_degree(name, conventions, "tp", "tensor", *tensor)};
  if (limits.pipeline == Ability::absent && pipeline.value_or(1) > 1)
    return TrainerFault{task, places.pipeline, one_degree(name, conventions, "pp", "pipeline", *pipeline)};
  // A single rank shards nothing.
  const bool alone = zero == 0 && pinned(&llm::Layout::data) == 1 && pinned(&llm::Layout::context).value_or(1) == 1;
  if (zero && !alone && !has(limits.zero, *zero))
    return TrainerFault{task, places.zero, no_zero(name, conventions, *zero, limits.zero)};
  return std::nullopt;
}

}  // namespace

std::vector<std::vector<std::size_t>> linked_tasks(const plan::Job& job, const cost::Conventions& conventions) {
  const cost::TrainerLimits& limits = cost::trainer_limits(conventions.name);
  const std::vector<bool> of_trainer = trainer_tasks(job, limits);
  std::vector<std::vector<std::size_t>> linked(of_trainer.size());
  if (!limits.one_layout) return linked;
  for (std::size_t task = 0; task < linked.size(); ++task)
    for (std::size_t other = 0; other < linked.size(); ++other)
      if (task != other && of_trainer[task] && of_trainer[other] &&
          job.workflow.role_of[task] == job.workflow.role_of[other])
        linked[task].push_back(other);
  return linked;
}

std::optional<TrainerFault> find_trainer_fault(const plan::Job& job, const cost::Conventions& conventions) {
  if (job.fixed.empty()) return std::nullopt;
  const std::vector<bool> of_trainer = trainer_tasks(job, cost::trainer_limits(conventions.name));
  const auto linked = linked_tasks(job, conventions);
  for (std::size_t task = 0; task < linked.size(); ++task) {
    if (!of_trainer[task]) continue;
    if (auto fault = find_pin_fault(job, conventions, task)) return fault;
    for (const std::size_t other : linked[task])
      if (other < task && contradict(job.fixed[task], job.fixed[other])) {
        const base::FilePlace place = task < job.fixed_places.size() ? job.fixed_places[task].whole : base::FilePlace{};
        return TrainerFault{task, place, two_layouts(job, conventions, task, other)};
      }
  }
  return std::nullopt;
}

std::vector<TrainerFault> trainer_faults(const plan::Job& job, const cost::Conventions& conventions,
                                         const plan::Plan& plan) {
  const cost::TrainerLimits& limits = cost::trainer_limits(conventions.name);
  const std::vector<bool> of_trainer = trainer_tasks(job, limits);
  const auto linked = linked_tasks(job, conventions);
  std::vector<TrainerFault> faults;
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    if (!of_trainer[task]) continue;
    const llm::Layout& layout = plan.tasks[task].layout;
    const std::string& name = job.workflow.tasks[task].name;
    if (limits.tensor == Ability::absent && layout.tensor > 1)
      faults.push_back({task, {}, one_degree(name, conventions, "tp", "tensor", layout.tensor)});
    if (limits.pipeline == Ability::absent && layout.pipeline > 1)
      faults.push_back({task, {}, one_degree(name, conventions, "pp", "pipeline", layout.pipeline)});
    if (job.workflow.tasks[task].kind == TaskKind::train && layout.data * layout.context > 1 &&
        !has(limits.zero, layout.zero))
      faults.push_back({task, {}, no_zero(name, conventions, layout.zero, limits.zero)});
    const auto apart = [&](std::size_t other) {
      return other < task && !plan::share_weights(plan.tasks[task], plan.tasks[other]);
    };
    if (const auto other = std::find_if(linked[task].begin(), linked[task].end(), apart); other != linked[task].end())
      faults.push_back({task, {}, two_layouts(job, conventions, task, *other)});
  }
  return faults;
}

}  // namespace dovetail::predict
