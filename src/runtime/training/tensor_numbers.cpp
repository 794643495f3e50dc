#include "runtime/training/tensor_numbers.h"

#include <cstddef>
#include <span>

#include "base/assert.h"

namespace dovetail::runtime {
namespace {

transport::Numbers numbers_of(const Tensor& vector) {
  DOVETAIL_ASSERT(vector.is_contiguous());
  const auto count = static_cast<std::size_t>(vector.numel());
  if (vector.scalar_type() == at::kDouble) return std::span(vector.data_ptr<double>(), count);
  return std::span(vector.data_ptr<float>(), count);
}

}  // namespace

base::Status with_numbers(const Tensor& vector, const at::Device& device, const transport::Collectives& collectives,
                          const std::function<base::Status(transport::Numbers)>& work) {
  const at::Device taken = collectives.takes_device_memory() ? device : at::Device(at::kCPU);
  if (vector.device() == taken) return work(numbers_of(vector));
  const Tensor copy = vector.to(taken);
  DOVETAIL_CHECK(work(numbers_of(copy)));
  vector.copy_(copy);
  return {};
}

}  // namespace dovetail::runtime
