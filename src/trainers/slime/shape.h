// The shape of a model as Megatron-LM's flags say it.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "llm/transformer.h"
#include "syntax/tree.h"

namespace dovetail::trainers {

/// The flag at which a shape is refused that jobs do not have.
inline constexpr const char* slime_shape_key = "--num-layers";

/// What the layers of a `--spec` have beside those of a transformer that is not counted; nothing where they are none
/// that are known.
std::optional<std::string_view> slime_uncounted(const syntax::Setting& spec);

/// The shape that the flags say, with what Megatron-LM takes where they say nothing. `vocabulary` holds where no
/// `--vocab-size` does; 0: nothing is known. An Error at the flag that is missing, that Megatron-LM stops at, or that
/// asks for layers which transformers of jobs do not have.
base::Result<llm::Transformer> slime_shape(const syntax::SettingTree& tree, std::int64_t vocabulary);

}  // namespace dovetail::trainers
