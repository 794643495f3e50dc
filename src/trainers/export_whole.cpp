#include "trainers/export_whole.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/document.h"
#include "syntax/configuration.h"
#include "trainers/export/alike.h"
#include "trainers/export/yaml_edit.h"
#include "trainers/import_run.h"
#include "trainers/writers.h"

namespace dovetail::trainers {
namespace {

std::string array_text(std::string_view name, const std::vector<std::string>& words) {
  std::string text = fmt::format("{}=(\n", name);
  for (const std::string& word : words) text += "  " + word + "\n";
  return text + ")\n";
}

std::string script_text(const WholeFile& file, const std::vector<Change>& changes) {
  std::string text = "#!/usr/bin/env bash\nset -euo pipefail\n";
  for (const DemandedName& demanded : file.demanded)
    text += fmt::format(": \"${{{}:?{}}}\"\n", demanded.name, demanded.what);
  std::vector<std::string> plan;
  for (const Change& change : changes)
    for (std::string& word : words_of(change)) plan.push_back(std::move(word));
  text += "\n# The job.\n" + array_text("job", file.words);
  text += "\n# How its tasks run.\n" + array_text("plan", plan);
  return text + fmt::format("\nexec {} \"${{job[@]}}\" \"${{plan[@]}}\" \"$@\"\n", file.command);
}

base::Result<std::string> yaml_text(const WholeFile& file, const std::vector<Change>& changes) {
  std::vector<YamlEdit> edits;
  const auto add = [&edits](const Setter& set) {
    edits.push_back({set.key.substr(std::min(set.key.find_first_not_of('+'), set.key.size())), set.value});
  };
  for (const Change& change : changes) {
    add(change.set);
    for (const Setter& more : change.with) add(more);
  }
  std::string text;
  for (const DemandedName& demanded : file.demanded)
    text += fmt::format("# Needs {} in the environment: {}.\n", demanded.name, demanded.what);
  return edit_yaml(text + file.yaml, "the configuration", edits, {});
}

base::Result<std::string> text_of(const WholeFile& file, const std::vector<Change>& changes) {
  if (file.yaml.empty()) return script_text(file, changes);
  return yaml_text(file, changes);
}

/// Reads a file as its user will, below no folder.
base::Result<Import> read_again(std::string_view trainer, const WholeFile& file, const std::string& content) {
  ImportOptions options{.gpu = "H100-80", .root = "/no/such/folder"};
  for (const DemandedName& demanded : file.demanded)
    options.environment.push_back(fmt::format("{}={}", demanded.name, demanded.example));
  return import_run(fmt::format("{}:{}", trainer, file.yaml.empty() ? "run.sh" : "run.yaml"), content, options);
}

/// The settings of a configuration; none of a launch script.
base::Result<syntax::SettingTree> settings_of(const WholeFile& file) {
  syntax::SettingTree tree;
  if (file.yaml.empty()) return tree;
  tree.sources = {"the configuration"};
  DOVETAIL_TRY(const base::Document document, base::parse_yaml(file.yaml, tree.sources.front()));
  DOVETAIL_TRY(tree.root, syntax::setting_of(document, file.yaml, 0));
  std::map<std::string, std::string> environment;
  for (const DemandedName& demanded : file.demanded) environment[demanded.name] = demanded.example;
  DOVETAIL_CHECK(resolve(tree, environment));
  return tree;
}

/// The same of a file that says the backend, too.
std::optional<std::string> whole_difference(const plan::Job& wanted, const plan::Job& got) {
  if (auto difference = difference_of(wanted, got)) return difference;
  if (wanted.software.training != got.software.training) return "another backend";
  return std::nullopt;
}

}  // namespace

base::Result<WholeExport> export_whole(const plan::Job& job, const plan::Plan& plan, std::string_view trainer) {
  DOVETAIL_TRY(const TrainerWriter* const writer, find_writer(trainer));
  if (writer->whole == nullptr)
    return base::bad_input(fmt::format("--to {} needs a file of its own; accepted: --base FILE", trainer));
  if (plan.fusion.threshold || plan.fusion.training)
    return base::bad_input(
        fmt::format("the plan fuses tasks, which {} does not run; accepted: one without fusion", trainer));
  DOVETAIL_TRY(const JobFacts facts, facts_of(job, plan));
  DOVETAIL_TRY(const WholeFile file, writer->whole(facts));
  DOVETAIL_TRY(const syntax::SettingTree settings, settings_of(file));
  std::vector<Change> changes = writer->changes_of(job, plan, settings);
  std::erase_if(changes, [](const Change& change) { return change.removes; });
  const auto read = [&](const std::vector<Change>& some) -> base::Result<Import> {
    DOVETAIL_TRY(const std::string content, text_of(file, some));
    return read_again(trainer, file, content);
  };
  const auto is_it = [&](const base::Result<Import>& import) {
    return import.ok() && !whole_difference(job, import->job) && run_alike(job, import->plan, plan);
  };
  base::Result<Import> whole = read(changes);
  if (!whole.ok()) {
    const base::Error error = std::move(whole).error();
    return base::bad_input(fmt::format("{} does not run it: {}", trainer, error.message));
  }
  if (const auto difference = whole_difference(job, whole->job))
    return base::bad_input(
        fmt::format("a file of {} without --base has {} than the job; accepted: --base FILE", trainer, *difference));
  if (!is_it(whole)) return cannot_be_said(trainer, job, plan, whole->plan);
  for (std::size_t index = changes.size(); index-- > 0;) {
    std::vector<Change> fewer = changes;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(index));
    if (is_it(read(fewer))) changes = std::move(fewer);
  }
  DOVETAIL_TRY(std::string content, text_of(file, changes));
  return WholeExport{.trainer = std::string(trainer),
                     .is_script = file.yaml.empty(),
                     .demanded = file.demanded,
                     .changes = std::move(changes),
                     .content = std::move(content)};
}

}  // namespace dovetail::trainers
