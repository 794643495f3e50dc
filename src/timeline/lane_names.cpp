#include "timeline/lane_names.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <utility>

namespace dovetail::timeline {
namespace {

constexpr std::string_view host_link = "host link";

/// Names of traces may say anything.
constexpr int max_devices = 1'000'000;

/// Takes a number from the front of `text`.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || number < 0 || number >= max_devices) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

}  // namespace

std::string device_ranges(const std::vector<int>& devices) {
  std::vector<std::string> texts;
  for (std::size_t begin = 0; begin < devices.size();) {
    std::size_t end = begin + 1;
    while (end < devices.size() && devices[end] == devices[end - 1] + 1) ++end;
    texts.push_back(end - begin == 1 ? std::to_string(devices[begin])
                                     : fmt::format("{}-{}", devices[begin], devices[end - 1]));
    begin = end;
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string device_lane_name(const std::vector<int>& devices) {
  return fmt::format("{} {}", devices.size() == 1 ? "device" : "devices", device_ranges(devices));
}

std::optional<std::vector<int>> devices_of(std::string_view name) {
  if (!take(name, "devices ") && !take(name, "device ")) return std::nullopt;
  std::vector<int> devices;
  do {
    const std::optional<int> first = take_number(name);
    const std::optional<int> last = first && take(name, "-") ? take_number(name) : first;
    if (!first || !last || *last < *first || (!devices.empty() && *first <= devices.back())) return std::nullopt;
    for (int device = *first; device <= *last; ++device) devices.push_back(device);
  } while (take(name, ","));
  return name.empty() ? std::optional(std::move(devices)) : std::nullopt;
}

std::string host_link_lane_name(const std::vector<int>& devices) {
  return fmt::format("{}{} {}", host_link, devices.size() == 1 ? "" : "s", device_ranges(devices));
}

bool is_host_link_lane(std::string_view name) { return name.starts_with(host_link); }

}  // namespace dovetail::timeline
