#include "trainers/roll/start.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/document.h"
#include "trainers/import/settings.h"
#include "trainers/roll/layouts.h"
#include "trainers/roll/settings.h"

namespace dovetail::trainers {
namespace {

constexpr std::array<const char*, 6> estimators{"gae",   "reinforce",      "grpo",
                                                "gigpo", "step_reinforce", "agentic_reinforce"};

base::Status check_estimator(const syntax::SettingTree& tree) {
  DOVETAIL_TRY(const auto said, optional_text(tree, "adv_estimator"));
  std::string accepted;
  for (const char* const each : estimators) {
    if (!said || *said == each) return {};
    accepted += fmt::format("{}{}", accepted.empty() ? "" : ", ", each);
  }
  return setting_error(tree, "adv_estimator",
                       fmt::format("is {}, and ROLL stops; accepted: {}", base::quote(*said), accepted));
}

base::Status check_asynchrony(const syntax::SettingTree& tree) {
  const std::string key = "async_generation_ratio";
  DOVETAIL_TRY(const auto ratio, optional_number(tree, key));
  DOVETAIL_TRY(const auto level, optional_whole(tree, "generate_opt_level"));
  if (ratio.value_or(0) == 0) return {};
  if (*ratio < 1)
    return setting_error(tree, key, fmt::format("is {}, and ROLL stops; accepted: 0, or at least 1", *ratio));
  if (*ratio > 1000) return setting_error(tree, key, fmt::format("is {}; accepted: at most 1000", *ratio));
  if (level.value_or(1) != 1)
    return setting_error(tree, "generate_opt_level",
                         fmt::format("is {} with {}, and ROLL stops; accepted: 1", *level, key));
  return {};
}

/// What Megatron's strategies do not take.
base::Status check_megatron_role(const syntax::SettingTree& tree, const std::string& role) {
  const std::string gather_key = roll_strategy_key(role) + ".overlap_param_gather";
  DOVETAIL_TRY(const bool gathers, roll_flag(tree, gather_key));
  if (gathers) return setting_error(tree, gather_key, "is true, and ROLL stops; accepted: false");
  return {};
}

base::Status check_roll_role(const syntax::SettingTree& tree, const std::string& role) {
  const std::string replay_key = role + ".router_replay.mode";
  DOVETAIL_TRY(const auto replay, optional_text(tree, replay_key));
  if (replay && *replay == "R2") return setting_error(tree, replay_key, "is R2, and ROLL stops; accepted: disable, R3");
  DOVETAIL_TRY(const auto strategy, optional_text(tree, role + ".strategy_args.strategy_name"));
  if (strategy && strategy->starts_with("megatron")) DOVETAIL_CHECK(check_megatron_role(tree, role));
  return {};
}

base::Status check_adapters(const syntax::SettingTree& tree) {
  const std::string key = "actor_train.model_args.lora_target";
  DOVETAIL_TRY(const auto strategy, optional_text(tree, "actor_infer.strategy_args.strategy_name"));
  const syntax::Setting* const target = find_setting(tree.root, key);
  if (target == nullptr || target->kind == syntax::Setting::Kind::null || strategy != "sglang") return {};
  return setting_error(tree, key, "is given with sglang, and ROLL stops; accepted: null, or vllm");
}

}  // namespace

base::Status check_roll_start(const syntax::SettingTree& tree) {
  DOVETAIL_CHECK(check_estimator(tree));
  DOVETAIL_CHECK(check_asynchrony(tree));
  for (const char* const role : {"actor_train", "actor_infer", "reference", "critic"})
    DOVETAIL_CHECK(check_roll_role(tree, role));
  DOVETAIL_CHECK(check_adapters(tree));
  DOVETAIL_TRY(const auto prompt, optional_whole(tree, "val_prompt_length"));
  DOVETAIL_TRY(const auto sequence, optional_whole(tree, "val_sequence_length"));
  if (prompt.has_value() != sequence.has_value())
    return setting_error(tree, prompt ? "val_prompt_length" : "val_sequence_length",
                         "is given alone, and ROLL stops; accepted: both of val_prompt_length and val_sequence_length");
  return {};
}

}  // namespace dovetail::trainers
