#include "pipeline/problem/problem.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/fields.h"
#include "pipeline/problem/op_kind.h"

namespace dovetail::pipeline {
namespace {

bool all_in(const std::vector<Ticks>& times, std::int64_t least) {
  return std::all_of(times.begin(), times.end(),
                     [least](Ticks time) { return time.count() >= least && time.count() <= base::max_time; });
}

bool all_in_range(const std::vector<Memory>& amounts) {
  return std::all_of(amounts.begin(), amounts.end(),
                     [](Memory amount) { return amount.count() >= 0 && amount.count() <= base::max_memory; });
}

std::optional<std::string> find_size_fault(const Model& model, int devices) {
  const std::size_t stages = model.forward.size();
  if (stages == 0) return "has no stages";
  if (model.microbatches < 1 || model.minibatches < 1) return "needs at least one micro-batch and one mini-batch";
  if (model.replicas.empty()) return "has no replicas";
  for (const auto& replica : model.replicas) {
    if (replica.size() != stages) return "has a replica that does not have one device per stage";
    for (const DeviceId device : replica)
      if (device.value < 0 || device.value >= devices)
        return fmt::format("has a stage on device {}, which does not exist", device.value);
  }
  const auto per_stage = [stages](std::size_t size) { return size == stages; };
  if (!per_stage(model.backward.size()) || !per_stage(model.activation.size()) || !per_stage(model.step.size()))
    return "needs backward, activation and step for each stage";
  if (model.weight_gradient.size() != model.weight_activation.size() ||
      (model.split() && !per_stage(model.weight_gradient.size())))
    return "needs weight_gradient and weight_activation for each stage, or neither";
  if (model.transfer_forward.size() != stages - 1 || model.transfer_backward.size() != stages - 1)
    return "needs a transfer for each boundary between stages";
  return std::nullopt;
}

std::optional<std::string> find_value_fault(const Model& model) {
  if (!all_in(model.forward, 1) || !all_in(model.backward, 1) || !all_in(model.weight_gradient, 1))
    return "has an op that is shorter than one tick or too long";
  if (!all_in(model.transfer_forward, 0) || !all_in(model.transfer_backward, 0) || !all_in(model.step, 0))
    return "has a transfer or step that is negative or too long";
  if (!all_in_range(model.activation) || !all_in_range(model.weight_activation))
    return "has an activation that is negative or too large";
  for (std::size_t stage = 0; stage < model.weight_activation.size(); ++stage)
    if (model.weight_activation[stage] > model.activation[stage])
      return "has a weight_activation larger than its activation";
  return std::nullopt;
}

std::string describe(Limit limit) {
  switch (limit) {
    case Limit::ops:
      return fmt::format("more than {} ops", max_op_count);
    case Limit::step_dependencies:
      return fmt::format("more than {} dependencies of optimizer steps", max_step_dependency_count);
    case Limit::time:
      return fmt::format("durations and transfers that add up to more than {}", max_sum);
    case Limit::activation:
      break;
  }
  return fmt::format("activations on one device that add up to more than {}", base::format_memory(Memory(max_sum)));
}

/// Returns `sum` + `amount` * `times`, or `limit` + 1 if that exceeds `limit`. REQUIRES: nothing is negative, `sum` <=
/// `limit`.
std::int64_t add_within(std::int64_t limit, std::int64_t sum, std::int64_t amount, std::int64_t times) {
  return times > 0 && amount > (limit - sum) / times ? limit + 1 : sum + amount * times;
}

/// Adds each of `amounts`, `times` times, to `sum`. Stays above the limit once it is exceeded.
template <class Amount>
void add_amounts(std::int64_t& sum, const std::vector<Amount>& amounts, std::int64_t times) {
  for (const Amount amount : amounts)
    if (sum <= max_sum) sum = add_within(max_sum, sum, amount.count(), times);
}

/// Returns the number of ops of a kind on each stage of each replica.
std::int64_t times_run(const Model& model, const OpTraits& traits) {
  return std::int64_t{model.minibatches} * (traits.per_minibatch ? 1 : model.microbatches);
}

/// Returns the number of ops on each stage of each replica, with every backward whole.
std::int64_t count_stage_ops(const Model& model) {
  std::int64_t count = 0;
  for (const OpTraits& traits : op_table)
    if (traits.backward != BackwardPart::half && traits.is_in(model)) count += times_run(model, traits);
  return count;
}

/// Adds the ops that the steps of a model wait for, and the ops that wait for the steps of all replicas. A whole
/// backward of the first stage represents all stages, whose backwards come before it. Weight gradients have no order
/// between stages.
std::int64_t add_step_dependencies(std::int64_t sum, const Model& model) {
  const auto replicas = static_cast<std::int64_t>(model.replicas.size());
  const std::int64_t stage_microbatches = replicas * model.stages() * model.microbatches;
  const bool waits_for_stages = model.step_after == StepAfter::model && model.split();
  const std::int64_t waits_of_step = waits_for_stages ? replicas * model.stages() : replicas;
  sum = add_within(max_step_dependency_count, sum, waits_of_step, stage_microbatches * model.minibatches);
  if (model.step_before == StepBefore::own || sum > max_step_dependency_count) return sum;
  return add_within(max_step_dependency_count, sum, replicas, stage_microbatches * (model.minibatches - 1));
}

/// Expands one value to `size` of them and, if allowed, an empty list to zeros.
template <class Amount>
void fill(std::vector<Amount>& amounts, std::size_t size, bool may_be_empty) {
  if (amounts.size() == 1 || (amounts.empty() && may_be_empty))
    amounts.assign(size, amounts.empty() ? Amount() : amounts.front());
}

void fill_defaults(Model& model) {
  const std::size_t stages = model.replicas.empty() ? 0 : model.replicas.front().size();
  if (stages == 0) return;
  for (auto* times : {&model.forward, &model.backward, &model.weight_gradient}) fill(*times, stages, false);
  fill(model.activation, stages, true);
  for (auto* times : {&model.transfer_forward, &model.transfer_backward}) fill(*times, stages - 1, true);
  fill(model.step, stages, true);
  if (model.split() && model.weight_activation.empty()) model.weight_activation = model.activation;
  fill(model.weight_activation, stages, false);
}

}  // namespace

std::vector<DeviceId> device_list(const std::vector<int>& numbers) {
  std::vector<DeviceId> devices;
  for (const int number : numbers) devices.emplace_back(number);
  return devices;
}

Problem with_defaults(Problem problem) {
  if (problem.resident.empty() && problem.devices > 0)
    problem.resident.resize(static_cast<std::size_t>(problem.devices));
  for (Model& model : problem.models) fill_defaults(model);
  return problem;
}

bool Model::has_steps() const {
  return minibatches > 1 || std::any_of(step.begin(), step.end(), [](Ticks time) { return time.count() > 0; });
}

Ticks Model::whole_backward(std::size_t stage) const {
  return split() ? backward[stage] + weight_gradient[stage] : backward[stage];
}

std::int64_t count_ops(const Problem& problem) {
  std::int64_t count = 0;
  for (const Model& model : problem.models)
    count += static_cast<std::int64_t>(model.replicas.size()) * model.stages() * count_stage_ops(model);
  return count;
}

std::optional<Limit> add_to_totals(ProblemTotals& totals, const Model& model) {
  const std::int64_t microbatches = std::int64_t{model.microbatches} * model.minibatches;
  if (microbatches > max_op_count) return Limit::ops;
  const auto replicas = static_cast<std::int64_t>(model.replicas.size());
  const std::int64_t pipeline_stages = replicas * model.stages();
  totals.ops = add_within(max_op_count, totals.ops, count_stage_ops(model), pipeline_stages);
  if (totals.ops > max_op_count) return Limit::ops;
  if (model.has_steps()) totals.step_dependencies = add_step_dependencies(totals.step_dependencies, model);
  if (totals.step_dependencies > max_step_dependency_count) return Limit::step_dependencies;
  for_each_duration(model, [&](const std::vector<Ticks>& times, const OpTraits& traits) {
    add_amounts(totals.time, times, replicas * times_run(model, traits));
  });
  for (const auto* times : {&model.transfer_forward, &model.transfer_backward})
    add_amounts(totals.time, *times, replicas * microbatches);
  if (totals.time > max_sum) return Limit::time;
  for (const auto& replica : model.replicas)
    for (std::size_t stage = 0; stage < replica.size(); ++stage) {
      if (totals.activation.size() <= replica[stage].index()) totals.activation.resize(replica[stage].index() + 1);
      std::int64_t& held = totals.activation[replica[stage].index()];
      held = add_within(max_sum, held, model.activation[stage].count(), microbatches);
      if (held > max_sum) return Limit::activation;
    }
  return std::nullopt;
}

std::vector<Pipeline> pipelines_of(const Problem& problem) {
  std::vector<Pipeline> pipelines;
  for (std::size_t model = 0; model < problem.models.size(); ++model)
    for (std::size_t replica = 0; replica < problem.models[model].replicas.size(); ++replica)
      pipelines.push_back({ModelId(model), ReplicaId(replica)});
  return pipelines;
}

std::string pipeline_name(const Problem& problem, Pipeline pipeline) {
  const Model& model = problem.models[pipeline.model.index()];
  return model.replicas.size() == 1 ? model.name : fmt::format("{}/{}", model.name, pipeline.replica.value);
}

bool on_distinct_devices(std::vector<DeviceId> replica) {
  std::sort(replica.begin(), replica.end());
  return std::adjacent_find(replica.begin(), replica.end()) == replica.end();
}

Ticks transfer_between(const Model& model, ReplicaId replica, StageId from, StageId to) {
  const std::vector<DeviceId>& devices = model.replicas[replica.index()];
  if (devices[from.index()] == devices[to.index()]) return Ticks(0);
  return from < to ? model.transfer_forward[from.index()] : model.transfer_backward[to.index()];
}

std::optional<std::string> find_fault(const Problem& problem) {
  if (problem.devices < 1 || problem.devices > max_device_count)
    return fmt::format("the number of devices is {}; it must be from 1 to {}", problem.devices, max_device_count);
  const auto devices = static_cast<std::size_t>(problem.devices);
  if (problem.resident.size() != devices) return "resident needs a value for each device";
  if (problem.capacity && problem.capacity->size() != devices) return "capacity needs a value for each device";
  if (!all_in_range(problem.resident) || (problem.capacity && !all_in_range(*problem.capacity)))
    return "resident or capacity is negative, or too large";
  for (std::size_t device = 0; problem.capacity && device < devices; ++device)
    if ((*problem.capacity)[device] < problem.resident[device])
      return fmt::format("the capacity of device {} is less than its resident memory", device);
  if (problem.models.empty()) return "there are no models";
  std::set<std::string> names;
  ProblemTotals totals;
  for (const Model& model : problem.models) {
    if (!base::is_name(model.name)) return "a model has no name, or one with a control character";
    if (!names.insert(model.name).second) return fmt::format("two models are named {}", model.name);
    auto fault = find_size_fault(model, problem.devices);
    if (!fault) fault = find_value_fault(model);
    if (fault) return fmt::format("model {} {}", model.name, *fault);
    if (const auto limit = add_to_totals(totals, model))
      return fmt::format("with model {} there are {}", model.name, describe(*limit));
  }
  return std::nullopt;
}

}  // namespace dovetail::pipeline
