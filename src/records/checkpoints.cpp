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

#include "base/document.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/json_object.h"
#include "base/mapped_file.h"
#include "base/open_file.h"
#include "base/sha256.h"
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
constexpr const char* manifest_name = "manifest.json";
constexpr const char* state_name = "state.json";
constexpr const char* best_name = "best";

/// What a checkpoint's name says. One inside an iteration comes behind that of the iteration's begin.
struct CheckpointName {
  std::int64_t iteration = 0;
  std::int64_t part = 0;
  std::string text;
};

std::optional<std::int64_t> number_of(std::string_view digits) {
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
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

/// From the oldest on.
std::vector<CheckpointName> names_in(const std::string& folder) {
  std::vector<CheckpointName> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (auto name = parse_name(entry.path().filename().string())) names.push_back(std::move(*name));
  std::sort(names.begin(), names.end(), [](const CheckpointName& a, const CheckpointName& b) {
    return std::tie(a.iteration, a.part) < std::tie(b.iteration, b.part);
  });
  return names;
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

Result<std::string> checksum_of(const std::string& path) {
  DOVETAIL_TRY(const base::MappedFile file, base::MappedFile::open(path));
  return base::sha256_hex({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
}

Status write_manifest(const fs::path& folder, const std::string& run_hash, std::int64_t iteration) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  std::string files;
  for (const std::string& name : names) {
    DOVETAIL_TRY(const std::string checksum, checksum_of((folder / name).string()));
    base::JsonObject file;
    file.add("name", base::json_string(name));
    file.add("bytes", fmt::format("{}", fs::file_size(folder / name)));
    file.add("sha256", base::json_string(checksum));
    files += (files.empty() ? "\n  " : ",\n  ") + file.text();
  }
  base::JsonObject manifest;
  manifest.add("format", base::json_string(checkpoint_format));
  manifest.add("run", base::json_string(run_hash));
  manifest.add("iteration", fmt::format("{}", iteration));
  manifest.add("files", "[" + files + "]");
  return base::write_file((folder / manifest_name).string(), manifest.text() + "\n");
}

CheckpointName next_name(const CheckpointPlace& place, const control::RunState& state) {
  CheckpointName name{state.iterations, 0, fmt::format("{}{:06}", name_begin, state.iterations)};
  const bool is_within = state.tasks_done > 0 || !state.samples.empty() || state.is_to_be_evaluated;
  const std::vector<CheckpointName> others = names_in(place.folder);
  const auto is_taken = [&](const CheckpointName& other) { return other.text == name.text; };
  if (!is_within && std::none_of(others.begin(), others.end(), is_taken)) return name;
  for (const CheckpointName& other : others)
    if (other.iteration == name.iteration) name.part = std::max(name.part, other.part);
  ++name.part;
  name.text += fmt::format("{}{}", part_begin, name.part);
  return name;
}

Status delete_folder(const fs::path& folder) {
  // Under a name that is taken for none first: what is half deleted is no checkpoint.
  const fs::path hidden = folder.parent_path() / (std::string(unfinished_begin) + folder.filename().string());
  std::error_code error;
  fs::rename(folder, hidden, error);
  if (!error) fs::remove_all(hidden, error);
  if (error) return folder_error(folder.string(), "cannot be deleted", error);
  return {};
}

Status delete_oldest(const CheckpointPlace& place) {
  const std::vector<CheckpointName> names = names_in(place.folder);
  const std::string best = fs::path(best_of(place)).filename().string();
  const auto surplus = static_cast<std::int64_t>(names.size()) - place.keep;
  for (std::int64_t i = 0; i < surplus; ++i) {
    const std::string& name = names[static_cast<std::size_t>(i)].text;
    if (name != best) DOVETAIL_CHECK(delete_folder(fs::path(place.folder) / name));
  }
  return {};
}

/// The state of a checkpoint, where all of its files are what its manifest says.
Result<control::RunState> verify(const CheckpointPlace& place, const std::string& folder) {
  const std::string path = (fs::path(folder) / manifest_name).string();
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  DOVETAIL_TRY(const base::Document document, base::parse_json(content, path));
  const base::Node root = document.root();
  constexpr std::string_view what = "a manifest";
  DOVETAIL_CHECK(base::require_format(root, what, checkpoint_format));
  DOVETAIL_CHECK(base::check_keys(root, what, {"format", "run", "iteration", "files"}));
  DOVETAIL_TRY(const base::Node run, base::require(root, what, "run"));
  if (run.text() != place.run_hash)
    return run.error(
        fmt::format("the checkpoint is of a run {}, this one is {}: the job has changed; accepted: the job "
                    "as it was, of which only `iterations` may differ",
                    run.describe(), place.run_hash));
  DOVETAIL_TRY(const base::Node files, base::require(root, what, "files"));
  for (std::size_t i = 0; files.is_list() && i < files.size(); ++i) {
    DOVETAIL_TRY(const base::Node name, base::require(files.item(i), "a file", "name"));
    DOVETAIL_TRY(const base::Node expected, base::require(files.item(i), "a file", "sha256"));
    const std::string file = (fs::path(folder) / name.text()).string();
    DOVETAIL_TRY(const std::string found, checksum_of(file));
    if (found != expected.text())
      return Error{Failure::io, file, 0, 0, "its SHA-256 is not the one in the manifest: the file is damaged"};
  }
  const std::string state = (fs::path(folder) / state_name).string();
  DOVETAIL_TRY(const std::string text, base::read_file(state));
  return control::parse_state(text, state);
}

/// Whether the error is about whose checkpoint it is, not about its bytes.
bool is_of_another_run(const Error& error) { return error.message.starts_with("the checkpoint is of a run"); }

}  // namespace

Status keep_checkpoint(const CheckpointPlace& place, const control::RunState& state, const control::Models& models,
                       bool is_best) {
  const CheckpointName name = next_name(place, state);
  const fs::path folder(place.folder);
  const fs::path unfinished = folder / (std::string(unfinished_begin) + name.text);
  std::error_code error;
  fs::remove_all(unfinished, error);
  fs::create_directories(unfinished, error);
  if (error) return folder_error(unfinished.string(), "cannot be made", error);
  DOVETAIL_CHECK(models.save(unfinished.string()));
  DOVETAIL_CHECK(base::write_file((unfinished / state_name).string(), control::state_to_json(state)));
  DOVETAIL_CHECK(write_manifest(unfinished, place.run_hash, state.iterations));
  DOVETAIL_CHECK(flush_folder(unfinished.string()));
  fs::rename(unfinished, folder / name.text, error);
  if (error) return folder_error((folder / name.text).string(), "cannot be put in place", error);
  DOVETAIL_CHECK(flush_folder(place.folder));
  if (is_best) DOVETAIL_CHECK(base::write_file((folder / best_name).string(), name.text + "\n"));
  return delete_oldest(place);
}

Result<std::optional<OpenedCheckpoint>> open_newest(const CheckpointPlace& place,
                                                    const std::function<void(const std::string&)>& warn) {
  std::error_code error;
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(place.folder, error))
    if (entry.path().filename().string().starts_with(unfinished_begin)) left.push_back(entry.path());
  for (const fs::path& path : left) fs::remove_all(path, error);
  const std::vector<CheckpointName> names = names_in(place.folder);
  std::optional<Error> last;
  for (std::size_t i = names.size(); i-- > 0;) {
    const std::string folder = (fs::path(place.folder) / names[i].text).string();
    auto state = verify(place, folder);
    if (state.ok()) return std::optional<OpenedCheckpoint>({folder, std::move(*state)});
    if (is_of_another_run(state.error())) return std::move(state).error();
    warn(fmt::format("checkpoint {} is damaged, the one before it is taken: {}", names[i].text,
                     base::to_text(state.error())));
    last = std::move(state).error();
  }
  if (last) return *last;
  return std::optional<OpenedCheckpoint>();
}

std::string best_of(const CheckpointPlace& place) {
  const std::string path = (fs::path(place.folder) / best_name).string();
  std::error_code error;
  if (!fs::exists(path, error)) return "";
  const auto name = base::read_file(path);
  if (!name.ok() || !name->ends_with('\n')) return "";
  return (fs::path(place.folder) / name->substr(0, name->size() - 1)).string();
}

}  // namespace dovetail::records
