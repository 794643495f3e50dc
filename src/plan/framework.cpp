#include "plan/framework.h"

#include <fmt/format.h>

#include <utility>

#include "base/enum_names.h"
#include "plan/framework_rules.h"

namespace dovetail::plan {
namespace {

using base::Node;
using base::quote;
using base::Status;
using workflow::TaskKind;

const std::vector<Framework>& frameworks() {
  static const std::vector<Framework> all = [] {
    std::vector<Framework> rows{dovetail_framework(), openrlhf_framework()};
    for (const auto& backends : {verl_frameworks(), nemo_rl_frameworks(), areal_frameworks(), roll_frameworks()})
      rows.insert(rows.end(), backends.begin(), backends.end());
    rows.push_back(slime_framework());
    return rows;
  }();
  return all;
}

/// Returns the framework with these memory conventions. Null unless exactly one has them.
const Framework* only_framework_with(std::string_view training) {
  const Framework* only = nullptr;
  for (const Framework& framework : frameworks()) {
    if (framework.training != training) continue;
    if (only != nullptr) return nullptr;
    only = &framework;
  }
  return only;
}

const Framework* framework_of(const Job& job) { return find_framework(job.software); }

const TaskRule* broken_rule(const Job& job, std::size_t task, const TaskPlan& planned, RuleScope scope) {
  const Framework* const framework = framework_of(job);
  if (framework == nullptr) return nullptr;
  const TaskKind kind = job.workflow.tasks[task].kind;
  for (const TaskRule& rule : framework->rules) {
    const bool is_in_scope = scope == RuleScope::search || rule.scope == RuleScope::all;
    const bool is_of_task = rule.of.value_or(kind) == kind && (rule.applies == nullptr || rule.applies(job, task));
    if (is_in_scope && is_of_task && !rule.holds(job, planned)) return &rule;
  }
  return nullptr;
}

std::optional<std::string> rejection(const Job& job, bool Framework::* can, std::string_view what) {
  const Framework* const framework = framework_of(job);
  if (framework == nullptr || framework->*can) return std::nullopt;
  return fmt::format("{} does not fuse {}; accepted: a framework that does, or `framework: any`", framework->name,
                     what);
}

/// Returns the node at `key` of `map`, or the map if there is no such key.
Node at(const Node& map, std::string_view key) { return key.empty() ? map : map.find(key).value_or(map); }

Status check_software(const Node& root, const Job& job, const Framework& framework) {
  const Node software = at(root, "software");
  if (!job.software.training.empty() && job.software.training != framework.training) {
    std::vector<std::string_view> own;
    for (const Framework& row : frameworks())
      if (row.name == framework.name) own.push_back(row.training);
    return at(software, "training")
        .error(fmt::format("`training` is {}, and {} needs its own memory conventions; accepted: {}, or no `training`",
                           quote(job.software.training), framework.name, fmt::join(own, ", ")));
  }
  if (job.software.prefetch && !framework.prefetches)
    return at(software, "prefetch")
        .error(fmt::format("{} does not support prefetching; accepted: `prefetch: false`", framework.name));
  return {};
}

Status check_models(const Node& root, const Job& job, const Framework& framework) {
  for (std::size_t role = 0; role < job.models.size(); ++role)
    for (const ModelRule& rule : framework.not_computed)
      if (rule.has(job.models[role]))
        return at(at(root, "models"), job.workflow.roles[role].name)
            .error(fmt::format("the model of {} has {}, which {} does not support; accepted: {}",
                               quote(job.workflow.roles[role].name), rule.what, framework.name, framework.computed));
  return {};
}

Status check_rows(const Node& workload, const Job& job, const Framework& framework) {
  const bool packs = job.workload.packing;
  if (packs ? framework.packs_rows : framework.pads_rows) return {};
  const Node packing = at(workload, "packing");
  if (packs)
    return packing.error(fmt::format("{} with {} pads rows and cannot pack sequences; accepted: `packing: false`",
                                     framework.name, framework.training));
  return packing.error(
      fmt::format("{} packs sequences and cannot pad rows; accepted: `packing: true`", framework.name));
}

Status check_reward(const Node& root, const Job& job, const Framework& framework) {
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
    if (!framework.reward_models && is_reward(job, task))
      return at(at(root, "algorithm"), "reward")
          .error(fmt::format("the reward is a model, which {} does not run on the job's devices; accepted: `reward: "
                             "rule` with `reward_seconds`, the time that the model takes elsewhere for one sample",
                             framework.name));
  return {};
}

}  // namespace

std::vector<std::string_view> framework_names() {
  std::vector<std::string_view> names;
  for (const Framework& framework : frameworks())
    if (names.empty() || names.back() != framework.name) names.push_back(framework.name);
  return names;
}

const Framework* find_framework(const Software& software) {
  if (software.framework.empty()) return only_framework_with(software.training);
  const Framework* first = nullptr;
  for (const Framework& framework : frameworks()) {
    if (framework.name != software.framework) continue;
    if (framework.training == software.training) return &framework;
    if (first == nullptr) first = &framework;
  }
  return first;
}

bool runs(const Job& job, std::size_t task, const TaskPlan& planned, RuleScope scope) {
  return broken_rule(job, task, planned, scope) == nullptr;
}

void conform(const Job& job, std::size_t task, TaskPlan& planned) {
  while (const TaskRule* const rule = broken_rule(job, task, planned, RuleScope::search)) rule->conform(job, planned);
}

bool applies(const Agreement& agreement, const Job& job, std::size_t a, std::size_t b) {
  return a != b && agreement.applies(job, a) && agreement.applies(job, b) &&
         (!agreement.same_role || job.workflow.role_of[a] == job.workflow.role_of[b]);
}

const std::vector<Agreement>& agreements_of(const Job& job) {
  static const std::vector<Agreement> none;
  const Framework* const framework = framework_of(job);
  return framework == nullptr ? none : framework->agreements;
}

bool engine_copies(const Job& job) {
  if (job.software.engine_sleep != EngineSleep::by_default) return job.software.engine_sleep == EngineSleep::copies;
  const Framework* const framework = find_framework(job.software);
  return framework != nullptr && framework->engine_copies != nullptr && framework->engine_copies(job);
}

std::int64_t sync_bucket(const Job& job) {
  if (job.software.sync_bucket > 0) return job.software.sync_bucket;
  const Framework* const framework = find_framework(job.software);
  return framework == nullptr ? 0 : framework->sync_bucket;
}

IterationOrder order_of(const Job& job) {
  const Framework* const framework = framework_of(job);
  return framework == nullptr || framework->order == nullptr ? IterationOrder{} : framework->order(job);
}

std::optional<Disagreement> find_disagreement(const Job& job, const std::vector<TaskPlan>& tasks) {
  for (const Agreement& agreement : agreements_of(job))
    for (std::size_t task = 0; task < tasks.size(); ++task)
      for (std::size_t other = 0; other < task; ++other)
        if (applies(agreement, job, task, other)) {
          const bool apart = agreement.same_mesh && tasks[task].mesh != tasks[other].mesh;
          if (!apart && agreement.agree(tasks[task], tasks[other])) continue;
          return Disagreement{
              task, apart ? "devices" : agreement.part,
              fmt::format("{}: {}; accepted: the same {} as {}", job.workflow.tasks[task].name, agreement.because,
                          apart ? "devices" : agreement.what, job.workflow.tasks[other].name)};
        }
  return std::nullopt;
}

std::optional<std::string> find_training_rejection(const Job& job) {
  if (auto rejected = rejection(job, &Framework::intra_stage, "two trainings")) return rejected;
  const Framework* const framework = framework_of(job);
  if (framework == nullptr || cluster::device_count(job.cluster) > 1) return std::nullopt;
  return fmt::format("{} fuses two trainings only on several devices, and the job has one; accepted: more devices",
                     framework->name);
}

std::optional<std::string> find_generation_rejection(const Job& job) {
  return rejection(job, &Framework::inter_stage, "generation with inference");
}

/// Returns `node` for a message; a map with its keys.
std::string describe(const Node& node) {
  if (!node.is_map()) return node.describe();
  std::vector<std::string> keys;
  for (std::size_t member = 0; member < node.size(); ++member) keys.push_back(quote(node.key(member)));
  return fmt::format("a map with {}", fmt::join(keys, ", "));
}

Status check_task(const Job& job, std::size_t task, const Node& node, const TaskPlan& planned) {
  const TaskRule* const rule = broken_rule(job, task, planned, RuleScope::all);
  if (rule == nullptr) return {};
  const Node part = at(node, rule->part);
  const Node value = at(part, rule->key);
  const std::string_view key = rule->key.empty() ? rule->part : rule->key;
  const bool is_given = rule->key.empty() ? node.find(rule->part).has_value() : part.find(rule->key).has_value();
  return value.error(fmt::format("{}: {} is {}, which {} does not support; accepted: {}", job.workflow.tasks[task].name,
                                 quote(key), is_given ? describe(value) : std::string("at its default"),
                                 framework_of(job)->name, rule->accepted));
}

Status check_framework(const Node& root, const Job& job) {
  const Framework* const framework = framework_of(job);
  if (framework == nullptr) {
    if (job.software.framework.empty() || job.software.framework == any_framework) return {};
    const std::vector<std::string_view> names = framework_names();
    return at(at(root, "software"), "framework")
        .error(fmt::format("unknown framework {}{}; accepted: {}, {}, or no `framework`", quote(job.software.framework),
                           base::did_you_mean(job.software.framework, names), fmt::join(names, ", "), any_framework));
  }
  DOVETAIL_CHECK(check_software(root, job, *framework));
  DOVETAIL_CHECK(check_models(root, job, *framework));
  const Node workload = at(root, "workload");
  if (job.workload.steps_off_policy > framework->max_steps_off_policy)
    return at(workload, "steps_off_policy")
        .error(fmt::format("`steps_off_policy` is {}, which {} does not support; accepted: {}{}",
                           job.workload.steps_off_policy, framework->name,
                           framework->max_steps_off_policy > 0 ? "0 to " : "", framework->max_steps_off_policy));
  DOVETAIL_CHECK(check_rows(workload, job, *framework));
  return check_reward(root, job, *framework);
}

}  // namespace dovetail::plan
