#include "report/iteration/iteration_picture.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "report/page/inks.h"

namespace dovetail::report {
namespace {

using simulate::Activity;
using simulate::Span;

/// The tint of idle time by its cause, in the order of Activity from `tail` on.
constexpr Color idle_tints[] = {{0xF6, 0xD5, 0xD5}, {0xE5, 0xE7, 0xEB}, {0xD6, 0xE4, 0xF0}, {0xE4, 0xDC, 0xF0},
                                {0xF3, 0xEE, 0xD2}, {0xDD, 0xEB, 0xDD}, {0xF0, 0xE2, 0xD2}};

/// Which shade of its role's hue an activity has; nothing where it serves the role.
std::optional<std::size_t> shade_of(Activity activity) {
  switch (activity) {
    case Activity::prefill:
    case Activity::score:
    case Activity::forward:
      return 0;
    case Activity::decode:
    case Activity::backward:
      return 1;
    case Activity::recompute:
      return 3;
    case Activity::optimizer:
      return 4;
    default:
      return std::nullopt;
  }
}

constexpr std::string_view host_link = "host link";

std::size_t service_of(Activity activity) {
  if (activity == Activity::reallocation) return 0;
  if (activity == Activity::migration) return 1;
  return activity == Activity::loading ? 2 : 3;
}

}  // namespace

std::string device_ranges(const std::vector<int>& devices) {
  std::vector<std::string> texts;
  for (std::size_t begin = 0; begin < devices.size();) {
    std::size_t end = begin + 1;
    while (end < devices.size() && devices[end] == devices[end - 1] + 1) ++end;
    texts.push_back(end - begin == 1 ? std::to_string(devices[begin]) : fmt::format("{}-{}", devices[begin], devices[end - 1]));
    begin = end;
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string device_row_name(const std::vector<int>& devices) {
  return fmt::format("{} {}", devices.size() == 1 ? "device" : "devices", device_ranges(devices));
}

std::string host_link_row_name(const std::vector<int>& devices) {
  return fmt::format("{}{} {}", host_link, devices.size() == 1 ? "" : "s", device_ranges(devices));
}

bool is_host_link_row(std::string_view name) { return name.starts_with(host_link); }

std::vector<PictureRow> rows_of(const IterationPicture& picture) {
  std::vector<PictureRow> rows;
  for (const simulate::Lane& lane : picture.trace.lanes) rows.push_back({device_row_name(lane.devices), lane});
  for (const simulate::Lane& lane : picture.trace.host_links) rows.push_back({host_link_row_name(lane.devices), lane});
  return rows;
}

std::string describe(Activity activity, std::string_view task) {
  const std::string_view name = simulate::name_of(activity);
  if (task.empty()) return std::string(name);
  if (activity == Activity::dependency) return fmt::format("{} on {}", name, task);
  if (activity == Activity::awaiting || activity == Activity::reallocation) return fmt::format("{} for {}", name, task);
  return fmt::format("{} of {}", name, task);
}

std::string describe(const IterationPicture& picture, const Span& span) {
  return describe(span.activity, span.task < 0 ? std::string_view() : picture.tasks[static_cast<std::size_t>(span.task)]);
}

Ink ink_of(const IterationPicture& picture, Activity activity, std::int32_t task) {
  if (simulate::is_idle(activity)) return idle_ink(static_cast<std::size_t>(activity) - static_cast<std::size_t>(Activity::tail));
  const std::optional<std::size_t> shade = shade_of(activity);
  const int role = task < 0 ? -1 : picture.roles[static_cast<std::size_t>(task)];
  if (!shade || role < 0) return service_ink(service_of(activity));
  return ink_of(colors_of({{"", role, 0}}).front()[*shade]);
}

Color color_of(const IterationPicture& picture, const Span& span) {
  if (simulate::is_idle(span.activity)) return idle_tints[static_cast<int>(span.activity) - static_cast<int>(Activity::tail)];
  return ink_of(picture, span.activity, span.task).light;
}

}  // namespace dovetail::report
