#include "llm/config_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "base/utf8.h"

namespace dovetail::llm {
namespace {

/// Members of a JSON object, one a line.
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
