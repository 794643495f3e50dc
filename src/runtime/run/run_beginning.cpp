#include "runtime/run/run_beginning.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "cli/output.h"
#include "control/run/run.h"
#include "records/figure_table.h"
#include "records/run_folder.h"

namespace dovetail::runtime {
namespace {

namespace fs = std::filesystem;
using base::Result;
using base::Status;

/// Whether a run without a checkpoint was stopped before it had its first one: else its rows would be lost.
Status check_begin_anew(const RunArguments& arguments, std::int64_t every) {
  const fs::path path = fs::path(arguments.output) / records::metrics_file_name;
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  DOVETAIL_TRY(const records::FigureTable rows, records::read_figures(path.string()));
  // The row of an iteration is written before its checkpoint.
  if (every == 0 || rows.rows() <= every) return {};
  return base::Error{
      base::Failure::bad_input, arguments.output, 0, 0,
      fmt::format("{} iterations were done, and no checkpoint of them is left; accepted: another folder, "
                  "or this one without its {}",
                  rows.rows(), records::metrics_file_name)};
}

/// The checkpoint to go on from; nothing: the run begins.
Result<std::optional<records::OpenedCheckpoint>> find_checkpoint(const RunArguments& arguments,
                                                                 const control::RunSettings& settings,
                                                                 const records::CheckpointPlace& place) {
  if (!arguments.resume) return std::optional<records::OpenedCheckpoint>();
  DOVETAIL_TRY(std::optional<records::OpenedCheckpoint> checkpoint,
               records::open_newest(place, [](const std::string& text) { cli::print_warning(text); }));
  if (checkpoint) return checkpoint;
  DOVETAIL_CHECK(check_begin_anew(arguments, settings.checkpoint.every));
  cli::print_note("there is no checkpoint yet: the run begins anew");
  return checkpoint;
}

}  // namespace

Result<control::RunState> state_to_begin_with(const RunArguments& arguments, const control::RunSettings& settings,
                                              const records::CheckpointPlace& place, control::RankTalk* talk,
                                              control::Models& models) {
  std::optional<records::OpenedCheckpoint> found;
  if (talk == nullptr || talk->rank() == 0) {
    DOVETAIL_TRY(found, find_checkpoint(arguments, settings, place));
  }
  std::string folder = found ? found->folder : "";
  if (talk != nullptr) {
    DOVETAIL_TRY(folder, talk->hear_first(folder));
    DOVETAIL_TRY(const std::string state, talk->hear_first(found ? control::state_to_json(found->state) : ""));
    if (!folder.empty() && !found) {
      DOVETAIL_TRY(control::RunState heard, control::parse_state(state, folder));
      found = records::OpenedCheckpoint{folder, std::move(heard)};
    }
  }
  if (!found) return control::initial_state(settings);
  DOVETAIL_CHECK(models.load(folder));
  return std::move(found->state);
}

}  // namespace dovetail::runtime
