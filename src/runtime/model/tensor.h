// The tensors of the runtime: ATen's, without the headers that take seconds to read.
#pragma once

#include <ATen/core/Tensor.h>

namespace dovetail::runtime {

using at::Tensor;

}  // namespace dovetail::runtime
