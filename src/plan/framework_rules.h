// Rules shared by several frameworks, and the definition of each framework.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

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

/// Restricts a setting to the values `first` and `others`. The search replaces any other value with `first`.
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

/// Restricts the rule to tasks for which `applies` is true.
TaskRule where(TaskRule rule, bool (*applies)(const Job&, std::size_t task));
/// Restricts the rule to searched plans.
TaskRule searched(TaskRule rule);

TaskRule on_all_devices();

/// Restricts the state that tasks of kind `of` (nullopt: of any kind) offload. `holds` checks the restriction, and
/// `conform` establishes it.
TaskRule offloads(std::optional<workflow::TaskKind> of, std::string accepted,
                  bool (*holds)(const Job&, const TaskPlan&), void (*conform)(const Job&, TaskPlan&));
TaskRule no_offload(std::optional<workflow::TaskKind> of = std::nullopt);

/// Rules for engines such as vLLM, which have their own copy of the weights.
std::vector<TaskRule> engine_rules();

/// Requires that every data-parallel rank gets the same number of samples in each optimizer step.
TaskRule undivided_shares();

/// Requires that searched plans use sequence parallelism if, and only if, they use tensor parallelism.
TaskRule sequence_parallel_with_tensor();

/// Requires micro-batches sized by a number of sequences.
TaskRule by_sequences();

/// Requires training to offload all its state. If the whole optimizer is stepped on the host, it is already there, and
/// `offload` must not contain `optimizer`.
TaskRule all_offloaded();
/// Whether the whole optimizer is stepped on the host, so that the devices hold none of it.
inline bool is_all_on_host(const Job& job, const Offload& offload) {
  return offload.optimizer_on_host && job.software.optimizer_host_share == 1;
}

/// Requires optimizers to be stepped on the devices.
TaskRule stepped_on_devices();

/// Adds a rule to a framework whose roles have separate backends. For training and inference of the actor, the rule
/// applies to all plans. For training and inference of other roles, except reward models, it applies only to searched
/// plans.
void add_of_actor(const TaskRule& rule, Framework& framework);

/// Requires the weights to be on the host while the task does not run.
TaskRule weights_offloaded();

// Predicates that select tasks. Most comments name the selected tasks.
bool is_trained(const Job& job, std::size_t task);      ///< training or inference of a trained role
bool is_reference(const Job& job, std::size_t task);    ///< inference of a frozen role other than a reward model
bool is_of_trainer(const Job& job, std::size_t task);   ///< training, or inference of any role except a reward model
bool is_reward(const Job& job, std::size_t task);       ///< inference of a reward model
bool is_on_policy(const Job& job, std::size_t task);    ///< every task, if the job has no steps off policy
bool has_pools(const Job& job);                         ///< whether the job fixes the devices of some task
bool is_on_the_pool(const Job& job, std::size_t task);  ///< on policy, in a job that fixes no devices
bool is_scalar(const Job& job, std::size_t task);       ///< tasks of a model that outputs one number for each token
bool is_training(const Job& job, std::size_t task);
bool is_inference(const Job& job, std::size_t task);
bool is_generation(const Job& job, std::size_t task);
bool is_value(const Job& job, std::size_t task);     ///< inference and training of a critic
bool is_of_actor(const Job& job, std::size_t task);  ///< inference and training of the role that generates
/// Whether generation and training take turns on the same GPUs. False off policy. On policy, true if the job fixes no
/// devices. In a job that fixes devices, true only if a generate task and a task of is_of_trainer() have overlapping
/// fixed devices, or if neither has fixed devices. The result is the same for every `task`.
bool is_colocated(const Job& job, std::size_t task);
bool is_apart(const Job& job, std::size_t task);  ///< not is_colocated()

// Equivalences of task settings.
/// Whether both have the same degrees, division of layers into stages, sequence parallelism, and use of ZeRO 3.
bool same_engine_layout(const TaskPlan& a, const TaskPlan& b);
bool same_degrees(const TaskPlan& a, const TaskPlan& b);
bool same_micro_batches(const TaskPlan& a, const TaskPlan& b);
/// Whether both size micro-batches by tokens, or neither does.
bool same_micro_batch_rule(const TaskPlan& a, const TaskPlan& b);

/// Returns the order that runs all generation, then all inference, then all training, then the next iteration. Off
/// policy: the ideal order.
IterationOrder in_stages(const Job& job);

/// Whether a task is selected.
using TaskPredicate = bool (*)(const Job& job, std::size_t task);
/// Returns the order that runs generation and rewards, then turns of inference and training, one after the other, then
/// the weight sync. Each predicate in `sequence` selects the tasks of one turn, which may run together. On policy, the
/// next iteration starts after the last turn. Off policy, generation never pauses, and the turns of the next iteration
/// start after the turns of this one.
IterationOrder in_sequence(const Job& job, const std::vector<TaskPredicate>& sequence);

// The frameworks. A framework with several backends has an entry for each, the default first. Some comments below name
// the mode that searches cover. Searches are not restricted to that mode for jobs that fix devices or, with NeMo-RL and
// slime, have a reward model.

/// The runtime of this repository (src/runtime).
Framework dovetail_framework();

/// verl (verl-project/verl at 1dda039b9). For jobs on policy, searches cover its synchronous mode: actor, reference,
/// critic and engine share one pool of all GPUs and run one after the other (verl/trainer/ppo/v1/trainer_sync.py).
std::vector<Framework> verl_frameworks();

/// OpenRLHF (OpenRLHF/OpenRLHF at 3c3be623). For jobs on policy, searches cover its hybrid engine, --train.colocate_all
/// (openrlhf/trainer/ppo_trainer.py).
Framework openrlhf_framework();

/// NeMo-RL (NVIDIA-NeMo/RL at 7ea279abf). For jobs on policy, searches cover colocated generation
/// (nemo_rl/algorithms/grpo.py, ppo.py).
std::vector<Framework> nemo_rl_frameworks();

/// AReaL (inclusionAI/AReaL at 4aef98d8d). For jobs on policy, searches cover plans with all roles colocated with the
/// actor (areal/trainer/rl_trainer.py, areal/infra/scheduler/local.py).
std::vector<Framework> areal_frameworks();

/// ROLL's RLVR pipeline (alibaba/ROLL at 8eb27cc2). For jobs on policy, searches cover plans with all roles on all GPUs
/// (roll/pipeline/rlvr/rlvr_pipeline.py).
std::vector<Framework> roll_frameworks();

/// slime (THUDM/slime at 624b824a8). For jobs on policy, searches cover `--colocate` (train.py,
/// slime/ray/placement_group.py).
Framework slime_framework();

}  // namespace dovetail::plan
