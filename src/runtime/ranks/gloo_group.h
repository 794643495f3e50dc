// c10d process groups with Gloo, and an interface that sends messages through them.
#pragma once

#define USE_C10D_GLOO
#include <chrono>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

#include "runtime/ranks/job_store.h"
#include "runtime/ranks/rank_place.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// Connects `ranks`, which include this rank, over the network interface on which `place` reaches the store, or over
/// GLOO_SOCKET_IFNAME if it is set. `name` must be unique within the job. Throws std::exception if the ranks cannot
/// reach each other within `timeout`, which also limits each collective of the group.
c10::intrusive_ptr<c10d::ProcessGroupGloo> connect_process_group(const RankPlace& place, JobStore& store,
                                                                 const std::string& name, const std::vector<int>& ranks,
                                                                 std::chrono::milliseconds timeout);

/// Message submitted to Gloo. Gloo does not access its buffer once this object is destroyed.
class GlooMessage {
 public:
  virtual ~GlooMessage() = default;

  /// Waits for delivery. Returns false if abort() ended the wait or was called before it. Throws std::exception if the
  /// connection is broken.
  virtual bool wait() = 0;
  /// Callable from any thread.
  virtual void abort() = 0;
};

/// All ranks of a job, each connected to every other.
class GlooGroup {
 public:
  virtual ~GlooGroup() = default;

  // Submit a message to Gloo without waiting for it. Throw std::exception if the connection is broken. REQUIRES: the
  // peer is another rank; the tag is from 0 to 2^31 - 1.
  virtual std::unique_ptr<GlooMessage> send(int peer, int tag, transport::Buffer message) = 0;
  virtual std::unique_ptr<GlooMessage> receive(int peer, int tag, transport::Buffer destination) = 0;
};

/// Connects all ranks of the job. Throws std::exception if they cannot reach each other within `timeout`.
std::unique_ptr<GlooGroup> make_gloo_group(const RankPlace& place, JobStore& store, std::chrono::milliseconds timeout);

}  // namespace dovetail::runtime
