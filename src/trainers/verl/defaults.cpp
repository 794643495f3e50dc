#include "trainers/verl/defaults.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/document.h"
#include "trainers/verl/defaults_files.h"

namespace dovetail::trainers {
namespace {

constexpr std::array<std::string_view, 20> left_out{"_target_",
                                                    "profiler",
                                                    "global_profiler",
                                                    "transfer_queue",
                                                    "ray_kwargs",
                                                    "skip",
                                                    "checkpoint",
                                                    "trace",
                                                    "qat",
                                                    "turbo_config",
                                                    "custom_reward_function",
                                                    "sandbox_fusion",
                                                    "policy_loss",
                                                    "val_kwargs",
                                                    "mtp",
                                                    "lora",
                                                    "pf_ppo",
                                                    "kl_ctrl",
                                                    "wrap_policy",
                                                    "router_replay"};

/// Nobody wrote a default: line 0.
void forget_places(syntax::Setting& setting) {
  setting.place = {};
  for (syntax::Setting& item : setting.items) forget_places(item);
  for (auto& [name, value] : setting.members) forget_places(value);
}

syntax::Setting parsed_defaults(std::string_view content) {
  const auto document = base::parse_yaml(content, "verl's defaults");
  DOVETAIL_ASSERT(document.ok());
  auto setting = syntax::setting_of(*document, content, 0);
  DOVETAIL_ASSERT(setting.ok());
  forget_places(*setting);
  return *std::move(setting);
}

syntax::Setting merged_defaults(std::string_view engine) {
  syntax::Setting defaults = parsed_defaults(verl_common_defaults());
  merge_setting(defaults, parsed_defaults(engine));
  return defaults;
}

}  // namespace

const syntax::Setting& verl_defaults(VerlEngine engine) {
  static const syntax::Setting fsdp = merged_defaults(verl_fsdp_defaults());
  static const syntax::Setting megatron = merged_defaults(verl_megatron_defaults());
  return engine == VerlEngine::fsdp ? fsdp : megatron;
}

bool is_left_out(std::string_view key) {
  const std::vector<std::string> names = syntax::names_of_path(key);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return std::find(left_out.begin(), left_out.end(), name) != left_out.end();
  });
}

}  // namespace dovetail::trainers
