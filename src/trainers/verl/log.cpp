#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.h"
#include "trainers/verl/verl.h"

namespace dovetail::trainers {
namespace {

constexpr std::string_view separator = " - ";

/// Returns the position of the next record, "step:12 - ", at or after `from`, and the digits of its step. The position
/// is npos if there is no other record.
std::pair<std::size_t, std::string_view> find_verl_step(std::string_view text, std::size_t from) {
  constexpr std::string_view word = "step:";
  for (std::size_t at = text.find(word, from); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const char before = at == 0 ? ' ' : text[at - 1];
    const bool within_word = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') || before == '_' ||
                             before == '/' || before == '.';
    const std::string_view digits = text.substr(at + word.size(), digits_at(text.substr(at + word.size())));
    if (!within_word && !digits.empty() && text.substr(at + word.size() + digits.size()).starts_with(separator))
      return {at, digits};
  }
  return {std::string_view::npos, {}};
}

/// Adds the value of a token such as "timing_s/gen:12.3", which is at position `at` of the line.
base::Status add_verl_token(const ConsoleLine& line, std::size_t at, std::string_view token, std::int64_t step,
                            StepLogBuilder& log) {
  const std::size_t colon = token.rfind(':');
  if (colon == std::string_view::npos || colon == 0)
    return line.error(at, fmt::format("{} is not a metric of step {}; accepted: `KEY:NUMBER`, separated by ` - `",
                                      base::quote(token), step));
  const std::string_view text = token.substr(colon + 1);
  const PrintedNumber number = printed_number(text);
  if (!number.well_formed)
    return line.error(at + colon + 1, fmt::format("{} is {} at step {}; accepted: a number",
                                                  base::quote(token.substr(0, colon)), base::quote(text), step));
  if (number.value)
    log.add(std::string(token.substr(0, colon)), *line.path, {step, *number.value, line.line, line.columns[at]});
  else
    log.add_not_number();
  return {};
}

/// Adds the record of a step. It begins at `begin`, the first character after "step:12 - ", and ends at `end`.
base::Status add_verl_record(const ConsoleLine& line, std::size_t begin, std::size_t end, std::int64_t step,
                             StepLogBuilder& log) {
  const std::string_view text = line.text;
  while (end > begin && (text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
  while (begin <= end) {
    const std::size_t stop = std::min(text.find(separator, begin), end);
    DOVETAIL_CHECK(add_verl_token(line, begin, text.substr(begin, stop - begin), step, log));
    begin = stop == end ? end + 1 : stop + separator.size();
  }
  return {};
}

base::Status read_verl_line(const ConsoleLine& line, StepLogBuilder& log) {
  const std::string_view text = line.text;
  auto [at, digits] = find_verl_step(text, 0);
  while (at != std::string_view::npos) {
    const std::size_t number = at + 5;
    const auto step = logged_step(digits);
    if (!step)
      return line.error(number, fmt::format("the step is {}; accepted: an integer from 0 to {}", base::quote(digits),
                                            max_step_number));
    const std::size_t begin = number + digits.size() + separator.size();
    const auto next = find_verl_step(text, begin);
    const std::size_t end = std::min({next.first, find_ray_prefix(text, begin), text.size()});
    DOVETAIL_CHECK(add_verl_record(line, begin, end, *step, log));
    std::tie(at, digits) = next;
  }
  return {};
}

}  // namespace

const LogKeys& verl_log_keys() {
  using enum TimeKind;
  using enum PhaseKind;
  static const LogKeys keys{.prefixes = {"timing_s/", "timing/"},
                            .times = {{"step", iteration},
                                      {"gen", phase, generation, {"actor"}},
                                      {"gen_max", phase, generation, {"actor"}},
                                      {"reward", phase, inference, {"reward"}},
                                      {"old_log_prob", phase, inference, {"actor"}},
                                      {"ref", phase, inference, {"reference"}},
                                      {"values", phase, inference, {"critic"}},
                                      {"update_critic", phase, training, {"critic"}},
                                      {"update_actor", phase, training, {"actor"}},
                                      {"update_weights", phase, refit},
                                      {"param_sync", phase, refit},
                                      {"sync_rollout_weights", phase, refit},
                                      {"adv", other},
                                      {"dump_rollout_generations", other},
                                      {"start_profile", other},
                                      {"stop_profile", other},
                                      {"switch_wait", other},
                                      {"switch_to_trainer", other},
                                      {"switch_to_rollout", other},
                                      {"testing", interruption},
                                      {"save_checkpoint", interruption},
                                      {"rollouter/validate_time", interruption},
                                      {"generate_sequences", part},
                                      {"generate_async", part},
                                      {"generation_timing", part},
                                      {"agent_loop/slowest/prompt_length", rate},
                                      {"agent_loop/slowest/response_length", rate},
                                      {"agent_loop", part},
                                      {"tool_calls", part},
                                      {"compute_score", part},
                                      {"reshard", part},
                                      {"wait_for_enough_samples", part}},
                            .lengths = {{"response_length/mean", LengthFigure::mean_response},
                                        {"response_length/max", LengthFigure::max_response},
                                        {"response_length/clip_ratio", LengthFigure::at_cap},
                                        {"prompt_length/mean", LengthFigure::mean_prompt},
                                        {"prompt_length/max", LengthFigure::max_prompt}},
                            .weight_sync_within_generation = true};
  return keys;
}

LineReader verl_line_reader() { return read_verl_line; }

}  // namespace dovetail::trainers
