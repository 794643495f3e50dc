// A steady iteration of a plan: the activity of every device from the first to the last nanosecond, and the cause of
// each wait.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/mesh.h"
#include "plan/timing.h"
#include "simulate/engine.h"
#include "simulate/trace.h"
#include "timeline/timeline.h"

namespace dovetail::simulate {

/// A transfer from one device to another. A device has four links: to and from the devices of its node, and to and from
/// other nodes.
struct DeviceTransfer {
  int from = no_device;
  int to = no_device;
  bool between = false;     ///< whether it crosses nodes
  base::Ticks uncontended;  ///< duration in ns without other transfers on its links
  std::int64_t bytes = 0;

  static constexpr int no_device = -1;  ///< no device at this end, so its link is not occupied
};

/// A transfer between devices and host memory. It occupies only their host links. Other activities use the devices
/// meanwhile.
struct HostTransfer {
  cluster::Mesh devices;     ///< devices whose links to host memory it occupies
  std::size_t activity = 0;  ///< index of the activity that it serves, in the same iteration
  bool back = false;         ///< true: to host memory, after that activity; false: from host memory, before it

  /// Bytes that each device holds for this transfer: from the transfer's beginning until the activity begins, or, if
  /// `back`, from the activity's end until the transfer's end.
  std::int64_t bytes = 0;
};

/// An activity of an iteration: a task, several fused tasks, a reallocation, or a host transfer.
struct Activity {
  /// Task of the workflow: the first one if the activity fuses several, the one that receives the weights if it is a
  /// reallocation.
  std::int32_t task = -1;
  /// True: a reallocation. The idle time of devices that wait for it is BarKind::awaiting.
  bool reallocation = false;
  std::array<cluster::Mesh, 2> devices = {};  ///< devices that it occupies exclusively
  Trace trace;                                ///< work before its transfers; lanes for all of its devices, or no lanes
  std::vector<DeviceTransfer> transfers = {};
  /// If set, the activity has no devices and lasts as long as its trace.
  std::optional<HostTransfer> host = std::nullopt;
};

/// Activities of an iteration, the cluster that they run on, and limits of the simulation.
struct Workload {
  int devices = 0;  ///< number of devices of the cluster
  std::vector<Activity> activities;
  std::vector<plan::ActivityEdge> edges;
  base::Ticks overhead;  ///< time of each iteration, on all devices, outside all activities

  /// Returns the bytes that a device holds during `activity`, in addition to the memory in the activity's trace. With
  /// nullopt, returns the bytes that the device holds between activities. A null function means 0 bytes.
  std::function<std::int64_t(int device, std::optional<std::size_t> activity)> resident = {};
  std::size_t max_iterations = 64;          ///< maximum number of iterations to simulate until they are steady
  TransferCache* transfer_cache = nullptr;  ///< cache of transfers for simulate_iterations()
  const parallel::Cancellation* cancellation = nullptr;  ///< stops waiting for a steady state
};

/// The part that repeats once iterations are steady.
struct Iteration {
  /// All devices, each in one lane. An idle span shows the activity that delayed the next one: `dependency` on a task,
  /// `awaiting` for a reallocation, or `transfer` for a host transfer. Idle time before the delaying activity began
  /// shows the activity that delayed it in turn. Devices that no activity uses wait for task -1.
  Trace trace;
  std::size_t iterations = 1;  ///< number of iterations in the trace; more than one if iterations alternate
  std::size_t simulated = 1;   ///< number of iterations simulated until they repeated
  bool steady = false;  ///< false: iterations did not repeat, and the trace covers the later half of those simulated
  base::Ticks cycle;    ///< length of the trace without overhead
  base::Ticks period;   ///< time of an iteration without overhead
  std::vector<plan::ActivityTime>
      activities;  ///< [activity] of the first iteration in the trace, relative to its start
};

/// Simulates iterations until they are steady and returns the part that repeats. That part starts with an
/// iteration's first activity that is not a host transfer, and ends with the overhead. REQUIRES: each activity's trace
/// passes find_fault and has each of its devices in one lane, or no lanes. The devices of each transfer belong to the
/// activity.
Iteration simulate_iteration(const Workload& workload);

/// Converts a trace to a timeline: one bar per span, one lane per lane of the trace, then the links to host memory.
/// Counters show the bytes that each device holds. Times are in ns. `tasks`: [Span::task] the task's track;
/// Track::model is the role that the task serves. `repeats`: the end of the iteration joins its beginning; false if
/// iterations never became steady.
timeline::Timeline iteration_timeline(const Trace& trace, std::vector<timeline::Track> tasks, std::string title,
                                      bool repeats);

}  // namespace dovetail::simulate
