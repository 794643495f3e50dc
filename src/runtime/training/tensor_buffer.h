// Tensors as the bytes that ranks send.
#pragma once

#include "runtime/model/tensor.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// The memory of a tensor, which it keeps; of a copy where its elements do not follow each other.
transport::Buffer to_buffer(const Tensor& tensor);
/// The tensor that a buffer is of; an undefined one where it has no data. REQUIRES: to_buffer made it.
Tensor to_tensor(const transport::Buffer& buffer);

}  // namespace dovetail::runtime
