#include "transport/transport.h"

namespace dovetail::transport {

Buffer make_buffer(std::size_t size) {
  std::shared_ptr<std::byte[]> memory(new std::byte[size]);
  return {memory.get(), size, memory};
}

Address control_address(int peer, std::uint32_t number, std::uint32_t part) {
  constexpr std::uint32_t parts = 32;
  return {peer, Lane::control, parts * number + part};
}

base::Status barrier(Transport& transport, std::uint32_t number, Deadline deadline) {
  // Rank by rank twice as far (Hensgen, Finkel and Manber 1988): after the k-th message a rank knows of 2^k.
  std::uint32_t round = 0;
  for (int distance = 1; distance < transport.ranks(); distance *= 2, ++round) {
    const int ranks = transport.ranks();
    const Address from = control_address((transport.rank() - distance + ranks) % ranks, number, round);
    transport.receive(from, make_buffer(1));
    transport.send(control_address((transport.rank() + distance) % ranks, number, round), make_buffer(1));
    DOVETAIL_CHECK(transport.wait(from, deadline));
  }
  return {};
}

}  // namespace dovetail::transport
