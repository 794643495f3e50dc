// The evaluator: computes the makespan, the peak activation and the idle time of a schedule.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "pipeline/schedule/op_graph.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

/// How a schedule uses one device.
struct DeviceUse {
  Ticks busy;         ///< sum of its ops' durations
  Ticks first_start;  ///< start of its first op; 0 if it has no ops
  Ticks last_end;     ///< end of its last op; 0 if it has no ops
  Memory peak;        ///< peak activation, without resident memory
};

/// Times and costs of a schedule.
struct Evaluation {
  std::vector<Ticks> start;        ///< [op] start time
  Ticks makespan;                  ///< latest end of any op, counted from time 0
  Memory peak_activation;          ///< maximum peak of any device
  std::vector<DeviceUse> devices;  ///< [device] its use
};

/// Computes the earliest start times of `order`: each op starts when its predecessors, the previous op of its device
/// and the barriers of the order allow. If the order deadlocks, returns a Failure::invalid Error that names an op.
/// REQUIRES: the order has every op once, on its device.
base::Result<Evaluation> evaluate(const OpGraph& graph, const Order& order);

/// Evaluates given start times without changing them. REQUIRES: they form a valid schedule, with one start per op.
Evaluation evaluate(const OpGraph& graph, std::vector<Ticks> start);

/// A schedule as a graph of ops, their order and its evaluation, for code that draws or changes the schedule.
struct LoweredSchedule {
  Lowering lowering;
  Order order;  ///< ops of each device by start time
  Evaluation evaluation;
};

/// Lowers a schedule and evaluates its own start times. REQUIRES: validate(schedule) found nothing.
LoweredSchedule evaluate(const Schedule& schedule);

/// Returns the schedule that runs the ops of `graph`, lowered from `problem`, at the times of `evaluation`. Its claims
/// are the makespan and the peak activation.
Schedule to_schedule(const Problem& problem, const OpGraph& graph, const Evaluation& evaluation);

/// Returns the share of device time up to the makespan that is idle: 1 - sum of busy / (devices x makespan). Devices
/// without ops count too.
double bubble_rate(const Evaluation& evaluation);

/// Returns the maximum over devices of last end minus first start, the cost of a schedule in zero-bubble papers.
Ticks max_device_span(const Evaluation& evaluation);

/// Returns the activation that each device can hold in addition to its resident memory, limited by its capacity and by
/// `cap`. It is Memory::max() without a limit, and negative if resident memory alone exceeds the limit.
std::vector<Memory> headroom_of(const Problem& problem, std::optional<Memory> cap);

/// Returns `problem` with the capacity of every device limited to `cap`, if given.
Problem with_cap(Problem problem, std::optional<Memory> cap);

/// A device whose peak exceeds the smaller of its capacity and the cap.
struct CapacityExcess {
  DeviceId device;
  Memory peak;  ///< including resident memory
  Memory capacity;
};
/// Returns the devices that exceed their limit, in order; empty if all fit or no limit is set.
std::vector<CapacityExcess> find_excess(const Problem& problem, const Evaluation& evaluation,
                                        std::optional<Memory> cap);

/// Returns `schedule` with the durations and transfers of `problem`: each device keeps its order, and each op starts as
/// early as that order allows. The claims are the makespan and the peak activation. Returns an Error if find_fault
/// rejects `problem`. REQUIRES: validate(schedule) found nothing; `problem` differs from schedule.problem only in times
/// and capacity.
base::Result<Schedule> retimed(const Schedule& schedule, const Problem& problem);

}  // namespace dovetail::pipeline
