#include <fmt/core.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "trainers/import/settings.h"
#include "trainers/slime/slime.h"

namespace dovetail::trainers {
namespace {

/// A flag, and a related flag or a reason.
struct Need {
  std::string_view key;
  std::string_view other;
};

/// Flags that need another flag.
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

/// Pairs of flags that slime rejects together.
constexpr std::array opposites{
    Need{"--use-rollout-logprobs", "--use-tis"},
    Need{"--only-train-params-name-list", "--freeze-params-name-list"},
    Need{"--sglang-config", "--prefill-num-servers"},
    Need{"--release-train", "--keep-old-actor"},
};

/// Flags with which a run does not both generate and train, and the reason.
constexpr std::array half_runs{
    Need{"--debug-train-only", "it trains without generation"},
    Need{"--load-debug-rollout-data", "it trains without generation"},
    Need{"--debug-rollout-only", "it generates without training"},
    Need{"--rollout-external-engine-addrs", "it generates on engines outside the run"},
};

base::Status check_pairs(const syntax::SettingTree& tree) {
  for (const Need& need : needs) {
    DOVETAIL_TRY(const bool given, is_given(tree, need.key));
    DOVETAIL_TRY(const bool other, is_given(tree, need.other));
    if (given && !other)
      return setting_error(
          tree, need.key,
          fmt::format("is set without {}, so slime rejects the configuration; accepted: unset, or both set",
                      need.other));
  }
  for (const Need& pair : opposites) {
    DOVETAIL_TRY(const bool given, is_given(tree, pair.key));
    DOVETAIL_TRY(const bool other, is_given(tree, pair.other));
    if (given && other)
      return setting_error(
          tree, pair.key,
          fmt::format("is set with {}, so slime rejects the configuration; accepted: at most one of them", pair.other));
  }
  return {};
}

base::Status check_whole_run(const syntax::SettingTree& tree) {
  for (const Need& half : half_runs) {
    DOVETAIL_TRY(const bool given, is_given(tree, half.key));
    if (given)
      return setting_error(tree, half.key,
                           fmt::format("is set: {}, which is not supported; accepted: unset", half.other));
  }
  constexpr std::string_view loss_key = "--loss-type";
  DOVETAIL_TRY(const std::string loss, text_at(tree, loss_key));
  if (loss == "sft_loss")
    return setting_error(
        tree, loss_key,
        "is sft_loss: it trains without generation, which is not supported; accepted: policy_loss, custom_loss");
  DOVETAIL_TRY(const auto engines, optional_integer(tree, "--rollout-num-gpus"));
  if (engines && *engines < 1)
    return setting_error(tree, "--rollout-num-gpus", "leaves no engine for generation; accepted: at least 1");
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
    return setting_error(tree, "--rollout-temperature", "is 0 or less, which slime rejects; accepted: more than 0");
  if (penalty != 0 && !reference)
    return setting_error(tree, "--kl-coef",
                         "is not 0 without --ref-load, so slime rejects the configuration; accepted: 0, or --ref-load");
  if (penalty != 0 && loss != 0)
    return setting_error(
        tree, "--kl-coef",
        "is not 0 with --kl-loss-coef, so slime rejects the configuration; accepted: at most one of them");
  if (estimator.starts_with("reinforce_plus_plus") && !normalizes)
    return setting_error(tree, "--advantage-estimator",
                         fmt::format("is {} without --normalize-advantages, so slime rejects the configuration; "
                                     "accepted: --normalize-advantages, or another estimator",
                                     estimator));
  if (teacher && (*teacher == "megatron") != teacher_weights)
    return setting_error(
        tree, "--opd-type",
        fmt::format("is {}, which slime rejects; accepted: megatron with --opd-teacher-load, or sglang without it",
                    *teacher));
  return {};
}

base::Status check_rollouts(const syntax::SettingTree& tree) {
  DOVETAIL_TRY(const bool evaluates, is_given(tree, "--eval-interval"));
  DOVETAIL_TRY(const bool data, is_given(tree, "--eval-prompt-data"));
  DOVETAIL_TRY(const bool config, is_given(tree, "--eval-config"));
  DOVETAIL_TRY(const bool epochs, is_given(tree, "--num-epoch"));
  DOVETAIL_TRY(const bool rollouts, is_given(tree, "--num-rollout"));
  DOVETAIL_TRY(const std::int64_t prompts, count_at(tree, "--rollout-batch-size"));
  DOVETAIL_TRY(const auto started, optional_integer(tree, "--over-sampling-batch-size"));
  DOVETAIL_TRY(const auto context, optional_integer(tree, "--rollout-max-context-len"));
  DOVETAIL_TRY(const auto prompt, optional_integer(tree, "--rollout-max-prompt-len"));
  if (evaluates && !data && !config)
    return setting_error(
        tree, "--eval-interval",
        "is set without --eval-prompt-data or --eval-config, so slime rejects the configuration; accepted: unset, or "
        "one of these flags");
  if (!epochs && !rollouts)
    return setting_error(tree, "--num-rollout",
                         "is missing, which slime rejects; accepted: a number of rollouts, or --num-epoch");
  if (started && *started < prompts)
    return setting_error(
        tree, "--over-sampling-batch-size",
        fmt::format("is {}, which slime rejects; accepted: at least --rollout-batch-size ({})", *started, prompts));
  if (context && prompt && *prompt >= *context)
    return setting_error(tree, "--rollout-max-prompt-len",
                         fmt::format("is {}, which slime rejects; accepted: less than --rollout-max-context-len ({})",
                                     *prompt, *context));
  return {};
}

/// Checks weight sync through files, and trainers that exit between iterations.
base::Status check_weights(const syntax::SettingTree& tree) {
  DOVETAIL_TRY(const std::string mode, text_at(tree, "--update-weight-mode"));
  DOVETAIL_TRY(const std::string transport, text_at(tree, "--update-weight-transport"));
  DOVETAIL_TRY(const bool folder, is_given(tree, "--update-weight-disk-dir"));
  DOVETAIL_TRY(const bool local, is_given(tree, "--update-weight-local-checkpoint-dir"));
  DOVETAIL_TRY(const bool colocate, flag_at(tree, "--colocate"));
  DOVETAIL_TRY(const bool releases, flag_at(tree, "--release-train"));
  DOVETAIL_TRY(const std::string estimator, text_at(tree, "--advantage-estimator"));
  if (transport == "disk" && !folder)
    return setting_error(
        tree, "--update-weight-transport",
        "is disk without --update-weight-disk-dir, so slime rejects the configuration; accepted: nccl, or disk "
        "with --update-weight-disk-dir");
  if (releases && (mode != "full" || transport != "disk" || estimator == "ppo"))
    return setting_error(
        tree, "--release-train",
        "is set with a critic or without full weight sync by disk, so slime rejects the configuration; accepted: "
        "--update-weight-mode full and --update-weight-transport disk without a critic");
  if (mode == "delta" && (transport != "disk" || colocate || !local))
    return setting_error(
        tree, "--update-weight-mode",
        "is delta, which slime rejects; accepted: full, or delta with --update-weight-transport disk, with "
        "--update-weight-local-checkpoint-dir and without --colocate");
  return {};
}

}  // namespace

base::Result<bool> is_given(const syntax::SettingTree& tree, std::string_view key) {
  const syntax::Setting* const setting = find_setting(tree.root, key);
  if (setting == nullptr) return false;
  // A flag whose value is unknown counts as given.
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
    return setting_error(tree, "--colocate", "is set, which train_async.py rejects; accepted: unset, or train.py");
  return {};
}

}  // namespace dovetail::trainers
