// Byte messages between ranks: the interface to the libraries that carry them.
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

/// The memory of a message, and the owner that keeps it alive.
struct Buffer {
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::shared_ptr<void> owner;
};

/// Allocates an uninitialized buffer.
Buffer make_buffer(std::size_t size);

/// Origin of a message: the instructions of a rank program, its reductions, or anything else (`control`). The
/// messages of each lane between two ranks are numbered separately.
enum class Lane : std::uint8_t { programs, reductions, control, last = control };
inline constexpr std::size_t lanes = static_cast<std::size_t>(Lane::last) + 1;

/// Identifies a message at either end.
struct Address {
  int peer = 0;  ///< the rank at the other end
  Lane lane = Lane::programs;
  std::uint32_t number = 0;

  friend auto operator<=>(const Address&, const Address&) = default;
};

/// The Lane::programs messages from one rank to another.
struct Channel {
  int from = 0;
  int to = 0;

  friend auto operator<=>(const Channel&, const Channel&) = default;
};

/// One rank's endpoint. Two threads of the rank may use it concurrently. Every wait has a deadline. A missed deadline,
/// a lost rank (both Failure::lost) or a call of `fail` on any rank ends all waits of all ranks with the first such
/// error.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Whether Lane::programs messages are in the memory of this rank's device rather than the host's.
  virtual bool carries_device_memory() const { return false; }
  /// Prepares channels, each with this rank at one end. If device memory is carried, both ends call it before a
  /// channel's first message, and all ranks open the channels they share in the same order.
  virtual base::Status open(const std::vector<Channel>& /*channels*/, Deadline /*deadline*/) { return {}; }
  /// Sends a message without waiting. Its bytes must not change until it is delivered. REQUIRES: `to` is another rank.
  virtual void send(const Address& to, Buffer message) = 0;
  /// Posts `destination` as the buffer of a message, which must be exactly as long as the buffer. Does not wait.
  virtual void receive(const Address& from, Buffer destination) = 0;
  /// Waits until a message with a posted buffer has arrived.
  virtual base::Status wait(const Address& from, Deadline deadline) = 0;
  /// Waits until every message that this rank has sent on a lane is delivered.
  virtual base::Status flush(Lane lane, Deadline deadline) = 0;
  /// Returns the error that ended all waits, or ok.
  virtual base::Status status() = 0;
  /// Ends every wait of every rank. Afterwards no buffer is read or written.
  virtual void fail(const base::Error& error) noexcept = 0;
};

/// Returns the address of a message on Lane::control. `number` identifies the operation: unique on the lane, and the
/// same on all ranks. An operation has up to 32 messages from one rank to another, numbered by `part`.
Address control_address(int peer, std::uint32_t number, std::uint32_t part = 0);

/// Waits until all ranks have called this function. `number`: see control_address.
base::Status barrier(Transport& transport, std::uint32_t number, Deadline deadline);

/// Gathers the strings of all ranks on every rank: [rank]. `number`: see control_address.
base::Result<std::vector<std::string>> exchange(Transport& transport, std::uint32_t number, std::string own,
                                                Deadline deadline);

}  // namespace dovetail::transport
