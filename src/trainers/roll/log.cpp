#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/document.h"
#include "trainers/logs/printed_object.h"
#include "trainers/roll/roll.h"

namespace dovetail::trainers {
namespace {

constexpr std::string_view tag = "metrics_tag: {";
constexpr std::string_view metrics = "metrics/";

/// Returns the step whose start a line reports, or nullopt.
std::optional<std::int64_t> started_step(std::string_view text) {
  for (const std::string_view prefix : {"pipeline step ", "global step "}) {
    const std::size_t at = text.find(prefix);
    if (at == std::string_view::npos) continue;
    const std::string_view digits = text.substr(at + prefix.size(), digits_at(text.substr(at + prefix.size())));
    if (text.substr(at + prefix.size() + digits.size()).starts_with(" start")) return logged_step(digits);
  }
  return std::nullopt;
}

/// Adds the metrics that the standard output tracker prints.
base::Status add_tagged(const ConsoleLine& line, std::size_t at, StepLogBuilder& log) {
  DOVETAIL_TRY(const std::vector<PrintedLeaf> leaves, read_printed_object(line, at));
  if (leaves.empty() || leaves.front().key != "step")
    return line.error(at, "the metrics lack a step; accepted: {\"step\": 12, \"metrics\": {...}}");
  const auto step = logged_step(leaves.front().text);
  if (!step)
    return line.error(leaves.front().at, fmt::format("the step is {}; accepted: an integer from 0 to {}",
                                                     base::quote(leaves.front().text), max_step_number));
  for (const PrintedLeaf& leaf : leaves)
    if (leaf.key.starts_with(metrics)) add_leaf(line, leaf.key.substr(metrics.size()), leaf, *step, log);
  return {};
}

/// Returns whether an object contains the metrics of a step. Not all versions include the number or the times of the
/// step.
bool is_of_step(std::string_view object) {
  const auto has = [object](std::string_view text) { return object.find(text) != std::string_view::npos; };
  return has("\"time/step_") || (has("\"time/") && has("\"system/step\""));
}

/// Returns the step that the metrics include, or nullopt.
std::optional<std::int64_t> own_step(const std::vector<PrintedLeaf>& leaves) {
  const auto found =
      std::find_if(leaves.begin(), leaves.end(), [](const PrintedLeaf& leaf) { return leaf.key == "system/step"; });
  return found == leaves.end() ? std::nullopt : logged_step(found->text);
}

/// Reads objects of metrics. The step is in the metrics, otherwise on an earlier line. If neither has it, objects are
/// counted from 1.
struct RollLines {
  std::optional<std::int64_t> step;
  std::int64_t objects = 0;

  base::Status read(const ConsoleLine& line, StepLogBuilder& log) {
    const std::string_view text = line.text;
    if (const auto started = started_step(text)) step = started;
    if (const std::size_t at = text.find(tag); at != std::string_view::npos)
      return add_tagged(line, at + tag.size() - 1, log);
    const std::size_t at = text.find("{\"");
    if (at == std::string_view::npos || !is_of_step(text.substr(at))) return {};
    // Logged samples are in a list.
    if (at > 0 && text[at - 1] == '[') return {};
    ++objects;
    DOVETAIL_TRY(const std::vector<PrintedLeaf> leaves, read_printed_object(line, at));
    const std::int64_t number = own_step(leaves).value_or(step.value_or(objects));
    for (const PrintedLeaf& leaf : leaves) add_leaf(line, leaf.key, leaf, number, log);
    return {};
  }
};

}  // namespace

const LogKeys& roll_log_keys() {
  using enum TimeKind;
  using enum PhaseKind;
  static const LogKeys keys{
      .prefixes = {"time/"},
      .times = {{"step_total", iteration},
                {"step_generate", phase, generation, {"actor"}},
                {"step_rollout", phase, generation, {"actor"}},
                {"rollout", phase, generation, {"actor"}, "step_rollout"},
                {"ref_log_probs_values", phase, inference, {"reference"}},
                {"ref_log_probs_values_reward", phase, inference, {"reference", "critic", "reward"}},
                {"step_ref_log_probs_values_reward", phase, inference, {"reference", "critic", "reward"}},
                {"old_log_probs", phase, inference, {"actor", "critic"}},
                {"old_log_probs_values", phase, inference, {"actor", "critic"}},
                {"step_old_log_probs_values", phase, inference, {"actor", "critic"}},
                {"step_train", phase, training, {"actor", "critic"}},
                {"actor_train/train_step/total", phase, training, {"actor"}, "step_train"},
                {"step_model_update", phase, refit},
                {"actor_train/model_update/total", phase, refit, {}, "step_model_update"},
                {"step_stop_server", other},
                {"step_shrink", other},
                {"step_cal_response_level_mask", other},
                {"step_cal_norm_rewards", other},
                {"step_cal_token_reward", other},
                {"step_adv", other},
                {"adv", other, {}, {}, "step_adv"},
                {"step_compute_data_metrics", other},
                {"step_log", other},
                {"reward_postprocess", other},
                {"get_sample_level_mask", other},
                {"get_token_reward", other},
                {"compute_advantage", other},
                {"val_step", interruption},
                {"step_val", interruption},
                {"actor_train/do_checkpoint/total", interruption},
                {"critic/do_checkpoint/total", interruption},
                {"get_rewards", part},
                {"compute_adv", part},
                {"get_batch_cost_train", part},
                {"get_batch_cost_val", part},
                {"get_batch_cost_gqm", part},
                {"actor_train", part},
                {"actor_infer", part},
                {"critic", part},
                {"reference", part},
                {"generate", part},
                {"reward", part}},
      .lengths = {{"token/response_length/mean", LengthFigure::mean_response},
                  {"token/response_length/max", LengthFigure::max_response},
                  {"tokens/response_length/mean", LengthFigure::mean_response},
                  {"tokens/response_length/max", LengthFigure::max_response},
                  {"token/prompt_length/mean", LengthFigure::mean_prompt},
                  {"token/prompt_length/max", LengthFigure::max_prompt},
                  {"tokens/prompt_length/mean", LengthFigure::mean_prompt},
                  {"tokens/prompt_length/max", LengthFigure::max_prompt}},
      .sums_iteration = true,
      .may_log_previous = true};
  return keys;
}

LineReader roll_line_reader() {
  const auto lines = std::make_shared<RollLines>();
  return [lines](const ConsoleLine& line, StepLogBuilder& log) { return lines->read(line, log); };
}

}  // namespace dovetail::trainers
