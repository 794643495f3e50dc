#include "runtime/ranks/gloo_process_group.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

namespace dovetail::runtime {
namespace {

/// The address of this host on the way to another; an empty one where there is no way.
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
    // To connect a datagram socket sends nothing: it chooses the way.
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

}  // namespace

c10::intrusive_ptr<c10d::ProcessGroupGloo> connect_process_group(const RankPlace& place, JobStore& store,
                                                                 const std::string& name, const std::vector<int>& ranks,
                                                                 std::chrono::milliseconds timeout) {
  auto keys = c10::intrusive_ptr<c10d::Store>::reclaim_copy(&store.raw());
  keys->setTimeout(timeout);
  const auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices = {device_of(place)};
  options->threads = 1;  // of collectives, which come one after the other
  const auto own = std::find(ranks.begin(), ranks.end(), place.rank) - ranks.begin();
  return c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::PrefixStore>(name, std::move(keys)),
                                                     static_cast<int>(own), static_cast<int>(ranks.size()), options);
}

}  // namespace dovetail::runtime
