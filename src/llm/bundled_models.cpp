#include "llm/bundled_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/enum_names.h"
#include "llm/huggingface_config.h"

namespace dovetail::llm {
namespace {

/// The head size defaults to hidden / heads.
Transformer shape(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                  std::int64_t key_value_heads, std::int64_t width, std::int64_t vocabulary) {
  Transformer model;
  model.name = std::move(name);
  model.layers = layers;
  model.hidden = hidden;
  model.heads = heads;
  model.key_value_heads = key_value_heads;
  model.head_size = hidden / heads;
  model.width = width;
  model.vocabulary = vocabulary;
  return model;
}

Transformer tied(Transformer model) {
  model.tied_embeddings = true;
  return model;
}

Transformer qwen2(Transformer model) {
  model.query_key_value_bias = true;
  return model;
}

Transformer qwen3(Transformer model) {
  model.head_size = 128;
  model.query_key_norm = true;
  return model;
}

Transformer with_experts(Transformer model, const Experts& experts) {
  model.experts = experts;
  return model;
}

Transformer with_heads_of(std::int64_t size, Transformer model) {
  model.head_size = size;
  return model;
}

Transformer with_latent(Transformer model, const LatentAttention& latent, const Experts& experts) {
  model.latent = latent;
  model.head_size = latent.plain_size + latent.rotary_size;
  model.experts = experts;
  return model;
}

Transformer deepseek(Transformer model, const Experts& experts) {
  return with_latent(std::move(model), {1536, 512, 128, 64, 128}, experts);
}

/// Adds the latent attention and experts of DeepSeek-V2-Lite, without compressed queries.
Transformer small_deepseek(Transformer model, const Experts& experts) {
  return with_latent(std::move(model), {0, 512, 128, 64, 128}, experts);
}

/// Adds the biases of GLM-4: of queries, keys and values.
Transformer glm(Transformer model) {
  model.head_size = 128;
  model.query_key_value_bias = true;
  return model;
}

/// Adds the features of OPT: layer norms, biases everywhere, learned positions (two more than the context), tied
/// embeddings.
Transformer opt(Transformer model) {
  model.feed_forward = FeedForward::plain;
  model.normalization = Normalization::layer;
  model.positions = 2'050;
  model.tied_embeddings = true;
  model.query_key_value_bias = model.attention_output_bias = model.feed_forward_bias = true;
  return model;
}

Transformer plain(Transformer model) {
  model.feed_forward = FeedForward::plain;
  return model;
}

void add_llama(std::vector<Transformer>& models) {
  models.insert(models.end(), {
                                  shape("llama-7b", 32, 4096, 32, 32, 11008, 32000),
                                  shape("llama-13b", 40, 5120, 40, 40, 13824, 32000),
                                  shape("llama-33b", 60, 6656, 52, 52, 17920, 32000),
                                  shape("llama-65b", 80, 8192, 64, 64, 22016, 32000),
                                  shape("llama-2-7b", 32, 4096, 32, 32, 11008, 32000),
                                  shape("llama-2-13b", 40, 5120, 40, 40, 13824, 32000),
                                  shape("codellama-34b", 48, 8192, 64, 8, 22016, 32000),
                                  shape("llama-2-70b", 80, 8192, 64, 8, 28672, 32000),
                                  tied(shape("llama-3.2-1b", 16, 2048, 32, 8, 8192, 128256)),
                                  tied(shape("llama-3.2-3b", 28, 3072, 24, 8, 8192, 128256)),
                                  shape("llama-3-8b", 32, 4096, 32, 8, 14336, 128256),
                                  shape("llama-3.1-8b", 32, 4096, 32, 8, 14336, 128256),
                                  shape("llama-3-70b", 80, 8192, 64, 8, 28672, 128256),
                                  shape("llama-3.1-70b", 80, 8192, 64, 8, 28672, 128256),
                                  shape("llama-3.1-405b", 126, 16384, 128, 8, 53248, 128256),
                                  plain(shape("rlhfuse-13b", 40, 5120, 40, 40, 20480, 32000)),
                                  plain(shape("rlhfuse-33b", 60, 6656, 52, 52, 26624, 32000)),
                                  plain(shape("rlhfuse-65b", 80, 8192, 64, 64, 32768, 32000)),
                              });
}

void add_qwen(std::vector<Transformer>& models) {
  for (const char* family : {"qwen2", "qwen2.5"}) {
    const auto name = [family](const char* size) { return fmt::format("{}-{}", family, size); };
    models.push_back(tied(qwen2(shape(name("0.5b"), 24, 896, 14, 2, 4864, 151936))));
    models.push_back(tied(qwen2(shape(name("1.5b"), 28, 1536, 12, 2, 8960, 151936))));
    models.push_back(qwen2(shape(name("7b"), 28, 3584, 28, 4, 18944, 152064)));
    models.push_back(qwen2(shape(name("72b"), 80, 8192, 64, 8, 29568, 152064)));
  }
  models.insert(models.end(),
                {
                    tied(qwen2(shape("qwen2.5-3b", 36, 2048, 16, 2, 11008, 151936))),
                    qwen2(shape("qwen2.5-14b", 48, 5120, 40, 8, 13824, 152064)),
                    qwen2(shape("qwen2.5-32b", 64, 5120, 40, 8, 27648, 152064)),
                    tied(qwen3(shape("qwen3-0.6b", 28, 1024, 16, 8, 3072, 151936))),
                    tied(qwen3(shape("qwen3-1.7b", 28, 2048, 16, 8, 6144, 151936))),
                    tied(qwen3(shape("qwen3-4b", 36, 2560, 32, 8, 9728, 151936))),
                    qwen3(shape("qwen3-8b", 36, 4096, 32, 8, 12288, 151936)),
                    qwen3(shape("qwen3-14b", 40, 5120, 40, 8, 17408, 151936)),
                    qwen3(shape("qwen3-32b", 64, 5120, 64, 8, 25600, 151936)),
                    with_experts(qwen3(shape("qwen3-30b-a3b", 48, 2048, 32, 4, 6144, 151936)), {128, 8, 768}),
                    with_experts(qwen3(shape("qwen3-235b-a22b", 94, 4096, 64, 4, 12288, 151936)), {128, 8, 1536}),
                    with_experts(qwen3(shape("qwen3-omni-30b-a3b", 48, 2048, 32, 4, 6144, 152064)), {128, 8, 768}),
                });
}

void add_glm(std::vector<Transformer>& models) {
  models.push_back(glm(shape("glm-4-9b", 40, 4096, 32, 2, 13696, 151552)));
  models.push_back(
      with_experts(glm(shape("glm-4.5-air", 46, 4096, 96, 8, 10944, 151552)), {128, 8, 1408, 1408, false, 1, true}));
  Transformer large = glm(shape("glm-4.5", 92, 5120, 96, 8, 12288, 151552));
  large.query_key_norm = true;
  models.push_back(with_experts(std::move(large), {160, 8, 1536, 1536, false, 3, true}));
  models.push_back(with_latent(shape("glm-4.7-flash", 47, 2048, 20, 20, 10240, 154880), {768, 512, 192, 64, 256},
                               {64, 4, 1536, 1536, false, 1, true}));
}

void add_deepseek(std::vector<Transformer>& models) {
  models.insert(
      models.end(),
      {
          shape("deepseek-llm-7b", 30, 4096, 32, 32, 11008, 102400),
          shape("deepseek-coder-6.7b", 32, 4096, 32, 32, 11008, 32256),
          qwen2(shape("deepseek-r1-distill-qwen-1.5b", 28, 1536, 12, 2, 8960, 151936)),
          small_deepseek(shape("deepseek-v2-lite", 27, 2048, 16, 16, 10944, 102400),
                         {64, 6, 1408, 2816, false, 1, false}),
          deepseek(shape("deepseek-v2", 60, 5120, 128, 128, 12288, 102400), {160, 6, 1536, 3072, false, 1, false}),
          deepseek(shape("deepseek-v3", 61, 7168, 128, 128, 18432, 129280), {256, 8, 2048, 2048, false, 3, true}),
          small_deepseek(shape("moonlight-16b-a3b", 27, 2048, 16, 16, 11264, 163840),
                         {64, 6, 1408, 2816, false, 1, true}),
          deepseek(shape("kimi-k2", 61, 7168, 64, 64, 18432, 163840), {384, 8, 2048, 2048, false, 1, true}),
      });
}

void add_others(std::vector<Transformer>& models) {
  models.insert(
      models.end(),
      {
          shape("mistral-7b", 32, 4096, 32, 8, 14336, 32000),
          with_experts(shape("mixtral-8x7b", 32, 4096, 32, 8, 14336, 32000), {8, 2, 14336}),
          with_experts(shape("mixtral-8x22b", 56, 6144, 48, 8, 16384, 32000), {8, 2, 16384}),
          shape("mistral-7b-v0.3", 32, 4096, 32, 8, 14336, 32768),
          with_heads_of(128, shape("mistral-nemo-12b", 40, 5120, 32, 8, 14336, 131072)),
          with_heads_of(256, tied(shape("gemma-2b", 18, 2048, 8, 1, 16384, 256000))),
          with_heads_of(256, tied(shape("gemma-7b", 28, 3072, 16, 16, 24576, 256000))),
          with_heads_of(128, qwen2(shape("seed-oss-36b", 64, 5120, 80, 8, 27648, 155136))),
          qwen2(shape("minicpm-o-2.6", 28, 3584, 28, 4, 18944, 151700)),
          with_experts(qwen3(shape("minimax-m2", 62, 3072, 48, 8, 1536, 200064)), {256, 8, 1536, 0, false, 0, true}),
          with_experts(qwen3(shape("hy3", 80, 4096, 64, 8, 13312, 120832)), {192, 8, 1536, 1536, false, 1, true}),
          opt(shape("opt-1.3b", 24, 2048, 32, 32, 8192, 50272)),
          opt(shape("opt-6.7b", 32, 4096, 32, 32, 16384, 50272)),
          opt(shape("opt-13b", 40, 5120, 40, 40, 20480, 50272)),
          opt(shape("opt-66b", 64, 9216, 72, 72, 36864, 50272)),
      });
}

std::vector<Transformer> all_models() {
  std::vector<Transformer> models;
  add_llama(models);
  add_qwen(models);
  add_deepseek(models);
  add_glm(models);
  add_others(models);
  return models;
}

/// A key with its value in JSON.
using Member = std::pair<std::string_view, std::string>;

bool alike(Transformer one, const Transformer& other) {
  one.name = other.name;
  return one == other;
}

/// Returns the members of all families that describe the shape. Each family reads its own keys.
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

bool reads_back(const std::string& line, const Transformer& shape) {
  const auto document = base::parse_json(line, "config.json");
  if (!document.ok()) return false;
  const auto read = parse_config(document->root(), shape.name);
  return read.ok() && alike(*read, shape);
}

}  // namespace

std::vector<std::string> bundled_model_names() {
  std::vector<std::string> names;
  for (const Transformer& model : all_models()) names.push_back(model.name);
  return names;
}

base::Result<Transformer> find_bundled_model(std::string_view name) {
  const std::vector<Transformer> models = all_models();
  const auto found =
      std::find_if(models.begin(), models.end(), [name](const Transformer& model) { return model.name == name; });
  if (found != models.end()) return *found;
  std::vector<std::string_view> names;
  for (const Transformer& model : models) names.push_back(model.name);
  return base::bad_input(fmt::format(
      "unknown bundled model {}{}; accepted: a config.json, a folder that contains one, or a bundled model: {}",
      base::quote(name), base::did_you_mean(name, names, 3), fmt::join(names, ", ")));
}

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
    if (!reads_back(line_of(family, members), shape)) continue;
    for (std::size_t i = members.size(); i-- > 0;) {
      std::vector<Member> fewer = members;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (reads_back(line_of(family, fewer), shape)) members = std::move(fewer);
    }
    return line_of(family, members);
  }
  return base::bad_input(
      fmt::format("no known model family has this shape; known: {}", fmt::join(config_families(), ", ")));
}

}  // namespace dovetail::llm
