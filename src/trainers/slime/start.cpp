#include "trainers/slime/start.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "trainers/import/settings.h"
#include "trainers/import/watched.h"

namespace dovetail::trainers {
namespace {

/// A flag that another one needs.
struct Need {
  std::string_view key;
  std::string_view other;
};

constexpr std::array needs{
    Need{"--use-kl-loss", "--ref-load"},
    Need{"--use-opd", "--opd-type"},
    Need{"--opd-teacher-load", "--use-opd"},
    Need{"--save-interval", "--save"},
    Need{"--get-mismatch-metrics", "--custom-tis-function-path"},
    Need{"--use-dynamic-batch-size", "--max-tokens-per-gpu"},
    Need{"--balance-by-flops", "--use-dynamic-batch-size"},
    Need{"--enable-mtp-training", "--mtp-num-layers"},
    Need{"--optimizer-cpu-offload", "--use-precision-aware-optimizer"},
    Need{"--overlap-param-gather", "--overlap-grad-reduce"},
    Need{"--release-train", "--save"},
};

/// Two flags that stop slime together.
constexpr std::array opposites{
    Need{"--use-rollout-logprobs", "--use-tis"},
    Need{"--only-train-params-name-list", "--freeze-params-name-list"},
    Need{"--sglang-config", "--prefill-num-servers"},
    Need{"--release-train", "--keep-old-actor"},
};

/// Flags with which no iteration of generation and training is run.
constexpr std::array half_runs{
    Need{"--debug-train-only", "it trains without generation"},
    Need{"--load-debug-rollout-data", "it trains without generation"},
    Need{"--debug-rollout-only", "it generates without training"},
    Need{"--rollout-external-engine-addrs", "it generates on engines outside of the run"},
};

base::Status check_pairs(const syntax::SettingTree& tree) {
  for (const Need& need : needs) {
    DOVETAIL_TRY(const bool given, is_given(tree, need.key));
    DOVETAIL_TRY(const bool other, is_given(tree, need.other));
    if (given && !other)
      return setting_error(tree, need.key,
                           fmt::format("is given, and slime stops without {}; accepted: both", need.other));
  }
  for (const Need& pair : opposites) {
    DOVETAIL_TRY(const bool given, is_given(tree, pair.key));
    DOVETAIL_TRY(const bool other, is_given(tree, pair.other));
    if (given && other)
      return setting_error(tree, pair.key,
                           fmt::format("is given, and slime stops with {}; accepted: one of them", pair.other));
  }
  return {};
}

base::Status check_whole_run(const syntax::SettingTree& tree) {
  for (const Need& half : half_runs) {
    DOVETAIL_TRY(const bool given, is_given(tree, half.key));
    if (given)
      return setting_error(tree, half.key,
                           fmt::format("is given: {}, and is not read; accepted: without it", half.other));
  }
  constexpr std::string_view loss_key = "--loss-type";
  DOVETAIL_TRY(const std::string loss, text_at(tree, loss_key));
  if (loss == "sft_loss")
    return setting_error(tree, loss_key,
                         "is sft_loss: it trains without generation, and is not read; accepted: policy_loss");
  DOVETAIL_TRY(const auto engines, optional_whole(tree, "--rollout-num-gpus"));
  if (engines && *engines < 1)
    return setting_error(tree, "--rollout-num-gpus", "says of no engine that generates; accepted: at least 1");
  return {};
}

base::Status check_learning(const syntax::SettingTree& tree) {
  DOVETAIL_TRY(const std::string estimator, text_at(tree, "--advantage-estimator"));
  DOVETAIL_TRY(const double penalty, decimal_at(tree, "--kl-coef"));
  DOVETAIL_TRY(const double loss, decimal_at(tree, "--kl-loss-coef"));
  DOVETAIL_TRY(const double temperature, decimal_at(tree, "--rollout-temperature"));
  DOVETAIL_TRY(const bool normalizes, flag_at(tree, "--normalize-advantages"));
  DOVETAIL_TRY(const bool reference, is_given(tree, "--ref-load"));
  DOVETAIL_TRY(const auto teacher, optional_text(tree, "--opd-type"));
  DOVETAIL_TRY(const bool teacher_weights, is_given(tree, "--opd-teacher-load"));
  if (temperature <= 0)
    return setting_error(tree, "--rollout-temperature", "is not more than 0, and slime stops; accepted: more than 0");
  if (penalty != 0 && !reference)
    return setting_error(tree, "--kl-coef", "is given, and slime stops without --ref-load; accepted: both, or 0");
  if (penalty != 0 && loss != 0)
    return setting_error(tree, "--kl-coef", "is given, and slime stops with --kl-loss-coef; accepted: one of them");
  if (estimator.starts_with("reinforce_plus_plus") && !normalizes)
    return setting_error(
        tree, "--advantage-estimator",
        fmt::format("is {}, and slime stops without --normalize-advantages; accepted: both", estimator));
  if (teacher && (*teacher == "megatron") != teacher_weights)
    return setting_error(
        tree, "--opd-type",
        fmt::format("is {}, and slime stops; accepted: megatron with --opd-teacher-load, sglang without", *teacher));
  return {};
}

base::Status check_rollouts(const syntax::SettingTree& tree) {
  DOVETAIL_TRY(const bool evaluates, is_given(tree, "--eval-interval"));
  DOVETAIL_TRY(const bool data, is_given(tree, "--eval-prompt-data"));
  DOVETAIL_TRY(const bool config, is_given(tree, "--eval-config"));
  DOVETAIL_TRY(const bool epochs, is_given(tree, "--num-epoch"));
  DOVETAIL_TRY(const bool rollouts, is_given(tree, "--num-rollout"));
  DOVETAIL_TRY(const std::int64_t prompts, count_at(tree, "--rollout-batch-size"));
  DOVETAIL_TRY(const auto started, optional_whole(tree, "--over-sampling-batch-size"));
  DOVETAIL_TRY(const auto context, optional_whole(tree, "--rollout-max-context-len"));
  DOVETAIL_TRY(const auto prompt, optional_whole(tree, "--rollout-max-prompt-len"));
  if (evaluates && !data && !config)
    return setting_error(tree, "--eval-interval",
                         "is given, and slime stops without --eval-prompt-data; accepted: both");
  if (!epochs && !rollouts)
    return setting_error(tree, "--num-rollout", "is not given, and slime stops; accepted: it, or --num-epoch");
  if (started && *started < prompts)
    return setting_error(
        tree, "--over-sampling-batch-size",
        fmt::format("is {}, and slime stops; accepted: at least --rollout-batch-size, {}", *started, prompts));
  if (context && prompt && *prompt >= *context)
    return setting_error(
        tree, "--rollout-max-prompt-len",
        fmt::format("is {}, and slime stops; accepted: less than --rollout-max-context-len, {}", *prompt, *context));
  return {};
}

/// Weights that go by way of files, and trainers that are given up in between.
base::Status check_weights(const syntax::SettingTree& tree) {
  DOVETAIL_TRY(const std::string mode, text_at(tree, "--update-weight-mode"));
  DOVETAIL_TRY(const std::string transport, text_at(tree, "--update-weight-transport"));
  DOVETAIL_TRY(const bool folder, is_given(tree, "--update-weight-disk-dir"));
  DOVETAIL_TRY(const bool local, is_given(tree, "--update-weight-local-checkpoint-dir"));
  DOVETAIL_TRY(const bool colocate, flag_at(tree, "--colocate"));
  DOVETAIL_TRY(const bool releases, flag_at(tree, "--release-train"));
  DOVETAIL_TRY(const std::string estimator, text_at(tree, "--advantage-estimator"));
  if (transport == "disk" && !folder)
    return setting_error(tree, "--update-weight-transport",
                         "is disk, and slime stops without --update-weight-disk-dir; accepted: both");
  if (releases && (mode != "full" || transport != "disk" || estimator == "ppo"))
    return setting_error(tree, "--release-train",
                         "is given, and slime stops with a critic, or without full weights by disk; accepted: neither");
  if (mode == "delta" && (transport != "disk" || colocate || !local))
    return setting_error(tree, "--update-weight-mode",
                         "is delta, and slime stops; accepted: with --update-weight-transport disk, with "
                         "--update-weight-local-checkpoint-dir, without --colocate");
  return {};
}

}  // namespace

base::Result<bool> is_given(const syntax::SettingTree& tree, std::string_view key) {
  const syntax::Setting* const setting = find_setting(tree.root, key);
  if (setting == nullptr) return false;
  // Whatever it is, it is there.
  if (setting->kind == syntax::Setting::Kind::unknown) return true;
  DOVETAIL_CHECK(check_known(tree, key, *setting));
  return setting->kind != syntax::Setting::Kind::null &&
         !(setting->kind == syntax::Setting::Kind::boolean && setting->text == "false");
}

base::Status check_slime_start(const syntax::SettingTree& tree, bool async) {
  DOVETAIL_CHECK(check_whole_run(tree));
  DOVETAIL_CHECK(check_pairs(tree));
  DOVETAIL_CHECK(check_learning(tree));
  DOVETAIL_CHECK(check_rollouts(tree));
  DOVETAIL_CHECK(check_weights(tree));
  DOVETAIL_TRY(const bool colocate, flag_at(tree, "--colocate"));
  if (async && colocate)
    return setting_error(tree, "--colocate", "is given, and train_async.py stops; accepted: without it, or train.py");
  return {};
}

}  // namespace dovetail::trainers
