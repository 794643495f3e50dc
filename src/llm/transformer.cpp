#include "llm/transformer.h"

#include <fmt/core.h>

#include "base/descriptor_file.h"

namespace dovetail::llm {
namespace {

std::optional<std::string> find_fault_of(const Experts& experts, std::int64_t layers) {
  if (auto fault = base::find_out_of_range(experts)) return fault;
  if (auto fault = base::find_out_of_range(experts, &Experts::active, base::Integer{1, experts.count})) return fault;
  return base::find_out_of_range(experts, &Experts::dense_layers, base::Integer{0, layers});
}

}  // namespace

Transformer with_scalar_head(Transformer model) {
  model.head = Head::scalar;
  model.tied_embeddings = false;
  return model;
}

std::optional<std::string> find_fault(const Transformer& model) {
  auto fault = base::find_out_of_range(model);
  if (!fault) fault = base::find_out_of_range(model, &Transformer::key_value_heads, base::Integer{1, model.heads});
  if (fault) return fault;
  if (model.heads % model.key_value_heads != 0)
    return fmt::format(
        "{} heads cannot share {} key-value heads evenly; accepted: key-value heads that divide the heads", model.heads,
        model.key_value_heads);
  if (model.latent) fault = base::find_out_of_range(*model.latent);
  if (!fault && model.experts) fault = find_fault_of(*model.experts, model.layers);
  if (!fault && model.tied_embeddings && model.head == Head::scalar)
    return "a scalar head cannot be tied to the embedding";
  return fault;
}

}  // namespace dovetail::llm
