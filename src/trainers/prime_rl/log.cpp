#include "trainers/prime_rl/log.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/document.h"

namespace dovetail::trainers {
namespace {

constexpr std::string_view step_prefix = " Step ";
constexpr std::string_view between = " | ";

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Parses a duration to seconds: "850ms", "12.5s", "1m 5s", "2h 3m", "1d 2h".
std::optional<double> printed_seconds(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 5> units{
      {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}}};
  if (text.empty()) return std::nullopt;
  double seconds = 0;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t digits = std::min(part.find_first_not_of("0123456789."), part.size());
    const auto number = logged_number(part.substr(0, digits));
    const auto unit =
        std::find_if(units.begin(), units.end(), [&](const auto& each) { return each.first == part.substr(digits); });
    if (!number || unit == units.end()) return std::nullopt;
    seconds += *number * unit->second;
  }
  return seconds;
}

/// Adds the share after "Truncation ", which only the orchestrator logs.
base::Status add_truncation(const ConsoleLine& line, std::size_t from, std::int64_t step, StepLogBuilder& log) {
  constexpr std::string_view word = "| Truncation ";
  const std::string_view text = line.text;
  const std::size_t at = text.find(word, from);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + word.size();
  std::string_view share = text.substr(begin, text.find_first_of(" |", begin) - begin);
  const bool percent = share.ends_with('%');
  if (percent) share.remove_suffix(1);
  const auto value = logged_number(share);
  if (!value || !percent)
    return line.error(begin, fmt::format("the truncation is {} at step {}; accepted: a percentage such as 3.1%",
                                         base::quote(share), step));
  log.add("truncation", *line.path, {step, *value / 100, line.line, line.columns[begin]});
  return {};
}

base::Status read_prime_rl_line(const ConsoleLine& line, StepLogBuilder& log) {
  const std::string_view text = line.text;
  const std::size_t at = text.find(step_prefix);
  if (at == std::string_view::npos || text.substr(0, at).find("SUCCESS") == std::string_view::npos) return {};
  const std::size_t number_at = at + step_prefix.size();
  const std::size_t bar = text.find(between, number_at);
  if (bar == std::string_view::npos) return {};
  const std::string_view number = text.substr(number_at, bar - number_at);
  const auto step = logged_step(number);
  if (!step)
    return line.error(number_at, fmt::format("the step is {}; accepted: an integer from 0 to {}", base::quote(number),
                                             max_step_number));
  const std::size_t begin = bar + between.size();
  std::string_view time = without_blanks(text.substr(begin, text.find(between, begin) - begin));
  constexpr std::string_view old_word = "Time: ";
  if (time.starts_with(old_word)) time = without_blanks(time.substr(old_word.size()));
  const auto seconds = printed_seconds(time);
  const auto time_at = static_cast<std::size_t>(time.data() - text.data());
  if (!seconds)
    return line.error(time_at,
                      fmt::format("the time is {} at step {}; accepted: a duration such as 850ms, 12.5s, 1m 5s, 2h 3m",
                                  base::quote(time), *step));
  log.add("time/step", *line.path, {*step, *seconds, line.line, line.columns[time_at]});
  return add_truncation(line, begin, *step, log);
}

}  // namespace

const LogKeys& prime_rl_log_keys() {
  using enum TimeKind;
  using enum PhaseKind;
  static const LogKeys keys{.prefixes = {"time/"},
                            .times = {{"step", iteration},
                                      {"forward_backward", phase, training, {"actor"}},
                                      {"broadcast_weights", phase, refit},
                                      {"wait_for_batch", other},
                                      {"load_data", other},
                                      {"save_ckpt", interruption},
                                      {"pack", part},
                                      {"wait_for_policy", part}},
                            .lengths = {{"truncation", LengthFigure::at_cap}}};
  return keys;
}

LineReader prime_rl_line_reader() { return read_prime_rl_line; }

}  // namespace dovetail::trainers
