#include "trainers/export_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/document.h"
#include "base/nearest.h"
#include "plan/job_canonical.h"
#include "plan/plan_file.h"
#include "trainers/export/flag_edit.h"
#include "trainers/nemo_rl/writing.h"
#include "trainers/openrlhf/writing.h"
#include "trainers/verl/writing.h"

namespace dovetail::trainers {
namespace {

using plan::Plan;
using plan::TaskPlan;
using workflow::TaskKind;

const std::array<const TrainerWriter*, 3> writers{&verl_writer, &nemo_rl_writer, &openrlhf_writer};

/// Lays changes over a base: as words behind its own, or where its flags stand. `made` has the base as it is.
base::Result<ExportBase> changed_base(const ExportBase& base, const Export& made, const TrainerWriter& writer,
                                      const std::vector<Change>& changes) {
  ExportBase changed = base;
  if (writer.flags == nullptr) {
    for (const Change& change : changes)
      for (std::string& word : words_of(change)) changed.options.arguments.push_back(std::move(word));
    return changed;
  }
  DOVETAIL_TRY(changed.content, edit_flags(base.content, *made.base.launch, writer.flags(), changes, made.base.files));
  return changed;
}

base::Result<Import> import_changed(const ExportBase& base, const Export& made, const TrainerWriter& writer,
                                    const std::vector<Change>& changes) {
  DOVETAIL_TRY(const ExportBase changed, changed_base(base, made, writer, changes));
  return import_run(changed.path, changed.content, changed.options, changed.hub_cache);
}

/// What two plans that run alike have alike.
Plan as_run(const plan::Job& job, Plan plan) {
  plan.placement = "custom";
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    TaskPlan& planned = plan.tasks[task];
    const TaskKind kind = job.workflow.tasks[task].kind;
    if (kind == TaskKind::generate)
      planned.micro_batching = {};
    else
      planned.engine = {};
    // Only its third stage is of passes.
    if (kind == TaskKind::infer && planned.layout.zero < 3) planned.layout.zero = 0;
    if (kind == TaskKind::infer) planned.layout.recomputation = llm::Recomputation::none;
    if (planned.layout.data * planned.layout.context == 1) planned.layout.zero = 0;
    if (planned.layout.tensor == 1) planned.layout.sequence_parallel = false;
    if (!job.models[job.workflow.role_of[task] ? job.workflow.role_of[task]->index() : 0].experts)
      planned.layout.expert = planned.layout.expert_tensor = 1;
  }
  return plan;
}

bool run_alike(const plan::Job& job, const Plan& a, const Plan& b) {
  return as_run(job, a).tasks == as_run(job, b).tasks;
}

/// The lines of a plan's file that say a task.
std::vector<std::string> task_lines(const plan::Job& job, const Plan& plan) {
  const std::string text = plan::plan_to_json(as_run(job, plan), job);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.starts_with("  {\"task\"")) {
      if (line.ends_with(",")) line.pop_back();
      lines.push_back(line.substr(2));
    }
    begin = end + 1;
  }
  return lines;
}

base::Error cannot_be_said(std::string_view trainer, const plan::Job& job, const Plan& wanted, const Plan& got) {
  const std::vector<std::string> want = task_lines(job, wanted);
  const std::vector<std::string> have = task_lines(job, got);
  std::string text = fmt::format("{} cannot be told to run this plan", trainer);
  for (std::size_t task = 0; task < want.size(); ++task)
    if (want[task] != have[task]) text += fmt::format("\n  wanted  {}\n  it runs {}", want[task], have[task]);
  return base::bad_input(
      fmt::format("{}\naccepted: a plan of a job with `software: {{framework: {}}}`", text, trainer));
}

base::Result<const TrainerWriter*> find_writer(std::string_view name) {
  for (const TrainerWriter* const writer : writers)
    if (writer->name == name) return writer;
  const std::vector<std::string_view> names = export_names();
  return base::bad_input(fmt::format("--to {}: no such trainer{}; accepted: {}", base::quote(name),
                                     base::did_you_mean(name, names), fmt::join(names, ", ")));
}

/// A job as changes have to leave it. What the optimizer keeps, and in which type, goes with the memory that it is in.
std::string kept_job(plan::Job job) {
  job.software.gradient_type = job.software.moment_type = plan::StateType::usual;
  job.software.master_type = plan::MasterType::usual;
  return plan::canonical_job(job);
}

/// Whether the changes make the base the plan, and leave its job alone.
bool is_made(const Export& made, const base::Result<Import>& changed, const Plan& plan) {
  return changed.ok() && kept_job(changed->job) == kept_job(made.base.job) &&
         run_alike(made.base.job, changed->plan, plan);
}

/// Leaves out what changes nothing, one after the other.
std::vector<Change> needed(const ExportBase& base, const Export& made, const TrainerWriter& writer,
                           std::vector<Change> changes, const Plan& plan) {
  for (std::size_t index = changes.size(); index-- > 0;) {
    std::vector<Change> fewer = changes;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(index));
    if (is_made(made, import_changed(base, made, writer, fewer), plan)) changes = std::move(fewer);
  }
  return changes;
}

}  // namespace

std::vector<std::string_view> export_names() {
  std::vector<std::string_view> names;
  for (const TrainerWriter* const writer : writers) names.push_back(writer->name);
  return names;
}

std::vector<std::string> words_of(const Change& change) {
  const auto word = [](const Setter& set) {
    if (!set.key.starts_with("--")) return fmt::format("{}={}", set.key, set.value);
    return set.value.empty() ? set.key : fmt::format("{} {}", set.key, set.value);
  };
  std::vector<std::string> words{(change.removes ? "without " : "") + word(change.set)};
  for (const Setter& more : change.with) words.push_back(word(more));
  return words;
}

base::Result<Export> export_run(const ExportBase& base, const Plan& plan, std::string_view trainer) {
  DOVETAIL_TRY(const TrainerWriter* const writer, find_writer(trainer));
  DOVETAIL_TRY(Import as_it_is, import_run(base.path, base.content, base.options, base.hub_cache));
  if (as_it_is.trainer != trainer)
    return base::bad_input(fmt::format("{} is a configuration of {}; accepted with --to {}: one of {}",
                                       as_it_is.files.front(), as_it_is.trainer, trainer, trainer));
  if (plan.fusion.threshold || plan.fusion.training)
    return base::bad_input(
        fmt::format("the plan fuses tasks, which {} does not run; accepted: one without fusion", trainer));
  Export made{.base = std::move(as_it_is), .changes = {}, .content = base.content};
  if (run_alike(made.base.job, made.base.plan, plan)) return made;
  std::vector<Change> changes = writer->changes_of(made.base.job, plan);
  const base::Result<Import> changed = import_changed(base, made, *writer, changes);
  if (!changed.ok()) return changed.error();
  if (kept_job(changed->job) != kept_job(made.base.job))
    return base::bad_input("the settings of the plan change the job; accepted: a plan with the job's own batches");
  if (writer->flags == nullptr && run_alike(made.base.job, changed->plan, made.base.plan))
    return base::bad_input(
        fmt::format("{} does not hand on its arguments, so that nothing can be laid over it; accepted: a script that "
                    "ends its command with \"$@\"",
                    made.base.files.front()));
  if (!is_made(made, changed, plan)) return cannot_be_said(trainer, made.base.job, plan, changed->plan);
  changes = needed(base, made, *writer, std::move(changes), plan);
  for (std::size_t index = 0; index < changes.size(); ++index) {
    std::vector<Change> fewer = changes;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(index));
    const base::Result<Import> without = import_changed(base, made, *writer, fewer);
    KeptChange& kept = made.changes.emplace_back(KeptChange{changes[index], std::nullopt, {}});
    if (!without.ok())
      kept.stops = without.error().message;
    else if (kept_job(without->job) != kept_job(made.base.job))
      kept.stops = "the job would have other devices";
    else
      kept.without = without->plan;
  }
  DOVETAIL_TRY(ExportBase edited, changed_base(base, made, *writer, changes));
  made.content = std::move(edited.content);
  return made;
}

}  // namespace dovetail::trainers
