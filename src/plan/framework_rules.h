// Rules that several frameworks have.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/fields.h"
#include "plan/framework.h"

namespace dovetail::plan {

template <class Value>
std::string value_text(Value value) {
  if constexpr (std::is_enum_v<Value>)
    return std::string(base::enum_name(value));
  else
    return fmt::format("{}", value);
}

/// Of a member of a part of plans these values are run; a search takes the first of them in place of others.
template <auto part_member, auto member, auto first, auto... others>
TaskRule only(std::string_view part, std::optional<workflow::TaskKind> of = std::nullopt) {
  TaskRule rule{.of = of, .part = part, .key = base::key_of(member), .accepted = value_text(first)};
  ((rule.accepted += ", " + value_text(others)), ...);
  rule.holds = [](const Job&, const TaskPlan& planned) {
    const auto& value = planned.*part_member.*member;
    return value == first || (... || (value == others));
  };
  rule.conform = [](const Job&, TaskPlan& planned) {
    auto& value = planned.*part_member.*member;
    if (value != first && !(... || (value == others))) value = first;
  };
  return rule;
}

template <auto member, auto... values>
TaskRule layout(std::optional<workflow::TaskKind> of = std::nullopt) {
  return only<&TaskPlan::layout, member, values...>("layout", of);
}

template <auto member, auto... values>
TaskRule engine() {
  return only<&TaskPlan::engine, member, values...>("engine", workflow::TaskKind::generate);
}

/// The rule for tasks of which this is true.
TaskRule where(TaskRule rule, bool (*concerns)(const Job&, std::size_t task));
/// The rule for searches alone.
TaskRule searched(TaskRule rule);

TaskRule on_all_devices();

/// What is offloaded of these tasks has to be so: `holds` of it, and `conform` makes it so.
TaskRule offloads(std::optional<workflow::TaskKind> of, std::string accepted,
                  bool (*holds)(const Job&, const TaskPlan&), void (*conform)(const Job&, TaskPlan&));
TaskRule no_offload(std::optional<workflow::TaskKind> of = std::nullopt);

/// Engines as vLLM and its kin run them, with weights of their own.
std::vector<TaskRule> engine_rules();

/// Degrees of optimizer steps: each data parallel rank has as many samples of one.
TaskRule whole_shares();

/// Activations between tensor parallel regions are cut wherever there are some; a search has no other layouts.
TaskRule sequence_parallel_with_tensor();

/// Micro-batches of a number of sequences.
TaskRule by_sequences();

/// All that training has leaves its devices for the host, but for an optimizer that is stepped there.
TaskRule all_offloaded();
/// Whether the devices have no part of an optimizer, as all of it is stepped on the host.
inline bool is_all_on_host(const Job& job, const Offload& offload) {
  return offload.optimizer_on_host && job.software.optimizer_host_share == 1;
}

/// No optimizer is stepped on the host.
TaskRule stepped_on_devices();

/// Of a framework whose roles have backends of their own: a rule of the actor's tasks, and of searches for those of
/// all.
void add_of_actor(const TaskRule& rule, Framework& framework);

/// Weights are on the host while the task does not run.
TaskRule weights_offloaded();

// Which tasks.
bool is_trained(const Job& job, std::size_t task);     ///< of a role that is trained, but generation
bool is_reference(const Job& job, std::size_t task);   ///< inference of a role that is not, but of a reward model
bool is_of_trainer(const Job& job, std::size_t task);  ///< inference and training, but of a reward model
bool is_reward(const Job& job, std::size_t task);      ///< inference of a reward model
bool is_on_policy(const Job& job, std::size_t task);   ///< all, of a job that generates with the newest weights
bool has_pools(const Job& job);                        ///< it fixes the devices of some task
bool is_scalar(const Job& job, std::size_t task);      ///< of a model that gives one number for each token
bool is_training(const Job& job, std::size_t task);
bool is_inference(const Job& job, std::size_t task);
bool is_generation(const Job& job, std::size_t task);
bool is_value(const Job& job, std::size_t task);     ///< inference and training of a critic
bool is_of_actor(const Job& job, std::size_t task);  ///< inference and training of the role that generates
/// Whether the engine has the GPUs of training, as far as the job says, and leaves them to it.
bool is_colocated(const Job& job, std::size_t task);
bool is_apart(const Job& job, std::size_t task);  ///< the contrary

// What tasks have alike.
/// Degrees, layers of stages, cut activations, and whether weights are cut.
bool same_engine_layout(const TaskPlan& a, const TaskPlan& b);
bool same_degrees(const TaskPlan& a, const TaskPlan& b);
bool same_micro_batches(const TaskPlan& a, const TaskPlan& b);
/// By tokens, or by sequences.
bool same_way_of_cutting(const TaskPlan& a, const TaskPlan& b);

/// First generation, then inference, then training, all of each; then the next iteration.
IterationOrder in_stages(const Job& job);

/// Whether a task is one of those that are meant.
using TaskPredicate = bool (*)(const Job& job, std::size_t task);
/// First generation, with what rewards it, then one turn of inference or training after the other, each of tasks that
/// are begun together, and behind the last one new weights for the engine. On policy the next iteration begins then;
/// else generation is always under way, and the turns of the next iteration begin behind those of this one.
IterationOrder in_turns(const Job& job, const std::vector<TaskPredicate>& turns);

}  // namespace dovetail::plan
