// The operators of ops.h by src/kernels: on the CPU, in single or double precision.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/model/ops.h"

namespace dovetail::runtime::cpu_ops {

Tensor normalize(const Tensor& x, const Parameter& scale, double epsilon);
Tensor normalize_backward(const Tensor& x, Parameter& scale, double epsilon, const Tensor& dy);
Tensor rotate(const Tensor& x, const Angles& angles);
Tensor rotate_backward(const Tensor& dy, const Angles& angles);
Tensor gated(const Tensor& gate, const Tensor& up);
GatedBackward gated_backward(const Tensor& gate, const Tensor& up, const Tensor& dy);
Attention attend(const Tensor& query, const Tensor& key, const Tensor& value, std::span<const std::int64_t> offsets);
AttentionBackward attend_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const Attention& attention, std::span<const std::int64_t> offsets, const Tensor& dy);

}  // namespace dovetail::runtime::cpu_ops
