// Models that a job may name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/transformer.h"

namespace dovetail::llm {

/// The names of all bundled models, by family and size.
std::vector<std::string> bundled_model_names();

/// The bundled model of that name; an Error that names the nearest ones where there is none. Shapes are those of the
/// published config.json files, of models that see or hear their language part; the three `rlhfuse-` models are the
/// shapes of RLHFuse's Table 2, whose feed-forward networks are plain and 4h wide, where the LLaMA-1 models of the same
/// sizes have gated ones. Where the files were not to be had, the sources are slime's models in Megatron's flags
/// (moonlight, kimi-k2, glm-4.5, glm-4.5-air, glm-4.7-flash, minimax-m2), the defaults of the transformers
/// library (glm-4-9b, gemma-7b), and those of vLLM and NeMo AutoModel (hy3). Layers that predict further tokens are in
/// none.
base::Result<Transformer> find_bundled_model(std::string_view name);

}  // namespace dovetail::llm
