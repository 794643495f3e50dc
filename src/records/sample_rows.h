// Reads the latest responses in a run's samples.jsonl.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::records {

/// A row of samples.jsonl, without its values per token.
struct SampleRow {
  std::int64_t iteration = 0;
  std::string prompt;       ///< empty in files of older versions, which lack it
  std::string response;     ///< response up to its stop string
  std::int64_t tokens = 0;  ///< number of tokens of the response
  double reward = 0;        ///< reward before shaping; NaN if it was not finite
  bool ended = false;       ///< false if the response was cut off
};

/// Returns the rows of the last iteration in `content`, in order. An incomplete last line is skipped. Errors name
/// `path` and the line.
base::Result<std::vector<SampleRow>> parse_last_samples(std::string_view content, const std::string& path);

/// Returns the rows of the last iteration in the file at `path`. Empty if the file does not exist.
base::Result<std::vector<SampleRow>> read_last_samples(const std::string& path);

}  // namespace dovetail::records
