// The texts that end a response, wherever the borders of its tokens are.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::text {

/// Follows the bytes of one response.
class StopFinder {
 public:
  /// Texts that are empty end nothing.
  explicit StopFinder(std::vector<std::string> stops);

  /// Takes the bytes of the next token. Where a stop ends in them: how many of all bytes so far stand before the stop
  /// that ends first, of several that end there the longest one.
  std::optional<std::size_t> add(std::string_view bytes);

 private:
  std::vector<std::string> stops_;
  std::size_t longest_ = 0;
  std::string tail_;       // the last bytes: as many as may be the begin of a stop
  std::size_t count_ = 0;  // of all bytes
};

}  // namespace dovetail::text
