#include "transport/transport.h"

#include <cstring>
#include <memory>
#include <utility>

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
  // Dissemination barrier (Hensgen, Finkel and Manber 1988): after k rounds a rank knows that 2^k ranks have arrived.
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

namespace {

enum class Content : std::uint32_t { size, text };

Address address(int peer, std::uint32_t number, Content content) {
  return control_address(peer, number, static_cast<std::uint32_t>(content));
}

template <class Value>
Buffer buffer_of(const Value& value) {
  Buffer buffer = make_buffer(sizeof value);
  std::memcpy(buffer.data, &value, sizeof value);
  return buffer;
}

/// Returns a buffer over the string, which it keeps alive.
Buffer buffer_over(const std::shared_ptr<std::string>& text) {
  return {reinterpret_cast<std::byte*>(text->data()), text->size(), text};
}

}  // namespace

base::Result<std::vector<std::string>> exchange(Transport& transport, std::uint32_t number, std::string own,
                                                Deadline deadline) {
  const auto text = std::make_shared<std::string>(std::move(own));
  const auto ranks = static_cast<std::size_t>(transport.ranks());
  std::vector<Buffer> sizes(ranks);
  std::vector<std::shared_ptr<std::string>> texts(ranks);
  const auto for_each_peer = [&](auto f) -> base::Status {
    for (int peer = 0; peer < transport.ranks(); ++peer)
      if (peer != transport.rank()) DOVETAIL_CHECK(f(peer, static_cast<std::size_t>(peer)));
    return {};
  };
  DOVETAIL_CHECK(for_each_peer([&](int peer, std::size_t i) -> base::Status {
    sizes[i] = make_buffer(sizeof(std::uint64_t));
    transport.receive(address(peer, number, Content::size), sizes[i]);
    transport.send(address(peer, number, Content::size), buffer_of(static_cast<std::uint64_t>(text->size())));
    return {};
  }));
  DOVETAIL_CHECK(for_each_peer([&](int peer, std::size_t i) -> base::Status {
    DOVETAIL_CHECK(transport.wait(address(peer, number, Content::size), deadline));
    std::uint64_t size = 0;
    std::memcpy(&size, sizes[i].data, sizeof size);
    texts[i] = std::make_shared<std::string>(size, '\0');
    transport.receive(address(peer, number, Content::text), buffer_over(texts[i]));
    transport.send(address(peer, number, Content::text), buffer_over(text));
    return {};
  }));
  std::vector<std::string> gathered(ranks);
  gathered[static_cast<std::size_t>(transport.rank())] = *text;
  DOVETAIL_CHECK(for_each_peer([&](int peer, std::size_t i) -> base::Status {
    DOVETAIL_CHECK(transport.wait(address(peer, number, Content::text), deadline));
    gathered[i] = std::move(*texts[i]);
    return {};
  }));
  DOVETAIL_CHECK(transport.flush(Lane::control, deadline));
  return gathered;
}

}  // namespace dovetail::transport
