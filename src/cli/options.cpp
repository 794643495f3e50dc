#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <utility>

#include "answer/question/seconds.h"

namespace dovetail::cli {
namespace {

bool is_positional(const Flagged& flagged) { return !flagged.name.starts_with("-"); }

/// Of what --help shows for its value: nothing behind one whose name says it.
CLI::Option* finish(CLI::Option* option, const Flagged& flagged, std::string_view kind) {
  return option->required(flagged.required)->option_text(is_positional(flagged) ? " " : std::string(kind));
}

void add_list(CLI::App& command, const Flagged& flagged, std::string_view kind,
              const std::function<void(const std::vector<std::string>&)>& take) {
  CLI::Option* const option = command.add_option_function<std::vector<std::string>>(flagged.name, take, flagged.help);
  // Without extra arguments: a list must not swallow the positional argument that follows it.
  if (!is_positional(flagged)) option->allow_extra_args(false);
  finish(option, flagged, kind);
}

/// An option whose text `read` takes; the message that it gives refuses it.
void add_read(CLI::App& command, const Flagged& flagged, std::string_view kind,
              std::function<std::string(const std::string&)> read) {
  // The check runs before any command does; the callback has nothing left to do.
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
  trainers::ImportOptions& import = value.import;
  const auto text = [&command](const char* name, const char* what, const char* help, std::optional<std::string>& to) {
    add_option(command, {name, help}, answer::Words{what}, [&to](std::string said) { to = std::move(said); });
  };
  if (kind.takes_arguments)
    add_option(command, {"ARGUMENT", "of a launch script, behind '--': its \"$@\", as trainer.nnodes=2"},
               answer::Words{"ARGUMENT"}, import.arguments);
  text("--gpu", "GPU", "of a trainer's configuration: the GPUs of its nodes (default H100-80)", import.gpu);
  text("--cluster", "CLUSTER", "in place of what it says: [NODESx]GPUSxGPU, or a file with a `cluster`",
       import.cluster);
  add_option(command, {"--model", "in place of what it says: actor=NAME, critic=FOLDER (may be given several times)"},
             answer::Words{"ROLE=MODEL"}, import.models);
  add_option(command, {"--env", "a variable of a launch script's environment (may be given several times)"},
             answer::Words{"NAME=VALUE"}, import.environment);
  text("--root", "FOLDER", "nothing above it is read (default: that of the repository which the file is in)",
       import.root);
  text("--prompt-length", "LENGTHS",
       "tokens, figures as mean=120,p90=400, or file=lengths.csv (default: all at the cap)", import.prompt_length);
  text("--response-length", "LENGTHS", "likewise of responses: mean=900,p90=2000", import.response_length);
  if (!kind.takes_lengths) return;
  text("--lengths", "FILE", "take them of the log of a run, or of a CSV or JSONL file of lengths of responses",
       value.lengths);
}

void add_option(CLI::App& command, const Flagged& flagged, answer::Words kind, std::function<void(std::string)> take) {
  const auto take_text = [take = std::move(take)](const std::string& text) { take(text); };
  finish(command.add_option_function<std::string>(flagged.name, take_text, flagged.help), flagged, kind.kind);
}

void add_option(CLI::App& command, const Flagged& flagged, answer::Words kind, std::vector<std::string>& values) {
  add_list(command, flagged, kind.kind, [&values](const std::vector<std::string>& texts) { values = texts; });
}

void add_option(CLI::App& command, const Flagged& flagged, answer::Count kind,
                std::function<void(std::uint64_t)> take) {
  add_read(command, flagged, "N", [kind, take = std::move(take)](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end || number < kind.min || number > kind.max)
      return fmt::format("'{}' is no whole number from {} to {}", text, kind.min, kind.max);
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
    return fmt::format("'{}' is not {} or {}", text, fmt::join(but_last, ", "), accepted.back());
  });
}

}  // namespace dovetail::cli
