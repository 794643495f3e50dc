#include "trainers/export_run.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "plan/job.h"
#include "trainers/export/alike.h"
#include "trainers/writers.h"

namespace dovetail::trainers {
namespace {

using plan::Plan;

/// What an export works on: the base, with what switches its backend or mode, and what that is read as.
struct Work {
  const ExportBase& base;
  const TrainerWriter& writer;
  const Import& as_it_is;
  const Import& switched;
  const Plan& plan;
};

/// A job as changes have to leave it. What the optimizer keeps, and in which type, goes with the memory that it is in.
std::string kept_job(plan::Job job) {
  job.software.gradient_type = job.software.moment_type = plan::StateType::usual;
  job.software.master_type = plan::MasterType::usual;
  return plan::canonical_job(job);
}

/// Whether the changes make the base the plan, and leave its job alone.
bool is_made(const Work& work, const base::Result<Import>& changed) {
  return changed.ok() && kept_job(changed->job) == kept_job(work.switched.job) &&
         run_alike(work.switched.job, changed->plan, work.plan);
}

std::vector<Change> all_but(std::vector<Change> changes, std::size_t index) {
  changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(index));
  return changes;
}

/// Leaves out what changes nothing, one after the other, until nothing more can go: a change may be there only for
/// another one's sake.
std::vector<Change> needed(const Work& work, std::vector<Change> changes) {
  std::size_t before = 0;
  do {
    before = changes.size();
    for (std::size_t index = changes.size(); index-- > 0;) {
      std::vector<Change> fewer = all_but(changes, index);
      if (is_made(work, import_changed(work.base, work.as_it_is, fewer))) changes = std::move(fewer);
    }
  } while (changes.size() < before);
  return changes;
}

/// The change `index` with what the others alone come to.
KeptChange kept_change(const Work& work, const std::vector<Change>& changes, std::size_t index) {
  KeptChange kept{changes[index], std::nullopt, {}};
  const base::Result<Import> without = import_changed(work.base, work.as_it_is, all_but(changes, index));
  if (!without.ok())
    kept.stops = without.error().message;
  else if (without->job.software.training != work.switched.job.software.training)
    kept.stops = "another backend would train";
  else if (kept_job(without->job) != kept_job(work.switched.job))
    kept.stops = "the job would have other devices";
  else
    kept.without = without->plan;
  return kept;
}

/// All changes of a base, those that switch it first. An Error where they do not make it the plan.
base::Result<std::vector<Change>> all_changes(const Work& work, const std::vector<Change>& switches) {
  const ChangeForm form = form_of(work.writer, work.as_it_is, switches);
  const std::vector<Change> changes_of_plan =
      work.writer.changes_of(work.switched.job, work.plan, work.switched.settings);
  std::vector<Change> changes = joined(switches, laid_as(form, work.writer, changes_of_plan));
  const base::Result<Import> changed = import_changed(work.base, work.as_it_is, changes);
  if (!changed.ok()) return changed.error();
  if (kept_job(changed->job) != kept_job(work.switched.job))
    return base::bad_input("the settings of the plan change the job; accepted: a plan with the job's own batches");
  if (form == ChangeForm::words && run_alike(work.as_it_is.job, changed->plan, work.as_it_is.plan))
    return base::bad_input(
        fmt::format("{} does not hand on its arguments, so that nothing can be laid over it; accepted: a script that "
                    "ends its command with \"$@\"",
                    work.as_it_is.files.front()));
  if (!is_made(work, changed)) return cannot_be_said(work.writer.name, work.switched.job, work.plan, changed->plan);
  return needed(work, std::move(changes));
}

/// What no base of the trainer takes.
base::Status check_export(const Import& as_it_is, const Plan& plan, const TrainerWriter& writer) {
  if (as_it_is.trainer != writer.name)
    return base::bad_input(fmt::format("{} is a configuration of {}; accepted with --to {}: one of {}",
                                       as_it_is.files.front(), as_it_is.trainer, writer.name, writer.name));
  if (plan.fusion.threshold || plan.fusion.training)
    return base::bad_input(
        fmt::format("the plan fuses tasks, which {} does not run; accepted: one without fusion", writer.name));
  if (form_of(writer, as_it_is, {}) == ChangeForm::words && !writer.takes_words)
    return base::bad_input(
        fmt::format("{} is a launch script, and {} takes no settings behind its file; accepted: the "
                    "configuration that the script names",
                    as_it_is.files.front(), writer.name));
  return {};
}

}  // namespace

base::Result<std::string> commented_content(const ExportBase& base, const Export& made,
                                            const std::vector<std::string>& reasons) {
  DOVETAIL_TRY(const TrainerWriter* const writer, find_writer(made.base.trainer));
  if (form_of(*writer, made.base, {}) != ChangeForm::yaml) return made.content;
  std::vector<Change> changes;
  for (const KeptChange& kept : made.changes) changes.push_back(kept.change);
  return edited_yaml(base, made.base, changes, reasons);
}

base::Result<Export> export_run(const ExportBase& base, const Plan& plan, std::string_view trainer,
                                const std::vector<Change>& switches) {
  DOVETAIL_TRY(const TrainerWriter* const writer, find_writer(trainer));
  DOVETAIL_TRY(Import as_it_is, import_base(base));
  DOVETAIL_CHECK(check_export(as_it_is, plan, *writer));
  Export made{.base = std::move(as_it_is), .changes = {}, .content = base.content, .in_place = false};
  DOVETAIL_TRY(const Import switched, import_changed(base, made.base, switches));
  const Work work{base, *writer, made.base, switched, plan};
  std::vector<Change> changes;
  if (!switches.empty() || !run_alike(made.base.job, made.base.plan, plan)) {
    DOVETAIL_TRY(changes, all_changes(work, switches));
  }
  for (std::size_t index = 0; index < changes.size(); ++index)
    made.changes.push_back(kept_change(work, changes, index));
  made.in_place = form_of(*writer, made.base, changes) != ChangeForm::words;
  DOVETAIL_TRY(ExportBase edited, changed_base(base, made.base, *writer, changes));
  made.content = std::move(edited.content);
  return made;
}

}  // namespace dovetail::trainers
