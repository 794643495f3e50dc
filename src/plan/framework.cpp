#include "plan/framework.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "base/fields.h"
#include "base/nearest.h"

namespace dovetail::plan {
namespace {

using base::Node;
using base::quote;
using base::Status;
using workflow::TaskKind;

template <class Value>
std::string text_of(Value value) {
  if constexpr (std::is_enum_v<Value>)
    return std::string(base::enum_name(value));
  else
    return fmt::format("{}", value);
}

/// Of a member of a part of plans these values are run; a search takes the first of them in place of others.
template <auto part_member, auto member, auto first, auto... others>
TaskRule only(std::string_view part, std::optional<TaskKind> of = std::nullopt) {
  std::string accepted = text_of(first);
  ((accepted += ", " + text_of(others)), ...);
  const auto holds = [](const Job&, const TaskPlan& planned) {
    const auto& value = planned.*part_member.*member;
    return value == first || (... || (value == others));
  };
  const auto conform = [](const Job&, TaskPlan& planned) {
    auto& value = planned.*part_member.*member;
    if (value != first && !(... || (value == others))) value = first;
  };
  return {of, part, base::key_of(member), std::move(accepted), holds, conform};
}

template <auto member, auto... values>
TaskRule layout(std::optional<TaskKind> of = std::nullopt) {
  return only<&TaskPlan::layout, member, values...>("layout", of);
}

template <auto member, auto... values>
TaskRule engine() {
  return only<&TaskPlan::engine, member, values...>("engine", TaskKind::generate);
}

TaskRule no_offload() {
  return {std::nullopt,
          "offload",
          "",
          "nothing offloaded",
          [](const Job&, const TaskPlan& planned) { return planned.offload == Offload{}; },
          [](const Job&, TaskPlan& planned) { planned.offload = Offload{}; }};
}

cluster::Mesh all_devices(const Job& job) { return {0, cluster::device_count(job.cluster)}; }

TaskRule on_all_devices() {
  return {std::nullopt,
          "devices",
          "",
          "all devices of the cluster",
          [](const Job& job, const TaskPlan& planned) { return planned.mesh == all_devices(job); },
          [](const Job& job, TaskPlan& planned) { planned.mesh = all_devices(job); }};
}

/// What the runtime of this repository runs (src/runtime).
Framework dovetail() {
  using llm::Layout, llm::Recomputation, llm::Transformer;
  Framework framework;
  framework.name = "dovetail";
  framework.training = "dovetail";
  framework.intra_stage = true;
  framework.not_computed = {
      {"experts", [](const Transformer& model) { return model.experts.has_value(); }},
      {"latent attention", [](const Transformer& model) { return model.latent.has_value(); }},
      {"adapters", [](const Transformer& model) { return model.adapter_rank > 0; }},
      {"layer normalization",
       [](const Transformer& model) { return model.normalization != llm::Normalization::root_mean_square; }},
      {"a feed-forward network without a gate",
       [](const Transformer& model) { return model.feed_forward != llm::FeedForward::gated; }},
      {"learned positions", [](const Transformer& model) { return model.positions > 0; }}};
  // Generation and inference have the whole model on each device.
  framework.rules = {on_all_devices(),
                     layout<&Layout::tensor, 1>(),
                     layout<&Layout::pipeline, 1>(TaskKind::generate),
                     layout<&Layout::pipeline, 1>(TaskKind::infer),
                     layout<&Layout::context, 1>(),
                     layout<&Layout::expert, 1>(),
                     layout<&Layout::expert_tensor, 1>(),
                     layout<&Layout::virtual_stages, 1>(TaskKind::generate),
                     layout<&Layout::virtual_stages, 1>(TaskKind::infer),
                     layout<&Layout::zero, 0, 1>(TaskKind::train),
                     layout<&Layout::zero, 0>(TaskKind::generate),
                     layout<&Layout::zero, 0>(TaskKind::infer),
                     layout<&Layout::sequence_parallel, false>(),
                     layout<&Layout::recomputation, Recomputation::none, Recomputation::full>(),
                     engine<&Engine::cuda_graphs, false>(),
                     engine<&Engine::longest_first, false>(),
                     engine<&Engine::own_weights, false>(),
                     no_offload()};
  return framework;
}

const std::vector<Framework>& frameworks() {
  static const std::vector<Framework> all{dovetail()};
  return all;
}

const Framework* framework_of(const Job& job) { return find_framework(job.software.framework); }

const TaskRule* broken_rule(const Job& job, std::size_t task, const TaskPlan& planned) {
  const Framework* const framework = framework_of(job);
  if (framework == nullptr) return nullptr;
  const TaskKind kind = job.workflow.tasks[task].kind;
  for (const TaskRule& rule : framework->rules)
    if (rule.of.value_or(kind) == kind && !rule.holds(job, planned)) return &rule;
  return nullptr;
}

std::optional<std::string> refusal(const Job& job, bool Framework::* can, std::string_view what) {
  const Framework* const framework = framework_of(job);
  if (framework == nullptr || framework->*can) return std::nullopt;
  return fmt::format("{} does not fuse {}; accepted: another framework, or no such fusion", framework->name, what);
}

/// The node at `key` of `map`, or else the map.
Node at(const Node& map, std::string_view key) { return key.empty() ? map : map.find(key).value_or(map); }

Status check_software(const Node& root, const Job& job, const Framework& framework) {
  const Node software = at(root, "software");
  if (!job.software.training.empty() && job.software.training != framework.training)
    return at(software, "training")
        .error(fmt::format("`training` is {}, and {} keeps to memory conventions of its own; accepted: {}, or no "
                           "`training`",
                           quote(job.software.training), framework.name, framework.training));
  if (job.software.prefetch && !framework.prefetches)
    return at(software, "prefetch")
        .error(fmt::format("{} does not prefetch; accepted: `prefetch: false`", framework.name));
  return {};
}

Status check_models(const Node& root, const Job& job, const Framework& framework) {
  for (std::size_t role = 0; role < job.models.size(); ++role)
    for (const ModelRule& rule : framework.not_computed)
      if (rule.has(job.models[role]))
        return at(at(root, "models"), job.workflow.roles[role].name)
            .error(fmt::format("the model of {} has {}, which {} does not compute; accepted: dense models of the kinds "
                               "llama, mistral, qwen2 and qwen3, without adapters",
                               quote(job.workflow.roles[role].name), rule.what, framework.name));
  return {};
}

}  // namespace

std::vector<std::string_view> framework_names() {
  std::vector<std::string_view> names;
  for (const Framework& framework : frameworks()) names.push_back(framework.name);
  return names;
}

const Framework* find_framework(std::string_view name) {
  for (const Framework& framework : frameworks())
    if (framework.name == name) return &framework;
  return nullptr;
}

bool runs(const Job& job, std::size_t task, const TaskPlan& planned) {
  return broken_rule(job, task, planned) == nullptr;
}

void conform(const Job& job, std::size_t task, TaskPlan& planned) {
  while (const TaskRule* const rule = broken_rule(job, task, planned)) rule->conform(job, planned);
}

std::optional<std::string> find_training_refusal(const Job& job) {
  if (auto refused = refusal(job, &Framework::intra_stage, "two trainings")) return refused;
  const Framework* const framework = framework_of(job);
  if (framework == nullptr || cluster::device_count(job.cluster) > 1) return std::nullopt;
  return fmt::format(
      "{} fuses two trainings on several devices, and the job has one; accepted: more devices, or no such fusion",
      framework->name);
}

std::optional<std::string> find_generation_refusal(const Job& job) {
  return refusal(job, &Framework::inter_stage, "generation with inference");
}

Status check_task(const Job& job, std::size_t task, const Node& node, const TaskPlan& planned) {
  const TaskRule* const rule = broken_rule(job, task, planned);
  if (rule == nullptr) return {};
  const Node part = at(node, rule->part);
  const Node value = at(part, rule->key);
  const std::string_view key = rule->key.empty() ? rule->part : rule->key;
  const bool said = rule->key.empty() ? node.find(rule->part).has_value() : part.find(rule->key).has_value();
  return value.error(fmt::format("{}: {} is {}, which {} does not run; accepted: {}", job.workflow.tasks[task].name,
                                 quote(key), said ? value.describe() : std::string("not given, and its default"),
                                 framework_of(job)->name, rule->accepted));
}

Status check_framework(const Node& root, const Job& job) {
  if (job.software.framework.empty()) return {};
  const Framework* const framework = framework_of(job);
  if (framework == nullptr) {
    const std::vector<std::string_view> names = framework_names();
    return at(at(root, "software"), "framework")
        .error(fmt::format("there is no framework {}{}; accepted: {}, or no `framework`", quote(job.software.framework),
                           base::did_you_mean(job.software.framework, names), fmt::join(names, ", ")));
  }
  DOVETAIL_CHECK(check_software(root, job, *framework));
  DOVETAIL_CHECK(check_models(root, job, *framework));
  const Node workload = at(root, "workload");
  if (job.workload.steps_off_policy > framework->max_steps_off_policy)
    return at(workload, "steps_off_policy")
        .error(fmt::format("`steps_off_policy` is {}, which {} does not run; accepted: at most {}",
                           job.workload.steps_off_policy, framework->name, framework->max_steps_off_policy));
  if (!job.workload.packing && !framework->pads_rows)
    return at(workload, "packing")
        .error(fmt::format("{} packs sequences, and pads no rows; accepted: `packing: true`", framework->name));
  return {};
}

}  // namespace dovetail::plan
