#include "syntax/shell/launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/document.h"
#include "syntax/override.h"
#include "syntax/shell/run.h"

namespace dovetail::syntax {
namespace {

/// Maximum nesting of scripts that start scripts.
constexpr int max_depth_of_scripts = 8;
/// Maximum number of scripts started in total.
constexpr int max_scripts = 32;
/// Flag that trainers use for their configuration file.
constexpr std::string_view configuration_flag = "--config";

/// Commands that start another command, given in their arguments.
constexpr std::array<std::string_view, 36> launchers{
    "uv",      "ray",    "srun",     "sbatch", "torchrun", "accelerate", "deepspeed",   "nohup",   "env",
    "exec",    "time",   "sudo",     "conda",  "mamba",    "micromamba", "poetry",      "numactl", "taskset",
    "timeout", "stdbuf", "setsid",   "mpirun", "mpiexec",  "apptainer",  "singularity", "docker",  "podman",
    "nsys",    "ncu",    "unbuffer", "nice",   "ionice",   "chrt",       "xargs",       "script",  "enroot"};
/// Python modules that start a script or module given in their arguments.
constexpr std::array<std::string_view, 6> starting_modules{"torch.distributed.run",
                                                           "torch.distributed.launch",
                                                           "accelerate.commands.launch",
                                                           "deepspeed.launcher.runner",
                                                           "debugpy",
                                                           "viztracer"};

std::string_view known_text(const std::vector<Word>& words, std::size_t at) {
  return at < words.size() && is_known(words[at].text) ? characters(words[at].text) : std::string_view();
}

bool is_launcher(std::string_view word) {
  const std::string name = name_of(word, {});
  return std::find(launchers.begin(), launchers.end(), name) != launchers.end();
}

bool is_shell(std::string_view word) {
  const std::string name = name_of(word, {});
  return name == "bash" || name == "sh" || name == "zsh";
}

/// Returns whether a word is a Python interpreter: python, python3, python3.11.
bool is_python(std::string_view word) {
  const std::string name = name_of(word, {});
  if (!name.starts_with("python")) return false;
  const std::string_view version = std::string_view(name).substr(6);
  return version.empty() || version == "2" || version == "3" || version.starts_with("3.");
}

/// State of a search for launches.
struct LaunchSearch {
  ScriptOutcome& outcome;
  const ScriptRequest& request;
  const TrainerTest& is_trainer;
  std::vector<Launch>& launches;
  int depth = 0;
  int scripts = 0;
  std::size_t flag_end = 0;  ///< end_of_flag() of the current command
};

base::Status search_commands(LaunchSearch& search, const std::vector<ReachedCommand>& commands);

/// Returns the index after the last --config, even if its value is unknown, or 0 without the flag.
std::size_t end_of_flag(const std::vector<Word>& words) {
  for (std::size_t end = words.size(); end > 0; --end) {
    const std::string text = describe(words[end - 1].text);
    if (text == configuration_flag || text.starts_with(std::string(configuration_flag) + "=")) return end;
  }
  return 0;
}

/// Returns the entry point named by the word at `at`.
EntryPoint entry_at(const LaunchSearch& search, const ReachedCommand& command, std::size_t at, bool is_module) {
  return {.name = std::string(known_text(command.words, at)),
          .is_module = is_module,
          .has_configuration = search.flag_end > at + 1,
          .has_overrides = at + 1 < command.words.size() && is_override(command.words[at + 1])};
}

void add_launch(LaunchSearch& search, const ReachedCommand& command, std::size_t at, bool is_module) {
  Launch launch;
  launch.entry = entry_at(search, command, at, is_module);
  launch.arguments.assign(command.words.begin() + static_cast<std::ptrdiff_t>(at) + 1, command.words.end());
  launch.environment = command.environment;
  launch.directory = command.directory;
  launch.place = command.words[at].place;
  launch.condition = command.condition ? command.condition : command.words[at].condition;
  search.launches.push_back(std::move(launch));
}

constexpr std::string_view placeholder = "DOVETAIL_UNKNOWN_";

/// Returns `text` as a script in which an unset variable replaces each unknown piece.
std::string with_placeholders(const Text& text) {
  std::string content;
  for (std::size_t i = 0; i < text.pieces.size(); ++i)
    content += text.pieces[i].unknown ? fmt::format("${{{}{}}}", placeholder, i) : text.pieces[i].text;
  return content;
}

/// Replaces the value of such a variable, which is unknown, by the unknown piece that it represents.
void restore(std::optional<Unknown>& unknown, const Text& text) {
  if (!unknown || !unknown->variable.starts_with(placeholder)) return;
  const std::string_view digits = std::string_view(unknown->variable).substr(placeholder.size());
  std::size_t index = text.pieces.size();
  std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (index >= text.pieces.size() || !text.pieces[index].unknown) return;
  const bool many = unknown->many;
  unknown = text.pieces[index].unknown;
  unknown->many = unknown->many || many;
}

void restore(ReachedCommand& command, const Text& text) {
  restore(command.condition, text);
  for (Word& word : command.words) {
    restore(word.condition, text);
    for (TextPiece& piece : word.text.pieces) restore(piece.unknown, text);
  }
  for (auto& [name, value] : command.environment)
    for (TextPiece& piece : value.pieces) restore(piece.unknown, text);
}

/// Evaluates a script that the script starts.
base::Status search_script(LaunchSearch& search, const ReachedCommand& command, std::string path, const Text& content,
                           std::size_t first_argument, const Place& begin) {
  if (++search.scripts > max_scripts) {
    const Place& place = command.words.front().place;
    return base::Error{
        .failure = base::Failure::bad_input,
        .path = search.outcome.sources[static_cast<std::size_t>(place.source)],
        .line = place.line,
        .column = place.column,
        .message = fmt::format("the script starts too many other scripts; accepted: at most {}", max_scripts)};
  }
  ScriptRequest inner;
  inner.path = std::move(path);
  inner.content = with_placeholders(content);
  if (is_known(command.directory)) inner.directory = characters(command.directory);
  inner.environment = search.request.environment;
  for (const auto& [name, text] : command.environment)
    if (is_known(text)) inner.environment[name] = characters(text);
  for (std::size_t i = first_argument; i < command.words.size(); ++i)
    inner.arguments.push_back(describe(command.words[i].text));
  inner.read = search.request.read;
  inner.begin = begin;
  inner.before = search.outcome.cost;
  DOVETAIL_TRY(ScriptOutcome outcome, evaluate_script(inner));
  search.outcome.cost = outcome.cost;
  std::vector<std::string>& sources = search.outcome.sources;
  for (std::size_t i = sources.size(); i < outcome.sources.size(); ++i) sources.push_back(outcome.sources[i]);
  search.outcome.unread.insert(search.outcome.unread.end(), outcome.unread.begin(), outcome.unread.end());
  for (ReachedCommand& reached : outcome.commands) {
    restore(reached, content);
    if (command.condition) reached.condition = command.condition;
  }
  ++search.depth;
  const base::Status status = search_commands(search, outcome.commands);
  --search.depth;
  return status;
}

/// Searches the script of `bash -c TEXT` or `bash FILE`.
base::Status search_shell(LaunchSearch& search, const ReachedCommand& command, std::size_t at) {
  if (search.depth >= max_depth_of_scripts) return {};
  for (std::size_t i = at + 1; i < command.words.size(); ++i) {
    const Word& word = command.words[i];
    const std::string_view flag = known_text(command.words, i);
    if (flag.size() > 1 && flag[0] == '-' && flag[1] != '-' && flag.ends_with('c')) {
      if (i + 1 >= command.words.size()) return {};
      const Word& text = command.words[i + 1];
      const std::string path = search.outcome.sources[static_cast<std::size_t>(text.place.source)];
      // The text is a separate source that keeps its places in the file.
      Place begin = text.place;
      begin.source = static_cast<int>(search.outcome.sources.size());
      return search_script(search, command, path, text.text, i + 3, begin);
    }
    if (flag.starts_with("-")) continue;
    if (!is_known(word.text) || !search.request.read) return {};
    std::string path(flag);
    if (!path.starts_with('/') && is_known(command.directory)) path = join_path(characters(command.directory), path);
    base::Result<std::string> content = search.request.read(path);
    if (!content.ok()) {
      search.outcome.unread.push_back({.name = word.text, .place = word.place, .reason = content.error().message});
      return {};
    }
    const int source = static_cast<int>(search.outcome.sources.size());
    return search_script(search, command, path, text_of(*content), i + 1, {.source = source, .line = 1, .column = 1});
  }
  return {};
}

/// Searches the arguments of Python. Returns true if it runs a trainer. `continues` is set if it runs a launcher, whose
/// arguments after `at` must be searched.
bool search_python(LaunchSearch& search, const ReachedCommand& command, std::size_t& at, bool& continues) {
  continues = false;
  for (++at; at < command.words.size(); ++at) {
    const std::string_view word = known_text(command.words, at);
    if (word == "-c") return false;
    if (word == "-W" || word == "-X") {
      ++at;
      continue;
    }
    const bool is_module = word == "-m" || word == "--module";
    if (!is_module && word.starts_with("-")) continue;
    if (is_module) ++at;
    const std::string name(known_text(command.words, at));
    if (search.is_trainer(entry_at(search, command, at, is_module))) {
      add_launch(search, command, at, is_module);
      return true;
    }
    continues =
        is_module && std::find(starting_modules.begin(), starting_modules.end(), name) != starting_modules.end();
    return false;
  }
  return false;
}

base::Status search_command(LaunchSearch& search, const ReachedCommand& command) {
  bool starts = true;
  search.flag_end = end_of_flag(command.words);
  for (std::size_t at = 0; at < command.words.size(); ++at) {
    const std::string_view word = known_text(command.words, at);
    if (starts && is_shell(word)) return search_shell(search, command, at);
    if (starts && is_python(word)) {
      if (search_python(search, command, at, starts) || !starts) return {};
      continue;
    }
    if (at == 0 && !is_launcher(word) && is_known(command.words[0].text)) {
      if (search.is_trainer(entry_at(search, command, at, false))) add_launch(search, command, at, false);
      return {};
    }
    const bool is_module = (word == "-m" || word == "--module") && at + 1 < command.words.size();
    const std::size_t named = is_module ? at + 1 : at;
    if (known_text(command.words, named).empty() || !search.is_trainer(entry_at(search, command, named, is_module)))
      continue;
    add_launch(search, command, named, is_module);
    return {};
  }
  return {};
}

base::Status search_commands(LaunchSearch& search, const std::vector<ReachedCommand>& commands) {
  for (const ReachedCommand& command : commands) DOVETAIL_CHECK(search_command(search, command));
  return {};
}

base::Error at_place(const ScriptOutcome& outcome, const Place& place, std::string message) {
  return {.failure = base::Failure::bad_input,
          .path = outcome.sources[static_cast<std::size_t>(place.source)],
          .line = place.line,
          .column = place.column,
          .message = std::move(message)};
}

}  // namespace

bool is_same(const Launch& one, const Launch& other) {
  const auto same = [](const Word& a, const Word& b) { return a.text == b.text && a.condition == b.condition; };
  return one.entry.name == other.entry.name &&
         std::equal(one.arguments.begin(), one.arguments.end(), other.arguments.begin(), other.arguments.end(), same);
}

base::Result<std::vector<Launch>> find_launches(ScriptOutcome& outcome, const ScriptRequest& request,
                                                const TrainerTest& is_trainer) {
  std::vector<Launch> launches;
  LaunchSearch search{.outcome = outcome, .request = request, .is_trainer = is_trainer, .launches = launches};
  DOVETAIL_CHECK(search_commands(search, outcome.commands));
  return launches;
}

base::Result<Launch> only_launch(const ScriptOutcome& outcome, const std::vector<Launch>& launches) {
  if (launches.empty()) {
    const Place place = outcome.end ? outcome.end->place : Place{.source = 0, .line = 1, .column = 1};
    return at_place(outcome, place,
                    fmt::format("{}; accepted: a script that starts a supported trainer",
                                outcome.end ? outcome.end->reason + " before it starts a trainer"
                                            : "the script starts no trainer"));
  }
  std::vector<Launch> sure;
  std::copy_if(launches.begin(), launches.end(), std::back_inserter(sure),
               [](const Launch& launch) { return !launch.condition; });
  if (sure.empty() && launches.front().condition) {
    base::Error error = unknown_error(outcome.sources, *launches.front().condition);
    error.message = "whether the trainer starts depends on an unknown value: " + error.message;
    return error;
  }
  for (const Launch& launch : sure)
    if (!is_same(launch, sure.front()))
      return at_place(outcome, launch.place,
                      fmt::format("the script also starts a different training run at line {}; accepted: one run",
                                  sure.front().place.line));
  return sure.front();
}

}  // namespace dovetail::syntax
