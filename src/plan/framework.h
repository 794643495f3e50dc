// Rules for the jobs and plans that each training framework can run.
//
// Searches find only plans that obey the rules. Readers of job and plan files report a violation at its key.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "plan/iteration_graph.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "plan/task_plan.h"

namespace dovetail::plan {

/// The set of plans that a rule applies to.
enum class RuleScope : std::uint8_t {
  all,    ///< all plans: the framework cannot run a plan that breaks the rule
  search  ///< searched plans only: the framework can run a plan that breaks the rule, but searches avoid it
};

/// A restriction on one setting of a task, or on a group of settings.
struct TaskRule {
  std::optional<workflow::TaskKind> of;  ///< kind of the tasks that it applies to; nullopt: all
  std::string_view part;                 ///< key of the setting's group in a plan file: "layout"
  std::string_view key;                  ///< key of the setting within that group; empty: the whole group
  std::string accepted;                  ///< accepted values, for messages
  bool (*holds)(const Job&, const TaskPlan&) = nullptr;
  void (*conform)(const Job&, TaskPlan&) = nullptr;         ///< replaces an unsupported value with a supported one
  bool (*applies)(const Job&, std::size_t task) = nullptr;  ///< selects among the tasks of kind `of`; null: all
  RuleScope scope = RuleScope::all;
};

/// A setting that several tasks must share.
struct Agreement {
  std::string_view what;                                      ///< the setting: "parallel degrees"
  std::string_view part;                                      ///< key of its group in a plan file
  std::string_view because;                                   ///< the reason: "all roles are in one process group"
  bool (*applies)(const Job&, std::size_t task) = nullptr;    ///< selects the tasks that must agree with each other
  bool same_role = false;                                     ///< whether only tasks of the same role must agree
  bool same_mesh = true;                                      ///< whether the tasks must also have the same devices
  bool (*agree)(const TaskPlan&, const TaskPlan&) = nullptr;  ///< equivalence relation; ignores the meshes
};

/// A model feature that a framework does not support.
struct ModelRule {
  std::string_view what;  ///< the feature, such as "experts"
  bool (*has)(const llm::Transformer&) = nullptr;
};

/// A framework with one of its training backends.
struct Framework {
  std::string_view name;
  std::string_view training;  ///< name of the backend's memory conventions (cost/conventions.h)
  int max_steps_off_policy = 0;
  bool packs_rows = true;     ///< whether it supports jobs that pack sequences
  bool pads_rows = false;     ///< whether it supports jobs that pad rows
  bool reward_models = true;  ///< whether it can run a reward model on devices of the job
  /// Whether it stores the logits of all tokens, but computes log-probabilities from them in chunks of tokens.
  bool loss_in_parts = false;
  bool prefetches = false;   ///< whether host transfers can overlap other tasks
  bool inter_stage = false;  ///< whether it can fuse generation with inference
  bool intra_stage = false;  ///< whether it can fuse two trainings
  std::vector<ModelRule> not_computed;
  std::string_view computed = {};  ///< describes the supported models, for messages
  std::vector<TaskRule> rules;
  std::vector<Agreement> agreements;
  IterationOrder (*order)(const Job&) = nullptr;  ///< order of the job's activities; null: the ideal order
  std::int64_t sync_bucket = 0;  ///< bytes of trained weights in one message to an engine; 0: tensor by tensor
  /// Whether sleeping engines keep their weights in host memory; null: never.
  bool (*engine_copies)(const Job&) = nullptr;
};

/// Names of all frameworks. "dovetail" is this project's runtime, dovetail-train.
std::vector<std::string_view> framework_names();

/// Name that selects no framework. It can be combined with any memory conventions.
inline constexpr std::string_view any_framework = "any";

/// Returns the framework and backend that `software` selects. If Software::framework names a framework, returns its
/// backend with the memory conventions Software::training, or its first backend if none has these conventions. If
/// Software::framework is empty, returns the only backend of any framework with these conventions; null unless exactly
/// one has them. Null if the name is "any" or unknown.
const Framework* find_framework(const Software& software);

/// Whether the job's framework can run the task as planned. True if the job has no framework. With RuleScope::search,
/// also checks the rules for searched plans.
bool runs(const Job& job, std::size_t task, const TaskPlan& planned, RuleScope scope = RuleScope::all);
/// Replaces the settings in `planned` that the job's framework excludes from searches. runs(job, task, planned,
/// RuleScope::search) holds afterwards, but the layout's device count may differ from the mesh's. Does nothing if the
/// job has no framework.
void conform(const Job& job, std::size_t task, TaskPlan& planned);

/// Whether the agreement applies to this pair of tasks. REQUIRES: the agreement belongs to the job's framework.
bool applies(const Agreement& agreement, const Job& job, std::size_t a, std::size_t b);
/// Agreements of the job's framework. Empty if the job has no framework.
const std::vector<Agreement>& agreements_of(const Job& job);

/// Order in which the job's framework runs the activities. The ideal order if the job has no framework.
IterationOrder order_of(const Job& job);

/// Whether engines copy their weights to host memory when they give up their devices. The job's setting overrides the
/// framework's.
bool engine_copies(const Job& job);

/// Bytes of trained weights that are packed into one message to an engine. The job's setting overrides the framework's.
/// 0: weights are sent tensor by tensor.
std::int64_t sync_bucket(const Job& job);

/// A task that violates an agreement of the job's framework. The message includes the accepted value.
struct Disagreement {
  std::size_t task = 0;
  std::string_view part;
  std::string message;
};
/// Returns the first violation, or nullopt.
std::optional<Disagreement> find_disagreement(const Job& job, const std::vector<TaskPlan>& tasks);

/// Returns why the job's framework cannot fuse two trainings, and what is accepted. nullopt if it can, or if the job
/// has no framework. No framework can fuse trainings on a cluster of one device.
std::optional<std::string> find_training_rejection(const Job& job);

/// Returns why the job's framework cannot fuse generation with inference, and what is accepted. nullopt if it can, or
/// if the job has no framework.
std::optional<std::string> find_generation_rejection(const Job& job);

// The functions below return the first Error for a setting that the job's framework does not support. The Error is at
// the setting's value, or at the enclosing map if the file does not give the setting.

/// Checks that the job's framework can run `planned`, read from `node`. `planned` is a task of a plan, or the job's
/// `fixed` settings of a task applied to a default TaskPlan that conform() has adjusted.
base::Status check_task(const Job& job, std::size_t task, const base::Node& node, const TaskPlan& planned);
/// Checks the job read from `root`: the name of its framework, its software, models, workload and reward, but not the
/// settings it fixes.
base::Status check_framework(const base::Node& root, const Job& job);

}  // namespace dovetail::plan
