#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <utility>

#include "answer/question/seconds.h"

namespace dovetail::cli {
namespace {

bool is_positional(const Flagged& flagged) { return !flagged.name.starts_with("-"); }

/// Sets whether the option is required, and the kind of value that --help shows. Positional options show none.
CLI::Option* finish(CLI::Option* option, const Flagged& flagged, std::string_view kind) {
  return option->required(flagged.required)->option_text(is_positional(flagged) ? " " : std::string(kind));
}

void add_list(CLI::App& command, const Flagged& flagged, std::string_view kind,
              const std::function<void(const std::vector<std::string>&)>& take) {
  CLI::Option* const option = command.add_option_function<std::vector<std::string>>(flagged.name, take, flagged.help);
  // Extra arguments are off, so that a list does not consume the positional argument after it.
  if (!is_positional(flagged)) option->allow_extra_args(false);
  finish(option, flagged, kind);
}

/// Adds an option whose value `read` parses. If `read` returns a message, the value is rejected with it.
void add_read(CLI::App& command, const Flagged& flagged, std::string_view kind,
              std::function<std::string(const std::string&)> read) {
  // The check below parses the value before any command runs. The function of the option does nothing.
  CLI::Option* const option =
      command.add_option_function<std::string>(flagged.name, [](const std::string&) {}, flagged.help);
  finish(option->check(CLI::Validator(std::move(read), "")), flagged, kind);
}

}  // namespace

void add_option(CLI::App& command, const Flagged& flagged, answer::Flag /*kind*/, bool& value) {
  command.add_flag(flagged.name, value, flagged.help);
}

void add_option(CLI::App& command, const Flagged& flagged, answer::File kind, std::function<void(answer::Input)> take) {
  const auto take_path = [take = std::move(take)](const std::string& path) { take({path}); };
  finish(command.add_option_function<std::string>(flagged.name, take_path, flagged.help), flagged, kind.kind);
}

void add_option(CLI::App& command, const Flagged& flagged, answer::File kind, std::vector<answer::Input>& values) {
  add_list(command, flagged, kind.kind, [&values](const std::vector<std::string>& paths) {
    values.clear();
    for (const std::string& path : paths) values.push_back({path});
  });
}

void add_option(CLI::App& command, const Flagged& flagged, answer::JobFile kind, answer::JobInput& value) {
  add_option(command, flagged, answer::File{"JOB"}, [&value](answer::Input input) {
    value.path = std::move(input.path);
    value.text = std::move(input.text);
  });
  if (kind.takes_arguments)
    add_option(command, {"ARGUMENT", "launch script arguments after '--', such as trainer.nnodes=2"},
               answer::String{"ARGUMENT"}, value.import.arguments);
  add_import_options(command, value.import);
  if (!kind.takes_lengths) return;
  add_option(command, {"--lengths", "response lengths from a run's log, or from a CSV or JSONL file"},
             answer::String{"FILE"}, [&value](std::string path) { value.lengths = std::move(path); });
}

void add_import_options(CLI::App& command, trainers::ImportOptions& import) {
  const auto text = [&command](const char* name, const char* what, const char* help, std::optional<std::string>& to) {
    add_option(command, {name, help}, answer::String{what},
               [&to](std::string value_text) { to = std::move(value_text); });
  };
  text("--gpu", "GPU", "GPU type for a trainer's configuration (default: H100-80)", import.gpu);
  text("--cluster", "CLUSTER", "cluster override: [NODESx]GPUSxGPU, or a file with `cluster`", import.cluster);
  add_option(command, {"--model", "model override, such as actor=NAME or critic=FOLDER (repeatable)"},
             answer::String{"ROLE=MODEL"}, import.models);
  add_option(command, {"--env", "environment variable for a launch script (repeatable)"}, answer::String{"NAME=VALUE"},
             import.environment);
  text("--root", "FOLDER", "topmost folder to read from (default: the file's repository or folder)", import.root);
  text("--prompt-length", "LENGTHS", "prompt lengths: TOKENS, mean=120,p90=400 or file=FILE (default: cap)",
       import.prompt_length);
  text("--response-length", "LENGTHS", "response lengths, as for --prompt-length (default: cap)",
       import.response_length);
}

void add_option(CLI::App& command, const Flagged& flagged, answer::String kind, std::function<void(std::string)> take) {
  const auto take_text = [take = std::move(take)](const std::string& text) { take(text); };
  finish(command.add_option_function<std::string>(flagged.name, take_text, flagged.help), flagged, kind.kind);
}

void add_option(CLI::App& command, const Flagged& flagged, answer::String kind, std::vector<std::string>& values) {
  add_list(command, flagged, kind.kind, [&values](const std::vector<std::string>& texts) { values = texts; });
}

void add_option(CLI::App& command, const Flagged& flagged, answer::Count kind,
                std::function<void(std::uint64_t)> take) {
  add_read(command, flagged, "N", [kind, take = std::move(take)](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end || number < kind.min || number > kind.max)
      return fmt::format("must be an integer from {1} to {2}, got '{0}'", text, kind.min, kind.max);
    take(number);
    return {};
  });
}

void add_option(CLI::App& command, const Flagged& flagged, answer::Seconds /*kind*/, std::optional<double>& value) {
  add_read(command, flagged, "TIME", [&value](const std::string& text) -> std::string {
    auto parsed = answer::parse_seconds(text);
    if (!parsed) return parsed.error().message;
    value = *parsed;
    return {};
  });
}

void add_option(CLI::App& command, const Flagged& flagged, answer::Amount /*kind*/,
                std::optional<base::Memory>& value) {
  add_read(command, flagged, "AMOUNT", [&value](const std::string& text) -> std::string {
    auto memory = base::parse_memory(text);
    if (!memory) return fmt::format("'{}' {}", text, memory.error().message);
    value = *memory;
    return {};
  });
}

void add_choice(CLI::App& command, const Flagged& flagged, const std::string& choices,
                std::function<void(const std::string&)> take) {
  add_read(command, flagged, choices, [choices, take = std::move(take)](const std::string& text) -> std::string {
    const std::vector<std::string> accepted = split(choices, '|');
    if (std::find(accepted.begin(), accepted.end(), text) != accepted.end()) {
      take(text);
      return {};
    }
    const std::vector<std::string> but_last(accepted.begin(), accepted.end() - 1);
    return fmt::format("must be {1} or {2}, got '{0}'", text, fmt::join(but_last, ", "), accepted.back());
  });
}

}  // namespace dovetail::cli
