// The files of trainers/areal/defaults, which the build makes a part of the library (cmake/EmbedTexts.cmake).
#pragma once

#include <string_view>

namespace dovetail::trainers {

std::string_view areal_ppo_defaults();

}  // namespace dovetail::trainers
