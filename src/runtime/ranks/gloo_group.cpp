#include "runtime/ranks/gloo_group.h"

#include <ATen/ops/from_blob.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>
#include <vector>

namespace dovetail::runtime {
namespace {

/// Returns the address of this host on the route to another host, or an empty string without a route.
std::string address_towards(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return "";
  std::string address;
  for (const addrinfo* each = found; each != nullptr && address.empty(); each = each->ai_next) {
    const int probe = ::socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0) continue;
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    char text[NI_MAXHOST];
    // Connecting a datagram socket sends nothing. It only selects the route.
    if (::connect(probe, each->ai_addr, each->ai_addrlen) == 0 &&
        ::getsockname(probe, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
        ::getnameinfo(reinterpret_cast<const sockaddr*>(&own), length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) ==
            0)
      address = text;
    ::close(probe);
  }
  ::freeaddrinfo(found);
  return address;
}

std::shared_ptr<gloo::transport::Device> device_of(const RankPlace& place) {
  if (const char* const interface = std::getenv("GLOO_SOCKET_IFNAME"))
    return c10d::ProcessGroupGloo::createDeviceForInterface(interface);
  const std::string address = address_towards(place.store_host, place.store_port);
  return address.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                         : c10d::ProcessGroupGloo::createDeviceForHostname(address);
}

using transport::Buffer;

/// Longer than any run. If Gloo ends a wait it closes all connections, so waits end by abort() instead.
constexpr std::chrono::milliseconds for_ever = std::chrono::hours(24 * 365);

/// Returns the bytes of a buffer as c10d expects them. They keep the buffer's owner alive.
std::vector<at::Tensor> tensors_of(Buffer buffer) {
  std::byte* const data = buffer.data;
  const std::int64_t size = static_cast<std::int64_t>(buffer.size);
  return {at::from_blob(
      data, {size}, [owner = std::move(buffer.owner)](void*) {}, at::TensorOptions(at::kCPU).dtype(at::kByte))};
}

class WorkMessage : public GlooMessage {
 public:
  explicit WorkMessage(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}
  bool wait() override { return work_->wait(for_ever); }
  void abort() override { work_->abort(); }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
};

class ProcessGroup : public GlooGroup {
 public:
  explicit ProcessGroup(c10::intrusive_ptr<c10d::ProcessGroupGloo> group) : group_(std::move(group)) {}

  std::unique_ptr<GlooMessage> send(int peer, int tag, Buffer message) override {
    std::vector<at::Tensor> tensors = tensors_of(std::move(message));
    return std::make_unique<WorkMessage>(group_->send(tensors, peer, tag));
  }

  std::unique_ptr<GlooMessage> receive(int peer, int tag, Buffer destination) override {
    std::vector<at::Tensor> tensors = tensors_of(std::move(destination));
    return std::make_unique<WorkMessage>(group_->recv(tensors, peer, tag));
  }

 private:
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace

c10::intrusive_ptr<c10d::ProcessGroupGloo> connect_process_group(const RankPlace& place, JobStore& store,
                                                                 const std::string& name, const std::vector<int>& ranks,
                                                                 std::chrono::milliseconds timeout) {
  auto keys = c10::intrusive_ptr<c10d::Store>::reclaim_copy(&store.raw());
  keys->setTimeout(timeout);
  const auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices = {device_of(place)};
  options->threads = 1;  // for collectives, which run one at a time
  const auto own = std::find(ranks.begin(), ranks.end(), place.rank) - ranks.begin();
  return c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::PrefixStore>(name, std::move(keys)),
                                                     static_cast<int>(own), static_cast<int>(ranks.size()), options);
}

std::unique_ptr<GlooGroup> make_gloo_group(const RankPlace& place, JobStore& store, std::chrono::milliseconds timeout) {
  std::vector<int> all(static_cast<std::size_t>(place.ranks));
  std::iota(all.begin(), all.end(), 0);
  return std::make_unique<ProcessGroup>(connect_process_group(place, store, "gloo", all, timeout));
}

}  // namespace dovetail::runtime
