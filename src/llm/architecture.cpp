#include "llm/architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dovetail::llm {
namespace {

using base::Node;

struct Beyond {
  std::string_view type;
  std::string_view what;
};

constexpr std::string_view linear = "most of its layers have linear attention";
constexpr std::string_view state_space = "many of its layers are state-space models (Mamba)";
constexpr std::string_view windows = "many of its layers attend to a window alone";
constexpr std::string_view sparse = "its attention is sparse";

constexpr Beyond beyond[] = {
    {"qwen3_next", linear},
    {"qwen3_5", linear},
    {"qwen3_5_text", linear},
    {"qwen3_5_moe", linear},
    {"qwen3_5_moe_text", linear},
    {"minimax", linear},
    {"kimi_linear", linear},
    {"nemotron_h", state_space},
    {"falcon_h1", state_space},
    {"bamba", state_space},
    {"jamba", state_space},
    {"gemma2", windows},
    {"gemma3", windows},
    {"gemma3_text", windows},
    {"gemma3n", windows},
    {"gemma3n_text", windows},
    {"gemma4", windows},
    {"gemma4_text", windows},
    {"gpt_oss", "every other layer attends to a window alone, and its experts have biases"},
    {"llama4", "most of its layers attend to chunks alone"},
    {"llama4_text", "most of its layers attend to chunks alone"},
    {"mllama", "some of its layers attend to images"},
    {"mllama_text_model", "some of its layers attend to images"},
    {"nemotron-nas", "its layers are not alike"},
    {"deepseek_v32", sparse},
    {"deepseek_v4", sparse},
    {"glm_moe_dsa", sparse},
};

/// A model that speaks has its thinker's text model inside of it.
constexpr std::array<std::string_view, 3> part_keys{"thinker_config", "text_config", "llm_config"};

std::string_view text_at(const Node& config, std::string_view key) {
  const auto node = config.find(key);
  return node && node->is_string() ? node->text() : std::string_view();
}

bool is_among(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Models that see or hear, whose configurations have the keys of the language model beside theirs.
bool has_other_parts(const Node& config) {
  return is_among(text_at(config, "model_type"), {"qwen2_vl", "qwen2_5_vl", "minicpmo"}) ||
         config.find("vision_config") || config.find("audio_config");
}

/// The window that attention is said to have, in tokens as written.
std::optional<Node> window_of(const Node& config) {
  const auto window = config.find("sliding_window");
  if (!window || !window->is_number()) return std::nullopt;
  // Qwen's configurations name a window that is used only where they say so.
  const auto used = config.find("use_sliding_window");
  const bool is_used = used ? used->text() == "true" : is_among(text_at(config, "model_type"), {"mistral", "mixtral"});
  return is_used ? window : std::nullopt;
}

}  // namespace

std::optional<std::string_view> beyond_transformer(std::string_view model_type) {
  const auto found =
      std::find_if(std::begin(beyond), std::end(beyond), [=](const Beyond& each) { return each.type == model_type; });
  return found == std::end(beyond) ? std::nullopt : std::optional(found->what);
}

Node language_part(const Node& config) {
  Node part = config;
  for (const std::string_view key : part_keys)
    if (const auto inner = part.find(key); inner && inner->is_map()) part = *inner;
  return part;
}

bool has_language_part(const Node& config) {
  return std::any_of(part_keys.begin(), part_keys.end(), [&](std::string_view key) {
    const auto inner = config.find(key);
    return inner && inner->is_map();
  });
}

std::vector<std::string> uncounted_parts(const Node& config) {
  if (!config.is_map()) return {};
  std::vector<std::string> parts;
  const Node language = language_part(config);
  if (has_other_parts(config) || has_other_parts(language) || has_language_part(config))
    parts.emplace_back(only_language_part);
  if (is_among(text_at(language, "model_type"), {"glm4", "glm4v_text"})) parts.emplace_back(no_output_norms);
  if (const auto window = window_of(language))
    parts.push_back(
        fmt::format("attention is counted over all tokens before one, not over the last {}: the real run "
                    "holds less where sequences are longer",
                    window->describe()));
  return parts;
}

}  // namespace dovetail::llm
