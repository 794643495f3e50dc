#include "runtime/ranks/nccl.h"

#include "base/assert.h"

#ifdef DOVETAIL_HAS_NCCL

#define USE_C10D_NCCL
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
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

/// Longer than any run: waits have deadlines of their own.
constexpr std::chrono::milliseconds for_ever = std::chrono::hours(24 * 365);

/// A rank says its errors itself: c10d's own watch would end the process.
void set_up_nccl() {
  constexpr int keep_what_the_user_says = 0;
  ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", keep_what_the_user_says);
  ::setenv("TORCH_NCCL_ENABLE_MONITORING", "0", keep_what_the_user_says);
  ::setenv("TORCH_NCCL_RETHROW_CUDA_ERRORS", "0", keep_what_the_user_says);
  ::setenv("TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING", "false", keep_what_the_user_says);
}

/// Has a new group do its first work, with which NCCL makes its connections: of a channel a message, else a sum.
void greet(DeviceGroup& group, GroupUse use, int place, const at::Device& device, std::chrono::milliseconds timeout) {
  const at::Tensor number = at::zeros({1}, at::TensorOptions(device).dtype(at::kFloat));
  const transport::Buffer bytes{static_cast<std::byte*>(number.data_ptr()), number.nbytes(), nullptr};
  std::unique_ptr<DeviceWork> work;
  if (use == GroupUse::sums)
    work = group.all_reduce(std::span(number.data_ptr<float>(), 1));
  else
    work = place == 0 ? group.send(1, bytes) : group.receive(0, bytes);
  for (const auto end = transport::Clock::now() + timeout; !work->is_done();) {
    if (transport::Clock::now() >= end) {
      group.abort();
      throw std::runtime_error("NCCL connects in vain");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

base::Status check_nccl() { return {}; }

ConnectDevices connect_by_nccl(const RankPlace& place, JobStore& store, const at::Device& device) {
  set_up_nccl();
  return [place, &store, device](GroupUse use, const std::vector<int>& ranks, std::chrono::milliseconds timeout) {
    auto keys = c10::intrusive_ptr<c10d::Store>::reclaim_copy(&store.raw());
    keys->setTimeout(timeout);
    const auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = for_ever;
    const std::string name =
        fmt::format("nccl/{}/{}", use == GroupUse::channel ? "channel" : "sums", fmt::join(ranks, ","));
    const auto own = static_cast<int>(std::find(ranks.begin(), ranks.end(), place.rank) - ranks.begin());
    const auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(
        c10::make_intrusive<c10d::PrefixStore>(name, std::move(keys)), own, static_cast<int>(ranks.size()), options);
    // Messages then take the group's own communicator, in place of one more.
    backend->eagerConnectSingleDevice(device);
    auto group = make_c10d_device_group(backend, device);
    greet(*group, use, own, device, timeout);
    return group;
  };
}

}  // namespace dovetail::runtime

#else

namespace dovetail::runtime {

base::Status check_nccl() {
  return base::bad_input(
      "this dovetail-train has no NCCL; accepted: --carrier gloo, or a build with -DDOVETAIL_CUDA=ON and the headers "
      "of "
      "NCCL and CUDA, which lie beside torch in the Python packages that it needs");
}

ConnectDevices connect_by_nccl(const RankPlace&, JobStore&, const at::Device&) {
  DOVETAIL_ASSERT(false);
  return {};
}

}  // namespace dovetail::runtime

#endif
