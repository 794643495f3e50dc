// Detects strings that end a response, even if they begin or end within a token.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dovetail::text {

/// Scans the bytes of one response for stop strings.
class StopFinder {
 public:
  /// Ignores empty strings.
  explicit StopFinder(std::vector<std::string> stops) : stops_(std::move(stops)) {
    std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
    for (const std::string& stop : stops_) longest_ = std::max(longest_, stop.size());
  }

  /// Adds the bytes of the next token, up to the end of the first stop string that ends within them; of several that
  /// end at the same byte, the longest counts. Returns the number of bytes of the response before this stop string, or
  /// nullopt if none ends.
  std::optional<std::size_t> add(std::string_view bytes) {
    for (const char byte : bytes) {
      tail_ += byte;
      ++count_;
      const std::string* ended = nullptr;
      for (const std::string& stop : stops_)
        if (tail_.ends_with(stop) && (ended == nullptr || stop.size() > ended->size())) ended = &stop;
      if (ended != nullptr) return count_ - ended->size();
      if (tail_.size() > 2 * longest_) tail_.erase(0, tail_.size() - longest_);
    }
    return std::nullopt;
  }

 private:
  std::vector<std::string> stops_;
  std::size_t longest_ = 0;
  std::string tail_;       // the last bytes, enough to contain the longest stop string
  std::size_t count_ = 0;  // number of bytes so far
};

}  // namespace dovetail::text
