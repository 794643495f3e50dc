#include "trainers/export_run.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "plan/job_canonical.h"
#include "trainers/export/alike.h"
#include "trainers/export/flag_edit.h"
#include "trainers/export/yaml_edit.h"
#include "trainers/writers.h"

namespace dovetail::trainers {
namespace {

using plan::Plan;

/// How the changes of a base are laid over it.
enum class Way {
  words,  ///< behind its own
  flags,  ///< where its flags stand
  yaml    ///< where its values stand
};

Way way_of(const TrainerWriter& writer, const Import& base) {
  if (writer.flags != nullptr) return Way::flags;
  return writer.patches && !base.launch ? Way::yaml : Way::words;
}

std::vector<YamlEdit> yaml_edits(const std::vector<Change>& changes, const std::vector<std::string>& reasons) {
  std::vector<YamlEdit> edits;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    edits.push_back({changes[i].set.key, changes[i].set.value, i < reasons.size() ? reasons[i] : ""});
    for (const Setter& more : changes[i].with) edits.push_back({more.key, more.value});
  }
  return edits;
}

/// Lays changes over a base. `made` has the base as it is.
base::Result<ExportBase> changed_base(const ExportBase& base, const Export& made, const TrainerWriter& writer,
                                      const std::vector<Change>& changes) {
  ExportBase changed = base;
  const Way way = way_of(writer, made.base);
  if (way == Way::words) {
    for (const Change& change : changes)
      for (std::string& word : words_of(change)) changed.options.arguments.push_back(std::move(word));
    return changed;
  }
  if (way == Way::flags) {
    DOVETAIL_TRY(changed.content,
                 edit_flags(base.content, *made.base.launch, writer.flags(), changes, made.base.files));
  } else {
    DOVETAIL_TRY(changed.content, edit_yaml(base.content, made.base.file, yaml_edits(changes, {}), made.base.settings));
  }
  return changed;
}

/// Words of Hydra's, for keys that the file may lack, with what its grammar would take for more than characters in
/// quotes.
std::vector<Change> as_words(std::vector<Change> changes) {
  const auto quoted = [](Setter& set) {
    set.key.insert(0, "++");
    if (set.value.find_first_of("(|,") != std::string::npos) set.value = "'" + set.value + "'";
  };
  for (Change& change : changes) {
    quoted(change.set);
    for (Setter& more : change.with) quoted(more);
  }
  return changes;
}

base::Result<Import> import_changed(const ExportBase& base, const Export& made, const TrainerWriter& writer,
                                    const std::vector<Change>& changes) {
  DOVETAIL_TRY(const ExportBase changed, changed_base(base, made, writer, changes));
  return import_run(changed.path, changed.content, changed.options, changed.hub_cache);
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

base::Result<std::string> commented_content(const ExportBase& base, const Export& made,
                                            const std::vector<std::string>& reasons) {
  DOVETAIL_TRY(const TrainerWriter* const writer, find_writer(made.base.trainer));
  if (way_of(*writer, made.base) != Way::yaml) return made.content;
  std::vector<Change> changes;
  for (const KeptChange& kept : made.changes) changes.push_back(kept.change);
  return edit_yaml(base.content, made.base.file, yaml_edits(changes, reasons), made.base.settings);
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
  const Way way = way_of(*writer, as_it_is);
  if (way == Way::words && !writer->takes_words)
    return base::bad_input(
        fmt::format("{} is a launch script, and {} takes no settings behind its file; accepted: the "
                    "configuration that the script names",
                    as_it_is.files.front(), trainer));
  Export made{.base = std::move(as_it_is), .changes = {}, .content = base.content, .in_place = way != Way::words};
  if (run_alike(made.base.job, made.base.plan, plan)) return made;
  std::vector<Change> changes = writer->changes_of(made.base.job, plan, made.base.settings);
  if (writer->patches && way == Way::words) changes = as_words(std::move(changes));
  const base::Result<Import> changed = import_changed(base, made, *writer, changes);
  if (!changed.ok()) return changed.error();
  if (kept_job(changed->job) != kept_job(made.base.job))
    return base::bad_input("the settings of the plan change the job; accepted: a plan with the job's own batches");
  if (way == Way::words && run_alike(made.base.job, changed->plan, made.base.plan))
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
