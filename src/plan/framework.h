// What a program that trains can run: which jobs, and which of their plans. A search keeps to it, readers of jobs and
// plans refuse what is outside, at its key.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "plan/iteration_order.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "plan/task_plan.h"

namespace dovetail::plan {

/// Who keeps to a rule.
enum class RuleScope : std::uint8_t {
  all,    ///< a plan that breaks it cannot be run
  search  ///< plans that are read may break it: the framework can run them in another mode than the one that is
          ///< searched
};

/// A member of a task's part of plans of which a framework runs some values only.
struct TaskRule {
  std::optional<workflow::TaskKind> of;  ///< tasks of this kind; nothing: all
  std::string_view part;                 ///< the key of a part of the task, as in a plan's file: "layout"
  std::string_view key;                  ///< in that part; empty: all of it
  std::string accepted;                  ///< the values that it runs
  bool (*holds)(const Job&, const TaskPlan&) = nullptr;
  void (*conform)(const Job&, TaskPlan&) = nullptr;  ///< gives the member a value that it runs, where it has another
  bool (*concerns)(const Job&, std::size_t task) = nullptr;  ///< which of these tasks; null: all
  RuleScope scope = RuleScope::all;
};

/// What of their parts some tasks have alike.
struct Agreement {
  std::string_view what;                                      ///< "the parallel degrees"
  std::string_view part;                                      ///< the key that holds it, as in a plan's file
  std::string_view because;                                   ///< "all roles are in one process group"
  bool (*concerns)(const Job&, std::size_t task) = nullptr;   ///< which tasks, each with each
  bool same_role = false;                                     ///< only those of one role
  bool same_mesh = true;                                      ///< they have their devices alike, too
  bool (*agree)(const TaskPlan&, const TaskPlan&) = nullptr;  ///< an equivalence, which looks at no mesh
};

/// A property of models that a framework does not compute.
struct ModelRule {
  std::string_view what;  ///< what such a model has: "experts"
  bool (*has)(const llm::Transformer&) = nullptr;
};

/// What a framework runs, with the backend that `training` is of.
struct Framework {
  std::string_view name;
  std::string_view training;  ///< the memory conventions that are its own (cost/conventions.h)
  int max_steps_off_policy = 0;
  bool packs_rows = true;      ///< it runs jobs with packing
  bool pads_rows = false;      ///< it runs jobs without
  bool judges = true;          ///< it runs a reward model on devices of the job
  bool loss_in_parts = false;  ///< log-probabilities are of some tokens at a time, from whole logits
  bool prefetches = false;     ///< host transfers can go on beside other tasks
  bool inter_stage = false;    ///< it can fuse generation with inference
  bool intra_stage = false;    ///< it can fuse two trainings
  std::vector<ModelRule> not_computed;
  std::string_view computed = {};  ///< the models that have nothing of that
  std::vector<TaskRule> rules;
  std::vector<Agreement> agreements;
  IterationOrder (*order)(const Job&) = nullptr;  ///< null: the ideal one
  std::int64_t sync_bucket = 0;                   ///< bytes that trained weights are packed into for an engine; 0: none
  bool (*engine_copies)(const Job&) = nullptr;    ///< engines that sleep keep their weights in host memory; null: never
};

/// The names of all frameworks. "dovetail" is dovetail-train.
std::vector<std::string_view> framework_names();

/// Names no framework, whatever the memory conventions are.
inline constexpr std::string_view any_framework = "any";

/// That of a job's software, with the backend of its memory conventions, else its first one; without a name the one
/// whose memory conventions these are, where they are of one alone. Null for "any", and where there is none of that
/// name.
const Framework* find_framework(const Software& software);

/// Whether the framework that the job names runs the task as planned; true where it names none. `scope`: with search
/// those that it searches.
bool runs(const Job& job, std::size_t task, const TaskPlan& planned, RuleScope scope = RuleScope::all);
/// Gives what a search of the job's framework does not look at values that it does; then runs(job, task, planned,
/// search), but the plan may have another number of devices than its mesh. Changes nothing where the job names no
/// framework.
void conform(const Job& job, std::size_t task, TaskPlan& planned);

/// Whether the framework of the job has the agreement for these two tasks. REQUIRES: it is one of its own.
bool concerns(const Agreement& agreement, const Job& job, std::size_t a, std::size_t b);
/// The agreements of the job's framework; none where it names none.
const std::vector<Agreement>& agreements_of(const Job& job);

/// The order of the job's framework; the ideal one where it names none.
IterationOrder order_of(const Job& job);

/// Whether engines that give their devices up copy their weights to host memory and back: as the job says, else as its
/// framework does.
bool engine_copies(const Job& job);

/// The bytes that trained weights are packed into on their way to an engine: as the job says, else as its framework has
/// them; 0: they go tensor by tensor.
std::int64_t sync_bucket(const Job& job);

/// Two tasks of a plan that do not agree as the job's framework has them agree, and what is accepted.
struct Disagreement {
  std::size_t task = 0;
  std::string_view part;
  std::string message;
};
std::optional<Disagreement> find_disagreement(const Job& job, const std::vector<TaskPlan>& tasks);

/// Why the framework of the job fuses no trainings, or no generation with inference, and what is accepted; nothing
/// where it does.
std::optional<std::string> find_training_refusal(const Job& job);
std::optional<std::string> find_generation_refusal(const Job& job);

// Errors at the key of what the job's framework does not run, which say what it runs.

/// `node` says `planned`: a task of a plan, or what a job fixes of one laid over what conform makes of a TaskPlan.
base::Status check_task(const Job& job, std::size_t task, const base::Node& node, const TaskPlan& planned);
/// The job that `root` says, without what it fixes: its software, models, cluster and workload.
base::Status check_framework(const base::Node& root, const Job& job);

}  // namespace dovetail::plan
