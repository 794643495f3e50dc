// Traces: the activity of each device over time in a simulation. Also sums over traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "timeline/bar_kind.h"

namespace dovetail::simulate {

using timeline::bar_kinds;
using timeline::BarKind;
using timeline::is_idle;
using timeline::name_of;

/// An interval of one kind of work or idling.
struct Span {
  base::Ticks begin;
  base::Ticks end;
  BarKind bar_kind = BarKind::dependency;
  std::int32_t task = -1;   ///< task of the workflow that works or is waited for; -1: none
  std::int64_t amount = 0;  ///< sequences decoded or scored, or the number of a micro-batch or mini-batch; 0: none
  base::Ticks launch = {};  ///< part of the work in which the device waits for kernel launches
};

/// Devices that do the same at the same time.
struct Lane {
  std::vector<int> devices;  ///< device numbers in the cluster, ascending
  std::vector<Span> spans;   ///< spans in order, without gaps from 0 to Trace::end

  /// (time, bytes that the work itself holds on each device from then on), in order of time.
  std::vector<std::pair<base::Ticks, std::int64_t>> memory;
};

struct Trace {
  base::Ticks end;
  std::vector<Lane> lanes;  ///< lanes; each device is in at most one

  /// Transfers over the devices' links to host memory, concurrent with their work. These lanes have only `loading`
  /// spans, may have gaps, and have no memory.
  std::vector<Lane> host_links = {};
};

/// Device time of one kind for one task.
struct Use {
  BarKind bar_kind = BarKind::dependency;
  std::int32_t task = -1;  ///< -1: no task
  base::Ticks time;        ///< time summed over devices
};

/// Returns the uses by (task, bar kind) with a time above 0. Work that waits for launches counts as BarKind::launch.
/// The times add up to the trace's end multiplied by its number of devices.
std::vector<Use> uses_of(const Trace& trace);
/// Returns the uses of one device of the lane. The times add up to the lane's end.
std::vector<Use> uses_of(const Lane& lane);

/// Return the total time of the uses that are work, and of those that are idle.
base::Ticks busy_time(const std::vector<Use>& uses);
base::Ticks idle_time(const std::vector<Use>& uses);
/// Returns the time of one bar kind over all tasks.
base::Ticks time_of(const std::vector<Use>& uses, BarKind bar_kind);

/// Adds `bytes` to the memory held from `begin` to `end`. REQUIRES: `memory` is sorted by time, as in Lane::memory.
void add_memory(std::vector<std::pair<base::Ticks, std::int64_t>>& memory, base::Ticks begin, base::Ticks end,
                std::int64_t bytes);

/// Returns the time at which the lane's peak memory is first reached, and the peak in bytes; zeros if the lane has no
/// memory.
std::pair<base::Ticks, std::int64_t> peak_of(const Lane& lane);

/// Returns a description of the first fault of a trace, or nullopt if it is valid. Faults are:
/// - a lane without devices, or a device in two lanes
/// - spans that are empty, out of order, leave a gap, overlap, or do not cover 0 to the end
/// - a span with more launch time than its length
/// - memory that is out of order, negative, or after the end
std::optional<std::string> find_fault(const Trace& trace);

}  // namespace dovetail::simulate
