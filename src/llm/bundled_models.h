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
/// published config.json files; the three `rlhfuse-` models are the shapes of RLHFuse's Table 2, whose feed-forward
/// networks are plain and 4h wide, where the LLaMA-1 models of the same sizes have gated ones.
base::Result<Transformer> find_bundled_model(std::string_view name);

}  // namespace dovetail::llm
