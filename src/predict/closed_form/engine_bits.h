// What a model's numbers take in an engine that keeps them in fewer bits.
#pragma once

#include "cost/model_facts.h"
#include "plan/job.h"

namespace dovetail::predict {

/// Takes what the job says of the engine's weights, keys and values into the facts of a model. In 8 bits weights are
/// those of all layers, in fewer the routed experts alone where the model has any, each 32 with a scale of 16 bits;
/// embedding and head stay as they are. Decode steps that were measured with other numbers are left out. REQUIRES:
/// facts.element_bytes and facts.profiles are those of the job.
void take_engine_bits(const plan::Software& said, cost::ModelFacts& facts);

}  // namespace dovetail::predict
