// What devices do, moment by moment: what every simulation of this folder answers with.
#pragma once

#include <cstdint>
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

}  // namespace dovetail::simulate
