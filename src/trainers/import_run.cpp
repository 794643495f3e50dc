#include "trainers/import_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "base/document.h"
#include "base/file.h"
#include "plan/job_file.h"
#include "syntax/files.h"
#include "syntax/shell/launch.h"
#include "trainers/areal/areal.h"
#include "trainers/import/imported_run.h"
#include "trainers/logs/logged_configuration.h"
#include "trainers/nemo_rl/nemo_rl.h"
#include "trainers/openrlhf/openrlhf.h"
#include "trainers/roll/roll.h"
#include "trainers/slime/slime.h"
#include "trainers/verl/verl.h"

namespace dovetail::trainers {
namespace {

namespace fs = std::filesystem;

/// All readers. A file is read by the first whose configuration it looks like.
const std::array<const TrainerReader*, 6> readers{&verl_reader, &nemo_rl_reader, &openrlhf_reader,
                                                  &roll_reader, &areal_reader,   &slime_reader};

/// Returns the trainer named before a path ("verl:run.sh"), or null.
const TrainerReader* named_reader(std::string_view path) {
  for (const TrainerReader* const reader : readers)
    if (path.starts_with(reader->name) && path.substr(reader->name.size()).starts_with(':')) return reader;
  return nullptr;
}

/// A trainer that is not supported, and text that only its commands or configurations contain. Commands are words, each
/// between spaces.
struct OtherTrainer {
  std::string_view name;
  std::string_view text;
};
constexpr std::array other_trainers{OtherTrainer{"rLLM", " rllm/"},
                                    OtherTrainer{"rLLM", " rllm."},
                                    OtherTrainer{"EasyR1", "verl.trainer.main config="},
                                    OtherTrainer{"EasyR1", "micro_batch_size_per_device_for_update:"},
                                    OtherTrainer{"SkyRL", "skyrl_train"},
                                    OtherTrainer{"SkyRL", "skyrl."},
                                    OtherTrainer{"open-r1", "open_r1"},
                                    OtherTrainer{"LLaMA-Factory", "llamafactory"},
                                    OtherTrainer{"LLaMA-Factory", "finetuning_type:"},
                                    OtherTrainer{"TRL", " trl "},
                                    OtherTrainer{"prime-rl", "prime_rl"},
                                    OtherTrainer{"prime-rl", "[orchestrator"}};

/// Returns a remark about the unsupported trainer to which the text belongs: " (it looks like rLLM, which is not
/// supported)", or an empty string.
std::string remark_on(std::string_view text) {
  for (const OtherTrainer& other : other_trainers)
    if (text.find(other.text) != std::string_view::npos)
      return fmt::format(" (it looks like {}, which is not supported)", other.name);
  return "";
}

std::string names_of_trainers() {
  std::vector<std::string_view> names;
  for (const TrainerReader* const reader : readers) names.push_back(reader->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string names_of_configurations() {
  std::string names;
  for (const TrainerReader* const reader : readers)
    if (reader->of_configuration != nullptr) names += fmt::format("{}{}", names.empty() ? "" : ", ", reader->name);
  return names;
}

bool prints_own_configuration(const TrainerReader* reader, std::string_view content) {
  return !reader->printed_by.empty() && has_printed_configuration(content, reader->printed_by);
}

bool looks_like(const TrainerReader* reader, std::string_view content) {
  return reader->is_configuration != nullptr && reader->is_configuration(content);
}

/// The trainer of an entry point.
struct EntryReader {
  const TrainerReader* reader = nullptr;  ///< null: not a trainer's program
  bool sure = false;                      ///< recognized by is_entry, not only by may_be_entry
};

EntryReader reader_of(const syntax::EntryPoint& entry, const TrainerReader* named) {
  for (const bool sure : {true, false})
    for (const TrainerReader* const reader : readers) {
      const auto is_its = sure ? reader->is_entry : reader->may_be_entry;
      if ((named == nullptr || reader == named) && is_its != nullptr && is_its(entry))
        return {.reader = reader, .sure = sure};
    }
  return {};
}

/// Returns a test for programs that certainly belong to a trainer.
syntax::TrainerTest trainer_test(const TrainerReader* named) {
  return [named](const syntax::EntryPoint& entry) { return reader_of(entry, named).sure; };
}

bool is_script(const std::string& path, std::string_view content) {
  return content.starts_with("#!") || path.ends_with(".sh") || path.ends_with(".bash");
}

base::Result<std::map<std::string, std::string>> environment_of(const ImportOptions& options) {
  std::map<std::string, std::string> environment;
  for (const std::string& assignment : options.environment) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
      return base::bad_input(
          fmt::format("--env {} is not an assignment; accepted: NAME=VALUE", base::quote(assignment)));
    environment[assignment.substr(0, equals)] = assignment.substr(equals + 1);
  }
  return environment;
}

/// Returns the folder that contains all files to be read.
std::string root_of(const std::string& file, const ImportOptions& options) {
  if (options.root) return *options.root;
  std::error_code fault;
  const fs::path folder = fs::absolute(fs::path(file), fault).parent_path();
  if (fault) return syntax::folder_of(file);
  for (fs::path above = folder; !above.empty(); above = above.parent_path()) {
    if (fs::exists(above / ".git", fault)) return above.string();
    if (above == above.parent_path()) break;
  }
  return folder.string();
}

/// Returns a reader of files below `root`. Paths are relative to `root`. Each file read is added to `files`.
syntax::FileReader keeping_reader(const std::string& root, const std::shared_ptr<std::vector<std::string>>& files) {
  return [read = syntax::read_below(root), root, files](const std::string& path) -> base::Result<std::string> {
    const std::string full_path = syntax::join_path(root, path);
    auto content = read(full_path);
    if (content.ok() && std::find(files->begin(), files->end(), path) == files->end()) files->push_back(path);
    return content;
  };
}

/// A file that does not exist where a script expects it, and the file read instead.
struct MovedFile {
  std::string named;
  std::string read;

  bool operator==(const MovedFile&) const = default;
};

/// Returns a reader for scripts, whose paths may be those of another machine. If a file is missing, drops leading
/// folders of its path one by one until a file exists or only one folder is left. A file found that way is added to
/// `moved`.
syntax::FileReader moving_reader(const syntax::FileReader& read, const std::shared_ptr<std::vector<MovedFile>>& moved) {
  return [read, moved](const std::string& path) -> base::Result<std::string> {
    auto content = read(path);
    if (content.ok()) return content;
    std::vector<fs::path> names;
    for (const fs::path& name : fs::path(path).lexically_normal()) names.push_back(name);
    constexpr std::size_t max_names = 8;
    for (std::size_t first = names.size() > max_names ? names.size() - max_names : 1; first + 1 < names.size();
         ++first) {
      fs::path end;
      for (std::size_t i = first; i < names.size(); ++i) end /= names[i];
      auto found = read(end.string());
      if (!found.ok()) continue;
      const MovedFile file{.named = path, .read = end.string()};
      if (std::find(moved->begin(), moved->end(), file) == moved->end()) moved->push_back(file);
      return found;
    }
    return content;
  };
}

/// Adds a note to the error of a launch if an included file, which may set the missing value, was not read.
base::Error with_unread(base::Error error, const syntax::ScriptOutcome& outcome) {
  if (outcome.unread.empty()) return error;
  const syntax::UnreadFile& unread = outcome.unread.front();
  error.message +=
      fmt::format("; note: {}, included on line {} of {}, was not read: {}", describe(unread.name), unread.place.line,
                  outcome.sources[static_cast<std::size_t>(unread.place.source)], unread.reason);
  return error;
}

struct Reading {
  const TrainerReader* reader = nullptr;
  std::string why;
  ReadRun run;
  std::optional<syntax::Launch> launch = std::nullopt;  ///< for a launch script
};

/// Returns an Error if the user's arguments do not change the launch.
base::Status check_arguments_used(const syntax::ScriptRequest& script, const syntax::TrainerTest& is_trainer,
                                  const syntax::Launch& launch) {
  if (script.arguments.empty()) return {};
  syntax::ScriptRequest bare = script;
  bare.arguments.clear();
  auto without = syntax::evaluate_script(bare);
  if (!without.ok()) return {};
  const auto launches = syntax::find_launches(*without, bare, is_trainer);
  const auto differs = [&launch](const syntax::Launch& other) { return !is_same(launch, other); };
  if (!launches.ok() || std::ranges::all_of(*launches, differs)) return {};
  return base::bad_input(
      fmt::format("{} does not use its arguments, so {} would change nothing; accepted: a script whose command ends "
                  "with \"$@\"",
                  script.path, base::quote(script.arguments.front())));
}

base::Result<Reading> read_script(const ConfigurationFile& file, const std::string& root, const TrainerReader* named,
                                  const RunRequest& request) {
  const auto moved = std::make_shared<std::vector<MovedFile>>();
  const syntax::ScriptRequest script{.path = file.name,
                                     .content = file.content,
                                     .directory = root,
                                     .environment = request.environment,
                                     .arguments = request.options.arguments,
                                     .read = moving_reader(request.read, moved)};
  DOVETAIL_TRY(syntax::ScriptOutcome outcome, syntax::evaluate_script(script));
  const auto is_trainer = [named](const syntax::EntryPoint& entry) {
    return reader_of(entry, named).reader != nullptr;
  };
  DOVETAIL_TRY(std::vector<syntax::Launch> launches, syntax::find_launches(outcome, script, is_trainer));
  const auto is_sure = [named](const syntax::Launch& launch) { return reader_of(launch.entry, named).sure; };
  // If one program is certainly a trainer, the uncertain ones are assumed to prepare data or to evaluate.
  if (std::any_of(launches.begin(), launches.end(), is_sure)) std::erase_if(launches, std::not_fn(is_sure));
  if (launches.empty() && !outcome.end) {
    std::string commands = " ";
    for (const syntax::ReachedCommand& command : outcome.commands)
      for (const syntax::Word& word : command.words) commands += describe(word.text) + " ";
    return syntax::place_error(
        outcome.sources, {.source = 0, .line = 1, .column = 1},
        fmt::format("the script starts no supported trainer{}; accepted: a script that starts one of {}",
                    remark_on(commands), names_of_trainers()));
  }
  DOVETAIL_TRY(syntax::Launch launch, syntax::only_launch(outcome, launches));
  DOVETAIL_CHECK(check_arguments_used(script, is_trainer, launch));
  const TrainerReader* const reader = reader_of(launch.entry, named).reader;
  auto run = reader->of_launch(launch, outcome.sources, request);
  if (!run.ok()) return with_unread(std::move(run).error(), outcome);
  for (const MovedFile& each : *moved)
    run->run.assumed.push_back({"", fmt::format("{} was read instead of {}", each.read, each.named)});
  return Reading{.reader = reader,
                 .why = fmt::format("it starts {} on line {}", launch.entry.name, launch.place.line),
                 .run = *std::move(run),
                 .launch = std::move(launch)};
}

/// Reads the configuration printed at the start of a log.
base::Result<Reading> read_printed(ConfigurationFile file, const TrainerReader* reader, const RunRequest& request) {
  DOVETAIL_TRY(file.printed, read_printed_configuration(file.content, file.name, reader->printed_by));
  const int line = file.printed->place.line;
  DOVETAIL_TRY(ReadRun run, reader->of_configuration(file, request));
  return Reading{.reader = reader,
                 .why = fmt::format("the log contains its configuration, from line {}", line),
                 .run = std::move(run)};
}

/// Reads the command in a log.
base::Result<Reading> read_command(const ConfigurationFile& file, const LoggedCommand& command, const std::string& root,
                                   const TrainerReader* named, const RunRequest& request) {
  DOVETAIL_TRY(Reading reading,
               read_script({.name = file.name, .path = file.path, .content = command.script}, root, named, request));
  reading.why = "the log contains the command that started the run: " + reading.why;
  if (!command.is_traced)
    reading.run.run.assumed.push_back(
        {"", "the text before the command is ignored, except for variables that it sets", {0, command.line, 1}});
  return reading;
}

base::Result<Reading> read_configuration(const ConfigurationFile& file, const std::string& root,
                                         const TrainerReader* named, const RunRequest& request) {
  for (const TrainerReader* const reader : readers)
    if ((named == nullptr || reader == named) && prints_own_configuration(reader, file.content))
      return read_printed(file, reader, request);
  const auto found = std::find_if(readers.begin(), readers.end(), [&](const TrainerReader* reader) {
    return named == nullptr ? looks_like(reader, file.content) : reader == named;
  });
  if (found == readers.end()) {
    if (const auto command = find_logged_command(file.content, trainer_test(named)))
      return read_command(file, *command, root, named, request);
    return base::Error{
        base::Failure::bad_input, file.name, 0, 0,
        fmt::format(
            "not a configuration of a supported trainer{}; accepted: configurations of {}, launch scripts of {}, and "
            "logs with either",
            remark_on(file.content), names_of_configurations(), names_of_trainers())};
  }
  if ((*found)->of_configuration == nullptr)
    return base::Error{base::Failure::bad_input, file.name, 0, 0,
                       fmt::format("{} is configured by flags; accepted: a launch script, whose name ends with .sh or "
                                   ".bash, or which starts with #!",
                                   (*found)->name)};
  DOVETAIL_TRY(ReadRun run, (*found)->of_configuration(file, request));
  return Reading{.reader = *found, .why = fmt::format("it has {}", (*found)->recognized_by), .run = std::move(run)};
}

/// Returns the path of a file relative to `root`, or the path itself if the file is outside.
std::string path_from(const std::string& root, const std::string& file) {
  std::error_code fault;
  const fs::path full_path = fs::weakly_canonical(fs::path(file), fault);
  if (fault) return file;
  const fs::path folder = fs::weakly_canonical(fs::path(root), fault);
  const fs::path below = fault ? fs::path() : full_path.lexically_relative(folder);
  return below.empty() || *below.begin() == ".." ? file : below.string();
}

std::string job_name(const std::string& file) {
  const std::string name = syntax::name_of(file, "");
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

}  // namespace

bool is_foreign(const std::string& path, std::string_view content) {
  if (named_reader(path) != nullptr || is_script(path, content)) return true;
  if (content.find("dovetail/job@1") != std::string_view::npos) return false;
  return std::any_of(readers.begin(), readers.end(),
                     [content](const TrainerReader* reader) {
                       return looks_like(reader, content) || prints_own_configuration(reader, content);
                     }) ||
         find_logged_command(content, trainer_test(nullptr)).has_value();
}

std::string file_of(const std::string& path) {
  const TrainerReader* const named = named_reader(path);
  return named == nullptr ? path : path.substr(named->name.size() + 1);
}

base::Result<Import> import_run(const std::string& path, const std::string& content, const ImportOptions& options,
                                const std::string& hub_cache) {
  const std::string file = file_of(path);
  const std::string root = root_of(file, options);
  const auto files = std::make_shared<std::vector<std::string>>();
  DOVETAIL_TRY(const auto environment, environment_of(options));
  const RunRequest request{.options = options,
                           .read = keeping_reader(root, files),
                           .hub_cache = hub_cache,
                           .read_cached = hub_cache.empty() ? syntax::FileReader() : keeping_reader(hub_cache, files),
                           .name = job_name(file),
                           .environment = environment};
  const ConfigurationFile read{.name = base::display_path(file), .path = path_from(root, file), .content = content};
  DOVETAIL_TRY(Reading reading, is_script(file, content) ? read_script(read, root, named_reader(path), request)
                                                         : read_configuration(read, root, named_reader(path), request));
  ImportedRun& run = reading.run.run;
  assume_spreads(options, run);
  DOVETAIL_TRY(std::string text, job_text(run, options));
  auto job = plan::parse_job(text, file);
  if (!job.ok()) {
    base::Error error = std::move(job).error();
    // Errors in files that the job names, such as lengths, keep their place. Places in the job's text mean nothing to
    // the user.
    if (!error.path.empty() && error.path != file) return error;
    return base::Error{error.failure, base::display_path(file), 0, 0, "cannot be converted to a job: " + error.message};
  }
  DOVETAIL_CHECK(check_given_lengths(run, options, job->workload));
  auto plan = plan_of(run, *job);
  if (!plan.ok()) {
    base::Error error = std::move(plan).error();
    error.path = base::display_path(file);
    return error;
  }
  job->not_modelled = plan->not_modelled;
  Import import{.trainer = std::string(reading.reader->name),
                .why = std::move(reading.why),
                .file = file,
                .files = std::move(reading.run.sources),
                .run = std::move(run),
                .text = std::move(text),
                .job = *std::move(job),
                .plan = *std::move(plan),
                .launch = std::move(reading.launch),
                .settings = std::move(reading.run.settings)};
  for (const std::string& each : *files)
    if (std::find(import.files.begin(), import.files.end(), each) == import.files.end()) import.files.push_back(each);
  return import;
}

std::string reading_text(const Import& import) {
  return fmt::format("{} is read as a configuration of {}: {}", import.files.front(), import.trainer, import.why);
}

std::string finding_text(const Import& import, const Finding& finding) {
  const auto source = static_cast<std::size_t>(finding.place.source);
  std::string text = finding.key.empty() ? finding.what : fmt::format("{}: {}", finding.key, finding.what);
  if (finding.place.line > 0 && source < import.files.size())
    text += fmt::format(" ({}:{})", import.files[source], finding.place.line);
  return text;
}

}  // namespace dovetail::trainers
