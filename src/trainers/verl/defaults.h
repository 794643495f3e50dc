// What verl takes where nobody says anything else: its flattened configurations, which are a part of the library.
#pragma once

#include <string_view>

#include "syntax/tree.h"

namespace dovetail::trainers {

/// What trains; verl reads other settings of each.
enum class VerlEngine { fsdp, megatron };

/// Of which version the defaults are.
inline constexpr std::string_view verl_defaults_version = "v0.9 (1dda039b9)";

/// The defaults; they have no place in a source. Interpolations stand as they are written.
const syntax::Setting& verl_defaults(VerlEngine engine);

/// Whether the setting is of a part of verl that the defaults leave out, since no iteration takes longer or needs more
/// memory by it: profiling, checkpoints, tracing.
bool is_left_out(std::string_view key);

}  // namespace dovetail::trainers
