// The dataflow of one iteration: tasks, the roles whose models do them, and which task waits for which.
//
// After ReaL's model function calls (its MFCDef): data edges follow from the names of what tasks read and write. Unlike
// there, the order between training and the next use of the trained weights is made of edges, too: version_edges().
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "base/ids.h"
#include "base/quantity.h"

namespace dovetail::workflow {

using RoleId = base::Id<struct RoleTag>;
using TaskId = base::Id<struct TaskTag>;

/// What a model ends in.
enum class Head {
  language_model,  ///< a logit for each word of the vocabulary: actor, reference
  scalar,          ///< one number for each token: critic, reward
};
constexpr auto names_of(Head) {
  return std::array{base::EnumName{"language_model", Head::language_model}, base::EnumName{"scalar", Head::scalar}};
}

/// A model and what it is for.
struct Role {
  std::string name;
  Head head = Head::language_model;
  /// The role with whose weights it starts, and whose shape it has; empty: weights of its own.
  std::string initialised_from;
  std::string averaged_from;  ///< the trained role of which it is a moving average; empty: it is none
  double decay =
      0.0;  ///< of the average: after each iteration its weights are decay * own + (1 - decay) * the trained role's

  friend bool operator==(const Role&, const Role&) = default;
};

/// The largest Role::decay: an average that takes nothing in is none.
inline constexpr double max_decay = 1.0 - 1e-9;

enum class TaskKind {
  generate,  ///< responses to prompts, token by token
  infer,     ///< one forward pass over prompts and responses
  train,     ///< forward and backward passes, and optimizer steps
  rule,      ///< no model: a verifier or another program that judges each response
};
constexpr auto names_of(TaskKind) {
  return std::array{base::EnumName{"generate", TaskKind::generate}, base::EnumName{"infer", TaskKind::infer},
                    base::EnumName{"train", TaskKind::train}, base::EnumName{"rule", TaskKind::rule}};
}

/// How many sequences a task has in an iteration: `count` for each sample of the batch (a prompt has samples_per_prompt
/// of them), or for each prompt. A sample that is a preference pair has two.
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

/// One use of one model in an iteration.
struct Task {
  std::string name;
  TaskKind kind = TaskKind::infer;
  std::string role;                  ///< empty for a rule, and only there
  std::vector<std::string> inputs;   ///< keys that it reads
  std::vector<std::string> outputs;  ///< keys that it writes; nobody has to read them
  SequenceCount sequences;
  std::int64_t extra_tokens =
      0;  ///< of a train task: pretraining tokens (PTX loss) that an epoch has besides the sequences
  base::Ticks time_per_sequence;  ///< of a rule, in ns: how long it takes for one sequence

  friend bool operator==(const Task&, const Task&) = default;
};

/// `to` reads what `from` writes in the same iteration.
struct DataEdge {
  TaskId from;
  TaskId to;
  std::vector<std::string> keys;

  friend bool operator==(const DataEdge&, const DataEdge&) = default;
};

/// The train task of iteration k must have ended before `use` of iteration k + `iterations` starts: `use` needs the
/// weights. Where the role of `use` is another one, it is its moving average.
struct VersionEdge {
  TaskId train;
  TaskId use;
  int iterations = 1;

  friend bool operator==(const VersionEdge&, const VersionEdge&) = default;
};

/// A sound workflow. Made by make_workflow().
struct Workflow {
  std::string name;  ///< of the algorithm, or "custom"
  std::vector<Role> roles;
  std::vector<Task> tasks;
  std::vector<DataEdge> data_edges;            ///< by (to, from)
  std::vector<TaskId> order;                   ///< topological; of tasks that could be next the first in `tasks` is
  std::vector<std::optional<RoleId>> role_of;  ///< [task]
  /// [role]: its train task; a role without one is frozen, or a moving average
  std::vector<std::optional<TaskId>> trained_by;
};

/// What is wrong with the roles and tasks of a workflow, and where.
struct WorkflowFault {
  bool in_roles = false;     ///< else in tasks
  std::size_t index = 0;     ///< of the role or task
  std::string_view key;      ///< its member at fault ("inputs", "role", ...); empty: all of it
  std::size_t item = 0;      ///< of a list of keys
  std::string message = {};  ///< what is wrong; what is accepted
};

/// The first mistake: no task; a role or task without name, or with one that another has; a role that no task, average
/// or other role's start uses; an unknown role; a start that leads back to itself; an average of a role that is not
/// trained, or that is trained itself, or whose decay is not in [0, 1); a rule with a role, or another task without; a
/// second train task of a role; a key that is empty, that stands twice in a list, or that two tasks write; a cycle;
/// sequences that are not at least 1; extra tokens or a time where they have no meaning, or that are negative. Outputs
/// that nobody reads are none.
std::optional<WorkflowFault> find_fault(const std::vector<Role>& roles, const std::vector<Task>& tasks);

/// The workflow of these roles and tasks. REQUIRES: no find_fault(roles, tasks).
Workflow make_workflow(std::string name, std::vector<Role> roles, std::vector<Task> tasks);

/// Between a train task and every use of its role, or of a moving average of it, in a later iteration; itself included.
/// `iterations` is 1, for generation 1 + steps_off_policy: with one step, the responses of iteration k + 1 are
/// generated with the weights of before the training of iteration k, beside which they may then run. By (use, train).
/// REQUIRES: steps_off_policy >= 0.
std::vector<VersionEdge> version_edges(const Workflow& workflow, int steps_off_policy);

/// The tasks whose outputs `task` reads, in the order of Workflow::tasks.
std::vector<TaskId> predecessors(const Workflow& workflow, TaskId task);

/// The keys that tasks read and none writes: they come from the dataset. In the order in which tasks name them.
std::vector<std::string> dataset_keys(const Workflow& workflow);

/// The role or task of that name, if there is one.
std::optional<RoleId> find_role(const Workflow& workflow, std::string_view name);
std::optional<TaskId> find_task(const Workflow& workflow, std::string_view name);

}  // namespace dovetail::workflow
