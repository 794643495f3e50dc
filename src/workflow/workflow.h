// The dataflow of one iteration: tasks, the roles whose models run them, and their dependencies.
//
// Modeled after ReaL's model function calls (MFCDef): data edges follow from the keys that tasks read and write.
// Further edges order training and the next use of the trained weights (version_edges).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "base/quantity.h"

namespace dovetail::workflow {

using RoleId = base::Id<struct RoleTag>;
using TaskId = base::Id<struct TaskTag>;

/// The output of a model.
enum class Head {
  language_model,  ///< a logit for each token of the vocabulary: actor, reference
  scalar,          ///< one number for each token: critic, reward
};
constexpr auto names_of(Head) {
  return std::array{base::EnumName{"language_model", Head::language_model}, base::EnumName{"scalar", Head::scalar}};
}

/// A model and its purpose.
struct Role {
  std::string name;
  Head head = Head::language_model;
  /// Role whose weights and shape this role starts with. Empty: its own weights.
  std::string initialised_from;
  std::string averaged_from;  ///< trained role that it is a moving average of; empty: not an average
  double decay = 0.0;         ///< after each iteration the average is decay * itself + (1 - decay) * the trained role

  friend bool operator==(const Role&, const Role&) = default;
};

/// Upper limit of Role::decay: below 1, so that the average changes.
inline constexpr double max_decay = 1.0 - 1e-9;

enum class TaskKind {
  generate,  ///< responses to prompts, token by token
  infer,     ///< one forward pass over prompts and responses
  train,     ///< forward and backward passes, and optimizer steps
  rule,      ///< a verifier or another program that scores responses without a model
};
constexpr auto names_of(TaskKind) {
  return std::array{base::EnumName{"generate", TaskKind::generate}, base::EnumName{"infer", TaskKind::infer},
                    base::EnumName{"train", TaskKind::train}, base::EnumName{"rule", TaskKind::rule}};
}

/// Sequences of a task in an iteration: `count` for each sample of the batch, or for each prompt. A prompt has
/// samples_per_prompt samples. A preference pair is a sample with two sequences.
struct SequenceCount {
  enum class Per { sample, prompt };
  Per per = Per::sample;
  std::int64_t count = 1;

  friend bool operator==(const SequenceCount&, const SequenceCount&) = default;
};
constexpr auto names_of(SequenceCount::Per) {
  return std::array{base::EnumName{"sample", SequenceCount::Per::sample},
                    base::EnumName{"prompt", SequenceCount::Per::prompt}};
}

/// One use of a model in an iteration, or one run of a rule.
struct Task {
  std::string name;
  TaskKind kind = TaskKind::infer;
  std::string role;                  ///< role whose model runs the task; empty if and only if it is a rule
  std::vector<std::string> inputs;   ///< keys that it reads
  std::vector<std::string> outputs;  ///< keys that it writes, whether or not a task reads them
  SequenceCount sequences;
  /// Train tasks: pretraining tokens (PTX loss) in an epoch, in addition to the sequences.
  std::int64_t extra_tokens = 0;
  base::Ticks time_per_sequence;  ///< rules: time for one sequence, in ns

  friend bool operator==(const Task&, const Task&) = default;
};

/// `to` reads `keys`, which `from` writes in the same iteration.
struct DataEdge {
  TaskId from;
  TaskId to;
  std::vector<std::string> keys;

  friend bool operator==(const DataEdge&, const DataEdge&) = default;
};

/// The train task of iteration k must end before `use` of iteration k + `iterations` starts, because `use` needs the
/// trained weights. If the role of `use` is not the trained one, it is a moving average of that role.
struct VersionEdge {
  TaskId train;
  TaskId use;
  int iterations = 1;

  friend bool operator==(const VersionEdge&, const VersionEdge&) = default;
};

/// A valid workflow. Made by make_workflow().
struct Workflow {
  std::string name;  ///< name of the algorithm, or "custom"
  std::vector<Role> roles;
  std::vector<Task> tasks;
  std::vector<DataEdge> data_edges;            ///< ordered by (to, from)
  std::vector<TaskId> order;                   ///< topological order, with ties in the order of `tasks`
  std::vector<std::optional<RoleId>> role_of;  ///< [task] its role; nullopt for rules
  /// [role] its train task; nullopt for frozen roles and moving averages
  std::vector<std::optional<TaskId>> trained_by;
};

/// A mistake in the roles or tasks of a workflow.
struct WorkflowFault {
  bool in_roles = false;     ///< true: the mistake is in a role; false: in a task
  std::size_t index = 0;     ///< index of the role or task
  std::string_view key;      ///< member at fault ("inputs", "role", ...); empty: the whole role or task
  std::size_t item = 0;      ///< if the member is a list of keys: index of the key at fault
  std::string message = {};  ///< what is wrong, and what is accepted
};

/// Returns the first mistake, or nullopt. Mistakes are:
/// - no tasks;
/// - a name of a role or task that is empty, has control characters or is repeated;
/// - an unknown role, or a role that no task uses and no other role is initialized from;
/// - a role that is initialized from itself, directly or through other roles;
/// - an average of an untrained role, an average with a train task, or a decay without an average or outside [0, 1);
/// - a rule with a role, or a task of another kind without one;
/// - two train tasks of a role;
/// - a key that is empty, has control characters, is repeated in a list, or is written by two tasks;
/// - a cycle of data edges;
/// - a sequence count below 1;
/// - negative extra tokens, or extra tokens of a task that is not a train task;
/// - a negative time per sequence, or a time of a task that is not a rule.
/// Unused outputs are allowed.
std::optional<WorkflowFault> find_fault(const std::vector<Role>& roles, const std::vector<Task>& tasks);

/// Makes the workflow of these roles and tasks. REQUIRES: !find_fault(roles, tasks).
Workflow make_workflow(std::string name, std::vector<Role> roles, std::vector<Task> tasks);

/// Returns the edges from each train task to the tasks of a later iteration that use the trained role or a moving
/// average of it. These include the train task itself. Ordered by (use, train).
///
/// VersionEdge::iterations is 1 + steps_off_policy if `use` generates, otherwise 1. With one step off policy, iteration
/// k + 1 generates with the weights from before the training of iteration k, so this generation and this training may
/// run in parallel. REQUIRES: steps_off_policy >= 0.
std::vector<VersionEdge> version_edges(const Workflow& workflow, int steps_off_policy);

/// Returns the tasks whose outputs `task` reads, in the order of Workflow::tasks.
std::vector<TaskId> predecessors(const Workflow& workflow, TaskId task);

/// Returns the keys that tasks read and no task writes, in order of appearance. They come from the dataset.
std::vector<std::string> dataset_keys(const Workflow& workflow);

/// Returns the role or task with this name, or nullopt.
std::optional<RoleId> find_role(const Workflow& workflow, std::string_view name);
std::optional<TaskId> find_task(const Workflow& workflow, std::string_view name);

}  // namespace dovetail::workflow
