// The files of trainers/verl/defaults, which the build makes a part of the library (cmake/EmbedTexts.cmake).
#pragma once

#include <string_view>

namespace dovetail::trainers {

std::string_view verl_common_defaults();
std::string_view verl_fsdp_defaults();
std::string_view verl_megatron_defaults();

}  // namespace dovetail::trainers
