// Interface to a library that moves data between the devices of ranks, such as NCCL.
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

/// Transfer or collective that has been submitted.
class DeviceWork {
 public:
  virtual ~DeviceWork() = default;
  /// Returns whether it is done. Throws std::exception if it has failed.
  virtual bool is_done() = 0;
};

/// Group of ranks that exchange device memory. Functions identify a rank by its position in the group.
///
/// Functions submit work without waiting for it. The work starts after all work that the calling thread has already
/// submitted to its device. Messages have no numbers: all ranks of a group must submit the same operations in the same
/// order. Buffers must stay valid until the work is done. Functions throw std::exception if the library reports an
/// error.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;

  virtual std::unique_ptr<DeviceWork> send(int to, const transport::Buffer& message) = 0;
  virtual std::unique_ptr<DeviceWork> receive(int from, const transport::Buffer& destination) = 0;
  /// Replaces the numbers of the rank at position `root` by the sums over all ranks. Afterwards, the numbers of the
  /// other ranks are undefined.
  virtual std::unique_ptr<DeviceWork> reduce(transport::Numbers numbers, int root) = 0;
  virtual std::unique_ptr<DeviceWork> all_reduce(transport::Numbers numbers) = 0;
  virtual std::unique_ptr<DeviceWork> broadcast(transport::Numbers numbers, int root) = 0;
};

/// Purpose of a group.
enum class GroupUse {
  channel,  ///< messages from the first of two ranks to the second
  sums      ///< collectives
};

/// Function that connects the devices of `ranks`, which include this rank. A job may connect each combination of `use`
/// and `ranks` only once. Throws std::exception if the ranks cannot reach each other within `timeout`.
using ConnectDevices = std::function<std::unique_ptr<DeviceGroup>(GroupUse use, const std::vector<int>& ranks,
                                                                  std::chrono::milliseconds timeout)>;

/// This rank's groups for one use. If the transport has failed, the destructor leaks the groups, because the library
/// would wait for lost ranks.
class DeviceGroups {
 public:
  /// `transport` must outlive this object.
  DeviceGroups(transport::Transport& transport, GroupUse use, ConnectDevices connect)
      : transport_(transport), use_(use), connect_(std::move(connect)) {}
  ~DeviceGroups();
  DeviceGroups(const DeviceGroups&) = delete;
  DeviceGroups& operator=(const DeviceGroups&) = delete;

  /// Connects these ranks unless they are already connected. An error also makes the transport fail.
  base::Status open(const std::vector<int>& ranks, transport::Deadline deadline);
  /// REQUIRES: the group is open.
  DeviceGroup& of(const std::vector<int>& ranks);

 private:
  transport::Transport& transport_;
  GroupUse use_;
  ConnectDevices connect_;
  std::map<std::vector<int>, std::unique_ptr<DeviceGroup>> groups_;
};

/// Outcome of a wait for device work.
enum class WorkEnd {
  done,
  late,    ///< deadline passed
  broken,  ///< work failed
  failed   ///< transport failed
};

/// Waits for `work`. Sets `reason` if the result is WorkEnd::broken. An error of `transport` ends the wait.
WorkEnd await(DeviceWork& work, transport::Transport& transport, transport::Deadline deadline, std::string& reason);

}  // namespace dovetail::runtime
