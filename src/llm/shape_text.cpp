#include "llm/shape_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.h"
#include "llm/bundled_models.h"
#include "llm/huggingface_config.h"

namespace dovetail::llm {
namespace {

/// A key with its value in JSON.
using Member = std::pair<std::string_view, std::string>;

bool alike(Transformer one, const Transformer& other) {
  one.name = other.name;
  return one == other;
}

/// What any family may say of the shape: each takes the keys that are its own.
std::vector<Member> members_of(const Transformer& shape) {
  std::vector<Member> members;
  const auto add = [&members](std::string_view key, const auto& value) {
    members.emplace_back(key, fmt::format("{}", value));
  };
  add("num_hidden_layers", shape.layers);
  add("hidden_size", shape.hidden);
  add("num_attention_heads", shape.heads);
  add("num_key_value_heads", shape.key_value_heads);
  add("head_dim", shape.head_size);
  add("intermediate_size", shape.width);
  add("ffn_dim", shape.width);
  add("vocab_size", shape.vocabulary);
  add("max_position_embeddings", shape.positions > 2 ? shape.positions - 2 : 1);
  add("tie_word_embeddings", shape.tied_embeddings);
  add("attention_bias", shape.query_key_value_bias);
  add("enable_bias", shape.query_key_value_bias);
  add("mlp_bias", shape.feed_forward_bias);
  add("attention_out_bias", shape.attention_output_bias);
  add("use_qk_norm", shape.query_key_norm);
  add("qk_norm", shape.query_key_norm);
  if (shape.latent) {
    add("q_lora_rank", shape.latent->query_rank);
    add("kv_lora_rank", shape.latent->key_value_rank);
    add("qk_nope_head_dim", shape.latent->plain_size);
    add("qk_rope_head_dim", shape.latent->rotary_size);
    add("v_head_dim", shape.latent->value_size);
  }
  if (!shape.experts) return members;
  const Experts& experts = *shape.experts;
  for (const std::string_view key : {"num_experts", "num_local_experts", "n_routed_experts"}) add(key, experts.count);
  add("num_experts_per_tok", experts.active);
  add("moe_intermediate_size", experts.width);
  add("shared_expert_intermediate_size", experts.shared_width);
  for (const std::string_view key : {"n_shared_experts", "num_shared_experts"})
    if (experts.width > 0) add(key, experts.shared_width / experts.width);
  for (const std::string_view key : {"use_routing_bias", "moe_router_enable_expert_bias"})
    add(key, experts.router_bias);
  add("first_k_dense_replace", experts.dense_layers);
  return members;
}

std::string line_of(std::string_view family, const std::vector<Member>& members) {
  std::string line = fmt::format("{{\"model_type\": \"{}\"", family);
  for (const auto& [key, value] : members) line += fmt::format(", \"{}\": {}", key, value);
  return line + "}";
}

bool says(const std::string& line, const Transformer& shape) {
  const auto document = base::parse_json(line, "config.json");
  if (!document.ok()) return false;
  const auto read = parse_config(document->root(), shape.name);
  return read.ok() && alike(*read, shape);
}

}  // namespace

std::optional<std::string> bundled_model_of(const Transformer& shape, const std::string& preferred) {
  std::optional<std::string> first;
  for (const std::string& name : bundled_model_names()) {
    const auto bundled = find_bundled_model(name);
    if (!bundled.ok() || !alike(*bundled, shape)) continue;
    if (name == preferred) return name;
    if (!first) first = name;
  }
  return first;
}

base::Result<std::string> config_line(const Transformer& shape) {
  std::vector<Member> members = members_of(shape);
  for (const std::string_view family : config_families()) {
    if (!says(line_of(family, members), shape)) continue;
    for (std::size_t i = members.size(); i-- > 0;) {
      std::vector<Member> fewer = members;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (says(line_of(family, fewer), shape)) members = std::move(fewer);
    }
    return line_of(family, members);
  }
  return base::bad_input(
      fmt::format("no family of models that is known is of that shape; known: {}", fmt::join(config_families(), ", ")));
}

}  // namespace dovetail::llm
