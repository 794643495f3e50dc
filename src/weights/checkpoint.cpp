#include "weights/checkpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/document.h"
#include "base/file.h"

namespace dovetail::weights {
namespace {

namespace fs = std::filesystem;
using base::Node;
using base::Result;

/// The files of an index and the file of each tensor.
struct Index {
  std::vector<std::string> files;  ///< file names, sorted
  std::map<std::string, std::string> file_of;
};

Result<Index> parse_index(const std::string& content, const std::string& path) {
  DOVETAIL_TRY(const base::Document document, base::parse_json(content, path));
  const Node root = document.root();
  DOVETAIL_CHECK(base::check_keys(root, "an index of safetensors", {"metadata", "weight_map"}));
  DOVETAIL_TRY(const Node map, base::require(root, "an index of safetensors", "weight_map"));
  if (!map.is_map()) return map.error(fmt::format("`weight_map` is {}; accepted: a map", map.describe()));
  Index index;
  for (std::size_t i = 0; i < map.size(); ++i) {
    const Node value = map.value(i);
    const std::string file(value.is_string() ? value.text() : "");
    if (file.empty() || fs::path(file).filename() != file || file == "." || file == "..")
      return value.error(fmt::format("the file of tensor {} is {}; accepted: the name of a file in this folder",
                                     base::quote(map.key(i)), value.describe()));
    index.file_of.emplace(map.key(i), file);
    index.files.push_back(file);
  }
  std::sort(index.files.begin(), index.files.end());
  index.files.erase(std::unique(index.files.begin(), index.files.end()), index.files.end());
  return index;
}

base::Error nothing_to_read(const fs::path& folder) {
  std::string has;
  for (const char* other : {"pytorch_model.bin", "pytorch_model.bin.index.json", "model.gguf"}) {
    std::error_code ignored;
    if (fs::exists(folder / other, ignored)) has += fmt::format(" it has {}, which is not supported;", other);
  }
  return {base::Failure::bad_input, folder.string(), 0, 0,
          fmt::format("the folder has no safetensors weights;{} accepted: {}, or {} and the files that it names", has,
                      single_file_name, index_file_name)};
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const std::string& folder) {
  Checkpoint checkpoint;
  checkpoint.folder_ = folder;
  std::error_code ignored;
  const fs::path single = fs::path(folder) / single_file_name;
  const fs::path index_path = fs::path(folder) / index_file_name;
  if (fs::exists(single, ignored)) {
    DOVETAIL_TRY(SafetensorsFile file, SafetensorsFile::open(single.string()));
    checkpoint.files_.push_back(std::move(file));
    for (const StoredTensor& tensor : checkpoint.files_.front().tensors())
      checkpoint.places_.emplace(tensor.name, Place{0, &tensor});
    return checkpoint;
  }
  if (!fs::exists(index_path, ignored)) return nothing_to_read(folder);
  DOVETAIL_TRY(const std::string content, base::read_file(index_path.string()));
  DOVETAIL_TRY(const Index index, parse_index(content, index_path.string()));
  for (const std::string& name : index.files) {
    DOVETAIL_TRY(SafetensorsFile file, SafetensorsFile::open((fs::path(folder) / name).string()));
    checkpoint.files_.push_back(std::move(file));
  }
  for (const auto& [tensor, name] : index.file_of) {
    const auto number =
        static_cast<std::size_t>(std::lower_bound(index.files.begin(), index.files.end(), name) - index.files.begin());
    const StoredTensor* stored = checkpoint.files_[number].find(tensor);
    if (stored == nullptr)
      return base::Error{
          base::Failure::bad_input, checkpoint.files_[number].path(), 0, 0,
          fmt::format("the file lacks tensor {}, which {} assigns to it", base::quote(tensor), index_file_name)};
    checkpoint.places_.emplace(tensor, Place{number, stored});
  }
  return checkpoint;
}

std::vector<std::string_view> Checkpoint::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

const StoredTensor* Checkpoint::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : found->second.tensor;
}

const SafetensorsFile& Checkpoint::file_of(std::string_view name) const {
  const auto found = places_.find(name);
  DOVETAIL_ASSERT(found != places_.end());
  return files_[found->second.file];
}

}  // namespace dovetail::weights
