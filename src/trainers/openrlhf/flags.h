// The flags of OpenRLHF's PPO trainer (openrlhf/cli/train_ppo_ray.py at 3c3be623) with their defaults, and the names
// that they had before ed62d0e2 (April 2026), when a dot did not yet stand behind what they belong to.
#pragma once

#include <span>
#include <string_view>

#include "syntax/arguments.h"

namespace dovetail::trainers {

inline constexpr std::string_view openrlhf_version = "3c3be623";

std::span<const syntax::Flag> openrlhf_flags();

}  // namespace dovetail::trainers
