#include "predict/closed_form/engine_bits.h"

namespace dovetail::predict {
namespace {

/// Parameters that are kept in so few bits.
std::int64_t parameters_in(const cost::ModelFacts& facts, int bits) {
  const llm::ParameterCounts& counts = facts.parameters;
  if (!facts.model.experts || bits == 8) return counts.all - counts.embedding - counts.head;
  std::int64_t with_experts = 0;
  for (std::int64_t layer = 0; layer < facts.model.layers; ++layer)
    if (llm::has_experts(facts.model, layer)) ++with_experts;
  return with_experts * facts.model.experts->count * counts.expert;
}

}  // namespace

void take_engine_bits(const plan::Software& said, cost::ModelFacts& facts) {
  facts.engine_weight_bytes = facts.key_value_element_bytes = facts.element_bytes;
  if (said.key_value_bits > 0) facts.key_value_element_bytes = said.key_value_bits / 8.0;
  if (said.engine_weight_bits > 0) {
    // In 8 bits a scale is of 128 x 128 weights: nothing.
    const double each = said.engine_weight_bits / 8.0 + (said.engine_weight_bits < 8 ? 2.0 / 32 : 0);
    const double share =
        static_cast<double>(parameters_in(facts, said.engine_weight_bits)) / static_cast<double>(facts.parameters.all);
    facts.engine_weight_bytes = share * each + (1 - share) * facts.element_bytes;
  }
  if (said.engine_weight_bits > 0 || said.key_value_bits > 0)
    for (cost::LayerProfile& profile : facts.profiles) profile.decode = {};
}

}  // namespace dovetail::predict
