// The one evaluator: every makespan, peak and idle time that the program prints comes from here.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "pipeline/schedule/op_graph.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

/// What a schedule does on one device.
struct DeviceUse {
  Ticks busy;         ///< sum of its ops' durations
  Ticks first_start;  ///< of its first op; 0 for a device without ops
  Ticks last_end;     ///< of its last op; 0 for a device without ops
  Memory peak;        ///< largest activation held at once, without what is resident
};

/// What a schedule costs.
struct Evaluation {
  std::vector<Ticks> start;        ///< [op]
  Ticks makespan;                  ///< latest end, counted from time 0
  Memory peak_activation;          ///< largest of the devices' peaks
  std::vector<DeviceUse> devices;  ///< [device]
};

/// Earliest start times of `order`: each op starts when its predecessors, its device's previous op and the order's
/// barriers allow. REQUIRES: order has every op once, on its device. An order that waits for itself is a
/// Failure::invalid Error that names an op.
base::Result<Evaluation> evaluate(const OpGraph& graph, const Order& order);

/// Costs of given start times, taken as they are. REQUIRES: starts of a valid schedule, one for each op.
Evaluation evaluate(const OpGraph& graph, std::vector<Ticks> start);

/// A schedule as a graph, an order and its costs: what evaluate, timelines and variations need of a schedule from a
/// file.
struct LoweredSchedule {
  Lowering lowering;
  Order order;  ///< by start time on each device
  Evaluation evaluation;
};

/// Lowers and evaluates a schedule with the start times it has. REQUIRES: validate(schedule) found nothing.
LoweredSchedule evaluate(const Schedule& schedule);

/// The schedule that runs the ops of `graph` (of `problem`) at the times of `evaluation`; claims hold its makespan and
/// peak.
Schedule to_schedule(const Problem& problem, const OpGraph& graph, const Evaluation& evaluation);

/// Share of the devices' time up to the makespan in which they do nothing: 1 - sum of busy / (devices x makespan).
/// Devices that have no op in the problem count too.
double bubble_rate(const Evaluation& evaluation);

/// The largest, over devices, of last end minus first start: what zero-bubble papers call the cost of a schedule.
Ticks max_device_span(const Evaluation& evaluation);

/// [device] how much activation it may hold beside what is resident, by `problem` and `cap` (the smaller holds):
/// Memory::max() where nothing limits it, negative where what is resident alone is too much.
std::vector<Memory> room_of(const Problem& problem, std::optional<Memory> cap);

/// `problem` with the smaller of its capacities and `cap`.
Problem with_cap(Problem problem, std::optional<Memory> cap);

/// How far `peak` goes beyond the room that `problem` (and `cap`, the smaller holds) leaves on a device.
struct CapacityExcess {
  DeviceId device;
  Memory peak;  ///< with what is resident
  Memory capacity;
};
/// The devices that do not fit, in order; empty where all fit or nothing is limited.
std::vector<CapacityExcess> find_excess(const Problem& problem, const Evaluation& evaluation,
                                        std::optional<Memory> cap);

}  // namespace dovetail::pipeline
