// Tensors as the numbers that ranks sum.
#pragma once

#include <functional>

#include "runtime/model/tensor.h"
#include "transport/collectives.h"

namespace dovetail::runtime {

/// Has `work` do a collective of `collectives` on a vector, in place, or on a copy where these take other memory than
/// the vector's. `device`: of this rank's models.
base::Status with_numbers(const Tensor& vector, const at::Device& device, const transport::Collectives& collectives,
                          const std::function<base::Status(transport::Numbers)>& work);

}  // namespace dovetail::runtime
