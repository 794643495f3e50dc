#include "llm/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace dovetail::llm {
namespace {

struct Amount {
  std::string_view name;
  std::int64_t value;
  std::int64_t least;
  std::int64_t most;
};

std::optional<std::string> find_out_of_range(std::initializer_list<Amount> amounts) {
  for (const Amount& amount : amounts)
    if (amount.value < amount.least || amount.value > amount.most)
      return fmt::format("{} is {}; accepted: {} to {}", amount.name, amount.value, amount.least, amount.most);
  return std::nullopt;
}

constexpr std::int64_t widest = 1 << 20;

std::optional<std::string> find_fault_of(const LatentAttention& latent) {
  return find_out_of_range({{"the rank of compressed queries", latent.query_rank, 0, widest},
                            {"the rank of compressed keys and values", latent.key_value_rank, 1, widest},
                            {"the plain part of a head", latent.plain_size, 0, 1 << 14},
                            {"the rotary part of a head", latent.rotary_size, 1, 1 << 14},
                            {"the size of a head's value", latent.value_size, 1, 1 << 14}});
}

std::optional<std::string> find_fault_of(const Experts& experts, std::int64_t layers) {
  return find_out_of_range({{"the number of experts", experts.count, 1, 1 << 16},
                            {"the number of active experts", experts.active, 1, experts.count},
                            {"the width of an expert", experts.width, 1, widest},
                            {"the width of the shared experts", experts.shared_width, 0, widest},
                            {"the number of dense layers before those with experts", experts.dense_layers, 0, layers}});
}

}  // namespace

Transformer with_scalar_head(Transformer model) {
  model.head = Head::scalar;
  model.tied_embeddings = false;
  return model;
}

std::optional<std::string> find_fault(const Transformer& model) {
  auto fault = find_out_of_range({{"the number of layers", model.layers, 1, 1 << 12},
                                  {"the hidden size", model.hidden, 1, widest},
                                  {"the number of heads", model.heads, 1, 1 << 12},
                                  {"the number of key-value heads", model.key_value_heads, 1, model.heads},
                                  {"the size of a head", model.head_size, 1, 1 << 14},
                                  {"the width of the feed-forward network", model.width, 1, widest * 4},
                                  {"the vocabulary", model.vocabulary, 1, 1 << 24},
                                  {"the number of learned positions", model.positions, 0, 1 << 24},
                                  {"the rank of the adapters", model.adapter_rank, 0, 1 << 14}});
  if (fault) return fault;
  if (model.heads % model.key_value_heads != 0)
    return fmt::format("{} heads cannot share {} key-value heads evenly; accepted: a divisor of the number of heads", model.heads,
                       model.key_value_heads);
  if (model.latent) fault = find_fault_of(*model.latent);
  if (!fault && model.experts) fault = find_fault_of(*model.experts, model.layers);
  if (!fault && model.tied_embeddings && model.head == Head::scalar) return "a scalar head cannot be tied to the embedding";
  return fault;
}

}  // namespace dovetail::llm
