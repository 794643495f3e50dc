#include "llm/computation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include "base/enum_names.h"
#include "base/fields.h"
#include "base/utf8.h"
#include "llm/huggingface_config.h"

namespace dovetail::llm {
namespace {

using base::Node;
using base::Result;
using base::Status;

constexpr std::array<std::string_view, 4> families{"llama", "mistral", "qwen2", "qwen3"};
constexpr std::int64_t max_context = std::int64_t{1} << 30;
constexpr std::int64_t max_token = (std::int64_t{1} << 24) - 1;

enum class Scaling { none, linear, llama3 };
constexpr auto names_of(Scaling) {
  return std::array{base::EnumName{"default", Scaling::none}, base::EnumName{"linear", Scaling::linear},
                    base::EnumName{"llama3", Scaling::llama3}};
}

/// Returns the value of `key`, or nullopt if it is missing or null: configurations write null for missing features.
std::optional<Node> value_of(const Node& map, std::string_view key) {
  auto node = map.find(key);
  if (node && node->is_null()) return std::nullopt;
  return node;
}

/// Replaces `value` if the key is present.
Status read_over(const Node& map, std::string_view key, double least, double most, double& value) {
  const auto node = value_of(map, key);
  if (!node) return {};
  DOVETAIL_TRY(value, base::read_number(*node, base::quote(key), least, most));
  return {};
}

Status read_over(const Node& map, std::string_view key, std::int64_t least, std::int64_t most, std::int64_t& value) {
  const auto node = value_of(map, key);
  if (!node) return {};
  DOVETAIL_TRY(value, base::read_integer(*node, base::quote(key), least, most));
  return {};
}

Result<std::int32_t> read_token(const Node& node, std::string_view key) {
  DOVETAIL_TRY(const std::int64_t token, base::read_integer(node, base::quote(key), 0, max_token));
  return static_cast<std::int32_t>(token);
}

Status read_token_over(const Node& map, std::string_view key, std::optional<std::int32_t>& token) {
  const auto node = value_of(map, key);
  if (!node) return {};
  DOVETAIL_TRY(token, read_token(*node, key));
  return {};
}

Status read_end_tokens(const Node& config, std::vector<std::int32_t>& tokens) {
  const auto node = value_of(config, "eos_token_id");
  if (!node) return {};
  const std::size_t count = node->is_list() ? node->size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    DOVETAIL_TRY(const std::int32_t token, read_token(node->is_list() ? node->item(i) : *node, "eos_token_id"));
    tokens.push_back(token);
  }
  return {};
}

Status read_llama3(const Node& scaling, Computation& computation) {
  Llama3Scaling& llama3 = computation.llama3.emplace();
  DOVETAIL_CHECK(read_over(scaling, "factor", 1, 1e6, llama3.factor));
  DOVETAIL_CHECK(read_over(scaling, "low_freq_factor", 1e-3, 1e6, llama3.low_frequency_factor));
  DOVETAIL_CHECK(read_over(scaling, "high_freq_factor", 1e-3, 1e6, llama3.high_frequency_factor));
  DOVETAIL_CHECK(read_over(scaling, "original_max_position_embeddings", 1, max_context, llama3.original_context));
  if (llama3.high_frequency_factor <= llama3.low_frequency_factor)
    return scaling.error("`high_freq_factor` is at most `low_freq_factor`; accepted: a larger value");
  return {};
}

/// Reads `rope_scaling` (transformers 4) or `rope_parameters` (transformers 5).
Status read_scaling(const Node& scaling, Computation& computation) {
  if (!scaling.is_map())
    return scaling.error(
        fmt::format("the scaling of rotary embeddings is {}; accepted: a map, or null", scaling.describe()));
  DOVETAIL_CHECK(read_over(scaling, "rope_theta", 1, 1e12, computation.rotary_base));
  auto type = value_of(scaling, "rope_type");
  if (!type) type = value_of(scaling, "type");
  if (!type) return {};
  const auto known = type->is_string() ? base::enum_named<Scaling>(type->text()) : std::nullopt;
  if (!known)
    return type->error(fmt::format("the scaling type of rotary embeddings is {}, which is not supported; accepted: {}",
                                   type->describe(), fmt::join(base::enum_names<Scaling>(), ", ")));
  if (*known == Scaling::linear) return read_over(scaling, "factor", 1, 1e6, computation.rotary_factor);
  return *known == Scaling::llama3 ? read_llama3(scaling, computation) : Status();
}

Status read_rotary(const Node& config, Computation& computation) {
  DOVETAIL_CHECK(read_over(config, "rope_theta", 1, 1e12, computation.rotary_base));
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (const auto scaling = value_of(config, key)) DOVETAIL_CHECK(read_scaling(*scaling, computation));
  if (const auto part = value_of(config, "partial_rotary_factor"); part && part->text() != "1" && part->text() != "1.0")
    return part->error(fmt::format("`partial_rotary_factor` is {}; accepted: 1", part->describe()));
  return {};
}

/// Rejects attention windows that are shorter than the context.
Status check_windows(const Node& config, std::int64_t context) {
  const auto window = value_of(config, "sliding_window");
  if (!window) return {};
  // Qwen's configurations contain a window even if `use_sliding_window` disables it. Mistral's always use it.
  const auto used = value_of(config, "use_sliding_window");
  if (used ? used->text() == "false" : config.find("model_type")->text() != "mistral") return {};
  DOVETAIL_TRY(const std::int64_t tokens, base::read_integer(*window, "`sliding_window`", 1, max_context));
  if (tokens >= context) return {};
  return window->error(
      fmt::format("attention windows of {} tokens, shorter than the context of {}, are not supported; accepted: "
                  "`sliding_window: null`, `use_sliding_window: false`, or `max_position_embeddings` of at most {}",
                  tokens, context, tokens));
}

Status check_activation(const Node& config) {
  const auto activation = value_of(config, "hidden_act");
  if (!activation || activation->text() == "silu" || activation->text() == "swish") return {};
  return activation->error(fmt::format("`hidden_act` is {}; accepted: silu", activation->describe()));
}

/// Rejects settings that the computation does not support.
Status check_not_computed(const Node& config) {
  if (const auto dropout = value_of(config, "attention_dropout")) {
    DOVETAIL_TRY(const double part, base::read_number(*dropout, "`attention_dropout`", 0, 1));
    if (part > 0) return dropout->error(fmt::format("`attention_dropout` is {}; accepted: 0", dropout->describe()));
  }
  if (const auto parts = value_of(config, "pretraining_tp"); parts && parts->text() != "1")
    return parts->error(fmt::format("`pretraining_tp` is {}; accepted: 1", parts->describe()));
  if (const auto quantized = value_of(config, "quantization_config"))
    return quantized->error("quantized weights are not supported; accepted: no `quantization_config`");
  return {};
}

Status check_family(const Node& config, const Transformer& shape) {
  DOVETAIL_TRY(const Node type, base::require(config, "a model's configuration", "model_type", "model_type: llama"));
  bool known = false;
  for (const std::string_view family : families) known = known || type.text() == family;
  if (!known || has_language_part(config) || shape.experts || shape.latent || shape.positions > 0 ||
      shape.normalization != Normalization::root_mean_square || shape.feed_forward != FeedForward::gated)
    return type.error(fmt::format("the model type is {}, which cannot be run; accepted: {}", type.describe(),
                                  fmt::join(families, ", ")));
  return {};
}

/// Checks that the configuration was written by a class for a language model or a scalar head.
Status check_architecture(const Node& config) {
  const auto list = value_of(config, "architectures");
  if (!list) return {};
  const Node name = list->is_list() && list->size() > 0 ? list->item(0) : *list;
  constexpr std::array<std::string_view, 2> kinds{"ForCausalLM", "ForSequenceClassification"};
  if (name.is_string() &&
      std::any_of(kinds.begin(), kinds.end(), [&](std::string_view kind) { return name.text().ends_with(kind); }))
    return {};
  return name.error(fmt::format("the architecture is {}; accepted: a name that ends in {}", name.describe(),
                                fmt::join(kinds, " or ")));
}

float llama3_frequency(float frequency, const Llama3Scaling& scaling) {
  const auto context = static_cast<float>(scaling.original_context);
  const auto factor = static_cast<float>(scaling.factor);
  const auto low = static_cast<float>(scaling.low_frequency_factor);
  const auto high = static_cast<float>(scaling.high_frequency_factor);
  const float wave = 2 * std::numbers::pi_v<float> / frequency;
  if (wave < context / high) return frequency;
  if (wave > context / low) return frequency / factor;
  const float smooth = (context / wave - low) / (high - low);
  return (1 - smooth) * frequency / factor + smooth * frequency;
}

/// Writes the members of a JSON object, one on each line.
class ConfigWriter {
 public:
  template <class T>
  void add(std::string_view key, const T& value) {
    text_ += fmt::format("{}\n  \"{}\": {}", text_.empty() ? "" : ",", key, value);
  }
  void add_text(std::string_view key, std::string_view value) { add(key, base::json_string(value)); }
  void add_token(std::string_view key, std::optional<std::int32_t> token) {
    if (token) add(key, *token);
  }
  std::string text() const { return "{" + text_ + "\n}\n"; }

 private:
  std::string text_;
};

struct Family {
  std::string_view type;
  std::string_view architecture;
};

Family family_of(const Transformer& shape) {
  if (shape.query_key_norm) return {"qwen3", "Qwen3"};
  if (shape.query_key_value_bias && !shape.attention_output_bias) return {"qwen2", "Qwen2"};
  return {"llama", "Llama"};
}

void add_shape(ConfigWriter& config, const Transformer& shape, const Family& family) {
  config.add("num_hidden_layers", shape.layers);
  config.add("hidden_size", shape.hidden);
  config.add("num_attention_heads", shape.heads);
  config.add("num_key_value_heads", shape.key_value_heads);
  config.add("head_dim", shape.head_size);
  config.add("intermediate_size", shape.width);
  config.add("vocab_size", shape.vocabulary);
  config.add("tie_word_embeddings", shape.tied_embeddings);
  if (family.type != "qwen2") config.add("attention_bias", shape.query_key_value_bias);
  if (family.type == "llama") config.add("mlp_bias", shape.feed_forward_bias);
  if (shape.head == Head::scalar) config.add("num_labels", 1);
}

void add_rotary(ConfigWriter& config, const Computation& computation) {
  config.add("rope_theta", computation.rotary_base);
  if (computation.llama3)
    config.add(
        "rope_scaling",
        fmt::format("{{\"rope_type\": \"llama3\", \"factor\": {}, \"low_freq_factor\": {}, \"high_freq_factor\": "
                    "{}, \"original_max_position_embeddings\": {}}}",
                    computation.llama3->factor, computation.llama3->low_frequency_factor,
                    computation.llama3->high_frequency_factor, computation.llama3->original_context));
  else if (computation.rotary_factor != 1)
    config.add("rope_scaling", fmt::format("{{\"rope_type\": \"linear\", \"factor\": {}}}", computation.rotary_factor));
}

}  // namespace

Result<Computation> parse_computation(const Node& config, const Transformer& shape) {
  DOVETAIL_CHECK(check_family(config, shape));
  DOVETAIL_CHECK(check_architecture(config));
  Computation computation;
  const std::string_view family = config.find("model_type")->text();
  if (family == "llama") {
    // Defaults of the transformers library.
    computation.begin_token = 1;
    computation.end_tokens = {2};
  } else {
    computation.context = family == "mistral" ? 131'072 : 32'768;
  }
  if (config.find("eos_token_id")) computation.end_tokens.clear();
  DOVETAIL_CHECK(read_rotary(config, computation));
  DOVETAIL_CHECK(read_over(config, "rms_norm_eps", 0, 1, computation.norm_epsilon));
  DOVETAIL_CHECK(read_over(config, "max_position_embeddings", 1, max_context, computation.context));
  DOVETAIL_CHECK(read_end_tokens(config, computation.end_tokens));
  DOVETAIL_CHECK(read_token_over(config, "bos_token_id", computation.begin_token));
  DOVETAIL_CHECK(read_token_over(config, "pad_token_id", computation.pad_token));
  DOVETAIL_CHECK(check_windows(config, computation.context));
  DOVETAIL_CHECK(check_activation(config));
  DOVETAIL_CHECK(check_not_computed(config));
  for (const char* key : {"torch_dtype", "dtype"})
    if (const auto type = value_of(config, key); type && type->is_string()) computation.number_type = type->text();
  return computation;
}

std::vector<float> rotary_frequencies(const Computation& computation, std::int64_t head_size) {
  std::vector<float> frequencies;
  const auto base = static_cast<float>(computation.rotary_base);
  for (std::int64_t i = 0; i < head_size; i += 2) {
    const float power = std::pow(base, static_cast<float>(i) / static_cast<float>(head_size));
    const float frequency = 1 / power / static_cast<float>(computation.rotary_factor);
    frequencies.push_back(computation.llama3 ? llama3_frequency(frequency, *computation.llama3) : frequency);
  }
  return frequencies;
}

std::string config_text(const Transformer& shape, const Computation& computation) {
  const Family family = family_of(shape);
  ConfigWriter config;
  config.add("architectures", fmt::format("[\"{}{}\"]", family.architecture,
                                          shape.head == Head::scalar ? "ForSequenceClassification" : "ForCausalLM"));
  config.add_text("model_type", family.type);
  add_shape(config, shape, family);
  config.add_text("hidden_act", "silu");
  config.add("rms_norm_eps", computation.norm_epsilon);
  config.add("max_position_embeddings", computation.context);
  add_rotary(config, computation);
  config.add_token("bos_token_id", computation.begin_token);
  if (!computation.end_tokens.empty())
    config.add("eos_token_id", fmt::format("[{}]", fmt::join(computation.end_tokens, ", ")));
  else
    config.add("eos_token_id", "null");
  config.add_token("pad_token_id", computation.pad_token);
  config.add_text("torch_dtype", computation.number_type);
  return config.text();
}

}  // namespace dovetail::llm
