#include "runtime/ranks/c10d_device_group.h"

#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include <cstdint>
#include <exception>
#include <span>
#include <utility>
#include <vector>

namespace dovetail::runtime {
namespace {

using transport::Buffer;
using transport::Numbers;

/// Messages of a group of their own are in order without it.
constexpr int no_tag = 0;

class C10dWork final : public DeviceWork {
 public:
  C10dWork(c10::intrusive_ptr<c10d::Work> work, std::vector<at::Tensor> tensors)
      : work_(std::move(work)), tensors_(std::move(tensors)) {}

  bool is_done() override {
    if (!work_->isCompleted()) return false;
    if (const std::exception_ptr broken = work_->exception()) std::rethrow_exception(broken);
    return true;
  }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  std::vector<at::Tensor> tensors_;
};

/// c10d's libraries write into tensors, which they may not where these are made in libtorch's inference mode, as all of
/// a run's are.
class C10dDeviceGroup final : public DeviceGroup {
 public:
  C10dDeviceGroup(c10::intrusive_ptr<C10dBackend> backend, const at::Device& device)
      : backend_(std::move(backend)), device_(device) {}

  std::unique_ptr<DeviceWork> send(int to, const Buffer& message) override {
    return start(bytes_of(message), [&](auto& tensors) { return backend_->send(tensors, to, no_tag); });
  }

  std::unique_ptr<DeviceWork> receive(int from, const Buffer& room) override {
    return start(bytes_of(room), [&](auto& tensors) { return backend_->recv(tensors, from, no_tag); });
  }

  std::unique_ptr<DeviceWork> reduce(Numbers numbers, int root) override {
    c10d::ReduceOptions options;
    options.rootRank = root;
    return start(tensor_of(numbers), [&](auto& tensors) { return backend_->reduce(tensors, options); });
  }

  std::unique_ptr<DeviceWork> all_reduce(Numbers numbers) override {
    return start(tensor_of(numbers), [&](auto& tensors) { return backend_->allreduce(tensors); });
  }

  std::unique_ptr<DeviceWork> broadcast(Numbers numbers, int root) override {
    c10d::BroadcastOptions options;
    options.rootRank = root;
    return start(tensor_of(numbers), [&](auto& tensors) { return backend_->broadcast(tensors, options); });
  }

 private:
  at::Tensor at(void* data, std::size_t count, at::ScalarType type) const {
    const c10::InferenceMode outside(false);
    return at::from_blob(data, {static_cast<std::int64_t>(count)}, at::TensorOptions(device_).dtype(type));
  }

  at::Tensor bytes_of(const Buffer& buffer) const { return at(buffer.data, buffer.size, at::kByte); }

  at::Tensor tensor_of(const Numbers& numbers) const {
    if (const auto* const floats = std::get_if<std::span<float>>(&numbers))
      return at(floats->data(), floats->size(), at::kFloat);
    const auto& doubles = std::get<std::span<double>>(numbers);
    return at(doubles.data(), doubles.size(), at::kDouble);
  }

  template <class Start>
  static std::unique_ptr<DeviceWork> start(at::Tensor tensor, Start start) {
    const c10::InferenceMode outside(false);
    std::vector<at::Tensor> tensors{std::move(tensor)};
    auto work = start(tensors);
    return std::make_unique<C10dWork>(std::move(work), std::move(tensors));
  }

  c10::intrusive_ptr<C10dBackend> backend_;
  at::Device device_;
};

}  // namespace

std::unique_ptr<DeviceGroup> make_c10d_device_group(c10::intrusive_ptr<C10dBackend> backend, const at::Device& device) {
  return std::make_unique<C10dDeviceGroup>(std::move(backend), device);
}

}  // namespace dovetail::runtime
