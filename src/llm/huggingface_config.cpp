#include "llm/huggingface_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fields.h"

namespace dovetail::llm {
namespace {

using base::Node;
using base::Result;

struct UnsupportedType {
  std::string_view type;
  std::string_view what;
};

constexpr std::string_view linear = "most of its layers use linear attention";
constexpr std::string_view state_space = "many of its layers are state-space models (Mamba)";
constexpr std::string_view windows = "many of its layers attend only to a window";
constexpr std::string_view sparse = "its attention is sparse";

constexpr UnsupportedType unsupported_types[] = {
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
    {"gpt_oss", "every other layer attends only to a window, and its experts have biases"},
    {"llama4", "most of its layers attend only to chunks"},
    {"llama4_text", "most of its layers attend only to chunks"},
    {"mllama", "some of its layers attend to images"},
    {"mllama_text_model", "some of its layers attend to images"},
    {"nemotron-nas", "its layers differ"},
    {"deepseek_v32", sparse},
    {"deepseek_v4", sparse},
    {"glm_moe_dsa", sparse},
};

/// A speech model nests the text model in its thinker.
constexpr std::array<std::string_view, 3> part_keys{"thinker_config", "text_config", "llm_config"};

std::string_view text_at(const Node& config, std::string_view key) {
  const auto node = config.find(key);
  return node && node->is_string() ? node->text() : std::string_view();
}

bool is_among(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether it is a vision or audio model. Some store the keys of other parts next to those of the language model.
bool has_other_parts(const Node& config) {
  return is_among(text_at(config, "model_type"), {"qwen2_vl", "qwen2_5_vl", "minicpmo"}) ||
         config.find("vision_config") || config.find("audio_config");
}

/// Returns the attention window in use, in tokens as written.
std::optional<Node> window_of(const Node& config) {
  const auto window = config.find("sliding_window");
  if (!window || !window->is_number()) return std::nullopt;
  // Qwen's configurations contain a window even if `use_sliding_window` disables it.
  const auto used = config.find("use_sliding_window");
  const bool is_used = used ? used->text() == "true" : is_among(text_at(config, "model_type"), {"mistral", "mixtral"});
  return is_used ? window : std::nullopt;
}

constexpr std::int64_t most = std::int64_t{1} << 30;

enum class ArchitectureFamily {
  llama,
  qwen2,
  qwen3,
  mixtral,
  qwen2_moe,
  qwen3_moe,
  deepseek_v2,
  deepseek_v3,
  gemma,
  seed_oss,
  glm,
  glm_moe,
  minimax_m2,
  hy_v3,
  opt
};

struct FamilyName {
  std::string_view type;
  ArchitectureFamily family;
};

/// Common families come first, because messages list them in this order.
constexpr FamilyName architecture_families[] = {
    {"llama", ArchitectureFamily::llama},
    {"mistral", ArchitectureFamily::llama},
    {"ministral3", ArchitectureFamily::llama},
    {"qwen2", ArchitectureFamily::qwen2},
    {"qwen3", ArchitectureFamily::qwen3},
    {"mixtral", ArchitectureFamily::mixtral},
    {"qwen2_moe", ArchitectureFamily::qwen2_moe},
    {"qwen3_moe", ArchitectureFamily::qwen3_moe},
    {"deepseek_v2", ArchitectureFamily::deepseek_v2},
    {"deepseek_v3", ArchitectureFamily::deepseek_v3},
    {"kimi_k2", ArchitectureFamily::deepseek_v3},
    {"gemma", ArchitectureFamily::gemma},
    {"seed_oss", ArchitectureFamily::seed_oss},
    {"glm", ArchitectureFamily::glm},
    {"glm4", ArchitectureFamily::glm},
    {"glm4_moe", ArchitectureFamily::glm_moe},
    {"glm4_moe_lite", ArchitectureFamily::deepseek_v3},
    {"mimo", ArchitectureFamily::qwen2},
    {"minimax_m2", ArchitectureFamily::minimax_m2},
    {"hy_v3", ArchitectureFamily::hy_v3},
    {"opt", ArchitectureFamily::opt},
    // Language parts of other models, and vision models with flat configurations.
    {"qwen2_vl", ArchitectureFamily::qwen2},
    {"qwen2_vl_text", ArchitectureFamily::qwen2},
    {"qwen2_5_vl", ArchitectureFamily::qwen2},
    {"qwen2_5_vl_text", ArchitectureFamily::qwen2},
    {"qwen2_5_omni_text", ArchitectureFamily::qwen2},
    {"minicpmo", ArchitectureFamily::qwen2},
    {"qwen3_vl_text", ArchitectureFamily::qwen3},
    {"qwen3_vl_moe_text", ArchitectureFamily::qwen3_moe},
    {"qwen3_omni_moe_text", ArchitectureFamily::qwen3_moe},
    {"glm4v_text", ArchitectureFamily::glm},
};

/// Reads integers and flags of a configuration, and keeps the first Error.
class ConfigReader {
 public:
  explicit ConfigReader(const Node& config) : config_(config) {}

  /// Returns the value of `key`, which is required.
  std::int64_t integer(std::string_view key) {
    const auto node = value_of(key);
    if (!node)
      return fail(config_.error(
          fmt::format("the model's configuration needs the key {}; accepted: an integer", base::quote(key))));
    return read(*node, key);
  }

  /// Returns the value of `key`, or `otherwise`.
  std::int64_t integer(std::string_view key, std::int64_t otherwise) {
    const auto node = value_of(key);
    return node ? read(*node, key) : otherwise;
  }

  bool flag(std::string_view key, bool otherwise) {
    const auto node = value_of(key);
    if (!node) return otherwise;
    auto value = base::read_flag(*node, key);
    if (value.ok()) return *value;
    fail(std::move(value).error());
    return otherwise;
  }

  std::optional<base::Error>& error() { return error_; }

 private:
  /// Returns the value of `key`, or nullopt if it is missing or null: configurations write null for missing features.
  std::optional<Node> value_of(std::string_view key) const {
    auto node = config_.find(key);
    if (node && node->is_null()) return std::nullopt;
    return node;
  }

  std::int64_t read(const Node& node, std::string_view key) {
    auto value = base::read_integer(node, base::quote(key), 0, most);
    return value.ok() ? *value : fail(std::move(value).error());
  }

  std::int64_t fail(base::Error error) {
    if (!error_) error_ = std::move(error);
    return 0;
  }

  const Node& config_;
  std::optional<base::Error> error_;
};

Result<ArchitectureFamily> read_family(const Node& config) {
  DOVETAIL_TRY(const Node type, base::require(config, "a model's configuration", "model_type", "model_type: llama"));
  for (const FamilyName& family : architecture_families)
    if (type.is_string() && family.type == type.text()) return family.family;
  const auto beyond = type.is_string() ? beyond_transformer(type.text()) : std::nullopt;
  return type.error(fmt::format("the model type is {}, {}; accepted: {}", type.describe(),
                                beyond ? fmt::format("and {}, which is not modeled", *beyond) : "which is unknown",
                                fmt::join(config_families(), ", ")));
}

/// Returns the default head size of a family.
std::int64_t usual_head_size(ArchitectureFamily family, const Transformer& model) {
  if (family == ArchitectureFamily::gemma) return 256;
  if (family == ArchitectureFamily::qwen3 || family == ArchitectureFamily::seed_oss ||
      family == ArchitectureFamily::glm)
    return 128;
  return model.heads > 0 ? model.hidden / model.heads : 0;
}

void read_dense(ConfigReader& reader, ArchitectureFamily family, Transformer& model) {
  model.layers = reader.integer("num_hidden_layers");
  model.hidden = reader.integer("hidden_size");
  model.heads = reader.integer("num_attention_heads");
  model.key_value_heads = reader.integer("num_key_value_heads", model.heads);
  model.head_size = reader.integer("head_dim", usual_head_size(family, model));
  model.vocabulary = reader.integer("vocab_size");
}

void read_opt(ConfigReader& reader, Transformer& model) {
  model.width = reader.integer("ffn_dim");
  // OPT models have two more rows than positions.
  model.positions = reader.integer("max_position_embeddings") + 2;
  model.feed_forward = FeedForward::plain;
  model.normalization = Normalization::layer;
  model.query_key_value_bias = model.attention_output_bias = model.feed_forward_bias = reader.flag("enable_bias", true);
}

/// Reads experts in all layers, each as wide as a dense network of the configuration.
Experts read_plain_experts(ConfigReader& reader, ArchitectureFamily family) {
  Experts experts;
  experts.active = reader.integer("num_experts_per_tok");
  experts.count = reader.integer("num_local_experts");
  experts.width = reader.integer("intermediate_size");
  experts.router_bias = family == ArchitectureFamily::minimax_m2 && reader.flag("use_routing_bias", true);
  return experts;
}

/// Reads experts in all layers except the first ones, with shared experts as wide as routed ones.
Experts read_later_experts(ConfigReader& reader, ArchitectureFamily family) {
  const bool hunyuan = family == ArchitectureFamily::hy_v3;
  Experts experts;
  experts.active = reader.integer("num_experts_per_tok");
  experts.count = reader.integer(hunyuan ? "num_experts" : "n_routed_experts");
  experts.width = reader.integer("moe_intermediate_size");
  experts.shared_width = reader.integer(hunyuan ? "num_shared_experts" : "n_shared_experts", 0) * experts.width;
  experts.dense_layers = reader.integer("first_k_dense_replace", 0);
  experts.router_bias =
      hunyuan ? reader.flag("moe_router_enable_expert_bias", true) : family != ArchitectureFamily::deepseek_v2;
  return experts;
}

Experts read_qwen_experts(ConfigReader& reader) {
  Experts experts;
  experts.active = reader.integer("num_experts_per_tok");
  experts.count = reader.integer("num_experts");
  experts.width = reader.integer("moe_intermediate_size");
  experts.shared_width = reader.integer("shared_expert_intermediate_size", 0);
  experts.shared_gate = experts.shared_width > 0;
  return experts;
}

std::optional<Experts> read_experts(ConfigReader& reader, ArchitectureFamily family) {
  switch (family) {
    case ArchitectureFamily::mixtral:
    case ArchitectureFamily::minimax_m2:
      return read_plain_experts(reader, family);
    case ArchitectureFamily::deepseek_v2:
    case ArchitectureFamily::deepseek_v3:
    case ArchitectureFamily::glm_moe:
    case ArchitectureFamily::hy_v3:
      return read_later_experts(reader, family);
    case ArchitectureFamily::qwen2_moe:
    case ArchitectureFamily::qwen3_moe:
      return read_qwen_experts(reader);
    default:
      return std::nullopt;
  }
}

void read_latent(ConfigReader& reader, Transformer& model) {
  LatentAttention latent;
  latent.query_rank = reader.integer("q_lora_rank", 0);
  latent.key_value_rank = reader.integer("kv_lora_rank");
  latent.plain_size = reader.integer("qk_nope_head_dim");
  latent.rotary_size = reader.integer("qk_rope_head_dim");
  latent.value_size = reader.integer("v_head_dim");
  model.head_size = latent.plain_size + latent.rotary_size;
  model.latent = latent;
}

void read_biases(ConfigReader& reader, ArchitectureFamily family, Transformer& model) {
  const bool usual = family == ArchitectureFamily::seed_oss || family == ArchitectureFamily::glm;
  const bool bias = reader.flag("attention_bias", usual);
  const bool is_qwen2 = family == ArchitectureFamily::qwen2 || family == ArchitectureFamily::qwen2_moe;
  model.query_key_value_bias = bias || is_qwen2;
  model.attention_output_bias =
      bias && !is_qwen2 && family != ArchitectureFamily::glm && family != ArchitectureFamily::glm_moe;
  if (family == ArchitectureFamily::seed_oss) model.attention_output_bias = reader.flag("attention_out_bias", false);
  model.feed_forward_bias = reader.flag("mlp_bias", false);
}

bool read_query_key_norm(ConfigReader& reader, ArchitectureFamily family) {
  if (family == ArchitectureFamily::glm_moe) return reader.flag("use_qk_norm", false);
  if (family == ArchitectureFamily::minimax_m2) return reader.flag("use_qk_norm", true);
  if (family == ArchitectureFamily::hy_v3) return reader.flag("qk_norm", true);
  return family == ArchitectureFamily::qwen3 || family == ArchitectureFamily::qwen3_moe;
}

/// Reads the features of a family beyond the dense LLaMA shape.
void read_family_parts(ConfigReader& reader, ArchitectureFamily family, Transformer& model) {
  if (family == ArchitectureFamily::opt) return read_opt(reader, model);
  model.width = reader.integer("intermediate_size");
  read_biases(reader, family, model);
  model.query_key_norm = read_query_key_norm(reader, family);
  if (family == ArchitectureFamily::deepseek_v2 || family == ArchitectureFamily::deepseek_v3)
    read_latent(reader, model);
  model.experts = read_experts(reader, family);
}

/// Rejects Qwen models with experts in only some layers.
base::Status check_alike(const Node& config) {
  const auto step = config.find("decoder_sparse_step");
  if (step && step->is_number() && step->text() != "1")
    return step->error(fmt::format(
        "`decoder_sparse_step` is {}, but experts in only some layers are not modeled; accepted: 1", step->describe()));
  const auto dense = config.find("mlp_only_layers");
  if (dense && dense->is_list() && dense->size() > 0)
    return dense->error(
        "`mlp_only_layers` is not empty, but experts in only some layers are not modeled; accepted: []");
  return {};
}

/// Whether the head is tied to the embedding. The language part decides, or else the whole configuration.
bool read_tied(ConfigReader& integer, ConfigReader& language, ArchitectureFamily family) {
  return language.flag(
      "tie_word_embeddings",
      integer.flag("tie_word_embeddings", family == ArchitectureFamily::opt || family == ArchitectureFamily::gemma));
}

}  // namespace

std::optional<std::string_view> beyond_transformer(std::string_view model_type) {
  const auto found = std::find_if(std::begin(unsupported_types), std::end(unsupported_types),
                                  [=](const UnsupportedType& each) { return each.type == model_type; });
  return found == std::end(unsupported_types) ? std::nullopt : std::optional(found->what);
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
        fmt::format("attention is counted over all previous tokens, not only the last {}: the real run uses less "
                    "memory if sequences are longer",
                    window->describe()));
  return parts;
}

Result<Transformer> parse_config(const Node& config, const std::string& name) {
  if (!config.is_map())
    return config.error(
        fmt::format("a model's configuration is {}; accepted: a map, as in config.json", config.describe()));
  const Node language = language_part(config);
  DOVETAIL_TRY(const ArchitectureFamily family, read_family(language));
  DOVETAIL_CHECK(check_alike(language));
  ConfigReader integer(config);
  ConfigReader reader(language);
  Transformer model;
  model.name = name;
  read_dense(reader, family, model);
  model.tied_embeddings = read_tied(integer, reader, family);
  read_family_parts(reader, family, model);
  if (integer.error()) return std::move(*integer.error());
  if (reader.error()) return std::move(*reader.error());
  if (const auto fault = find_fault(model)) return language.error(fmt::format("{}: {}", name, *fault));
  return model;
}

std::vector<std::string_view> config_families() {
  std::vector<std::string_view> types;
  for (const FamilyName& family : architecture_families) types.push_back(family.type);
  return types;
}

}  // namespace dovetail::llm
