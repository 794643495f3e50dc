#include "llm/huggingface_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/nearest.h"

namespace dovetail::llm {
namespace {

using base::Node;
using base::Result;

constexpr std::int64_t most = std::int64_t{1} << 30;

enum class Family { llama, qwen2, qwen3, mixtral, qwen2_moe, qwen3_moe, deepseek, opt };

struct FamilyName {
  std::string_view type;
  Family family;
};

constexpr FamilyName families[] = {{"llama", Family::llama},          {"mistral", Family::llama},
                                   {"qwen2", Family::qwen2},          {"qwen3", Family::qwen3},
                                   {"mixtral", Family::mixtral},      {"qwen2_moe", Family::qwen2_moe},
                                   {"qwen3_moe", Family::qwen3_moe},  {"deepseek_v2", Family::deepseek},
                                   {"deepseek_v3", Family::deepseek}, {"opt", Family::opt}};

/// Reads whole numbers and switches of one config, and keeps the first Error.
class ConfigReader {
 public:
  explicit ConfigReader(const Node& config) : config_(config) {}

  /// The value of `key`, which must be there.
  std::int64_t whole(std::string_view key) {
    const auto node = value_of(key);
    if (!node)
      return fail(config_.error(
          fmt::format("the model's configuration has no {}; accepted: {}: a whole number", base::quote(key), key)));
    return read(*node, key);
  }

  /// The value of `key`, or `otherwise`.
  std::int64_t whole(std::string_view key, std::int64_t otherwise) {
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
  /// Configurations write null for what they do not have.
  std::optional<Node> value_of(std::string_view key) const {
    auto node = config_.find(key);
    if (node && node->is_null()) return std::nullopt;
    return node;
  }

  std::int64_t read(const Node& node, std::string_view key) {
    auto value = base::read_whole(node, base::quote(key), 0, most);
    return value.ok() ? *value : fail(std::move(value).error());
  }

  std::int64_t fail(base::Error error) {
    if (!error_) error_ = std::move(error);
    return 0;
  }

  const Node& config_;
  std::optional<base::Error> error_;
};

Result<Family> read_family(const Node& config) {
  DOVETAIL_TRY(const Node type, base::require(config, "a model's configuration", "model_type", "model_type: llama"));
  for (const FamilyName& family : families)
    if (type.is_string() && family.type == type.text()) return family.family;
  return type.error(fmt::format("the model type is {}, which is not known; accepted: {}", type.describe(),
                                fmt::join(config_families(), ", ")));
}

void read_dense(ConfigReader& reader, Transformer& model) {
  model.layers = reader.whole("num_hidden_layers");
  model.hidden = reader.whole("hidden_size");
  model.heads = reader.whole("num_attention_heads");
  model.key_value_heads = reader.whole("num_key_value_heads", model.heads);
  model.head_size = reader.whole("head_dim", model.heads > 0 ? model.hidden / model.heads : 0);
  model.vocabulary = reader.whole("vocab_size");
  model.tied_embeddings = reader.flag("tie_word_embeddings", false);
}

void read_opt(ConfigReader& reader, Transformer& model) {
  model.width = reader.whole("ffn_dim");
  // Two rows more than positions, in all OPT models.
  model.positions = reader.whole("max_position_embeddings") + 2;
  model.feed_forward = FeedForward::plain;
  model.normalization = Normalization::layer;
  model.tied_embeddings = reader.flag("tie_word_embeddings", true);
  model.query_key_value_bias = model.attention_output_bias = model.feed_forward_bias = reader.flag("enable_bias", true);
}

Experts read_experts(ConfigReader& reader, Family family) {
  Experts experts;
  experts.active = reader.whole("num_experts_per_tok");
  if (family == Family::mixtral) {
    experts.count = reader.whole("num_local_experts");
    experts.width = reader.whole("intermediate_size");
    return experts;
  }
  experts.width = reader.whole("moe_intermediate_size");
  if (family == Family::deepseek) {
    experts.count = reader.whole("n_routed_experts");
    experts.shared_width = reader.whole("n_shared_experts", 0) * experts.width;
    experts.dense_layers = reader.whole("first_k_dense_replace", 0);
    return experts;
  }
  experts.count = reader.whole("num_experts");
  experts.shared_width = reader.whole("shared_expert_intermediate_size", 0);
  experts.shared_gate = experts.shared_width > 0;
  return experts;
}

void read_latent(ConfigReader& reader, Transformer& model) {
  LatentAttention latent;
  latent.query_rank = reader.whole("q_lora_rank", 0);
  latent.key_value_rank = reader.whole("kv_lora_rank");
  latent.plain_size = reader.whole("qk_nope_head_dim");
  latent.rotary_size = reader.whole("qk_rope_head_dim");
  latent.value_size = reader.whole("v_head_dim");
  model.head_size = latent.plain_size + latent.rotary_size;
  model.latent = latent;
}

/// What a family has beyond the dense LLaMA shape.
void read_family_parts(ConfigReader& reader, Family family, bool third_version, Transformer& model) {
  if (family == Family::opt) return read_opt(reader, model);
  model.width = reader.whole("intermediate_size");
  const bool bias = reader.flag("attention_bias", false);
  model.query_key_value_bias = bias || family == Family::qwen2 || family == Family::qwen2_moe;
  model.attention_output_bias = bias && family != Family::qwen2 && family != Family::qwen2_moe;
  model.feed_forward_bias = reader.flag("mlp_bias", false);
  model.query_key_norm = family == Family::qwen3 || family == Family::qwen3_moe;
  if (family == Family::deepseek) read_latent(reader, model);
  const bool routed = family == Family::mixtral || family == Family::qwen2_moe || family == Family::qwen3_moe ||
                      family == Family::deepseek;
  if (routed) model.experts = read_experts(reader, family);
  if (model.experts) model.experts->router_bias = third_version;
}

}  // namespace

Result<Transformer> parse_config(const Node& config, const std::string& name) {
  if (!config.is_map())
    return config.error(
        fmt::format("a model's configuration is {}; accepted: a map, as in config.json", config.describe()));
  DOVETAIL_TRY(const Family family, read_family(config));
  ConfigReader reader(config);
  Transformer model;
  model.name = name;
  read_dense(reader, model);
  read_family_parts(reader, family, config.find("model_type")->text() == "deepseek_v3", model);
  if (reader.error()) return std::move(*reader.error());
  if (const auto fault = find_fault(model)) return config.error(fmt::format("{}: {}", name, *fault));
  return model;
}

std::vector<std::string_view> config_families() {
  std::vector<std::string_view> types;
  for (const FamilyName& family : families) types.push_back(family.type);
  return types;
}

}  // namespace dovetail::llm
