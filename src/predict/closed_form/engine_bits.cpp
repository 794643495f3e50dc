#include "predict/closed_form/engine_bits.h"

namespace dovetail::predict {

void take_engine_bits(const plan::Software& said, cost::ModelFacts& facts) {
  facts.engine_layer_bytes = facts.engine_expert_bytes = facts.key_value_element_bytes = facts.element_bytes;
  if (said.key_value_bits > 0) facts.key_value_element_bytes = said.key_value_bits / 8.0;
  if (said.engine_weight_bits > 0) {
    // In 8 bits a scale is of 128 x 128 weights: nothing.
    const bool is_whole = said.engine_weight_bits == 8;
    facts.engine_expert_bytes = said.engine_weight_bits / 8.0 + (is_whole ? 0 : 2.0 / 32);
    if (is_whole || !facts.model.experts) facts.engine_layer_bytes = facts.engine_expert_bytes;
  }
  if (said.engine_weight_bits > 0 || said.key_value_bits > 0)
    for (cost::LayerProfile& profile : facts.profiles) profile.decode = {};
}

}  // namespace dovetail::predict
