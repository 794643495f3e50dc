#include "records/checkpoint_manifest.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "base/canonical_json.h"
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
using base::Node;
using base::Result;
using base::Status;

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
  return base::read_whole(node, base::quote(key), 0, std::numeric_limits<std::int64_t>::max());
}

Result<ManifestFile> read_file_entry(const Node& map) {
  DOVETAIL_CHECK(base::check_keys(map, "a file", {"name", "bytes", "sha256"}));
  ManifestFile file;
  DOVETAIL_TRY(const Node name, base::require(map, "a file", "name"));
  DOVETAIL_TRY(file.name, base::read_name(name, "name"));
  if (file.name.find('/') != std::string::npos || file.name == "." || file.name == ".." || file.name == manifest_name)
    return name.error(
        fmt::format("the name is {}; accepted: that of another file of the folder", base::quote(file.name)));
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
  DOVETAIL_TRY(const std::string said, read_hash(root, hash_key));
  if (said != base::sha256_hex(base::canonical_json(root, hash_key)))
    return root.find(hash_key)->error("this is not the hash of the other members: the manifest is damaged");
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
                   fmt::format("the file is damaged: it has {} bytes, {} were written", found.bytes, file.bytes)};
    if (found.sha256 != file.sha256)
      return Error{Failure::io, path, 0, 0, "the file is damaged: its SHA-256 is not that of what was written"};
  }
  return {};
}

}  // namespace dovetail::records
