#include "trainers/export_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/document.h"
#include "plan/job.h"
#include "syntax/configuration.h"
#include "trainers/changed_base.h"
#include "trainers/export/change.h"
#include "trainers/export/yaml_edit.h"
#include "trainers/import_run.h"

namespace dovetail::trainers {
namespace {

using plan::Plan;

/// Inputs of an export: the base, its import before and after a switch of backend or mode, and the plan.
struct Work {
  const ExportBase& base;
  const TrainerWriter& writer;
  const Import& as_it_is;
  const Import& switched;
  const Plan& plan;
};

/// Returns the parts of a job that changes must not alter. The types of optimizer states are excluded, because they may
/// change with the placement of these states.
std::string kept_job(plan::Job job) {
  job.software.gradient_type = job.software.moment_type = plan::StateType::by_default;
  job.software.master_type = plan::MasterType::by_default;
  return plan::canonical_job(job);
}

/// Returns whether the changes make the base run the plan and leave its job unchanged.
bool is_made(const Work& work, const base::Result<Import>& changed) {
  return changed.ok() && kept_job(changed->job) == kept_job(work.switched.job) &&
         run_equally(work.switched.job, changed->plan, work.plan);
}

std::vector<Change> all_but(std::vector<Change> changes, std::size_t index) {
  changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(index));
  return changes;
}

/// Removes changes that are not needed. Takes several passes, because a change may be needed only because of another
/// one.
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

/// Returns change `index` and the plan that results from the others alone.
RequiredChange required_change(const Work& work, const std::vector<Change>& changes, std::size_t index) {
  RequiredChange kept{changes[index], std::nullopt, {}};
  const base::Result<Import> without = import_changed(work.base, work.as_it_is, all_but(changes, index));
  if (!without.ok())
    kept.stops = without.error().message;
  else if (without->job.software.training != work.switched.job.software.training)
    kept.stops = "training would use a different backend";
  else if (kept_job(without->job) != kept_job(work.switched.job))
    kept.stops = "the configuration would describe a different job";
  else
    kept.without = without->plan;
  return kept;
}

/// Returns all changes to a base, switches first. Returns an Error if they do not make it run the plan.
base::Result<std::vector<Change>> all_changes(const Work& work, const std::vector<Change>& switches) {
  const ChangeForm form = form_of(work.writer, work.as_it_is, switches);
  const std::vector<Change> changes_of_plan =
      work.writer.changes_of(work.switched.job, work.plan, work.switched.settings);
  std::vector<Change> changes = joined(switches, converted_to(form, work.writer, changes_of_plan));
  const base::Result<Import> changed = import_changed(work.base, work.as_it_is, changes);
  if (!changed.ok()) return changed.error();
  if (kept_job(changed->job) != kept_job(work.switched.job))
    return base::bad_input(
        "the plan's settings would change the job; accepted: a plan whose settings leave the job unchanged");
  if (form == ChangeForm::arguments && run_equally(work.as_it_is.job, changed->plan, work.as_it_is.plan))
    return base::bad_input(
        fmt::format("{} does not pass on its arguments, so settings cannot be added; accepted: a script whose command "
                    "ends with \"$@\"",
                    work.as_it_is.files.front()));
  if (!is_made(work, changed)) return inexpressible(work.writer.name, work.switched.job, work.plan, changed->plan);
  return needed(work, std::move(changes));
}

/// Returns an Error if a base of the trainer cannot express the plan.
base::Status check_export(const Import& as_it_is, const Plan& plan, const TrainerWriter& writer) {
  if (as_it_is.trainer != writer.name)
    return base::bad_input(fmt::format("{} is a configuration of {}; accepted with --to {}: a configuration of {}",
                                       as_it_is.files.front(), as_it_is.trainer, writer.name, writer.name));
  if (plan.fusion.threshold || plan.fusion.training)
    return base::bad_input(fmt::format(
        "the plan fuses tasks, but {} cannot run fused tasks; accepted: a plan without fusion", writer.name));
  if (form_of(writer, as_it_is, {}) == ChangeForm::arguments && !writer.takes_arguments)
    return base::bad_input(
        fmt::format("{} is a launch script, but {} accepts no settings after its configuration file; accepted: the "
                    "configuration file that the script names",
                    as_it_is.files.front(), writer.name));
  return {};
}

}  // namespace

base::Result<std::string> commented_content(const ExportBase& base, const Export& made,
                                            const std::vector<std::string>& reasons) {
  DOVETAIL_TRY(const TrainerWriter* const writer, find_writer(made.base.trainer));
  if (form_of(*writer, made.base, {}) != ChangeForm::yaml) return made.content;
  std::vector<Change> changes;
  for (const RequiredChange& kept : made.changes) changes.push_back(kept.change);
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
  if (!switches.empty() || !run_equally(made.base.job, made.base.plan, plan)) {
    DOVETAIL_TRY(changes, all_changes(work, switches));
  }
  for (std::size_t index = 0; index < changes.size(); ++index)
    made.changes.push_back(required_change(work, changes, index));
  made.in_place = form_of(*writer, made.base, changes) != ChangeForm::arguments;
  DOVETAIL_TRY(ExportBase edited, changed_base(base, made.base, *writer, changes));
  made.content = std::move(edited.content);
  return made;
}

namespace {

std::string array_text(std::string_view name, const std::vector<std::string>& arguments) {
  std::string text = fmt::format("{}=(\n", name);
  for (const std::string& word : arguments) text += "  " + word + "\n";
  return text + ")\n";
}

std::string script_text(const CompleteFile& file, const std::vector<Change>& changes) {
  std::string text = "#!/usr/bin/env bash\nset -euo pipefail\n";
  for (const RequiredName& required : file.required)
    text += fmt::format(": \"${{{}:?{}}}\"\n", required.name, required.what);
  std::vector<std::string> plan;
  for (const Change& change : changes)
    for (std::string& word : arguments_of(change)) plan.push_back(std::move(word));
  text += "\n# Job\n" + array_text("job", file.arguments);
  text += "\n# Plan: how the tasks run\n" + array_text("plan", plan);
  return text + fmt::format("\nexec {} \"${{job[@]}}\" \"${{plan[@]}}\" \"$@\"\n", file.command);
}

base::Result<std::string> yaml_text(const CompleteFile& file, const std::vector<Change>& changes) {
  std::vector<YamlEdit> edits;
  const auto add = [&edits](const Setter& set) {
    edits.push_back({set.key.substr(std::min(set.key.find_first_not_of('+'), set.key.size())), set.value});
  };
  for (const Change& change : changes) {
    add(change.set);
    for (const Setter& more : change.with) add(more);
  }
  std::string text;
  for (const RequiredName& required : file.required)
    text += fmt::format("# Requires the environment variable {}: {}.\n", required.name, required.what);
  return edit_yaml(text + file.yaml, "the configuration", edits, {});
}

base::Result<std::string> text_of(const CompleteFile& file, const std::vector<Change>& changes) {
  if (file.yaml.empty()) return script_text(file, changes);
  return yaml_text(file, changes);
}

/// Reads a new file as an import of it would, but without access to other files.
base::Result<Import> read_again(std::string_view trainer, const CompleteFile& file, const std::string& content) {
  ImportOptions options{.gpu = "H100-80", .root = "/no/such/folder"};
  for (const RequiredName& required : file.required)
    options.environment.push_back(fmt::format("{}={}", required.name, required.example));
  return import_run(fmt::format("{}:{}", trainer, file.yaml.empty() ? "run.sh" : "run.yaml"), content, options);
}

/// Returns the settings of a configuration; empty for a launch script.
base::Result<syntax::SettingTree> settings_of(const CompleteFile& file) {
  syntax::SettingTree tree;
  if (file.yaml.empty()) return tree;
  tree.sources = {"the configuration"};
  DOVETAIL_TRY(const base::Document document, base::parse_yaml(file.yaml, tree.sources.front()));
  DOVETAIL_TRY(tree.root, syntax::setting_of(document, file.yaml, 0));
  std::map<std::string, std::string> environment;
  for (const RequiredName& required : file.required) environment[required.name] = required.example;
  DOVETAIL_CHECK(resolve(tree, environment));
  return tree;
}

/// Like difference_of, but also compares the backend.
std::optional<std::string> complete_file_difference(const plan::Job& wanted, const plan::Job& got) {
  if (auto difference = difference_of(wanted, got)) return difference;
  if (wanted.software.training != got.software.training) return "a different backend";
  return std::nullopt;
}

}  // namespace

base::Result<CompleteExport> export_complete_file(const plan::Job& job, const plan::Plan& plan,
                                                  std::string_view trainer) {
  DOVETAIL_TRY(const TrainerWriter* const writer, find_writer(trainer));
  if (writer->complete_file == nullptr)
    return base::bad_input(fmt::format("--to {} needs an existing configuration; add --base FILE", trainer));
  if (plan.fusion.threshold || plan.fusion.training)
    return base::bad_input(
        fmt::format("the plan fuses tasks, but {} cannot run fused tasks; accepted: a plan without fusion", trainer));
  DOVETAIL_TRY(const JobFacts facts, facts_of(job, plan));
  DOVETAIL_TRY(const CompleteFile file, writer->complete_file(facts));
  DOVETAIL_TRY(const syntax::SettingTree settings, settings_of(file));
  std::vector<Change> changes = writer->changes_of(job, plan, settings);
  std::erase_if(changes, [](const Change& change) { return change.removes; });
  const auto read = [&](const std::vector<Change>& some) -> base::Result<Import> {
    DOVETAIL_TRY(const std::string content, text_of(file, some));
    return read_again(trainer, file, content);
  };
  const auto is_it = [&](const base::Result<Import>& import) {
    return import.ok() && !complete_file_difference(job, import->job) && run_equally(job, import->plan, plan);
  };
  base::Result<Import> imported = read(changes);
  if (!imported.ok()) {
    const base::Error error = std::move(imported).error();
    return base::bad_input(fmt::format("{} cannot run the plan: {}", trainer, error.message));
  }
  if (const auto difference = complete_file_difference(job, imported->job))
    return base::bad_input(
        fmt::format("a {} file without --base would have {} than the job; add --base FILE", trainer, *difference));
  if (!is_it(imported)) return inexpressible(trainer, job, plan, imported->plan);
  for (std::size_t index = changes.size(); index-- > 0;) {
    std::vector<Change> fewer = changes;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(index));
    if (is_it(read(fewer))) changes = std::move(fewer);
  }
  DOVETAIL_TRY(std::string content, text_of(file, changes));
  return CompleteExport{.trainer = std::string(trainer),
                        .is_script = file.yaml.empty(),
                        .required = file.required,
                        .changes = std::move(changes),
                        .content = std::move(content)};
}

}  // namespace dovetail::trainers
