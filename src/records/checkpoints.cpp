#include "records/checkpoints.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/open_file.h"
#include "base/utf8.h"

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

/// Parsed name of a checkpoint. A checkpoint within an iteration sorts after the one at the start of that iteration.
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

/// Returns the names in a folder; empty if it is missing or cannot be read.
std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

/// Returns the checkpoint names in a folder, oldest first.
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

/// Writes all files of a checkpoint into a new folder and flushes them to disk.
Status write_checkpoint(const std::string& folder, const CheckpointPlace& place, const control::RunState& state,
                        const control::Models& models, bool is_best) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return folder_error(folder, "cannot be created", error);
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
  if (error) return folder_error(path_of(place, name), "cannot be renamed", error);
  return flush_folder(place.folder);
}

Status delete_checkpoint(const CheckpointPlace& place, const std::string& name) {
  // Renamed first, so that a partly deleted checkpoint is not mistaken for a complete one.
  const std::string hidden = path_of(place, std::string(unfinished_begin) + name);
  std::error_code error;
  fs::remove_all(hidden, error);
  if (!error) fs::rename(path_of(place, name), hidden, error);
  if (!error) fs::remove_all(hidden, error);
  if (error) return folder_error(path_of(place, name), "cannot be deleted", error);
  return {};
}

/// Returns the newest checkpoint that was the best when it was saved, or an empty string.
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

/// Reads the state of a checkpoint, after checking its files against the manifest.
Result<control::RunState> read_checked(const Manifest& manifest, const std::string& folder) {
  DOVETAIL_CHECK(check_files(manifest, folder));
  const std::string path = (fs::path(folder) / state_name).string();
  DOVETAIL_TRY(const std::string text, base::read_file(path));
  return control::parse_state(text, path);
}

/// Renames the damaged checkpoints, newest first, and warns with the reason for each.
Status set_aside(const CheckpointPlace& place, const std::vector<std::pair<std::string, Error>>& damaged,
                 const std::string& taken, const std::function<void(const std::string&)>& warn) {
  for (const auto& [name, why] : damaged) {
    const std::string aside = std::string(damaged_begin) + name;
    std::error_code error;
    fs::remove_all(path_of(place, aside), error);
    if (!error) fs::rename(path_of(place, name), path_of(place, aside), error);
    if (error) return folder_error(path_of(place, name), "cannot be renamed", error);
    warn(fmt::format("{}; the checkpoint {} was renamed to {}, and the run resumes from {}", base::to_text(why), name,
                     aside, taken));
  }
  return {};
}

Error all_damaged(const CheckpointPlace& place, const std::vector<std::pair<std::string, Error>>& damaged) {
  return {Failure::io, place.folder, 0, 0,
          fmt::format("no checkpoint can be read; the newest is {}: {}", damaged.front().first,
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
      return Error{Failure::bad_input, (fs::path(folder) / manifest_name).string(), 0, 0,
                   "the job, its data, its tokenizer or its reward program has changed since this checkpoint; undo "
                   "the change (only `iterations`, `epochs` and the number of devices may change)"};
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

namespace {

using base::Node;

constexpr std::string_view what = "a checkpoint's manifest";
constexpr std::string_view hash_key = "hash";

std::string path_in(const std::string& folder, std::string_view name) { return (fs::path(folder) / name).string(); }

Result<ManifestFile> describe_file(const std::string& folder, const std::string& name) {
  DOVETAIL_TRY(const base::MappedFile file, base::MappedFile::open(path_in(folder, name)));
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  return ManifestFile{name, static_cast<std::int64_t>(bytes.size()), base::sha256_hex(bytes)};
}

Status flush_file(const std::string& path) {
  const base::Descriptor file(base::open_file(path, O_RDONLY));
  const int failed = file.is_open() ? base::flush(file.number()) : errno;
  if (failed != 0) return base::io_error(path, "cannot be flushed to disk", failed);
  return {};
}

Result<std::vector<std::string>> names_of(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) return Error{Failure::io, folder, 0, 0, "cannot be read: " + error.message()};
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> read_hash(const Node& map, std::string_view key) {
  DOVETAIL_TRY(const Node node, base::require(map, what, key));
  if (!node.is_string() || !base::is_sha256_hex(node.text()))
    return node.error(
        fmt::format("`{}` is {}; accepted: a SHA-256 as 64 hexadecimal digits in lower case", key, node.describe()));
  return std::string(node.text());
}

Result<std::int64_t> read_count(const Node& map, std::string_view key) {
  DOVETAIL_TRY(const Node node, base::require(map, what, key));
  return base::read_integer(node, base::quote(key), 0, std::numeric_limits<std::int64_t>::max());
}

Result<ManifestFile> read_file_entry(const Node& map) {
  DOVETAIL_CHECK(base::check_keys(map, "a file", {"name", "bytes", "sha256"}));
  ManifestFile file;
  DOVETAIL_TRY(const Node name, base::require(map, "a file", "name"));
  DOVETAIL_TRY(file.name, base::read_name(name, "name"));
  if (file.name.find('/') != std::string::npos || file.name == "." || file.name == ".." || file.name == manifest_name)
    return name.error(fmt::format("the name is {}; accepted: the name of a file in the folder, except manifest.json",
                                  base::quote(file.name)));
  DOVETAIL_TRY(file.bytes, read_count(map, "bytes"));
  DOVETAIL_TRY(file.sha256, read_hash(map, "sha256"));
  return file;
}

base::JsonObject members_of(const Manifest& manifest) {
  std::string files;
  for (const ManifestFile& file : manifest.files) {
    base::JsonObject entry;
    entry.add("name", base::json_string(file.name));
    entry.add("bytes", fmt::format("{}", file.bytes));
    entry.add("sha256", base::json_string(file.sha256));
    files += (files.empty() ? "\n  " : ",\n  ") + entry.text();
  }
  base::JsonObject members;
  members.add("run", base::json_string(manifest.run));
  members.add("iteration", fmt::format("{}", manifest.iteration));
  members.add("best", manifest.is_best ? "true" : "false");
  members.add("files", "[" + files + "]");
  return members;
}

}  // namespace

Result<std::vector<ManifestFile>> files_of(const std::string& folder) {
  std::vector<ManifestFile> files;
  DOVETAIL_TRY(const std::vector<std::string> names, names_of(folder));
  for (const std::string& name : names) {
    if (name == manifest_name) continue;
    DOVETAIL_TRY(ManifestFile file, describe_file(folder, name));
    DOVETAIL_CHECK(flush_file(path_in(folder, name)));
    files.push_back(std::move(file));
  }
  return files;
}

std::string manifest_to_json(const Manifest& manifest) {
  const std::string members = members_of(manifest).members();
  const std::string format = fmt::format("\"format\": {}", base::json_string(checkpoint_format));
  const std::string hash = base::sha256_hex(base::canonical_json(fmt::format("{{{}, {}}}", format, members)));
  return fmt::format("{{{}, \"{}\": \"{}\", {}}}\n", format, hash_key, hash, members);
}

Result<Manifest> parse_manifest(std::string_view content, const std::string& path) {
  DOVETAIL_TRY(const base::Document document, base::parse_json(content, path));
  const Node root = document.root();
  DOVETAIL_CHECK(base::require_format(root, what, checkpoint_format));
  DOVETAIL_CHECK(base::check_keys(root, what, {"format", hash_key, "run", "iteration", "best", "files"}));
  DOVETAIL_TRY(const std::string stated, read_hash(root, hash_key));
  if (stated != base::sha256_hex(base::canonical_json(root, hash_key)))
    return root.find(hash_key)->error("the hash does not match the other members: the manifest is damaged");
  Manifest manifest;
  DOVETAIL_TRY(manifest.run, read_hash(root, "run"));
  DOVETAIL_TRY(manifest.iteration, read_count(root, "iteration"));
  DOVETAIL_TRY(const Node best, base::require(root, what, "best"));
  DOVETAIL_TRY(manifest.is_best, base::read_flag(best, "best"));
  DOVETAIL_TRY(const Node files, base::require(root, what, "files"));
  if (!files.is_list()) return files.error(fmt::format("`files` is {}; accepted: a list", files.describe()));
  for (std::size_t i = 0; i < files.size(); ++i) {
    DOVETAIL_TRY(ManifestFile file, read_file_entry(files.item(i)));
    manifest.files.push_back(std::move(file));
  }
  return manifest;
}

Result<Manifest> read_manifest(const std::string& folder) {
  const std::string path = path_in(folder, manifest_name);
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  return parse_manifest(content, path);
}

Status check_files(const Manifest& manifest, const std::string& folder) {
  for (const ManifestFile& file : manifest.files) {
    const std::string path = path_in(folder, file.name);
    DOVETAIL_TRY(const ManifestFile found, describe_file(folder, file.name));
    if (found.bytes != file.bytes)
      return Error{Failure::io, path, 0, 0,
                   fmt::format("the file is damaged: it has {} bytes, but {} were written", found.bytes, file.bytes)};
    if (found.sha256 != file.sha256)
      return Error{Failure::io, path, 0, 0, "the file is damaged: its SHA-256 differs from what was written"};
  }
  return {};
}

}  // namespace dovetail::records
