#include "measure/measured_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "measure/measurement_file.h"
#include "workflow/log_normal.h"

namespace dovetail::measure {
namespace {

using base::json_string;
using Members = std::vector<std::pair<std::string, std::string>>;

constexpr double min_seconds = 1e-3;
constexpr double noticed_length = 0.05;

/// To the microsecond: that is what loggers know.
std::string seconds_text(double seconds) { return fmt::format("{}", std::round(seconds * 1e6) / 1e6); }

std::string fused_text(const std::vector<std::vector<std::string>>& fused) {
  std::vector<std::string> phases;
  for (const std::vector<std::string>& tasks : fused) {
    std::vector<std::string> names;
    for (const std::string& task : tasks) names.push_back(json_string(task));
    phases.push_back(fmt::format("[{}]", fmt::join(names, ", ")));
  }
  return fmt::format("[{}]", fmt::join(phases, ", "));
}

std::string phases_text(const MeasuredComparison& comparison) {
  std::vector<std::string> phases;
  for (const MeasuredAgainst& phase : comparison.phases)
    if (phase.whole && phase.seconds >= min_seconds)
      phases.push_back(fmt::format("{}: {}", json_string(phase.phase), seconds_text(phase.seconds)));
  return phases.empty() ? "" : fmt::format("{{{}}}", fmt::join(phases, ", "));
}

/// Lengths that differ from the job's; nothing where no spread that may be fitted has that mean.
std::string lengths_text(const MeasuredRun& run, const plan::Job& job) {
  const workflow::LengthDistribution& lengths = job.workload.response_length;
  if (!run.mean_response || std::abs(*run.mean_response - lengths.mean()) <= noticed_length * lengths.mean()) return "";
  const double mean = std::round(*run.mean_response * 10) / 10;
  const auto cap = std::max(lengths.longest(), static_cast<std::int64_t>(std::llround(run.max_response.value_or(0))));
  const Spread spread;
  for (const double sigma : {spread.low, spread.start, spread.high})
    if (workflow::find_fault(workflow::LengthFigures{.mean = mean, .sigma = sigma, .cap = cap})) return "";
  return fmt::format("{{\"mean\": {}, \"cap\": {}}}", mean, cap);
}

std::string json_members(const Members& members) {
  std::vector<std::string> texts;
  for (const auto& [key, value] : members) texts.push_back(fmt::format("{}: {}", json_string(key), value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// What stands before the rows.
Members heading_of(const MeasurementNames& names) {
  Members members{{"format", json_string(measurement_format)},
                  {"name", json_string(names.set)},
                  {"source", json_string(names.source)}};
  if (!names.start.empty()) members.emplace_back("start", json_string(names.start));
  return members;
}

base::Result<Members> members_of(const MeasurementNames& names, const MeasuredRun& run,
                                 const MeasuredComparison& comparison, const plan::Job& job) {
  if (!comparison.iteration || comparison.iteration->seconds < min_seconds)
    return base::bad_input(fmt::format(
        "the log does not time the iteration, which a measurement must have; accepted: a log with `{}{}`",
        trainers::log_keys(run.format).prefixes.front(), trainers::log_keys(run.format).times.front().name));
  Members members{{"name", json_string(names.row)},
                  {"job", names.job_text.empty() ? json_string(names.job) : names.job_text},
                  {"plan", names.plan_text.empty() ? json_string(names.plan) : names.plan_text},
                  {"seconds", seconds_text(comparison.iteration->seconds)}};
  if (!names.fused.empty()) members.emplace_back("fused", fused_text(names.fused));
  if (std::string phases = phases_text(comparison); !phases.empty()) members.emplace_back("phases", std::move(phases));
  if (std::string lengths = lengths_text(run, job); !lengths.empty())
    members.emplace_back("response_length", std::move(lengths));
  return members;
}

}  // namespace

base::Result<std::string> measurement_to_yaml(const MeasurementNames& names, const MeasuredRun& run,
                                              const MeasuredComparison& comparison, const plan::Job& job) {
  DOVETAIL_TRY(const Members members, members_of(names, run, comparison, job));
  std::string text;
  for (const auto& [key, value] : heading_of(names)) text += fmt::format("{}: {}\n", key, value);
  text += "rows:\n";
  for (const auto& [key, value] : members)
    text += fmt::format("  {} {}: {}\n", &key == &members.front().first ? "-" : " ", key, value);
  return text;
}

base::Result<std::string> measurement_to_json(const MeasurementNames& names, const MeasuredRun& run,
                                              const MeasuredComparison& comparison, const plan::Job& job) {
  DOVETAIL_TRY(const Members members, members_of(names, run, comparison, job));
  return fmt::format("{{{}, \"rows\": [\n  {{{}}}\n]}}\n", json_members(heading_of(names)), json_members(members));
}

}  // namespace dovetail::measure
