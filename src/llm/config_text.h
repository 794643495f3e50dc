// Configurations of transformers for the transformers library.
#pragma once

#include <string>

#include "llm/computation.h"
#include "llm/transformer.h"

namespace dovetail::llm {

/// A config.json of a model of that shape: of the family llama, or of qwen2 or qwen3 where its biases or norms of heads
/// are theirs. parse_config and parse_computation read the same from it. REQUIRES: parse_computation takes such a
/// shape.
std::string config_text(const Transformer& shape, const Computation& computation);

}  // namespace dovetail::llm
