#include "cli/output.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/nearest.h"
#include "base/utf8.h"

namespace dovetail::cli {
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

bool silent = false;

void write(std::string_view text, std::FILE* file) {
  if (!silent) std::fwrite(text.data(), 1, text.size(), file);
}

std::string shown(std::string_view text) { return base::visible(text, "\n\t"); }

double rounded(double value, double steps_per_one) { return std::round(value * steps_per_one) / steps_per_one; }

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
  // A thousandth of the unit is as many thousandths of a tick as the unit has ticks.
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

Json json_number(const std::string& decimal) {
  const char* end = decimal.data() + decimal.size();
  std::int64_t whole = 0;
  if (const auto parsed = std::from_chars(decimal.data(), end, whole); parsed.ec == std::errc() && parsed.ptr == end) return whole;
  double value = 0;
  std::from_chars(decimal.data(), end, value);
  return value;
}

Json json_time(base::Ticks time, base::TimeUnit unit) { return json_number(base::format_time(time, unit)); }
Json json_memory(base::Memory memory) { return json_number(base::format_memory(memory)); }
Json json_ratio(double ratio) { return rounded(ratio, 1e6); }
Json json_simulated(double seconds) { return rounded(seconds, 1e9); }
Json json_seconds(double seconds) { return rounded(seconds, 1e3); }
Json json_memory(const std::optional<base::Memory>& memory) { return memory ? json_memory(*memory) : Json(nullptr); }

std::string hint_and_list(std::string_view name, std::string_view intro, const std::vector<std::string_view>& accepted) {
  const std::string hint = base::did_you_mean(name, accepted);
  std::string list = fmt::format("{} {}", intro, fmt::join(accepted, ", "));
  if (hint.empty()) return "; " + list;
  if (list.front() >= 'a' && list.front() <= 'z') list.front() = static_cast<char>(list.front() - 'a' + 'A');
  return hint + " " + list;
}

void print_nothing() { silent = true; }
std::string json_text(const Json& object, int indent) { return shown(object.dump(indent, ' ', false, Json::error_handler_t::replace)); }
void print_json(const Json& object) { write(json_text(object, 2) + "\n", stdout); }
void print(std::string_view text) { write(shown(text), stdout); }
void print_drawn(std::string_view chart) { write(chart, stdout); }
void print_error(std::string_view text) { write(shown(text), stderr); }
void rewrite_line(std::string_view text) { write(fmt::format("\r{}\033[K", base::visible(text)), stderr); }

void print_note(std::string_view text) { print_error(fmt::format("dovetail: note: {}\n", text)); }
void print_warning(std::string_view text) { print_error(fmt::format("dovetail: warning: {}\n", text)); }

}  // namespace dovetail::cli
