#include "trainers/changed_base.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/document.h"
#include "base/enum_names.h"
#include "trainers/areal/areal.h"
#include "trainers/export/change.h"
#include "trainers/export/word_edit.h"
#include "trainers/export/yaml_edit.h"
#include "trainers/nemo_rl/nemo_rl.h"
#include "trainers/openrlhf/openrlhf.h"
#include "trainers/roll/roll.h"
#include "trainers/slime/slime.h"
#include "trainers/verl/verl.h"

namespace dovetail::trainers {
namespace {

const std::array<const TrainerWriter*, 6> writers{&verl_writer,  &nemo_rl_writer, &openrlhf_writer,
                                                  &slime_writer, &roll_writer,    &areal_writer};

}  // namespace

std::vector<std::string_view> export_names() {
  std::vector<std::string_view> names;
  for (const TrainerWriter* const writer : writers) names.push_back(writer->name);
  return names;
}

base::Result<const TrainerWriter*> find_writer(std::string_view name) {
  for (const TrainerWriter* const writer : writers)
    if (writer->name == name) return writer;
  const std::vector<std::string_view> names = export_names();
  return base::bad_input(fmt::format("--to {}: unknown trainer{}; accepted: {}", base::quote(name),
                                     base::did_you_mean(name, names), fmt::join(names, ", ")));
}

namespace {

/// Adds the prefix `++`, which allows keys that the file lacks, and quotes values with special characters.
std::vector<Change> as_arguments(std::vector<Change> changes) {
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

/// Returns why a switched base does not run the job, or an empty string if it does.
std::string rejection_of(const Import& as_it_is, const ExportBase& switched) {
  const base::Result<Import> import = import_base(switched);
  if (!import.ok()) return import.error().message.substr(0, import.error().message.find('\n'));
  if (const auto difference = difference_of(as_it_is.job, import->job))
    return fmt::format("the job would have {}", *difference);
  if (import->job.software.training == as_it_is.job.software.training &&
      run_equally(as_it_is.job, import->plan, as_it_is.plan))
    return "nothing would change, since the script does not pass on its arguments; accepted: a script whose command "
           "ends with \"$@\"";
  return {};
}

}  // namespace

base::Result<Import> import_base(const ExportBase& base) {
  return import_run(base.path, base.content, base.options, base.hub_cache);
}

ChangeForm form_of(const TrainerWriter& writer, const Import& import, const std::vector<Change>& changes) {
  if (writer.flags != nullptr) return ChangeForm::flags;
  if (writer.patches && !import.launch) return ChangeForm::yaml;
  const bool in_place = std::ranges::any_of(changes, &Change::in_place);
  return in_place && import.launch ? ChangeForm::overrides : ChangeForm::arguments;
}

std::vector<Change> converted_to(ChangeForm form, const TrainerWriter& writer, std::vector<Change> changes) {
  return writer.patches && form == ChangeForm::arguments ? as_arguments(std::move(changes)) : std::move(changes);
}

base::Result<std::string> edited_yaml(const ExportBase& base, const Import& import, const std::vector<Change>& changes,
                                      const std::vector<std::string>& reasons) {
  std::vector<YamlEdit> edits;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    edits.push_back({changes[i].set.key, changes[i].set.value, i < reasons.size() ? reasons[i] : ""});
    for (const Setter& more : changes[i].with) edits.push_back({more.key, more.value});
  }
  return edit_yaml(base.content, import.file, edits, import.settings);
}

base::Result<ExportBase> changed_base(const ExportBase& base, const Import& import, const TrainerWriter& writer,
                                      const std::vector<Change>& changes) {
  ExportBase changed = base;
  switch (form_of(writer, import, changes)) {
    case ChangeForm::arguments:
      for (const Change& change : changes)
        for (std::string& word : arguments_of(change)) changed.options.arguments.push_back(std::move(word));
      break;
    case ChangeForm::overrides: {
      DOVETAIL_TRY(changed.content, edit_overrides(base.content, *import.launch, changes, import.files));
      break;
    }
    case ChangeForm::flags: {
      DOVETAIL_TRY(changed.content, edit_flags(base.content, *import.launch, writer.flags(), changes, import.files));
      break;
    }
    case ChangeForm::yaml: {
      DOVETAIL_TRY(changed.content, edited_yaml(base, import, changes, {}));
      break;
    }
  }
  return changed;
}

base::Result<Import> import_changed(const ExportBase& base, const Import& import, const std::vector<Change>& changes) {
  if (changes.empty()) return import;
  DOVETAIL_TRY(const TrainerWriter* const writer, find_writer(import.trainer));
  DOVETAIL_TRY(const ExportBase changed, changed_base(base, import, *writer, changes));
  return import_base(changed);
}

base::Result<std::vector<SwitchedBase>> switched_bases(const ExportBase& base, const Allowed& allowed) {
  DOVETAIL_TRY(const Import import, import_base(base));
  DOVETAIL_TRY(const TrainerWriter* const writer, find_writer(import.trainer));
  std::vector<SwitchedBase> all;
  if (writer->alternatives_of == nullptr) return all;
  const AlternativesRequest request{import.job, import.plan, import.settings, import.launch ? &*import.launch : nullptr,
                                    allowed};
  for (Alternative& alternative : writer->alternatives_of(request)) {
    const ChangeForm form = form_of(*writer, import, alternative.changes);
    SwitchedBase switched{.name = std::move(alternative.name),
                          .changes = converted_to(form, *writer, std::move(alternative.changes)),
                          .base = base,
                          .rejection = {}};
    auto changed = changed_base(base, import, *writer, switched.changes);
    if (changed.ok()) {
      switched.base = *std::move(changed);
      switched.rejection = rejection_of(import, switched.base);
    } else {
      switched.rejection = changed.error().message;
    }
    all.push_back(std::move(switched));
  }
  return all;
}

}  // namespace dovetail::trainers
