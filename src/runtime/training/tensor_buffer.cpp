#include "runtime/training/tensor_buffer.h"

#include <memory>
#include <utility>

namespace dovetail::runtime {

transport::Buffer to_buffer(const Tensor& tensor) {
  auto owner = std::make_shared<Tensor>(tensor.contiguous());
  auto* const data = static_cast<std::byte*>(owner->data_ptr());
  const auto bytes = static_cast<std::size_t>(owner->nbytes());
  return {data, bytes, std::move(owner)};
}

Tensor to_tensor(const transport::Buffer& buffer) {
  return buffer.owner == nullptr ? Tensor() : *static_cast<const Tensor*>(buffer.owner.get());
}

}  // namespace dovetail::runtime
