#include "measure/measured_keys.h"

#include <algorithm>
#include <array>
#include <utility>

namespace dovetail::measure {
namespace {

/// TensorBoard's names of files have '_' where keys have '/'.
std::string alike(std::string_view text) {
  std::string result(text);
  std::replace(result.begin(), result.end(), '/', '_');
  return result;
}

const std::vector<TimedKey>& verl_keys() {
  static const std::vector<TimedKey> keys = {
      {"step", TimeKind::iteration},
      {"gen", TimeKind::phase, PhaseKind::generation, {"actor"}},
      {"gen_max", TimeKind::phase, PhaseKind::generation, {"actor"}},
      {"reward", TimeKind::phase, PhaseKind::inference, {"reward"}},
      {"old_log_prob", TimeKind::phase, PhaseKind::inference, {"actor"}},
      {"ref", TimeKind::phase, PhaseKind::inference, {"reference"}},
      {"values", TimeKind::phase, PhaseKind::inference, {"critic"}},
      {"update_critic", TimeKind::phase, PhaseKind::training, {"critic"}},
      {"update_actor", TimeKind::phase, PhaseKind::training, {"actor"}},
      {"update_weights", TimeKind::phase, PhaseKind::refit},
      {"adv", TimeKind::other},
      {"dump_rollout_generations", TimeKind::other},
      {"start_profile", TimeKind::other},
      {"stop_profile", TimeKind::other},
      {"testing", TimeKind::interruption},
      {"save_checkpoint", TimeKind::interruption},
      {"generate_sequences", TimeKind::part},
      {"generation_timing", TimeKind::part},
      {"agent_loop", TimeKind::part},
      {"reshard", TimeKind::part},
  };
  return keys;
}

const std::vector<TimedKey>& nemo_rl_keys() {
  static const std::vector<TimedKey> keys = {
      {"total_step_time", TimeKind::iteration},
      {"generation", TimeKind::phase, PhaseKind::generation, {"actor"}},
      {"policy_and_reference_logprobs", TimeKind::phase, PhaseKind::inference, {"actor", "reference"}},
      {"logprob_inference_prep", TimeKind::phase, PhaseKind::inference, {"actor", "reference"}},
      {"value_inference", TimeKind::phase, PhaseKind::inference, {"critic"}},
      {"policy_training", TimeKind::phase, PhaseKind::training, {"actor"}},
      {"value_training", TimeKind::phase, PhaseKind::training, {"critic"}},
      {"training_prep", TimeKind::phase, PhaseKind::offload},
      {"value_training_prep", TimeKind::phase, PhaseKind::offload},
      {"prepare_for_generation/total", TimeKind::phase, PhaseKind::refit},
      {"weight_sync", TimeKind::phase, PhaseKind::refit},
      {"exposed_generation", TimeKind::other},
      {"buffer_sampling", TimeKind::other},
      {"data_processing", TimeKind::other},
      {"reward_calculation", TimeKind::other},
      {"advantage_calculation", TimeKind::other},
      {"validation", TimeKind::interruption},
      {"checkpointing", TimeKind::interruption},
      {"prepare_for_generation", TimeKind::part},
      {"valid_tokens_per_sec_per_gpu", TimeKind::rate},
  };
  return keys;
}

const std::vector<TimedKey>& dovetail_keys() {
  static const std::vector<TimedKey> keys = {
      {"seconds", TimeKind::iteration},
      {"actor_generate_seconds", TimeKind::phase, PhaseKind::generation, {"actor"}},
      {"reward_rule_seconds", TimeKind::phase, PhaseKind::inference, {"reward"}},
      {"reward_infer_seconds", TimeKind::phase, PhaseKind::inference, {"reward"}},
      {"actor_infer_seconds", TimeKind::phase, PhaseKind::inference, {"actor"}},
      {"reference_infer_seconds", TimeKind::phase, PhaseKind::inference, {"reference"}},
      {"critic_infer_seconds", TimeKind::phase, PhaseKind::inference, {"critic"}},
      {"actor_train_seconds", TimeKind::phase, PhaseKind::training, {"actor"}},
      {"critic_train_seconds", TimeKind::phase, PhaseKind::training, {"critic"}},
      {"reward_train_seconds", TimeKind::phase, PhaseKind::training, {"reward"}},
      {"actor_train+critic_train_seconds", TimeKind::phase, PhaseKind::training, {"actor", "critic"}},
      {"critic_train+actor_train_seconds", TimeKind::phase, PhaseKind::training, {"actor", "critic"}},
      {"evaluate_seconds", TimeKind::interruption},
      {"tokens_per_second", TimeKind::rate},
      {"mfu", TimeKind::rate},
      {"memory_gib", TimeKind::rate},
  };
  return keys;
}

struct LengthKey {
  std::string_view name;
  LengthFigure figure;
};

std::array<LengthKey, 3> length_keys(LogFormat format) {
  using enum LengthFigure;
  switch (format) {
    case LogFormat::verl:
      return {{{"response_length/mean", mean_response},
               {"response_length/max", max_response},
               {"response_length/clip_ratio", at_cap}}};
    case LogFormat::nemo_rl:
      return {{{"train/mean_gen_tokens_per_sample", mean_response},
               {"train/max_gen_tokens_per_sample", max_response},
               {"train/truncation_rate", at_cap}}};
    case LogFormat::dovetail:
      return {{{"response_length", mean_response}, {"response_length_max", max_response}, {"truncated", at_cap}}};
  }
  return {};
}

}  // namespace

std::string_view time_prefix(LogFormat format) {
  switch (format) {
    case LogFormat::verl:
      return "timing_s/";
    case LogFormat::nemo_rl:
      return "timing/train/";
    case LogFormat::dovetail:
      return "timing/";
  }
  return {};
}

const std::vector<TimedKey>& timed_keys(LogFormat format) {
  switch (format) {
    case LogFormat::verl:
      return verl_keys();
    case LogFormat::nemo_rl:
      return nemo_rl_keys();
    case LogFormat::dovetail:
      break;
  }
  return dovetail_keys();
}

std::optional<std::string> time_name(LogFormat format, std::string_view key) {
  if (format == LogFormat::dovetail) {
    const std::string_view own = time_prefix(format);
    // A prefix of others begins as this one does, and their names have folders.
    if (!key.starts_with(own) || key.find('/', own.size()) != std::string_view::npos) return std::nullopt;
    return std::string(key.substr(own.size()));
  }
  const std::string prefix = alike(time_prefix(format));
  const std::size_t at = alike(key).find(prefix);
  if (at == std::string::npos || at + prefix.size() == key.size()) return std::nullopt;
  // Within a word it is something else.
  if (at > 0 && std::string_view("/_ .").find(key[at - 1]) == std::string_view::npos) return std::nullopt;
  return std::string(key.substr(at + prefix.size()));
}

std::optional<TimedKey> find_timed_key(LogFormat format, std::string_view name) {
  const std::vector<TimedKey>& keys = timed_keys(format);
  const std::string wanted = alike(name);
  for (const TimedKey& key : keys)
    if (alike(key.name) == wanted) return key;
  for (const TimedKey& key : keys)
    if (name.starts_with(key.name) && name.size() > key.name.size() && name[key.name.size()] == '/')
      return TimedKey{key.name, TimeKind::part, {}, {}};
  return std::nullopt;
}

std::optional<LengthFigure> length_figure(LogFormat format, std::string_view key) {
  const std::string wanted = alike(key);
  for (const auto& [name, figure] : length_keys(format))
    if (wanted == alike(name) || (format != LogFormat::dovetail && wanted.ends_with("_" + alike(name)))) return figure;
  return std::nullopt;
}

}  // namespace dovetail::measure
