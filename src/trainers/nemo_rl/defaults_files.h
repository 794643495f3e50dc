// The files of trainers/nemo_rl/defaults, which the build makes a part of the library (cmake/EmbedTexts.cmake).
#pragma once

#include <string_view>

namespace dovetail::trainers {

std::string_view nemo_rl_grpo_defaults();
std::string_view nemo_rl_ppo_defaults();

}  // namespace dovetail::trainers
