#include "records/run_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/file.h"
#include "base/json_object.h"
#include "base/mapped_file.h"
#include "base/utf8.h"

namespace dovetail::records {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Failure;
using base::Result;
using base::Status;

std::string number_text(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

std::string list_text(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + number_text(value);
  return "[" + text + "]";
}

void add_list(base::JsonObject& row, std::string_view key, const std::vector<double>& values) {
  if (!values.empty()) row.add(key, list_text(values));
}

/// What a row says of `iteration`; nothing of one that is half written.
std::optional<std::int64_t> iteration_of(std::string_view row, const std::string& path) {
  const auto document = base::parse_json(row, path);
  if (!document.ok()) return std::nullopt;
  const auto node = document->root().find("iteration");
  if (!node) return std::nullopt;
  const auto iteration = base::read_whole(*node, "`iteration`", 0, INT64_MAX);
  return iteration.ok() ? std::optional(*iteration) : std::nullopt;
}

/// Where the last row of an iteration up to `iterations` ends. Rows are in the order of iterations.
std::size_t end_of_rows(std::string_view content, std::int64_t iterations, const std::string& path) {
  std::size_t end = content.rfind('\n') + 1;
  while (end > 0) {
    const std::size_t begin = end == 1 ? 0 : content.rfind('\n', end - 2) + 1;
    const auto iteration = iteration_of(content.substr(begin, end - 1 - begin), path);
    if (iteration && *iteration <= iterations) return end;
    end = begin;
  }
  return 0;
}

/// Cuts a file of rows after the last one of an iteration up to `iterations`. Who reads it meanwhile sees whole rows.
Status cut(const std::string& path, std::int64_t iterations) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  std::size_t kept = 0;
  {
    DOVETAIL_TRY(const base::MappedFile file, base::MappedFile::open(path));
    const std::string_view content(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    kept = end_of_rows(content, iterations, path);
    if (kept == content.size()) return {};
  }
  fs::resize_file(path, kept, error);
  if (error) return Error{Failure::io, path, 0, 0, "cannot be cut: " + error.message()};
  return {};
}

Result<base::LineFile> open_rows(const fs::path& folder, const char* name, std::int64_t iterations) {
  const std::string path = (folder / name).string();
  DOVETAIL_CHECK(cut(path, iterations));
  return base::LineFile::open(path);
}

}  // namespace

std::string row_of(const control::Figures& figures) {
  base::JsonObject row;
  base::JsonObject timing;
  for (const control::Figure& figure : figures)
    (figure.is_timing ? timing : row).add(figure.name, number_text(figure.value));
  if (!timing.empty()) row.add("timing", timing.text());
  return row.text() + "\n";
}

std::string row_of(std::int64_t iteration, const control::Sample& sample) {
  const auto& tokens = sample.sequence.tokens;
  const auto response = tokens.begin() + static_cast<std::ptrdiff_t>(sample.sequence.first_scored);
  base::JsonObject row;
  row.add("iteration", fmt::format("{}", iteration));
  row.add("epoch", fmt::format("{}", sample.epoch));
  row.add("prompt", fmt::format("{}", sample.prompt));
  row.add("copy", fmt::format("{}", sample.copy));
  row.add("reward", number_text(sample.reward));
  row.add("shaped_reward", number_text(sample.shaped_reward));
  row.add("ended", sample.ended ? "true" : "false");
  row.add("text", base::json_string(sample.text));
  row.add("prompt_tokens", fmt::format("[{}]", fmt::join(tokens.begin(), response, ", ")));
  row.add("response_tokens", fmt::format("[{}]", fmt::join(response, tokens.end(), ", ")));
  add_list(row, "sampled", sample.sampled);
  add_list(row, "policy", sample.policy);
  add_list(row, "reference", sample.reference);
  add_list(row, "values", sample.values);
  add_list(row, "advantages", sample.advantages);
  add_list(row, "targets", sample.targets);
  return row.text() + "\n";
}

RunFolder::RunFolder(base::LineFile metrics, base::LineFile evaluations, base::LineFile samples, EventFile events)
    : metrics_(std::move(metrics)),
      evaluations_(std::move(evaluations)),
      samples_(std::move(samples)),
      events_(std::move(events)) {}

Result<RunFolder> RunFolder::open(const std::string& folder, std::int64_t iterations, bool is_to_be_evaluated) {
  const fs::path path(folder);
  std::error_code error;
  base::remove_abandoned_files(folder);
  for (const char* name : {"tensorboard", "checkpoints"}) {
    fs::create_directories(path / name, error);
    if (error) return Error{Failure::io, (path / name).string(), 0, 0, "cannot be made: " + error.message()};
  }
  DOVETAIL_TRY(base::LineFile metrics, open_rows(path, metrics_file_name, iterations));
  DOVETAIL_TRY(base::LineFile evaluations,
               open_rows(path, evaluations_file_name, iterations - (is_to_be_evaluated ? 1 : 0)));
  DOVETAIL_TRY(base::LineFile samples, open_rows(path, "samples.jsonl", iterations));
  // Of a run that begins anew also the evaluation before its first iteration is dropped.
  const std::int64_t first_step = iterations == 0 && is_to_be_evaluated ? 0 : iterations + 1;
  DOVETAIL_TRY(EventFile events, EventFile::open((path / "tensorboard").string(), first_step));
  return RunFolder(std::move(metrics), std::move(evaluations), std::move(samples), std::move(events));
}

Status RunFolder::add_metrics(const control::Figures& figures) {
  DOVETAIL_CHECK(metrics_.append(row_of(figures)));
  return events_.add(figures, static_cast<std::int64_t>(figures.front().value), "train");
}

Status RunFolder::add_evaluation(const control::Figures& figures) {
  DOVETAIL_CHECK(evaluations_.append(row_of(figures)));
  return events_.add(figures, static_cast<std::int64_t>(figures.front().value), "evaluation");
}

Status RunFolder::add_samples(std::int64_t iteration, std::span<const control::Sample> samples) {
  std::string rows;
  for (const control::Sample& sample : samples) rows += row_of(iteration, sample);
  return samples_.append(rows);
}

Status RunFolder::flush() {
  for (base::LineFile* const file : {&metrics_, &evaluations_, &samples_}) DOVETAIL_CHECK(file->flush());
  return {};
}

}  // namespace dovetail::records
