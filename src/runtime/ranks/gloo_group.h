// c10d's group of processes, as far as messages need it: what includes this sees no libtorch.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "runtime/ranks/job_store.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// A message that Gloo has. Its end lets go of the buffer: nothing is read or written after it.
class GlooMessage {
 public:
  virtual ~GlooMessage() = default;

  /// Waits until it is delivered. False where abort() ended the wait, which may come first. Throws std::exception where
  /// the connection is broken.
  virtual bool wait() = 0;
  /// From any thread.
  virtual void abort() = 0;
};

/// All ranks, each connected with each.
class GlooGroup {
 public:
  virtual ~GlooGroup() = default;

  // Both hand a message over without waiting, and throw std::exception where the connection is broken. REQUIRES: a peer
  // other than this rank; a tag from 0 to 2^31 - 1.
  virtual std::unique_ptr<GlooMessage> send(int peer, int tag, transport::Buffer message) = 0;
  virtual std::unique_ptr<GlooMessage> receive(int peer, int tag, transport::Buffer room) = 0;
};

/// Connects all ranks; throws std::exception where they do not reach each other within `timeout`.
std::unique_ptr<GlooGroup> make_gloo_group(const RankPlace& place, JobStore& store, std::chrono::milliseconds timeout);

}  // namespace dovetail::runtime
