#include "answer/plans/log_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "syntax/files.h"
#include "trainers/log_formats.h"
#include "workflow/lengths_file.h"

namespace dovetail::answer {
namespace {

namespace fs = std::filesystem;

/// Lengths in the syntax of `--response-length`.
std::string lengths_text(const measure::LengthsOfLog& lengths) {
  if (!lengths.figures) return fmt::format("{}", lengths.mean);
  const workflow::LengthFigures& figures = *lengths.figures;
  std::string text = fmt::format("mean={:.1f}", *figures.mean);
  if (figures.sigma) text += fmt::format(",sigma={:.4f}", *figures.sigma);
  if (figures.at_cap) text += fmt::format(",at_cap={:.6f}", *figures.at_cap);
  return text;
}

std::string taken_text(std::string_view what, const std::string& name, const measure::LoggedLengths& logged,
                       std::int64_t cap, const std::string& spread) {
  return fmt::format("{} from {}: mean {:.0f} tokens, cap {}, {}", what, name, logged.mean, cap, spread);
}

/// Cap of the responses in a log. If prompt and response share a cap, the mean prompt is subtracted.
std::int64_t response_cap(const trainers::ImportedRun& run, const LengthsLogged& lengths) {
  if (run.sequence_cap == 0) return run.said_response_cap();
  const std::int64_t prompt = lengths.prompts ? std::llround(lengths.prompts->mean) : run.prompt_cap;
  return std::clamp<std::int64_t>(run.sequence_cap - prompt, 1, run.said_response_cap());
}

/// Takes lengths from a log, unless they are given.
void take_logged(const LengthsLogged& lengths, const trainers::Import& import, trainers::ImportOptions& options,
                 const Watch& watch) {
  const trainers::ImportedRun& run = import.run;
  const auto take = [&](std::string_view what, const std::optional<measure::LoggedLengths>& logged, std::int64_t cap,
                        std::int64_t draws, std::optional<std::string>& said) {
    if (!logged || said) return;
    const measure::LengthsOfLog taken = measure::lengths_of_log(*logged, cap, draws);
    said = lengths_text(taken);
    tell_note(watch, taken_text(what, lengths.name, *logged, cap, taken.spread));
  };
  take("prompt lengths", lengths.prompts, run.said_prompt_cap(), run.prompts, options.prompt_length);
  take("response lengths", lengths.responses, response_cap(run, lengths), run.prompts * run.samples_per_prompt,
       options.response_length);
}

/// Path relative to the folder of `file`.
std::string path_beside(const std::string& path, const std::string& file) {
  if (fs::path(path).is_absolute()) return path;
  std::error_code fault;
  const fs::path relative = fs::proximate(path, fs::path(file).parent_path(), fault);
  return fault ? path : relative.string();
}

/// Reads a log with known times; nullopt if the file is not one.
std::optional<measure::MeasuredRun> run_of(const std::string& content, const std::string& name) {
  auto log = trainers::read_step_log({{content, name}});
  if (!log.ok()) return std::nullopt;
  auto run = measure::measured_run(*log);
  return run.ok() ? std::optional(*std::move(run)) : std::nullopt;
}

base::Status take_of_file(const std::string& path, const trainers::Import& import, trainers::ImportOptions& options,
                          const Watch& watch) {
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  const std::string name = base::display_path(path);
  if (const auto run = run_of(content, name)) {
    const LengthsLogged lengths = lengths_logged(*run, name);
    if (!lengths.responses)
      return base::Error{base::Failure::bad_input, name, 0, 0,
                         "the log has no response lengths; use another log or --response-length"};
    take_logged(lengths, import, options, watch);
    return {};
  }
  auto table = workflow::parse_length_table(content, name, "");
  if (!table.ok()) {
    base::Error error = std::move(table).error();
    error.message = "neither a trainer's log nor a table of lengths: " + error.message;
    return error;
  }
  if (options.response_length) return {};
  options.response_length = "file=" + path_beside(path, import.file);
  tell_note(watch, fmt::format("response lengths from {}: mean {:.0f} tokens, maximum {}", name, table->mean(),
                               table->longest()));
  return {};
}

}  // namespace

LengthsLogged lengths_logged(const measure::MeasuredRun& run, std::string name) {
  return {std::move(name), measure::logged_prompts(run), measure::logged_responses(run)};
}

base::Result<trainers::ImportOptions> options_with_lengths(const JobInput& input, const trainers::Import& import,
                                                           const Watch& watch) {
  trainers::ImportOptions options = input.import;
  if (input.lengths) DOVETAIL_CHECK(take_of_file(*input.lengths, import, options, watch));
  if (input.logged) take_logged(*input.logged, import, options, watch);
  return options;
}

}  // namespace dovetail::answer
