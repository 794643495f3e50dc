// Messages of bytes between ranks: the seam to whatever carries them. Nothing here computes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace dovetail::transport {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// The memory of a message, and what keeps it.
struct Buffer {
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::shared_ptr<void> owner;
};

/// A buffer of its own memory, uninitialized.
Buffer make_buffer(std::size_t size);

/// What messages are for. Those of one lane between two ranks are numbered apart from those of others.
enum class Lane : std::uint8_t { programs, reductions, control, last = control };
inline constexpr std::size_t lanes = static_cast<std::size_t>(Lane::last) + 1;

/// A message, as the rank at either end names it.
struct Address {
  int peer = 0;  ///< the rank at the other end
  Lane lane = Lane::programs;
  std::uint32_t number = 0;

  friend auto operator<=>(const Address&, const Address&) = default;
};

/// The way of messages of Lane::programs from one rank to another.
struct Channel {
  int from = 0;
  int to = 0;

  friend auto operator<=>(const Channel&, const Channel&) = default;
};

/// One rank's end. Two threads of the rank may use it at a time. Every wait has a deadline; one that it passes, a lost
/// rank or a `fail` anywhere ends all waits of all ranks with the first of these errors (Failure::lost).
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Whether messages of Lane::programs are in the memory of this rank's device, and not in the host's.
  virtual bool carries_device_memory() const { return false; }
  /// Makes ready for messages on channels, of each of which this rank is an end. Where device memory is carried, both
  /// ends call it before a channel's first message, and all ranks come to the channels that they share in one order.
  virtual base::Status open(const std::vector<Channel>& /*channels*/, Deadline /*deadline*/) { return {}; }
  /// Hands a message over, without waiting. Its bytes stay as they are until it is delivered. REQUIRES: another rank.
  virtual void send(const Address& to, Buffer message) = 0;
  /// Makes room for a message, of exactly its size, without waiting.
  virtual void receive(const Address& from, Buffer room) = 0;
  /// Until a message that there is room for is there.
  virtual base::Status wait(const Address& from, Deadline deadline) = 0;
  /// Until all that this rank has sent on a lane is delivered.
  virtual base::Status flush(Lane lane, Deadline deadline) = 0;
  /// The error that ended all waits; ok as long as none has.
  virtual base::Status status() = 0;
  /// Ends every wait of every rank. From then on no buffer is read or written any more.
  virtual void fail(const base::Error& error) noexcept = 0;
};

/// What ranks do together on Lane::control has a number that nothing else there has, the same on all ranks: its
/// messages, `part` of at most 32 from one rank to another.
Address control_address(int peer, std::uint32_t number, std::uint32_t part = 0);

/// Until all ranks are here. `number`: as control_address.
base::Status barrier(Transport& transport, std::uint32_t number, Deadline deadline);

/// Gives each rank what all ranks say, [rank]. `number`: as control_address.
base::Result<std::vector<std::string>> exchange(Transport& transport, std::uint32_t number, std::string own,
                                                Deadline deadline);

}  // namespace dovetail::transport
