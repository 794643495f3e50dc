#include "answer/text/figures.h"

#include <fmt/format.h>

#include <cmath>

#include "base/enum_names.h"

namespace dovetail::answer {
namespace {

double share_above(std::int64_t value, std::int64_t bound) {
  return bound == 0 ? 0.0 : static_cast<double>(value - bound) / static_cast<double>(bound);
}

std::string change_share(std::int64_t from, std::int64_t to) {
  if (from == 0 || from == to) return "";
  const bool falls = to < from;
  const auto change = static_cast<double>(falls ? from - to : to - from);
  return fmt::format("{}{}", falls ? "-" : "+", percent(change / static_cast<double>(from)));
}

}  // namespace

std::string time_with_unit(base::Ticks time, base::TimeUnit unit) {
  const std::string number = base::format_time(time, unit);
  if (unit != base::TimeUnit::tick) return number + " " + std::string(base::name_of(unit));
  return number + (number == "1" ? " tick" : " ticks");
}

std::string format_thousandths(std::int64_t thousandths, base::TimeUnit unit) {
  const std::int64_t steps = 1000 * base::ticks_per(unit);
  std::string text = fmt::format("{}", thousandths / steps);
  std::string fraction = fmt::format("{}", steps + thousandths % steps).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  if (!fraction.empty()) text += "." + fraction;
  return text;
}

std::string format_thousandths_rounded(std::int64_t thousandths, base::TimeUnit unit) {
  // A thousandth of `unit` has this many thousandths of a tick.
  const std::int64_t step = base::ticks_per(unit);
  return format_thousandths((thousandths + step / 2) / step * step, unit);
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100.0 * share); }

double gap(base::Ticks value, base::Ticks bound) { return share_above(value.count(), bound.count()); }
double gap(base::Memory value, base::Memory bound) { return share_above(value.count(), bound.count()); }

std::string gap_text(double gap) {
  constexpr double far_off = 9;
  return gap < far_off ? "gap " + percent(gap) : fmt::format("{:.0f} times the bound", 1 + gap);
}

std::string change_share_text(base::Ticks from, base::Ticks to) { return change_share(from.count(), to.count()); }
std::string change_share_text(base::Memory from, base::Memory to) { return change_share(from.count(), to.count()); }

std::string difference_text(double value, double with) {
  return with > 0 ? fmt::format("{:+.1f}%", 100 * (value / with - 1)) : "";
}

std::string short_number(double value) {
  if (value < 1e3) return fmt::format("{:.0f}", value);
  if (value < 1e6) return fmt::format("{:.3g}k", value / 1e3);
  return fmt::format("{:.3g}M", value / 1e6);
}

std::string time_left(double seconds) {
  const auto rounded = static_cast<std::int64_t>(std::ceil(seconds));
  return rounded < 60 ? fmt::format("{} s left", rounded)
                      : fmt::format("{}:{:02} min left", rounded / 60, rounded % 60);
}

std::string hint_and_list(std::string_view name, std::string_view intro,
                          const std::vector<std::string_view>& accepted) {
  const std::string hint = base::did_you_mean(name, accepted);
  std::string list = fmt::format("{} {}", intro, fmt::join(accepted, ", "));
  if (hint.empty()) return "; " + list;
  if (list.front() >= 'a' && list.front() <= 'z') list.front() = static_cast<char>(list.front() - 'a' + 'A');
  return hint + " " + list;
}

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
