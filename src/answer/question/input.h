// Inputs of a request: documents in files or in memory.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "measure/measured.h"
#include "trainers/import/options.h"

namespace dovetail::answer {

/// A document.
struct Input {
  std::string path;  ///< shown in messages; "-" for standard input; relative paths in the document start at its folder
  std::optional<std::string> text = std::nullopt;  ///< content; nullopt: read from `path`

  bool operator==(const Input&) const = default;
};

/// Lengths found in a log.
struct LengthsLogged {
  std::string name;  ///< name of the log
  std::optional<measure::LoggedLengths> prompts;
  std::optional<measure::LoggedLengths> responses;

  bool operator==(const LengthsLogged&) const = default;
};

/// Document that describes a job: a job file, or a trainer's configuration with import options.
struct JobInput : Input {
  JobInput() = default;
  JobInput(Input input) : Input(std::move(input)) {}
  JobInput(std::string path_of, std::optional<std::string> held = std::nullopt)
      : Input{std::move(path_of), std::move(held)} {}

  trainers::ImportOptions import;      ///< only for a trainer's configuration
  std::optional<std::string> lengths;  ///< path of a log or table with lengths; only for a trainer's configuration
  /// Lengths from a log. Used for a trainer's configuration if no other lengths are given.
  std::optional<LengthsLogged> logged;

  bool operator==(const JobInput&) const = default;
};

/// Whether a job is given, by path or as text.
inline bool is_given(const JobInput& job) { return !job.path.empty() || job.text.has_value(); }
/// Whether any option is set that only a trainer's configuration accepts.
inline bool has_import_options(const JobInput& job) {
  return job.import != trainers::ImportOptions{} || job.lengths.has_value();
}

/// Returns the content; an Error if the file cannot be read.
base::Result<std::string> read_input(const Input& input);

/// Whether the input is standard input, which can be read only once.
bool is_standard_input(const Input& input);

/// Name of the input in messages.
std::string name_of(const Input& input);

/// Checks that at most one of the inputs is standard input.
base::Status check_standard_input(const std::vector<std::optional<Input>>& inputs);

/// Returns `error`. If the error has no path, sets it to the input's name.
base::Error at_input(base::Error error, const Input& input);

}  // namespace dovetail::answer
