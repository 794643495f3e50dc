// A decode step on the CPU, in single precision, by src/kernels: each row's numbers are the same bits whatever other
// rows there are.
#pragma once

#include "runtime/generation/forward.h"

namespace dovetail::runtime {

/// What forward_step computes. REQUIRES: the model is in single precision on the CPU; blocks of
/// kernels::attention_block tokens.
Tensor forward_step_on_cpu(const Model& model, const BlockCache& cache, const StepRows& rows);

}  // namespace dovetail::runtime
