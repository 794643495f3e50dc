#include "runtime/ranks/nccl.h"

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

#include "runtime/ranks/c10d_device_group.h"

namespace dovetail::runtime {
namespace {

/// As many as c10d has streams of a priority: two channels on one stream would wait for each other.
constexpr std::size_t max_channels = 32;
/// Longer than any run: waits have deadlines of their own.
constexpr std::chrono::milliseconds for_ever = std::chrono::hours(24 * 365);

/// Calls `is_done` until it says so. Throws where another rank has failed, or it is too late.
void wait_until(const std::function<bool()>& is_done, const JobWatch& watch, transport::Deadline deadline) {
  while (!is_done()) {
    if (const auto error = watch.first_error()) throw std::runtime_error(error->message);
    if (transport::Clock::now() >= deadline) throw std::runtime_error("it waited in vain");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string name_of(GroupUse use, const std::vector<int>& ranks) {
  return fmt::format("nccl/{}/{}", use == GroupUse::channel ? "channel" : "sums", fmt::join(ranks, ","));
}

/// Until all ranks of a group are here: NCCL waits without end for one that does not come.
void meet(JobStore& store, const std::string& name, std::size_t ranks, const JobWatch& watch,
          transport::Deadline deadline) {
  std::int64_t own = 1;
  const auto are_all_here = [&] {
    const base::Result<std::int64_t> here = store.add(name + "/here", std::exchange(own, 0));
    if (!here.ok()) throw std::runtime_error(here.error().message);
    return *here == static_cast<std::int64_t>(ranks);
  };
  wait_until(are_all_here, watch, deadline);
}

c10::intrusive_ptr<c10d::ProcessGroupNCCL> make_process_group(JobStore& store, GroupUse use,
                                                              const std::vector<int>& ranks, int place,
                                                              std::chrono::milliseconds timeout) {
  auto keys = c10::intrusive_ptr<c10d::Store>::reclaim_copy(&store.raw());
  keys->setTimeout(timeout);
  // Streams of channels are others than those of sums: c10d has a pool of each priority, and gives from it in turn.
  const bool is_channel = use == GroupUse::channel;
  const auto options = c10d::ProcessGroupNCCL::Options::create(is_channel);
  options->timeout = for_ever;
  // A message that waits keeps few of the GPU's processors from ops.
  if (is_channel) options->config.maxCTAs = 4;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::make_intrusive<c10d::PrefixStore>(name_of(use, ranks), std::move(keys)), place,
      static_cast<int>(ranks.size()), options);
}

/// Has a new group do its first work, with which NCCL makes its connections: of a channel a message, else a sum.
void greet(DeviceGroup& group, GroupUse use, int place, const at::Device& device, const JobWatch& watch,
           transport::Deadline deadline) {
  const at::Tensor number = at::zeros({1}, at::TensorOptions(device).dtype(at::kFloat));
  const transport::Buffer bytes{static_cast<std::byte*>(number.data_ptr()), number.nbytes(), nullptr};
  std::unique_ptr<DeviceWork> work;
  if (use == GroupUse::sums)
    work = group.all_reduce(std::span(number.data_ptr<float>(), 1));
  else
    work = place == 0 ? group.send(1, bytes) : group.receive(0, bytes);
  wait_until([&] { return work->is_done(); }, watch, deadline);
}

}  // namespace

base::Status check_nccl() { return {}; }

void set_up_nccl() {
  constexpr std::array<std::pair<const char*, const char*>, 7> variables{{
      // A message that waits for its sender holds nothing else of the GPU up: streams have queues of their own, and no
      // kernel is loaded and no connection made later, which would wait for it.
      {"CUDA_DEVICE_MAX_CONNECTIONS", "32"},
      {"CUDA_MODULE_LOADING", "EAGER"},
      {"NCCL_RUNTIME_CONNECT", "0"},
      // A rank says its errors itself: c10d's own watch would end the process.
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"},
      {"TORCH_NCCL_ENABLE_MONITORING", "0"},
      {"TORCH_NCCL_RETHROW_CUDA_ERRORS", "0"},
      // Messages on a group's own communicator are what is meant.
      {"TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING", "false"},
  }};
  constexpr int keep_what_the_user_says = 0;
  for (const auto& [name, value] : variables) ::setenv(name, value, keep_what_the_user_says);
}

base::Status claim_gpu(const RankPlace& place, JobStore& store, const at::Device& device) {
  const auto& uuid = at::cuda::getDeviceProperties(device.index())->uuid.bytes;
  std::string key = "gpu/";
  for (const char byte : uuid) key += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  DOVETAIL_TRY(const std::string owner, store.propose(key, std::to_string(place.rank)));
  if (owner == std::to_string(place.rank)) return {};
  return base::bad_input(fmt::format(
      "--device cuda: ranks {} and {} have the same GPU; accepted: as many ranks as GPUs, or --carrier gloo, "
      "with which ranks share them",
      owner, place.rank));
}

ConnectDevices connect_by_nccl(const RankPlace& place, JobStore& store, const JobWatch& watch,
                               const at::Device& device) {
  return [place, &store, &watch, device, channels = std::make_shared<std::size_t>(0)](
             GroupUse use, const std::vector<int>& ranks, std::chrono::milliseconds timeout) {
    if (use == GroupUse::channel && ++*channels > max_channels)
      throw std::runtime_error(fmt::format("a rank has more than {} channels", max_channels));
    const transport::Deadline deadline = transport::Clock::now() + timeout;
    const auto own = static_cast<int>(std::find(ranks.begin(), ranks.end(), place.rank) - ranks.begin());
    meet(store, name_of(use, ranks), ranks.size(), watch, deadline);
    const auto backend = make_process_group(store, use, ranks, own, timeout);
    // Messages then take the group's own communicator, in place of one more.
    backend->eagerConnectSingleDevice(device);
    std::unique_ptr<DeviceGroup> group = make_c10d_device_group(backend, device);
    try {
      greet(*group, use, own, device, watch, deadline);
    } catch (const std::exception&) {
      // Its end would wait for ranks that did not come.
      static_cast<void>(group.release());
      throw;
    }
    return group;
  };
}

}  // namespace dovetail::runtime

#else

namespace dovetail::runtime {

base::Status check_nccl() {
  return base::bad_input(
      "this dovetail-train has no NCCL; accepted: --carrier gloo, or a build with -DDOVETAIL_CUDA=ON that finds the "
      "headers of NCCL and CUDA (docs/training.md)");
}

void set_up_nccl() {}

base::Status claim_gpu(const RankPlace&, JobStore&, const at::Device&) { return check_nccl(); }

ConnectDevices connect_by_nccl(const RankPlace&, JobStore&, const JobWatch&, const at::Device&) {
  DOVETAIL_ASSERT(false);
  return {};
}

}  // namespace dovetail::runtime

#endif
