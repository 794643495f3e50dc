// Model weights in a Hugging Face folder: one safetensors file, or several with an index.
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

/// All tensors of a folder. The files stay mapped for the lifetime of the object.
class Checkpoint {
 public:
  /// Opens `model.safetensors` or, if it is missing, `model.safetensors.index.json` and the files it names. Returns an
  /// Error if a file is invalid, or if the index names a file outside the folder or a tensor that its file lacks. If
  /// the folder has neither file, the Error names the weight files of other formats in it, if any.
  static base::Result<Checkpoint> open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  const std::vector<SafetensorsFile>& files() const { return files_; }
  /// Returns the tensors' names, sorted.
  std::vector<std::string_view> names() const;
  /// Returns the tensor with that name, or null.
  const StoredTensor* find(std::string_view name) const;
  /// Returns the file that has the tensor. REQUIRES: a tensor has this name.
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
