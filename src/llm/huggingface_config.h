// Transformers as Hugging Face's config.json files describe them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "llm/transformer.h"

namespace dovetail::llm {

/// Reads the map of a config.json. Known families (`model_type`): llama, mistral, ministral3, qwen2, qwen3, mixtral,
/// qwen2_moe, qwen3_moe, deepseek_v2, deepseek_v3, kimi_k2, gemma, seed_oss, glm, glm4, glm4_moe, glm4_moe_lite, mimo,
/// minimax_m2, hy_v3, and gpt2-like shapes through opt. Of models that see or hear it reads the language part; what
/// uncounted_parts (architecture.h) names is not in the shape. Keys that say nothing of the shape are passed over, as
/// the format is not ours. What a family's configuration leaves out has the default that the transformers library gives
/// it. Errors name the key, its place, and what is accepted. `name` becomes the model's.
base::Result<Transformer> parse_config(const base::Node& config, const std::string& name);

/// The families that parse_config knows, by their `model_type`.
std::vector<std::string_view> config_families();

}  // namespace dovetail::llm
