// Hugging Face's config.json: the shape of a model, and the features that the shape lacks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "llm/transformer.h"

namespace dovetail::llm {

/// Reads the shape from the map of a config.json. `name` becomes the model's name.
///
/// Supported families (`model_type`): llama, mistral, ministral3, qwen2, qwen3, mixtral, qwen2_moe, qwen3_moe,
/// deepseek_v2, deepseek_v3, kimi_k2, gemma, seed_oss, glm, glm4, glm4_moe, glm4_moe_lite, mimo, minimax_m2, hy_v3,
/// opt, and types of vision and audio models (config_families lists all).
///
/// For vision and audio models, reads the language part. The shape lacks the features that uncounted_parts lists. Other
/// keys are ignored. Most sizes are required; other missing keys have the defaults of the transformers library. An
/// Error has the position of the value at fault, or of its map if a key is missing or sizes contradict each other.
base::Result<Transformer> parse_config(const base::Node& config, const std::string& name);

/// Returns the values of `model_type` that parse_config supports.
std::vector<std::string_view> config_families();

/// Returns why a Transformer cannot describe models with this `model_type`, such as "most of its layers use linear
/// attention". nullopt if it can describe them, or if the type is unknown.
std::optional<std::string_view> beyond_transformer(std::string_view model_type);

/// Returns the part of a config.json that describes the language model: `text_config`, `llm_config` or `thinker_config`
/// in vision and audio models, otherwise all of it.
base::Node language_part(const base::Node& config);
/// Whether language_part() returns only a part of the config.json.
bool has_language_part(const base::Node& config);

/// Returns sentences about features of a config.json that parse_config ignores: parts other than the language model,
/// norms of sublayer outputs, attention windows.
std::vector<std::string> uncounted_parts(const base::Node& config);

/// Sentence of uncounted_parts for vision and audio models.
inline constexpr std::string_view only_language_part =
    "only the language part is counted: the real run takes longer and uses more memory";
/// Sentence of uncounted_parts for models that normalize the outputs of attention and feed-forward networks.
inline constexpr std::string_view no_output_norms =
    "norms of the outputs of attention and feed-forward networks are not counted: the real run is a little slower and "
    "uses a little more memory";

}  // namespace dovetail::llm
