// What devices do, moment by moment: what every simulation of this folder answers with.
//
// Where the time of devices goes: sums of traces, and what no trace may break.
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

/// A stretch of time.
struct Span {
  base::Ticks begin;
  base::Ticks end;
  BarKind bar_kind = BarKind::dependency;
  std::int32_t task = -1;  ///< of the workflow: whose work it is, or what is waited for; -1: nobody's
  std::int64_t amount =
      0;  ///< sequences decoded or scored, the number of a micro-batch or mini-batch; 0 where that says nothing
  base::Ticks launch = {};  ///< of work: the part in which the device waits for launches
};

/// Devices that do the same at the same time.
struct Lane {
  std::vector<int> devices;  ///< of the cluster, ascending
  std::vector<Span> spans;   ///< in order, without gaps from 0 to Trace::end
  /// Bytes that the work itself holds on each device, from that time on.
  std::vector<std::pair<base::Ticks, std::int64_t>> memory;
};

struct Trace {
  base::Ticks end;
  std::vector<Lane> lanes;  ///< no device in two of them
  /// What goes over the links of these devices to host memory beside what they do: `loading`, with gaps, and no memory.
  std::vector<Lane> host_links = {};
};

/// Time of devices that is used alike: for a task, or waiting for it.
struct Use {
  BarKind bar_kind = BarKind::dependency;
  std::int32_t task = -1;  ///< -1: nobody's
  base::Ticks time;        ///< of all devices together
};

/// Uses by (task, bar kind), none of no time. What work waits for launches is a use of its own, BarKind::launch. All
/// together are the trace's end times its devices.
std::vector<Use> uses_of(const Trace& trace);
/// Of one of the lane's devices: all together are the lane's end.
std::vector<Use> uses_of(const Lane& lane);

/// The time of uses that are work, or idle.
base::Ticks busy_time(const std::vector<Use>& uses);
base::Ticks idle_time(const std::vector<Use>& uses);
/// The time of one bar kind, of all tasks.
base::Ticks time_of(const std::vector<Use>& uses, BarKind bar_kind);

/// Holds `bytes` more from `begin` on, before `end`. REQUIRES: `memory` as Lane::memory has it, from time 0 on.
void add_memory(std::vector<std::pair<base::Ticks, std::int64_t>>& memory, base::Ticks begin, base::Ticks end,
                std::int64_t bytes);

/// The most bytes that a lane holds, and when it first does.
std::pair<base::Ticks, std::int64_t> peak_of(const Lane& lane);

/// What is wrong with a trace: a lane without devices, a device in two, spans that are not in order, leave a gap or
/// overlap, do not begin at 0 or end at its end, or are longer in launches than in all; memory that is not in order, or
/// negative. Nothing where it is sound.
std::optional<std::string> find_fault(const Trace& trace);

}  // namespace dovetail::simulate
