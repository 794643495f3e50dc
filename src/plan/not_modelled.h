// What changes the time or the memory of a run and is in no job and no plan: settings of the trainer that it was read
// from, said in sentences.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "base/result.h"

namespace dovetail::plan {

/// A setting that no figure counts.
struct NotModelled {
  std::string key;   ///< as the trainer calls it; empty: of no one setting
  std::string what;  ///< its value, how it is counted, and, where that is known, what the real run does otherwise

  friend bool operator==(const NotModelled&, const NotModelled&) = default;
};

/// "rollout.quantization: fp8: counted as bf16, the real run is faster".
std::string to_text(const NotModelled& setting);

/// `first`, and behind it those of `second` that it has not.
std::vector<NotModelled> joined(std::vector<NotModelled> first, const std::vector<NotModelled>& second);

/// Reads `not_modelled: [{key: KEY, what: SENTENCE}]` of a plan, of which `key` may be missing. Every mistake is an
/// Error at its line and column.
base::Result<std::vector<NotModelled>> read_not_modelled(const base::Node& node);

/// The same as JSON, a line each.
std::string not_modelled_json(const std::vector<NotModelled>& settings);

}  // namespace dovetail::plan
