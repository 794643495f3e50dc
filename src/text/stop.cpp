#include "text/stop.h"

#include <algorithm>
#include <utility>

namespace dovetail::text {

StopFinder::StopFinder(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
  for (const std::string& stop : stops_) longest_ = std::max(longest_, stop.size());
}

std::optional<std::size_t> StopFinder::add(std::string_view bytes) {
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

}  // namespace dovetail::text
