#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/document.h"
#include "trainers/nemo_rl/nemo_rl.h"

namespace dovetail::trainers {
namespace {

constexpr std::string_view bullet = "\u2022 ";

/// Removes leading symbols and spaces.
std::string_view without_signs(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || static_cast<unsigned char>(text.front()) >= 0x80))
    text.remove_prefix(1);
  return text;
}

/// Reads the lists below the heading of a step. Excerpts, and loops that print no headings, do not give the step. The
/// lists of results and times are then counted from 1.
struct NemoRlLines {
  std::optional<std::int64_t> step;
  bool has_step_headings = false;
  bool has_results = false;  ///< whether a step without heading has results, so that its times follow
  bool in_times = false;

  base::Status read(const ConsoleLine& line, StepLogBuilder& log) {
    const std::string_view text = line.text;
    if (const std::size_t at = text.find("= Step "); at != std::string_view::npos && text.ends_with("="))
      return begin_step(line, at + 7);
    const std::size_t at = text.find(bullet);
    if (at != std::string_view::npos) {
      if (in_times && text.substr(at + bullet.size()).starts_with("Total step time: ")) count_times();
      return step ? read_item(line, at + bullet.size(), log) : base::Status();
    }
    // A Ray prefix may precede a heading.
    const std::size_t prefix = find_ray_prefix(text);
    const std::size_t after = prefix == std::string_view::npos ? 0 : text.find(')', prefix) + 1;
    const std::string_view heading = without_signs(text.substr(std::min(after, text.size())));
    if (heading.ends_with(':')) in_times = heading == "Timing:";
    if (heading == "Training Results:" && !has_step_headings) {
      step = step.value_or(0) + 1;
      has_results = true;
    }
    return {};
  }

  /// Begins the list of times of a step. If neither a heading nor results preceded it, the list begins a new step.
  void count_times() {
    if (!has_step_headings && !has_results) step = step.value_or(0) + 1;
    has_results = false;
  }

  base::Status begin_step(const ConsoleLine& line, std::size_t at) {
    const std::string_view rest = std::string_view(line.text).substr(at);
    const std::string_view number = rest.substr(0, rest.find_first_of("/ "));
    step = logged_step(number);
    in_times = false;
    has_step_headings = true;
    if (step) return {};
    return line.error(
        at, fmt::format("the step is {}; accepted: an integer from 0 to {}", base::quote(number), max_step_number));
  }

  /// Adds an item such as "generation: 55.50s (56.8%)" or "Mean Generation Length: 1070.25".
  base::Status read_item(const ConsoleLine& line, std::size_t at, StepLogBuilder& log) const {
    const std::string_view text = line.text;
    const std::size_t colon = text.find(": ", at);
    if (colon == std::string_view::npos) return {};
    const std::string_view name = text.substr(at, colon - at);
    const bool length = name == "Mean Generation Length";
    if (!in_times && !length) return {};
    const std::size_t begin = colon + 2;
    std::string_view number = text.substr(begin, text.find(" (", begin) - begin);
    while (number.ends_with(' ')) number.remove_suffix(1);
    const bool seconds = number.ends_with('s');
    if (seconds) number.remove_suffix(1);
    const auto value = logged_number(number);
    if (!value || seconds == length)
      return line.error(begin, fmt::format("{} is {} at step {}; accepted: {}", base::quote(name),
                                           base::quote(text.substr(begin, number.size() + (seconds ? 1 : 0))), *step,
                                           length ? "a number" : "seconds, such as 12.50s"));
    const std::string key = length                      ? "train/mean_gen_tokens_per_sample"
                            : name == "Total step time" ? "timing/train/total_step_time"
                                                        : "timing/train/" + std::string(name);
    log.add(key, *line.path, {*step, *value, line.line, line.columns[at]});
    return {};
  }
};

}  // namespace

const LogKeys& nemo_rl_log_keys() {
  using enum TimeKind;
  using enum PhaseKind;
  static const LogKeys keys{.prefixes = {"timing/train/"},
                            .times = {{"total_step_time", iteration},
                                      {"generation", phase, generation, {"actor"}},
                                      {"policy_and_reference_logprobs", phase, inference, {"actor", "reference"}},
                                      {"logprob_inference_prep", phase, inference, {"actor", "reference"}},
                                      {"value_inference", phase, inference, {"critic"}},
                                      {"policy_training", phase, training, {"actor"}},
                                      {"value_training", phase, training, {"critic"}},
                                      {"training_prep", phase, offload},
                                      {"value_training_prep", phase, offload},
                                      {"prepare_for_generation/total", phase, refit},
                                      {"weight_sync", phase, refit},
                                      {"policy_offload_after_refit", phase, offload},
                                      {"offload_before_refit", phase, offload},
                                      {"exposed_generation", other},
                                      {"buffer_sampling", other},
                                      {"data_processing", other},
                                      {"reward_calculation", other},
                                      {"advantage_calculation", other},
                                      {"dynamic_sampling", other},
                                      {"recompute_kv_scales", other},
                                      {"validation", interruption},
                                      {"checkpointing", interruption},
                                      {"prepare_for_generation", part},
                                      {"overlong_filter", part},
                                      {"mask_sample_filter", part},
                                      {"get_logprobs", part},
                                      {"get_reference_policy_logprobs", part},
                                      {"get_values", part},
                                      {"idle", part},
                                      {"valid_tokens_per_sec_per_gpu", rate}},
                            .lengths = {{"train/mean_gen_tokens_per_sample", LengthFigure::mean_response},
                                        {"train/max_gen_tokens_per_sample", LengthFigure::max_response},
                                        {"train/truncation_rate", LengthFigure::at_cap}}};
  return keys;
}

LineReader nemo_rl_line_reader() {
  const auto lines = std::make_shared<NemoRlLines>();
  return [lines](const ConsoleLine& line, StepLogBuilder& log) { return lines->read(line, log); };
}

}  // namespace dovetail::trainers
