#include "answer/question/seconds.h"

#include <fmt/core.h>

#include <charconv>
#include <utility>

namespace dovetail::answer {

base::Result<double> parse_seconds(std::string_view text) {
  constexpr double max_seconds = 1e7;
  constexpr std::pair<std::string_view, double> units[] = {{"", 1},  {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                                                           {"s", 1}, {"m", 60},    {"min", 60},  {"h", 3600}};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  for (const auto& [unit, seconds] : units) {
    if (error != std::errc() || std::string_view(rest, static_cast<std::size_t>(end - rest)) != unit) continue;
    const double time = number * seconds;
    if (time > 0 && time <= max_seconds) return time;
  }
  return base::bad_input(fmt::format(
      "'{}' is not a duration; accepted: more than 0 and at most 1e7 seconds, such as 30, 500ms, 2m or 1h", text));
}

}  // namespace dovetail::answer
