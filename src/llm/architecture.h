// What models have beside the shape of a language model that is counted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"

namespace dovetail::llm {

/// What a model of such a `model_type` of a config.json has that no Transformer says: "most of its layers have linear
/// attention". Nothing where a Transformer may say it.
std::optional<std::string_view> beyond_transformer(std::string_view model_type);

/// The part of a config.json that describes the language model: all of it, or the `text_config`, `llm_config` or
/// `thinker_config` of a model that sees or hears.
base::Node language_part(const base::Node& config);
/// Whether that is not all of it.
bool has_language_part(const base::Node& config);

/// Sentences about what a config.json says that parse_config does not count: other parts than the language model, norms
/// of what a layer's parts give, windows of attention.
std::vector<std::string> uncounted_parts(const base::Node& config);

/// What uncounted_parts says of models that see or hear.
inline constexpr std::string_view only_language_part =
    "only the language part is counted: the real run takes longer and holds more";
/// What uncounted_parts says of models with a norm behind the attention and one behind the feed-forward network.
inline constexpr std::string_view no_output_norms =
    "the norms of what attention and feed-forward networks give are not counted: the real run is a little slower and "
    "holds a little more";

}  // namespace dovetail::llm
