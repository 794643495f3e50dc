// What a request is about: a document in a file, or one that the asker holds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "measure/measured_lengths.h"
#include "trainers/import/options.h"

namespace dovetail::answer {

/// A document.
struct Input {
  std::string path;  ///< "-" for standard input; what messages call it, and what the files that it names are beside
  std::optional<std::string> text = std::nullopt;  ///< what it holds; nothing: what the file at `path` holds

  bool operator==(const Input&) const = default;
};

/// Lengths that a log says.
struct LengthsLogged {
  std::string name;  ///< of the log
  std::optional<measure::LoggedLengths> prompts;
  std::optional<measure::LoggedLengths> responses;

  bool operator==(const LengthsLogged&) const = default;
};

/// A document that a job is read from: a job file, or the configuration of a trainer with what is said beside it.
struct JobInput : Input {
  JobInput() = default;
  JobInput(Input input) : Input(std::move(input)) {}
  JobInput(std::string path_of, std::optional<std::string> held = std::nullopt)
      : Input{std::move(path_of), std::move(held)} {}

  trainers::ImportOptions import;      ///< of a trainer's configuration
  std::optional<std::string> lengths;  ///< likewise: a log, or a file of lengths, of which they are taken
  /// What a log says of lengths, and its name: they are taken where nothing else is said of a trainer's configuration.
  std::optional<LengthsLogged> logged;

  bool operator==(const JobInput&) const = default;
};

/// Whether a request names a job at all.
inline bool is_given(const JobInput& job) { return !job.path.empty() || job.text.has_value(); }
/// Whether anything is said that only a trainer's configuration takes.
inline bool has_import_options(const JobInput& job) {
  return job.import != trainers::ImportOptions{} || job.lengths.has_value();
}

/// What it holds; an Error where the file cannot be read.
base::Result<std::string> read_input(const Input& input);

/// Whether it is read from standard input, which can be read once.
bool is_standard_input(const Input& input);

/// What messages call it.
std::string name_of(const Input& input);

/// An Error where more than one of the inputs is standard input.
base::Status check_standard_input(const std::vector<std::optional<Input>>& inputs);

/// `error` with the name of the input where it has none.
base::Error at_input(base::Error error, const Input& input);

}  // namespace dovetail::answer
