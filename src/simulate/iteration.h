// A steady iteration of a plan: what every device does in it from the first to the last ns, and why it waits where it
// does.
//
// What a simulation played, as a timeline.
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

/// What one device sends another. A device has four links: to and from the devices of its node, to and from other
/// nodes.
struct DeviceTransfer {
  int from = nobody;
  int to = nobody;
  bool between = false;  ///< nodes
  base::Ticks alone;     ///< ns that it takes where nothing else is on its links
  std::int64_t bytes = 0;

  static constexpr int nobody = -1;  ///< whose link does not count
};

/// What an activity moves between devices and host memory, on their links alone: what its devices do meanwhile are
/// other activities.
struct HostTransfer {
  cluster::Mesh devices;     ///< whose links to host memory the activity has for itself
  std::size_t activity = 0;  ///< that it moves something for, of the same iteration
  bool back = false;         ///< to host memory, behind that activity; else from there, before it
  std::int64_t bytes = 0;  ///< that each device holds for it: from its beginning until that activity begins; from that
                           ///< one's end until its end
};

/// An activity of an iteration: a task, several tasks that run as one, a reallocation, or a host transfer.
struct Activity {
  std::int32_t task = -1;     ///< of the workflow: its first task; of a reallocation the one that gets the weights
  bool reallocation = false;  ///< else whoever waits for it waits for a task
  std::array<cluster::Mesh, 2> devices = {};  ///< that it has for itself
  Trace trace;  ///< of what it does before its transfers; lanes for all of its devices, or none
  std::vector<DeviceTransfer> transfers = {};
  std::optional<HostTransfer> host = std::nullopt;  ///< it has no devices then, and lasts as long as its trace
};

/// What an iteration is played from.
struct Workload {
  int devices = 0;  ///< of the cluster
  std::vector<Activity> activities;
  std::vector<plan::ActivityEdge> edges;
  base::Ticks overhead;  ///< of each iteration, on all devices, in no activity
  /// Bytes that a device holds whatever an activity's own trace says: in activity `activity`, or between activities
  /// (nothing).
  std::function<std::int64_t(int device, std::optional<std::size_t> activity)> resident = {};
  std::size_t max_iterations = 64;                       ///< to wait for a steady state
  Courses* courses = nullptr;                            ///< what is known of transfers, and learns (play)
  const parallel::Cancellation* cancellation = nullptr;  ///< ends the wait for a steady state
};

/// What repeats once iterations are steady.
struct Iteration {
  /// Of all devices, each in one lane. Waiting has its cause: `dependency` on the task whose end let the next activity
  /// begin, `awaiting` where that was a reallocation, `transfer` where it was a host transfer, and before it likewise
  /// what that had waited for. Devices that no activity uses wait for task -1.
  Trace trace;
  std::size_t iterations = 1;  ///< that the trace is of: more than one where iterations alternate
  std::size_t played = 1;      ///< until they repeated
  bool steady = false;         ///< false: they did not, and the trace is of the later half of those that were played
  base::Ticks stretch;         ///< that repeats: the trace without overhead
  base::Ticks period;          ///< of an iteration without its overhead
  std::vector<plan::ActivityTime> activities;  ///< [activity] of the iteration that the trace begins with, from there
};

/// Plays the iterations until they are steady, and cuts one period out, from the beginning of an iteration's first
/// activity but host transfers on. Its overhead is at its end. REQUIRES: each activity's trace has each of its devices
/// in one lane, or has no lanes, and no fault (accounting.h); each transfer's devices are the activity's.
Iteration play_iterations(const Workload& workload);

/// A bar a span, a lane for devices that do the same, behind them the links to host memory; counters are the bytes that
/// each device holds. Times are ns. `tasks`: [Span::task] the task's track, whose model is the role that it serves.
/// `repeats`: the end of the iteration joins its beginning; false: iterations never became steady.
timeline::Timeline iteration_timeline(const Trace& trace, std::vector<timeline::Track> tasks, std::string title,
                                      bool repeats);

}  // namespace dovetail::simulate
