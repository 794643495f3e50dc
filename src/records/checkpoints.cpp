#include "records/checkpoints.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/open_file.h"
#include "records/checkpoint_manifest.h"

namespace dovetail::records {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Failure;
using base::Result;
using base::Status;

constexpr std::string_view name_begin = "iteration-";
constexpr std::string_view part_begin = "-part-";
constexpr std::string_view unfinished_begin = ".unfinished-";
constexpr std::string_view damaged_begin = "damaged-";
constexpr const char* state_name = "state.json";

/// What a checkpoint's name says. One inside an iteration comes after that of the iteration's begin.
struct CheckpointName {
  std::int64_t iteration = 0;
  std::int64_t part = 0;
  std::string text;
};

std::optional<std::int64_t> number_of(std::string_view digits) {
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed != std::errc() || end != digits.data() + digits.size() || number < 0) return std::nullopt;
  return number;
}

std::optional<CheckpointName> parse_name(const std::string& text) {
  if (!text.starts_with(name_begin)) return std::nullopt;
  const std::string_view rest = std::string_view(text).substr(name_begin.size());
  const std::size_t end = rest.find(part_begin);
  const auto iteration = number_of(rest.substr(0, end));
  const auto part =
      end == std::string_view::npos ? std::optional<std::int64_t>(0) : number_of(rest.substr(end + part_begin.size()));
  if (!iteration || !part) return std::nullopt;
  return CheckpointName{*iteration, *part, text};
}

/// The names in a folder; none where it is not there or cannot be read.
std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

/// From the oldest on.
std::vector<CheckpointName> names_in(const std::string& folder) {
  std::vector<CheckpointName> names;
  for (const std::string& entry : entries_of(folder))
    if (auto name = parse_name(entry)) names.push_back(std::move(*name));
  std::sort(names.begin(), names.end(), [](const CheckpointName& a, const CheckpointName& b) {
    return std::tie(a.iteration, a.part) < std::tie(b.iteration, b.part);
  });
  return names;
}

std::string path_of(const CheckpointPlace& place, std::string_view name) {
  return (fs::path(place.folder) / name).string();
}

Status flush_folder(const std::string& path) {
  const base::Descriptor folder(base::open_file(path, O_RDONLY | O_DIRECTORY));
  const int failed = folder.is_open() ? base::flush(folder.number()) : errno;
  if (failed != 0) return base::io_error(path, "cannot be flushed to disk", failed);
  return {};
}

Error folder_error(const std::string& path, std::string_view what, const std::error_code& error) {
  return {Failure::io, path, 0, 0, fmt::format("{}: {}", what, error.message())};
}

bool is_within_iteration(const control::RunState& state) {
  return state.tasks_done > 0 || state.mini_batches_done > 0 || !state.samples.empty() || state.is_to_be_evaluated;
}

CheckpointName next_name(const CheckpointPlace& place, const control::RunState& state) {
  CheckpointName name{state.iterations, 0, fmt::format("{}{:06}", name_begin, state.iterations)};
  const std::vector<CheckpointName> others = names_in(place.folder);
  const auto is_taken = [&](const CheckpointName& other) { return other.text == name.text; };
  if (!is_within_iteration(state) && std::none_of(others.begin(), others.end(), is_taken)) return name;
  for (const CheckpointName& other : others)
    if (other.iteration == name.iteration) name.part = std::max(name.part, other.part);
  ++name.part;
  name.text += fmt::format("{}{}", part_begin, name.part);
  return name;
}

/// All files of a checkpoint, on the disk, in a folder that is not there yet.
Status write_checkpoint(const std::string& folder, const CheckpointPlace& place, const control::RunState& state,
                        const control::Models& models, bool is_best) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return folder_error(folder, "cannot be made", error);
  DOVETAIL_CHECK(models.save(folder));
  DOVETAIL_CHECK(base::write_file((fs::path(folder) / state_name).string(), control::state_to_json(state)));
  Manifest manifest{place.run_hash, state.iterations, is_best, {}};
  DOVETAIL_TRY(manifest.files, files_of(folder));
  DOVETAIL_CHECK(base::write_file((fs::path(folder) / manifest_name).string(), manifest_to_json(manifest)));
  return flush_folder(folder);
}

Status put_in_place(const std::string& unfinished, const CheckpointPlace& place, const std::string& name) {
  std::error_code error;
  fs::rename(unfinished, path_of(place, name), error);
  if (error) return folder_error(path_of(place, name), "cannot be put in place", error);
  return flush_folder(place.folder);
}

Status delete_checkpoint(const CheckpointPlace& place, const std::string& name) {
  // Under a name that is taken for none first: what is half deleted is no checkpoint.
  const std::string hidden = path_of(place, std::string(unfinished_begin) + name);
  std::error_code error;
  fs::remove_all(hidden, error);
  if (!error) fs::rename(path_of(place, name), hidden, error);
  if (!error) fs::remove_all(hidden, error);
  if (error) return folder_error(path_of(place, name), "cannot be deleted", error);
  return {};
}

/// The newest that was the best when it was kept; empty: none was.
std::string name_of_best(const CheckpointPlace& place, const std::vector<CheckpointName>& names) {
  for (std::size_t i = names.size(); i-- > 0;) {
    const auto manifest = read_manifest(path_of(place, names[i].text));
    if (manifest.ok() && manifest->is_best) return names[i].text;
  }
  return "";
}

Status delete_oldest(const CheckpointPlace& place) {
  const std::vector<CheckpointName> names = names_in(place.folder);
  const auto surplus = static_cast<std::int64_t>(names.size()) - place.keep;
  if (surplus <= 0) return {};
  const std::string best = name_of_best(place, names);
  for (std::int64_t i = 0; i < surplus; ++i) {
    const std::string& name = names[static_cast<std::size_t>(i)].text;
    if (name != best) DOVETAIL_CHECK(delete_checkpoint(place, name));
  }
  return {};
}

/// The state of a checkpoint whose files are what its manifest says.
Result<control::RunState> read_checked(const Manifest& manifest, const std::string& folder) {
  DOVETAIL_CHECK(check_files(manifest, folder));
  const std::string path = (fs::path(folder) / state_name).string();
  DOVETAIL_TRY(const std::string text, base::read_file(path));
  return control::parse_state(text, path);
}

/// Renames the damaged ones, the newest first, and says of each why.
Status set_aside(const CheckpointPlace& place, const std::vector<std::pair<std::string, Error>>& damaged,
                 const std::string& taken, const std::function<void(const std::string&)>& warn) {
  for (const auto& [name, why] : damaged) {
    const std::string aside = std::string(damaged_begin) + name;
    std::error_code error;
    fs::remove_all(path_of(place, aside), error);
    if (!error) fs::rename(path_of(place, name), path_of(place, aside), error);
    if (error) return folder_error(path_of(place, name), "cannot be renamed", error);
    warn(fmt::format("{}; the checkpoint {} is now called {}, the run goes on from {}", base::to_text(why), name, aside,
                     taken));
  }
  return {};
}

Error all_damaged(const CheckpointPlace& place, const std::vector<std::pair<std::string, Error>>& damaged) {
  return {Failure::io, place.folder, 0, 0,
          fmt::format("no checkpoint can be read; of the newest, {}: {}", damaged.front().first,
                      base::to_text(damaged.front().second))};
}

}  // namespace

Status keep_checkpoint(const CheckpointPlace& place, const control::RunState& state, const control::Models& models,
                       bool is_best) {
  const CheckpointName name = next_name(place, state);
  const std::string unfinished = path_of(place, std::string(unfinished_begin) + name.text);
  std::error_code error;
  fs::remove_all(unfinished, error);
  if (error) return folder_error(unfinished, "cannot be deleted", error);
  Status status = write_checkpoint(unfinished, place, state, models, is_best);
  if (status.ok()) status = put_in_place(unfinished, place, name.text);
  if (!status.ok()) {
    fs::remove_all(unfinished, error);
    return status;
  }
  return delete_oldest(place);
}

Result<std::optional<OpenedCheckpoint>> open_newest(const CheckpointPlace& place,
                                                    const std::function<void(const std::string&)>& warn) {
  std::error_code error;
  for (const std::string& entry : entries_of(place.folder))
    if (entry.starts_with(unfinished_begin)) fs::remove_all(path_of(place, entry), error);
  const std::vector<CheckpointName> names = names_in(place.folder);
  std::vector<std::pair<std::string, Error>> damaged;
  for (std::size_t i = names.size(); i-- > 0;) {
    const std::string folder = path_of(place, names[i].text);
    const auto manifest = read_manifest(folder);
    if (manifest.ok() && manifest->run != place.run_hash)
      return Error{
          Failure::bad_input, (fs::path(folder) / manifest_name).string(), 0, 0,
          "the job, its plan, its data, its tokenizer or its reward program has changed since this checkpoint; "
          "accepted: all as they were, but for `iterations`"};
    auto state = manifest.ok() ? read_checked(*manifest, folder) : Result<control::RunState>(manifest.error());
    if (state.ok()) {
      DOVETAIL_CHECK(set_aside(place, damaged, names[i].text, warn));
      return std::optional<OpenedCheckpoint>({folder, std::move(*state)});
    }
    damaged.emplace_back(names[i].text, std::move(state).error());
  }
  if (!damaged.empty()) return all_damaged(place, damaged);
  return std::optional<OpenedCheckpoint>();
}

std::string best_of(const CheckpointPlace& place) {
  const std::string name = name_of_best(place, names_in(place.folder));
  return name.empty() ? "" : path_of(place, name);
}

}  // namespace dovetail::records
