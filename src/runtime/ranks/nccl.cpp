#include "runtime/ranks/nccl.h"

#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include <cstdint>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.h"

#ifdef DOVETAIL_HAS_NCCL

#define USE_C10D_NCCL
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <utility>
#endif

namespace dovetail::runtime {
namespace {

using transport::Buffer;
using transport::Numbers;

/// A group per channel keeps its messages in order without tags.
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

/// c10d's libraries write into tensors, so they must not be created in libtorch's inference mode, which the rest of a
/// run uses.
class C10dDeviceGroup final : public DeviceGroup {
 public:
  C10dDeviceGroup(c10::intrusive_ptr<C10dBackend> backend, const at::Device& device)
      : backend_(std::move(backend)), device_(device) {}

  std::unique_ptr<DeviceWork> send(int to, const Buffer& message) override {
    return start(bytes_of(message), [&](auto& tensors) { return backend_->send(tensors, to, no_tag); });
  }

  std::unique_ptr<DeviceWork> receive(int from, const Buffer& destination) override {
    return start(bytes_of(destination), [&](auto& tensors) { return backend_->recv(tensors, from, no_tag); });
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

#ifdef DOVETAIL_HAS_NCCL

namespace {

/// Number of streams per priority in c10d. Two channels on one stream would wait for each other.
constexpr std::size_t max_channels = 32;
/// Longer than any run: waits have separate deadlines.
constexpr std::chrono::milliseconds for_ever = std::chrono::hours(24 * 365);

/// Polls `is_done` until it returns true. Throws if another rank has failed or the deadline has passed.
void wait_until(const std::function<bool()>& is_done, const JobMonitor& monitor, transport::Deadline deadline) {
  while (!is_done()) {
    if (const auto error = monitor.first_error()) throw std::runtime_error(error->message);
    if (transport::Clock::now() >= deadline) throw std::runtime_error("timed out");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string name_of(GroupUse use, const std::vector<int>& ranks) {
  return fmt::format("nccl/{}/{}", use == GroupUse::channel ? "channel" : "sums", fmt::join(ranks, ","));
}

/// Waits for all ranks of a group, because NCCL waits forever for a missing rank.
void meet(JobStore& store, const std::string& name, std::size_t ranks, const JobMonitor& monitor,
          transport::Deadline deadline) {
  std::int64_t own = 1;
  const auto are_all_here = [&] {
    const base::Result<std::int64_t> here = store.add(name + "/here", std::exchange(own, 0));
    if (!here.ok()) throw std::runtime_error(here.error().message);
    return *here == static_cast<std::int64_t>(ranks);
  };
  wait_until(are_all_here, monitor, deadline);
}

c10::intrusive_ptr<c10d::ProcessGroupNCCL> make_process_group(JobStore& store, GroupUse use,
                                                              const std::vector<int>& ranks, int place,
                                                              std::chrono::milliseconds timeout) {
  auto keys = c10::intrusive_ptr<c10d::Store>::reclaim_copy(&store.raw());
  keys->setTimeout(timeout);
  // Gives channels and sums different streams: c10d has a pool per priority and assigns its streams round-robin.
  const bool is_channel = use == GroupUse::channel;
  const auto options = c10d::ProcessGroupNCCL::Options::create(is_channel);
  options->timeout = for_ever;
  // Limits the GPU multiprocessors that a waiting message takes from ops.
  if (is_channel) options->config.maxCTAs = 4;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::make_intrusive<c10d::PrefixStore>(name_of(use, ranks), std::move(keys)), place,
      static_cast<int>(ranks.size()), options);
}

/// Runs a group's first work, which makes NCCL connect: a message for a channel, otherwise a sum.
void warm_up(DeviceGroup& group, GroupUse use, int place, const at::Device& device, const JobMonitor& monitor,
             transport::Deadline deadline) {
  const at::Tensor number = at::zeros({1}, at::TensorOptions(device).dtype(at::kFloat));
  const transport::Buffer bytes{static_cast<std::byte*>(number.data_ptr()), number.nbytes(), nullptr};
  std::unique_ptr<DeviceWork> work;
  if (use == GroupUse::sums)
    work = group.all_reduce(std::span(number.data_ptr<float>(), 1));
  else
    work = place == 0 ? group.send(1, bytes) : group.receive(0, bytes);
  wait_until([&] { return work->is_done(); }, monitor, deadline);
}

}  // namespace

base::Status check_nccl() { return {}; }

void set_up_nccl() {
  constexpr std::array<std::pair<const char*, const char*>, 7> variables{{
      // A message that waits for its sender must not block other GPU work. So streams get separate queues, and no
      // kernel is loaded and no connection opened later.
      {"CUDA_DEVICE_MAX_CONNECTIONS", "32"},
      {"CUDA_MODULE_LOADING", "EAGER"},
      {"NCCL_RUNTIME_CONNECT", "0"},
      // Ranks report their own errors; c10d's watchdog would end the process.
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"},
      {"TORCH_NCCL_ENABLE_MONITORING", "0"},
      {"TORCH_NCCL_RETHROW_CUDA_ERRORS", "0"},
      // Messages on a group's own communicator are intended.
      {"TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING", "false"},
  }};
  constexpr int keep_existing = 0;
  for (const auto& [name, value] : variables) ::setenv(name, value, keep_existing);
}

base::Status claim_gpu(const RankPlace& place, JobStore& store, const at::Device& device) {
  const auto& uuid = at::cuda::getDeviceProperties(device.index())->uuid.bytes;
  std::string key = "gpu/";
  for (const char byte : uuid) key += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  DOVETAIL_TRY(const std::string owner, store.propose(key, std::to_string(place.rank)));
  if (owner == std::to_string(place.rank)) return {};
  return base::bad_input(
      fmt::format("--device cuda: ranks {} and {} use the same GPU; start at most one rank per GPU, or use --carrier "
                  "gloo, which lets ranks share a GPU",
                  owner, place.rank));
}

ConnectDevices connect_by_nccl(const RankPlace& place, JobStore& store, const JobMonitor& monitor,
                               const at::Device& device) {
  return [place, &store, &monitor, device, channels = std::make_shared<std::size_t>(0)](
             GroupUse use, const std::vector<int>& ranks, std::chrono::milliseconds timeout) {
    if (use == GroupUse::channel && ++*channels > max_channels)
      throw std::runtime_error(
          fmt::format("with NCCL, a rank can have at most {} channels; use --carrier gloo", max_channels));
    const transport::Deadline deadline = transport::Clock::now() + timeout;
    const auto own = static_cast<int>(std::find(ranks.begin(), ranks.end(), place.rank) - ranks.begin());
    meet(store, name_of(use, ranks), ranks.size(), monitor, deadline);
    const auto backend = make_process_group(store, use, ranks, own, timeout);
    // Makes messages use the group's communicator instead of an additional one.
    backend->eagerConnectSingleDevice(device);
    std::unique_ptr<DeviceGroup> group = make_c10d_device_group(backend, device);
    try {
      warm_up(*group, use, own, device, monitor, deadline);
    } catch (const std::exception&) {
      // The destructor would wait for ranks that did not connect.
      static_cast<void>(group.release());
      throw;
    }
    return group;
  };
}

#else

base::Status check_nccl() {
  return base::bad_input(
      "this dovetail-train has no NCCL; use --carrier gloo, or a build with -DDOVETAIL_CUDA=ON that finds the NCCL and "
      "CUDA headers (docs/training.md)");
}

void set_up_nccl() {}

base::Status claim_gpu(const RankPlace&, JobStore&, const at::Device&) { return check_nccl(); }

ConnectDevices connect_by_nccl(const RankPlace&, JobStore&, const JobMonitor&, const at::Device&) {
  DOVETAIL_ASSERT(false);
  return {};
}

#endif

}  // namespace dovetail::runtime
