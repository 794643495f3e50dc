// The flags of slime (slime/utils/arguments.py at 624b824a8) with their defaults: its own, those of Megatron-LM that
// its scripts use or that change time or memory, and SGLang's behind `--sglang-`.
#pragma once

#include <span>
#include <string_view>

#include "syntax/arguments.h"

namespace dovetail::trainers {

inline constexpr std::string_view slime_version = "624b824a8";

/// All of them.
std::span<const syntax::Flag> slime_flags();

// By whose they are.
std::span<const syntax::Flag> slime_own_flags();
std::span<const syntax::Flag> slime_megatron_flags();
std::span<const syntax::Flag> slime_sglang_flags();

}  // namespace dovetail::trainers
