#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "trainers/import/settings.h"
#include "trainers/slime/layouts.h"

namespace dovetail::trainers {
namespace {

/// A module with slime's own layers, and their additions to a transformer.
struct OwnLayers {
  std::string_view module;
  std::string_view what;
  bool is_counted = false;  ///< whether the layers are supported, because the addition is negligible
};

constexpr std::array own_layers{
    OwnLayers{"slime_plugins.models.glm4", "norms after attention and the feed-forward network", true},
    OwnLayers{"slime_plugins.models.minimax_m2", "norms over all heads together", true},
    OwnLayers{"slime_plugins.models.glm5.glm5", "sparse attention", false},
    OwnLayers{"slime_plugins.models.qwen3_next", "linear and gated attention", false},
    OwnLayers{"slime_plugins.models.qwen3_5", "linear and gated attention", false},
    OwnLayers{"slime_plugins.models.qwen3_5_vl", "linear and gated attention", false},
};

const OwnLayers* find_layers(const syntax::Setting& spec) {
  const auto* const found = std::find_if(own_layers.begin(), own_layers.end(), [&](const OwnLayers& each) {
    return !spec.items.empty() && spec.items.front().text == each.module;
  });
  return found == own_layers.end() ? nullptr : found;
}

/// A flag that requests unsupported layers, and a description of the layers.
struct OtherLayers {
  std::string_view key;
  std::string_view what;
};

constexpr std::array other_layers{
    OtherLayers{"--custom-model-provider-path", "custom model function"},
    OtherLayers{"--use-gated-attention", "gated attention"},
    OtherLayers{"--attention-output-gate", "gated attention"},
    OtherLayers{"--experimental-attention-variant", "experimental attention variant"},
    OtherLayers{"--hybrid-layer-pattern", "hybrid layers"},
    OtherLayers{"--moe-latent-size", "experts on compressed tokens"},
};

base::Error layers_error(const syntax::SettingTree& tree, std::string_view key, std::string_view what) {
  const syntax::Setting* const setting = find_setting(tree.root, key);
  return setting_error(tree, key,
                       fmt::format("is {}, which is not supported ({}); accepted: unset, or "
                                   "--model actor=NAME, or --model actor=FOLDER with a config.json",
                                   setting == nullptr ? "" : value_text(*setting), what));
}

base::Status check_layers(const syntax::SettingTree& tree) {
  const auto is_there = [&tree](std::string_view key) {
    const syntax::Setting* const setting = find_setting(tree.root, key);
    return setting != nullptr && setting->kind != syntax::Setting::Kind::null && setting->text != "false";
  };
  if (is_there("--spec")) {
    const OwnLayers* const layers = find_layers(*find_setting(tree.root, "--spec"));
    if (layers == nullptr || !layers->is_counted)
      return layers_error(tree, "--spec", layers == nullptr ? "custom layers" : layers->what);
  }
  for (const OtherLayers& other : other_layers)
    if (is_there(other.key)) return layers_error(tree, other.key, other.what);
  return {};
}

/// Parses a Python expression for the kinds of layers, such as `[0]*3+[1]*58` or `([1]*3+[0])*2`. 1 is a layer with
/// experts.
class LayerPattern {
 public:
  explicit LayerPattern(std::string_view text) : text_(text) {}

  /// Returns the kind of each layer, or nullopt if the text is not such an expression or has too many layers.
  std::optional<std::vector<int>> read() {
    std::optional<std::vector<int>> kinds = read_sum(0);
    return at_ == text_.size() ? kinds : std::nullopt;
  }

 private:
  static constexpr std::size_t max_size = llm::max_layer_count;
  static constexpr int max_depth = 16;

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    skip_blanks();
    return true;
  }

  std::optional<std::size_t> read_number() {
    std::size_t value = 0;
    const auto [end, fault] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (fault != std::errc() || value > max_size) return std::nullopt;
    at_ = static_cast<std::size_t>(end - text_.data());
    skip_blanks();
    return value;
  }

  std::optional<std::vector<int>> read_list() {
    std::vector<int> list;
    if (take(']')) return list;
    do {
      const std::optional<std::size_t> kind = read_number();
      if (!kind || *kind > 1 || list.size() == max_size) return std::nullopt;
      list.push_back(static_cast<int>(*kind));
    } while (take(','));
    if (!take(']')) return std::nullopt;
    return list;
  }

  std::optional<std::vector<int>> read_factor(int depth) {
    if (take('[')) return read_list();
    if (depth == max_depth || !take('(')) return std::nullopt;
    std::optional<std::vector<int>> inner = read_sum(depth + 1);
    return take(')') ? inner : std::nullopt;
  }

  std::optional<std::vector<int>> read_product(int depth) {
    std::optional<std::vector<int>> list = read_factor(depth);
    while (list && take('*')) {
      const std::optional<std::size_t> times = read_number();
      if (!times || *times * list->size() > max_size) return std::nullopt;
      const std::vector<int> once = *list;
      list->clear();
      for (std::size_t i = 0; i < *times; ++i) list->insert(list->end(), once.begin(), once.end());
    }
    return list;
  }

  std::optional<std::vector<int>> read_sum(int depth) {
    std::optional<std::vector<int>> list = read_product(depth);
    while (list && take('+')) {
      const std::optional<std::vector<int>> more = read_product(depth);
      if (!more || list->size() + more->size() > max_size) return std::nullopt;
      list->insert(list->end(), more->begin(), more->end());
    }
    return list;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Returns the number of leading layers without experts.
base::Result<std::int64_t> dense_layers(const syntax::SettingTree& tree, std::int64_t layers) {
  constexpr std::string_view key = "--moe-layer-freq";
  DOVETAIL_TRY(const std::string pattern, text_at(tree, key));
  if (pattern == "1") return 0;
  const std::optional<std::vector<int>> kinds = LayerPattern(pattern).read();
  if (!kinds)
    return setting_error(tree, key,
                         fmt::format("is {}; accepted: 1, or a list with 0 or 1 for each layer, such as [0]*3+[1]*58",
                                     base::quote(pattern)));
  if (static_cast<std::int64_t>(kinds->size()) != layers)
    return setting_error(tree, key, fmt::format("has {} layers; accepted: --num-layers ({})", kinds->size(), layers));
  if (!std::is_sorted(kinds->begin(), kinds->end()))
    return setting_error(tree, key,
                         "has dense layers after layers with experts; accepted: dense layers only before them");
  return std::count(kinds->begin(), kinds->end(), 0);
}

base::Status read_attention(const syntax::SettingTree& tree, llm::Transformer& model) {
  DOVETAIL_TRY(const bool grouped, flag_at(tree, "--group-query-attention"));
  DOVETAIL_TRY(const std::int64_t groups, count_at(tree, "--num-query-groups"));
  DOVETAIL_TRY(model.head_size, count_or(tree, "--kv-channels", model.hidden / model.heads));
  DOVETAIL_TRY(model.query_key_norm, flag_at(tree, "--qk-layernorm"));
  DOVETAIL_TRY(const bool query_bias, flag_at(tree, "--add-qkv-bias"));
  DOVETAIL_TRY(const bool no_biases, flag_at(tree, "--disable-bias-linear"));
  DOVETAIL_TRY(const bool is_latent, flag_at(tree, "--multi-latent-attention"));
  model.key_value_heads = grouped ? groups : model.heads;
  model.query_key_value_bias = query_bias || !no_biases;
  model.attention_output_bias = model.feed_forward_bias = !no_biases;
  if (!is_latent) return {};
  llm::LatentAttention latent;
  DOVETAIL_TRY(latent.query_rank, count_or(tree, "--q-lora-rank", 0));
  DOVETAIL_TRY(latent.key_value_rank, count_at(tree, "--kv-lora-rank"));
  DOVETAIL_TRY(latent.plain_size, count_at(tree, "--qk-head-dim"));
  DOVETAIL_TRY(latent.rotary_size, count_at(tree, "--qk-pos-emb-head-dim"));
  DOVETAIL_TRY(latent.value_size, count_at(tree, "--v-head-dim"));
  model.latent = latent;
  model.head_size = latent.plain_size + latent.rotary_size;
  model.key_value_heads = model.heads;
  // Megatron's latent attention has different norms and biases.
  model.query_key_norm = false;
  model.query_key_value_bias = !no_biases;
  return {};
}

base::Status read_experts(const syntax::SettingTree& tree, llm::Transformer& model) {
  DOVETAIL_TRY(const auto count, optional_integer(tree, "--num-experts"));
  if (!count) return {};
  llm::Experts experts;
  DOVETAIL_TRY(experts.count, count_at(tree, "--num-experts"));
  DOVETAIL_TRY(experts.active, count_at(tree, "--moe-router-topk"));
  DOVETAIL_TRY(experts.width, count_or(tree, "--moe-ffn-hidden-size", model.width));
  DOVETAIL_TRY(experts.shared_width, count_or(tree, "--moe-shared-expert-intermediate-size", 0));
  DOVETAIL_TRY(experts.shared_gate, flag_at(tree, "--moe-shared-expert-gate"));
  DOVETAIL_TRY(experts.router_bias, flag_at(tree, "--moe-router-enable-expert-bias"));
  DOVETAIL_TRY(experts.dense_layers, dense_layers(tree, model.layers));
  model.experts = experts;
  return {};
}

/// Reads the number of learned positions, the default unless rotary positions are set.
base::Status read_positions(const syntax::SettingTree& tree, llm::Transformer& model) {
  constexpr std::string_view key = "--position-embedding-type";
  DOVETAIL_TRY(const std::string kind, text_at(tree, key));
  DOVETAIL_TRY(const bool rotary, flag_at(tree, "--use-rotary-position-embeddings"));
  if (rotary || kind == "rope" || kind == "yarn" || kind == "none") return {};
  if (kind != "learned_absolute")
    return setting_error(
        tree, key, fmt::format("is {}, which is not supported; accepted: rope, yarn, none, learned_absolute", kind));
  DOVETAIL_TRY(const std::int64_t length, count_or(tree, "--seq-length", 4096));
  DOVETAIL_TRY(model.positions, count_or(tree, "--max-position-embeddings", length));
  return {};
}

}  // namespace

std::optional<std::string_view> slime_uncounted(const syntax::Setting& spec) {
  const OwnLayers* const layers = find_layers(spec);
  if (layers == nullptr || !layers->is_counted) return std::nullopt;
  return layers->what;
}

base::Result<llm::Transformer> slime_shape(const syntax::SettingTree& tree, std::int64_t vocabulary) {
  DOVETAIL_CHECK(check_layers(tree));
  llm::Transformer model;
  model.name = "actor";
  DOVETAIL_TRY(model.layers, count_at(tree, slime_shape_key));
  DOVETAIL_TRY(model.hidden, count_at(tree, "--hidden-size"));
  DOVETAIL_TRY(model.heads, count_at(tree, "--num-attention-heads"));
  DOVETAIL_TRY(const bool gated, flag_at(tree, "--swiglu"));
  DOVETAIL_TRY(const std::string normalization, text_at(tree, "--normalization"));
  DOVETAIL_TRY(const bool untied, flag_at(tree, "--untie-embeddings-and-output-weights"));
  model.feed_forward = gated ? llm::FeedForward::gated : llm::FeedForward::plain;
  model.normalization = normalization == "RMSNorm" ? llm::Normalization::root_mean_square : llm::Normalization::layer;
  model.tied_embeddings = !untied;
  DOVETAIL_TRY(model.width,
               count_or(tree, "--ffn-hidden-size", gated ? model.hidden * 8 / 3 / 64 * 64 : model.hidden * 4));
  if (vocabulary > 0) {
    DOVETAIL_TRY(model.vocabulary, count_or(tree, "--vocab-size", vocabulary));
  } else {
    DOVETAIL_TRY(model.vocabulary, count_at(tree, "--vocab-size"));
  }
  DOVETAIL_CHECK(read_attention(tree, model));
  DOVETAIL_CHECK(read_experts(tree, model));
  DOVETAIL_CHECK(read_positions(tree, model));
  if (const auto fault = llm::find_fault(model))
    return setting_error(tree, slime_shape_key, "and the other shape flags: " + *fault);
  return model;
}

}  // namespace dovetail::trainers
