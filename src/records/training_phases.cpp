#include "records/training_phases.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/schedule/validate.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::records {
namespace {

namespace fs = std::filesystem;
using base::Result;
using base::Status;

constexpr std::string_view planned_end = ".schedule.json";
constexpr std::string_view measured_end = ".measured.json";
constexpr std::string_view trace_end = ".trace.json";

fs::path folder_of(const std::string& run) { return fs::path(run) / "training"; }

std::string file_of(const std::string& run, std::string_view phase, std::string_view end) {
  return (folder_of(run) / (std::string(phase) + std::string(end))).string();
}

Status failed(const fs::path& path, std::string_view what, const std::error_code& error) {
  return base::Error{base::Failure::io, path.string(), 0, 0, std::string(what) + ": " + error.message()};
}

/// Returns the names of the phases in the folder.
std::vector<std::string> file_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (file.ends_with(planned_end)) names.push_back(file.substr(0, file.size() - planned_end.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<pipeline::Schedule> read_schedule(const std::string& path) {
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  DOVETAIL_TRY(pipeline::ScheduleFile file, pipeline::parse_schedule(content, path));
  if (const auto violation = pipeline::validate(file.schedule)) {
    const base::FilePlace place = pipeline::place_of(file, *violation);
    return base::Error{base::Failure::invalid, path, place.line, place.column,
                       std::string(pipeline::name_of(violation->rule)) + ": " + violation->message};
  }
  return std::move(file.schedule);
}

}  // namespace

Status remove_training_phases(const std::string& folder) {
  std::error_code error;
  fs::remove_all(folder_of(folder), error);
  return error ? failed(folder_of(folder), "cannot be removed", error) : Status();
}

Status write_training_phases(const std::string& folder, const std::vector<TrainingPhase>& phases) {
  const fs::path own = folder_of(folder);
  std::error_code error;
  fs::create_directories(own, error);
  if (error) return failed(own, "cannot be created", error);
  std::vector<std::pair<std::string, std::string>> texts;  // path, contents
  for (const TrainingPhase& phase : phases) {
    texts.emplace_back(file_of(folder, phase.name, planned_end), pipeline::schedule_to_json(phase.planned));
    texts.emplace_back(file_of(folder, phase.name, measured_end), pipeline::schedule_to_json(phase.measured));
    texts.emplace_back(file_of(folder, phase.name, trace_end), timeline::render_chrome_trace(phase.trace));
  }
  std::vector<base::FileContent> files;
  for (const auto& [path, content] : texts) files.push_back({path, content});
  DOVETAIL_CHECK(base::write_files(files));
  for (const std::string& name : file_names(own)) {
    if (std::any_of(phases.begin(), phases.end(), [&](const TrainingPhase& phase) { return phase.name == name; }))
      continue;
    for (const std::string_view end : {planned_end, measured_end, trace_end})
      fs::remove(file_of(folder, name, end), error);
  }
  return {};
}

Result<std::vector<TrainingPhase>> read_training_phases(const std::string& folder) {
  std::vector<TrainingPhase> phases;
  for (std::string& name : file_names(folder_of(folder))) {
    TrainingPhase phase;
    DOVETAIL_TRY(phase.planned, read_schedule(file_of(folder, name, planned_end)));
    DOVETAIL_TRY(phase.measured, read_schedule(file_of(folder, name, measured_end)));
    const std::string trace = file_of(folder, name, trace_end);
    DOVETAIL_TRY(const std::string content, base::read_file(trace));
    DOVETAIL_TRY(phase.trace, timeline::parse_chrome_trace(content, trace));
    phase.name = std::move(name);
    phases.push_back(std::move(phase));
  }
  return phases;
}

}  // namespace dovetail::records
