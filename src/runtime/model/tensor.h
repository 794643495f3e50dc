// The tensors of the runtime: ATen's, without the headers that take seconds to read.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace dovetail::runtime {

using at::Tensor;

/// A vector of whole numbers on the device.
Tensor whole_numbers(const std::vector<std::int64_t>& values, const at::Device& device);

/// Rows [tokens, features] as [tokens, heads, size].
inline Tensor by_head(const Tensor& x, std::int64_t size) { return x.view({x.size(0), -1, size}); }

}  // namespace dovetail::runtime
