#include "runtime/model/tensor.h"

#include <ATen/ops/tensor.h>

namespace dovetail::runtime {

Tensor whole_numbers(const std::vector<std::int64_t>& values, const at::Device& device) {
  return at::tensor(at::ArrayRef<std::int64_t>(values)).to(device);
}

}  // namespace dovetail::runtime
