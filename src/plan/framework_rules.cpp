#include "plan/framework_rules.h"

#include <algorithm>
#include <utility>

#include "plan/iteration_graph.h"

namespace dovetail::plan {
namespace {

using llm::Layout;
using workflow::TaskKind;

cluster::Mesh all_devices(const Job& job) { return {0, cluster::device_count(job.cluster)}; }

bool role_is_trained(const Job& job, std::size_t task) {
  const auto& role = job.workflow.role_of[task];
  return role && job.workflow.trained_by[role->index()].has_value();
}

std::vector<std::size_t> tasks_of(const Job& job, TaskKind kind) {
  std::vector<std::size_t> tasks;
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
    if (job.workflow.tasks[task].kind == kind) tasks.push_back(task);
  return tasks;
}

}  // namespace

TaskRule where(TaskRule rule, bool (*applies)(const Job&, std::size_t)) {
  rule.applies = applies;
  return rule;
}

TaskRule searched(TaskRule rule) {
  rule.scope = RuleScope::search;
  return rule;
}

TaskRule on_all_devices() {
  return {.of = std::nullopt,
          .part = "devices",
          .key = "",
          .accepted = "all devices of the cluster",
          .holds = [](const Job& job, const TaskPlan& planned) { return planned.mesh == all_devices(job); },
          .conform = [](const Job& job, TaskPlan& planned) { planned.mesh = all_devices(job); }};
}

TaskRule offloads(std::optional<TaskKind> of, std::string accepted, bool (*holds)(const Job&, const TaskPlan&),
                  void (*conform)(const Job&, TaskPlan&)) {
  return {.of = of, .part = "offload", .key = "", .accepted = std::move(accepted), .holds = holds, .conform = conform};
}

TaskRule no_offload(std::optional<TaskKind> of) {
  return offloads(
      of, "no offloading", [](const Job&, const TaskPlan& planned) { return planned.offload == Offload{}; },
      [](const Job&, TaskPlan& planned) { planned.offload = Offload{}; });
}

std::vector<TaskRule> engine_rules() {
  return {layout<&Layout::context, 1>(TaskKind::generate),
          layout<&Layout::virtual_stages, 1>(TaskKind::generate),
          layout<&Layout::expert_tensor, 1>(TaskKind::generate),
          layout<&Layout::zero, 0>(TaskKind::generate),
          layout<&Layout::sequence_parallel, false>(TaskKind::generate),
          engine<&Engine::longest_first, false>(),
          engine<&Engine::own_weights, true>()};
}

TaskRule undivided_shares() {
  return {.of = TaskKind::train,
          .part = "layout",
          .key = base::key_of(&Layout::data),
          .accepted = "a degree that divides the samples of an optimizer step",
          .holds =
              [](const Job& job, const TaskPlan& planned) {
                return job.workload.samples() / job.workload.mini_batches % planned.layout.data == 0;
              },
          // The device count changes, so a search drops this layout.
          .conform = [](const Job&, TaskPlan& planned) { planned.layout.data = 1; }};
}

TaskRule sequence_parallel_with_tensor() {
  return searched(
      {.of = std::nullopt,
       .part = "layout",
       .key = base::key_of(&Layout::sequence_parallel),
       .accepted = "true with tensor parallelism, false without it",
       .holds = [](const Job&,
                   const TaskPlan& planned) { return planned.layout.sequence_parallel == (planned.layout.tensor > 1); },
       .conform = [](const Job&, TaskPlan& planned) { planned.layout.sequence_parallel = planned.layout.tensor > 1; }});
}

TaskRule weights_offloaded() {
  return offloads(
      std::nullopt, "weights", [](const Job&, const TaskPlan& planned) { return planned.offload.weights; },
      [](const Job&, TaskPlan& planned) { planned.offload.weights = true; });
}

TaskRule stepped_on_devices() {
  return offloads(
      TaskKind::train, "no `optimizer_on_host`",
      [](const Job&, const TaskPlan& planned) { return !planned.offload.optimizer_on_host; },
      [](const Job&, TaskPlan& planned) { planned.offload.optimizer_on_host = false; });
}

void add_of_actor(const TaskRule& rule, Framework& framework) {
  framework.rules.push_back(where(rule, is_of_actor));
  framework.rules.push_back(searched(where(rule, is_of_trainer)));
}

TaskRule all_offloaded() {
  return offloads(
      TaskKind::train, "all training state",
      [](const Job& job, const TaskPlan& planned) {
        const Offload& offload = planned.offload;
        return offload.weights && offload.gradients && offload.optimizer != is_all_on_host(job, offload);
      },
      [](const Job& job, TaskPlan& planned) {
        planned.offload.weights = planned.offload.gradients = true;
        planned.offload.optimizer = !is_all_on_host(job, planned.offload);
      });
}

TaskRule by_sequences() {
  return {.of = std::nullopt,
          .part = "micro_batch",
          .key = "",
          .accepted = "a map with `sequences`",
          .holds = [](const Job&, const TaskPlan& planned) { return planned.micro_batching.sequences > 0; },
          .conform = [](const Job&, TaskPlan& planned) { planned.micro_batching = {.sequences = 1}; }};
}

bool is_training(const Job& job, std::size_t task) { return job.workflow.tasks[task].kind == TaskKind::train; }

bool is_inference(const Job& job, std::size_t task) { return job.workflow.tasks[task].kind == TaskKind::infer; }

bool is_generation(const Job& job, std::size_t task) { return job.workflow.tasks[task].kind == TaskKind::generate; }

bool is_scalar(const Job& job, std::size_t task) {
  const auto& role = job.workflow.role_of[task];
  return role && job.workflow.roles[role->index()].head == workflow::Head::scalar;
}

bool is_reward(const Job& job, std::size_t task) {
  return is_inference(job, task) && !role_is_trained(job, task) && is_scalar(job, task);
}

bool is_of_trainer(const Job& job, std::size_t task) {
  return is_training(job, task) || (is_inference(job, task) && !is_reward(job, task));
}

bool is_trained(const Job& job, std::size_t task) { return is_of_trainer(job, task) && role_is_trained(job, task); }

bool is_reference(const Job& job, std::size_t task) {
  return is_inference(job, task) && !role_is_trained(job, task) && !is_reward(job, task);
}

bool is_value(const Job& job, std::size_t task) { return is_trained(job, task) && is_scalar(job, task); }

bool is_of_actor(const Job& job, std::size_t task) {
  if (!is_trained(job, task)) return false;
  const std::vector<std::size_t> generations = tasks_of(job, TaskKind::generate);
  return !generations.empty() && job.workflow.role_of[task] == job.workflow.role_of[generations.front()];
}

bool is_colocated(const Job& job, std::size_t task) {
  if (!is_on_policy(job, task)) return false;
  if (!has_pools(job)) return true;
  const auto shares = [&](std::size_t generation, std::size_t other) {
    const auto& engine = job.fixed[generation].mesh;
    const auto& trainer = job.fixed[other].mesh;
    return engine && trainer ? cluster::overlap(*engine, *trainer) : engine == trainer;
  };
  for (const std::size_t generation : tasks_of(job, TaskKind::generate))
    for (std::size_t other = 0; other < job.fixed.size(); ++other)
      if (is_of_trainer(job, other) && shares(generation, other)) return true;
  return false;
}

bool is_apart(const Job& job, std::size_t task) { return !is_colocated(job, task); }

bool has_pools(const Job& job) {
  return std::any_of(job.fixed.begin(), job.fixed.end(), [](const TaskPin& pin) { return pin.mesh.has_value(); });
}

bool is_on_the_pool(const Job& job, std::size_t task) { return is_on_policy(job, task) && !has_pools(job); }

bool is_on_policy(const Job& job, std::size_t) { return job.workload.steps_off_policy == 0; }

bool same_degrees(const TaskPlan& a, const TaskPlan& b) {
  bool same = true;
  llm::for_each_degree([&](const auto& degree) { same = same && a.layout.*degree.member == b.layout.*degree.member; });
  return same;
}

bool same_engine_layout(const TaskPlan& a, const TaskPlan& b) {
  return same_degrees(a, b) && (a.layout.zero == 3) == (b.layout.zero == 3) &&
         a.layout.stage_layers == b.layout.stage_layers && a.layout.sequence_parallel == b.layout.sequence_parallel;
}

bool same_micro_batches(const TaskPlan& a, const TaskPlan& b) { return a.micro_batching == b.micro_batching; }

bool same_micro_batch_rule(const TaskPlan& a, const TaskPlan& b) {
  return (a.micro_batching.tokens > 0) == (b.micro_batching.tokens > 0);
}

IterationOrder in_stages(const Job& job) {
  if (job.workload.steps_off_policy > 0) return {};
  IterationOrder order;
  for (const TaskKind kind : {TaskKind::generate, TaskKind::infer, TaskKind::train})
    if (auto tasks = tasks_of(job, kind); !tasks.empty()) order.barriers.push_back(std::move(tasks));
  return order;
}

IterationOrder in_sequence(const Job& job, const std::vector<TaskPredicate>& sequence) {
  const auto tasks_where = [&](TaskPredicate predicate) {
    std::vector<std::size_t> tasks;
    for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
      if (predicate(job, task)) tasks.push_back(task);
    return tasks;
  };
  IterationOrder order;
  auto rollout = tasks_where([](const Job& of, std::size_t task) {
    return is_generation(of, task) || is_reward(of, task) || of.workflow.tasks[task].kind == TaskKind::rule;
  });
  std::vector<std::vector<std::size_t>> groups;
  for (const TaskPredicate turn : sequence)
    if (auto tasks = tasks_where(turn); !tasks.empty()) groups.push_back(std::move(tasks));
  if (job.workload.steps_off_policy > 0 && !groups.empty()) {
    // The last turn has edges in place of a barrier: after it, no task of the iteration is left, so a barrier would
    // delay the next generation.
    for (const std::size_t from : groups.back())
      for (const std::size_t to : groups.front()) order.edges.push_back({from, to, 1});
    groups.pop_back();
  }
  if (!rollout.empty()) order.barriers.push_back(std::move(rollout));
  for (auto& group : groups) order.barriers.push_back(std::move(group));
  return order;
}

}  // namespace dovetail::plan
