// What moves numbers between the devices of ranks: the seam to a library such as NCCL.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/collectives.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// A transfer or a sum that is under way.
class DeviceWork {
 public:
  virtual ~DeviceWork() = default;
  /// Whether it is done. Throws std::exception where it cannot be any more.
  virtual bool is_done() = 0;
};

/// Some ranks, named by their places in the group, whose memory is that of their devices. The functions hand work over
/// without waiting; it begins when what the calling thread gave its device before is done. Messages have no numbers:
/// all ranks of a group ask it for the same things in one order. What they give it stays until the work is done. Each
/// throws std::exception where the library refuses.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;

  virtual std::unique_ptr<DeviceWork> send(int to, const transport::Buffer& message) = 0;
  virtual std::unique_ptr<DeviceWork> receive(int from, const transport::Buffer& room) = 0;
  /// Gives the rank at place `root` the sum of all ranks' numbers; the others may have anything then.
  virtual std::unique_ptr<DeviceWork> reduce(transport::Numbers numbers, int root) = 0;
  virtual std::unique_ptr<DeviceWork> all_reduce(transport::Numbers numbers) = 0;
  virtual std::unique_ptr<DeviceWork> broadcast(transport::Numbers numbers, int root) = 0;
};

/// What a group is for.
enum class GroupUse {
  channel,  ///< messages from the first of two ranks to the second
  sums      ///< collectives
};

/// Connects `ranks`, of which this one is one, each with its device. No two groups of a job have the same use and the
/// same ranks. Throws std::exception where they do not reach each other within `timeout`.
using ConnectDevices = std::function<std::unique_ptr<DeviceGroup>(GroupUse use, const std::vector<int>& ranks,
                                                                  std::chrono::milliseconds timeout)>;

/// A rank's groups of one use. Where the transport has failed they are left to the end of the process: a library would
/// wait for work that lost ranks do not come to.
class DeviceGroups {
 public:
  /// `transport` outlives it.
  DeviceGroups(transport::Transport& transport, GroupUse use, ConnectDevices connect)
      : transport_(transport), use_(use), connect_(std::move(connect)) {}
  ~DeviceGroups();
  DeviceGroups(const DeviceGroups&) = delete;
  DeviceGroups& operator=(const DeviceGroups&) = delete;

  /// Connects these ranks, where they are not. An error is the transport's.
  base::Status open(const std::vector<int>& ranks, transport::Deadline deadline);
  /// REQUIRES: it is open.
  DeviceGroup& of(const std::vector<int>& ranks);

 private:
  transport::Transport& transport_;
  GroupUse use_;
  ConnectDevices connect_;
  std::map<std::vector<int>, std::unique_ptr<DeviceGroup>> groups_;
};

/// How a wait for a device's work ended.
enum class WorkEnd {
  done,
  late,    ///< the deadline passed
  broken,  ///< by its own error
  failed   ///< by an error of the transport
};

/// Waits for `work`; `reason`: why it broke. An error of `transport` ends the wait.
WorkEnd await(DeviceWork& work, transport::Transport& transport, transport::Deadline deadline, std::string& reason);

}  // namespace dovetail::runtime
