#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "syntax/files.h"
#include "trainers/nemo_rl/nemo_rl.h"

namespace dovetail::trainers {
namespace {

/// Program of NeMo-RL, and its default configuration file.
struct Program {
  std::string_view name;
  std::string_view configuration;
};
constexpr std::array<Program, 7> programs{{{"run_grpo", "examples/configs/grpo_math_1B.yaml"},
                                           {"run_grpo_math", "examples/configs/grpo_math_1B.yaml"},
                                           {"run_grpo_rm", "examples/configs/grpo_rm_1B.yaml"},
                                           {"run_grpo_sliding_puzzle", "examples/configs/grpo_sliding_puzzle.yaml"},
                                           {"run_grpo_single_controller", ""},
                                           {"run_vlm_grpo", "examples/configs/vlm_grpo_3B.yaml"},
                                           {"run_ppo", "examples/configs/ppo_math_1B.yaml"}}};
/// Programs that do not run PPO or GRPO.
constexpr std::array<std::string_view, 6> other_programs{"run_sft",  "run_dpo",     "run_rm",
                                                         "run_eval", "run_vlm_sft", "run_distillation"};

/// Sections that affect neither time nor memory. Bundled files do not have them.
constexpr std::array<std::string_view, 6> without_effect{
    "logger", "checkpointing", "reward_penalties", "data_plane", "policy.scheduler", "policy.megatron_cfg.scheduler"};

bool has_no_effect(std::string_view key) {
  return std::any_of(without_effect.begin(), without_effect.end(), [key](std::string_view part) {
    return key.starts_with(part) && (key.size() == part.size() || key[part.size()] == '.');
  });
}

std::optional<std::string> nemo_rl_bundled(const std::string& path) {
  const std::string name = syntax::name_of(path, "");
  if (name == "grpo_math_1B.yaml") return std::string(nemo_rl_grpo_defaults());
  if (name == "ppo_math_1B.yaml") return std::string(nemo_rl_ppo_defaults());
  return std::nullopt;
}

const BaseFiles nemo_rl_files{.version = nemo_rl_version, .bundled = nemo_rl_bundled, .has_no_effect = has_no_effect};

}  // namespace

bool is_nemo_rl_entry(const syntax::EntryPoint& entry) {
  if (entry.is_module) return false;
  const std::string name = syntax::name_of(entry.name, ".py");
  return name == "run_grpo_nemo_gym" ||
         std::any_of(programs.begin(), programs.end(), [&](const Program& each) { return each.name == name; }) ||
         std::find(other_programs.begin(), other_programs.end(), name) != other_programs.end();
}

base::Result<ComposedSettings> nemo_rl_settings_of_launch(const syntax::Launch& launch,
                                                          const std::vector<std::string>& sources,
                                                          const RunRequest& request) {
  const std::string name = syntax::name_of(launch.entry.name, ".py");
  if (std::find(other_programs.begin(), other_programs.end(), name) != other_programs.end())
    return place_error(
        sources, launch.place,
        fmt::format("the NeMo-RL program {} is not supported; accepted: programs of GRPO and PPO, such as run_grpo",
                    name));
  DOVETAIL_TRY(LaunchFile named, launch_file(launch, sources, "--config"));
  if (named.path.empty()) {
    const auto program =
        std::find_if(programs.begin(), programs.end(), [&](const Program& each) { return each.name == name; });
    if (program == programs.end() || program->configuration.empty())
      return place_error(sources, launch.place,
                         fmt::format("{} needs a configuration file; accepted: --config FILE", name));
    named.path = program->configuration;
  }
  return composed_of_launch(nemo_rl_files, launch, named, sources, request);
}

base::Result<ComposedSettings> nemo_rl_settings_of_file(const ConfigurationFile& file, const RunRequest& request) {
  return composed_of_file(nemo_rl_files, file, request);
}

}  // namespace dovetail::trainers
