// The bundled models, which jobs can name, and the shapes of other models as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/transformer.h"

namespace dovetail::llm {

/// Returns the names of all bundled models, grouped by family.
std::vector<std::string> bundled_model_names();

/// Finds a bundled model. The Error for an unknown name suggests the nearest names.
///
/// Shapes come from the published config.json files. For vision and audio models, shapes describe the language part.
/// The three `rlhfuse-` models have the shapes of RLHFuse's Table 2: their feed-forward networks are plain and four
/// times as wide as the hidden size, while those of LLaMA-1 models of the same sizes are gated.
///
/// If no config.json was available, the shape comes from another source: the Megatron flags of slime's scripts
/// (moonlight, kimi-k2, glm-4.5, glm-4.5-air, glm-4.7-flash, minimax-m2), the defaults of the transformers library
/// (glm-4-9b, gemma-7b), and the defaults of vLLM and NeMo AutoModel (hy3). Shapes exclude layers for multi-token
/// prediction.
base::Result<Transformer> find_bundled_model(std::string_view name);

/// Returns the name of a bundled model with this shape: `preferred` if it has the shape, otherwise the first. nullopt
/// if no bundled model has it.
std::optional<std::string> bundled_model_of(const Transformer& shape, const std::string& preferred = {});

/// Returns the shape as the map of a config.json that parse_config reads back: one line of JSON, without unnecessary
/// keys. Returns an Error without a position if no known family has such a shape.
base::Result<std::string> config_line(const Transformer& shape);

}  // namespace dovetail::llm
