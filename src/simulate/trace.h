// What devices do, moment by moment: what every simulation of this folder answers with.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"

namespace dovetail::simulate {

/// What a device does for a while: work, or idling with its cause.
enum class Activity : std::uint8_t {
  prefill,
  decode,
  recompute,     ///< prefill of a sequence once more, after it was preempted or moved without its keys and values
  migration,     ///< sending or receiving keys and values of unfinished sequences
  loading,       ///< weights of another model come in, or leave for host memory, with nothing else to do meanwhile
  score,         ///< a forward pass: log-probabilities, values, rewards
  forward,       ///< of training
  backward,      ///< of training
  optimizer,     ///< a step's collectives and the optimizer
  reallocation,  ///< sending or receiving new weights
  hand_over,     ///< what software adds to a task or an iteration: handing out data, collecting answers
  tail,          ///< idle: generation is over here, and long samples still decode elsewhere
  dependency,    ///< idle: a task on other devices has to end first
  transfer,      ///< idle: data travels
  awaiting,      ///< idle: new weights are on their way to or from other devices
  bubble,        ///< idle: a pipeline fills, drains, or waits for a neighbouring stage
  imbalance,     ///< idle: other ranks of the same task have more to do
  launch,        ///< idle: kernels are launched one by one; never a span of its own, see Span::launch
};
inline constexpr int activities = static_cast<int>(Activity::launch) + 1;

bool is_idle(Activity activity);
/// "prefill", "decode", "long tail", ...
std::string_view name_of(Activity activity);

/// A stretch of time.
struct Span {
  base::Ticks begin;
  base::Ticks end;
  Activity activity = Activity::dependency;
  std::int32_t task = -1;   ///< of the workflow: whose work it is, or what is waited for; -1: nobody's
  std::int64_t amount = 0;  ///< sequences decoded or scored, the number of a micro-batch or mini-batch; 0 where that says nothing
  base::Ticks launch = {};  ///< of work: the part in which the device waits for launches
};

/// Devices that do the same at the same time.
struct Lane {
  std::vector<int> devices;                                  ///< of the cluster, ascending
  std::vector<Span> spans;                                   ///< in order, without gaps from 0 to Trace::end
  std::vector<std::pair<base::Ticks, std::int64_t>> memory;  ///< bytes that the work itself holds on each device, from that time on
};

struct Trace {
  base::Ticks end;
  std::vector<Lane> lanes;  ///< no device in two of them
  /// What goes over the links of these devices to host memory beside what they do: `loading`, with gaps, and no memory.
  std::vector<Lane> host_links = {};
};

}  // namespace dovetail::simulate
