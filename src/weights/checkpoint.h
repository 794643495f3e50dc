// The weights of a Hugging Face folder: one safetensors file, or several and an index.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "weights/safetensors.h"

namespace dovetail::weights {

inline constexpr std::string_view single_file_name = "model.safetensors";
inline constexpr std::string_view index_file_name = "model.safetensors.index.json";

/// All tensors of a folder. The files stay mapped as long as it lives.
class Checkpoint {
 public:
  /// Reads `model.safetensors`, or where that is not there `model.safetensors.index.json` and the files that it names.
  /// Errors: of the files; of an index that names a file outside the folder or a tensor that its file lacks; a folder
  /// with neither, which says what it has in place of them.
  static base::Result<Checkpoint> open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  const std::vector<SafetensorsFile>& files() const { return files_; }
  /// Sorted.
  std::vector<std::string_view> names() const;
  /// Null where there is none of that name.
  const StoredTensor* find(std::string_view name) const;
  /// In which of files() the tensor is. REQUIRES: find(name).
  const SafetensorsFile& file_of(std::string_view name) const;

 private:
  struct Place {
    std::size_t file = 0;
    const StoredTensor* tensor = nullptr;
  };

  std::string folder_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, Place, std::less<>> places_;
};

}  // namespace dovetail::weights
