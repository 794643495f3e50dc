// The operators of ops.h as ATen's operators make them: on any device, with a mask and temporary tensors.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/model/ops.h"

namespace dovetail::runtime::tensor_ops {

Tensor normalize(const Tensor& x, const Parameter& scale, double epsilon);
Tensor normalize_backward(const Tensor& x, Parameter& scale, double epsilon, const Tensor& dy);
Tensor rotate(const Tensor& x, const Angles& angles);
Tensor rotate_backward(const Tensor& dy, const Angles& angles);
Tensor gated(const Tensor& gate, const Tensor& up);
GatedBackward gated_backward(const Tensor& gate, const Tensor& up, const Tensor& dy);
Attention attend(const Tensor& query, const Tensor& key, const Tensor& value, std::span<const std::int64_t> offsets);
AttentionBackward attend_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const Attention& attention, std::span<const std::int64_t> offsets, const Tensor& dy);

}  // namespace dovetail::runtime::tensor_ops
