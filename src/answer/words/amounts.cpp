#include "answer/words/amounts.h"

#include <fmt/format.h>

#include <cmath>

namespace dovetail::answer {

std::string seconds_text(double seconds) {
  if (seconds < 0) return "-" + seconds_text(-seconds);
  if (seconds >= 100) return fmt::format("{:.0f} s", seconds);
  if (seconds >= 1) return fmt::format("{:.1f} s", seconds);
  return fmt::format("{:.1f} ms", seconds * 1e3);
}

std::string signed_seconds(double seconds) {
  constexpr double negligible = 0.0005;
  if (std::abs(seconds) < negligible) return "0";
  return (seconds < 0 ? "-" : "+") + seconds_text(std::abs(seconds));
}

std::string gibibytes(std::int64_t bytes) {
  const auto amount = static_cast<double>(bytes);
  constexpr double shown = 0.005;  // of a unit
  if (bytes == 0 || std::abs(amount) >= shown * (1 << 30)) return fmt::format("{:.2f} GiB", amount / (1 << 30));
  if (std::abs(amount) >= shown * (1 << 20)) return fmt::format("{:.2f} MiB", amount / (1 << 20));
  return fmt::format("{} bytes", bytes);
}

}  // namespace dovetail::answer
