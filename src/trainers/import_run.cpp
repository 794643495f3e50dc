#include "trainers/import_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "base/document.h"
#include "base/file.h"
#include "plan/job_file.h"
#include "trainers/import/job_of.h"
#include "trainers/shell/launch.h"
#include "trainers/verl/configuration.h"

namespace dovetail::trainers {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view verl_prefix = "verl:";

bool is_script(const std::string& path, std::string_view content) {
  return content.starts_with("#!") || path.ends_with(".sh") || path.ends_with(".bash");
}

base::Result<std::map<std::string, std::string>> environment_of(const ImportOptions& options) {
  std::map<std::string, std::string> environment;
  for (const std::string& said : options.environment) {
    const std::size_t equals = said.find('=');
    if (equals == std::string::npos || equals == 0)
      return base::bad_input(fmt::format("--env {}: accepted: NAME=VALUE", base::quote(said)));
    environment[said.substr(0, equals)] = said.substr(equals + 1);
  }
  return environment;
}

/// The folder that all files which are read lie below.
std::string root_of(const std::string& file, const ImportOptions& options) {
  if (options.root) return *options.root;
  std::error_code fault;
  const fs::path folder = fs::absolute(fs::path(file), fault).parent_path();
  if (fault) return folder_of(file);
  for (fs::path above = folder; !above.empty(); above = above.parent_path()) {
    if (fs::exists(above / ".git", fault)) return above.string();
    if (above == above.parent_path()) break;
  }
  return folder.string();
}

/// Reads below `root`, relative paths from it, and keeps the names of what it read.
FileReader keeping_reader(const std::string& root, const std::shared_ptr<std::vector<std::string>>& files) {
  return [read = read_below(root), root, files](const std::string& path) -> base::Result<std::string> {
    const std::string whole = join_path(root, path);
    auto content = read(whole);
    if (content.ok() && std::find(files->begin(), files->end(), path) == files->end()) files->push_back(path);
    return content;
  };
}

struct Reading {
  VerlSettings settings;
  std::string why;
};

base::Result<Reading> read_script(const std::string& file, const std::string& content, const std::string& root,
                                  const ImportOptions& options, const FileReader& read) {
  DOVETAIL_TRY(const auto environment, environment_of(options));
  const ScriptRequest request{.path = file,
                              .content = content,
                              .directory = root,
                              .environment = environment,
                              .arguments = options.arguments,
                              .read = read};
  DOVETAIL_TRY(ScriptOutcome outcome, evaluate_script(request));
  DOVETAIL_TRY(const std::vector<Launch> launches, find_launches(outcome, request, is_verl_entry));
  DOVETAIL_TRY(const Launch launch, only_launch(outcome, launches));
  DOVETAIL_TRY(VerlSettings settings, settings_of_launch(launch, outcome.sources, environment));
  return Reading{std::move(settings), fmt::format("it starts {} in line {}", launch.entry.name, launch.place.line)};
}

base::Result<Reading> read_configuration(const std::string& file, const std::string& content,
                                         const ImportOptions& options) {
  if (!options.arguments.empty())
    return base::bad_input("arguments behind the file are those of a launch script; accepted: none of a configuration");
  DOVETAIL_TRY(const auto environment, environment_of(options));
  DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(content, file));
  DOVETAIL_TRY(Setting root, setting_of(document, content, 0));
  if (!is_verl_configuration(root))
    return document.root().error("it is no configuration of verl; accepted: one with `actor_rollout_ref`");
  DOVETAIL_TRY(VerlSettings settings, settings_of_configuration(std::move(root), file, environment));
  return Reading{std::move(settings), "it has actor_rollout_ref"};
}

std::string job_name(const std::string& file) {
  const std::string name = name_of(file, "");
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

}  // namespace

bool is_foreign(const std::string& path, std::string_view content) {
  if (path.starts_with(verl_prefix) || is_script(path, content)) return true;
  return content.find("dovetail/job@1") == std::string_view::npos &&
         content.find("actor_rollout_ref") != std::string_view::npos;
}

std::string file_of(const std::string& path) {
  return path.starts_with(verl_prefix) ? path.substr(verl_prefix.size()) : path;
}

base::Result<Import> import_run(const std::string& path, const std::string& content, const ImportOptions& options) {
  const std::string file = file_of(path);
  const std::string root = root_of(file, options);
  const auto files = std::make_shared<std::vector<std::string>>();
  const FileReader read = keeping_reader(root, files);
  const auto reading = is_script(file, content) ? read_script(base::display_path(file), content, root, options, read)
                                                : read_configuration(base::display_path(file), content, options);
  if (!reading.ok()) return reading.error();
  const VerlRequest request{.options = options, .read = read, .name = job_name(file)};
  DOVETAIL_TRY(ImportedRun run, verl_run(reading->settings, request));
  DOVETAIL_TRY(std::string text, job_text(run, options));
  auto job = plan::parse_job(text, file);
  if (!job.ok()) {
    base::Error error = std::move(job).error();
    return base::Error{error.failure, base::display_path(file), 0, 0, "as a job: " + error.message};
  }
  auto plan = plan_of(run, *job);
  if (!plan.ok()) {
    base::Error error = std::move(plan).error();
    error.path = base::display_path(file);
    return error;
  }
  Import import{.trainer = "verl",
                .why = reading->why,
                .file = file,
                .files = reading->settings.tree.sources,
                .run = std::move(run),
                .text = std::move(text),
                .job = *std::move(job),
                .plan = *std::move(plan)};
  for (const std::string& each : *files)
    if (std::find(import.files.begin(), import.files.end(), each) == import.files.end()) import.files.push_back(each);
  return import;
}

std::string reading_words(const Import& import) {
  return fmt::format("{} is read as a configuration of {}: {}", import.files.front(), import.trainer, import.why);
}

std::string finding_words(const Import& import, const Finding& finding) {
  const auto source = static_cast<std::size_t>(finding.place.source);
  std::string text = finding.key.empty() ? finding.what : fmt::format("{}: {}", finding.key, finding.what);
  if (finding.place.line > 0 && source < import.files.size())
    text += fmt::format(" ({}:{})", import.files[source], finding.place.line);
  return text;
}

}  // namespace dovetail::trainers
