#include "pipeline/schedule/evaluate.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace dovetail::pipeline {
namespace {

constexpr OpId no_op(-1);

/// Computes earliest starts in one pass over the ops, each when the last op that it waits for is done.
class EarliestStarts {
 public:
  EarliestStarts(const OpGraph& graph, const Order& order)
      : graph_(graph), start_(graph.size()), waits_(graph.size()), next_on_device_(graph.size(), no_op) {
    ready_.reserve(graph.size());
    for (std::size_t op = 0; op < graph.size(); ++op)
      waits_[op] = static_cast<std::int32_t>(graph.predecessors(OpId(op)).size());
    for (const auto& sequence : order.devices)
      for (std::size_t position = 1; position < sequence.size(); ++position) {
        next_on_device_[sequence[position - 1].index()] = sequence[position];
        ++waits_[sequence[position].index()];
      }
    for (std::size_t op = 0; op < graph.size(); ++op)
      if (waits_[op] == 0) ready_.push_back(OpId(op));
  }

  /// Returns the starts, or an Error with the first op, by id, that is part of a deadlock or waits for one.
  base::Result<std::vector<Ticks>> run() && {
    for (std::size_t done = 0; done < ready_.size(); ++done) {
      const OpId op = ready_[done];
      const Ticks end = start_[op.index()] + graph_.duration[op.index()];
      for (const Arc& arc : graph_.successors(op)) release(arc.op, end + arc.lag);
      if (next_on_device_[op.index()] != no_op) release(next_on_device_[op.index()], end);
    }
    if (ready_.size() < graph_.size()) return deadlock();
    return std::move(start_);
  }

 private:
  void release(OpId op, Ticks earliest) {
    Ticks& start = start_[op.index()];
    start = std::max(start, earliest);
    if (--waits_[op.index()] == 0) ready_.push_back(op);
  }

  base::Error deadlock() const {
    const auto stuck = std::find_if(waits_.begin(), waits_.end(), [](std::int32_t waits) { return waits > 0; });
    const OpLabel& label = graph_.labels[static_cast<std::size_t>(stuck - waits_.begin())];
    return {
        base::Failure::invalid, "", 0, 0,
        fmt::format("the order deadlocks: {}{} of stage {} (model {}, replica {}) never starts", letter_of(label.kind),
                    label.microbatch.value, label.stage.value, label.model.value, label.replica.value)};
  }

  const OpGraph& graph_;
  std::vector<Ticks> start_;
  std::vector<std::int32_t> waits_;
  std::vector<OpId> next_on_device_;
  std::vector<OpId> ready_;
};

/// Returns the use of one device, given its ops in order of start. Ops never overlap, so each release comes before the
/// next acquisition.
DeviceUse use_of(const OpGraph& graph, const std::vector<OpId>& sequence, const std::vector<Ticks>& start) {
  DeviceUse use;
  if (sequence.empty()) return use;
  Memory held;
  for (const OpId op : sequence) {
    const std::size_t i = op.index();
    use.busy += graph.duration[i];
    held += graph.acquire[i];
    use.peak = std::max(use.peak, held);
    held -= graph.release[i];
    use.last_end = std::max(use.last_end, start[i] + graph.duration[i]);
  }
  use.first_start = start[sequence.front().index()];
  return use;
}

Evaluation evaluate_sequences(const OpGraph& graph, const std::vector<std::vector<OpId>>& sequences,
                              std::vector<Ticks> start) {
  Evaluation evaluation;
  for (const auto& sequence : sequences) {
    const DeviceUse use = use_of(graph, sequence, start);
    evaluation.makespan = std::max(evaluation.makespan, use.last_end);
    evaluation.peak_activation = std::max(evaluation.peak_activation, use.peak);
    evaluation.devices.push_back(use);
  }
  evaluation.start = std::move(start);
  return evaluation;
}

/// Returns the ops of each device by start. If two start together, the one without duration comes first.
std::vector<std::vector<OpId>> sequences_by_start(const OpGraph& graph, const std::vector<Ticks>& start) {
  std::vector<std::vector<OpId>> sequences(static_cast<std::size_t>(graph.devices));
  for (std::size_t op = 0; op < graph.size(); ++op) sequences[graph.device[op].index()].push_back(OpId(op));
  for (auto& sequence : sequences)
    std::sort(sequence.begin(), sequence.end(), [&](OpId a, OpId b) {
      return std::tuple(start[a.index()], graph.duration[a.index()], a) <
             std::tuple(start[b.index()], graph.duration[b.index()], b);
    });
  return sequences;
}

/// Returns which (pipeline stage, micro-batch) has a whole backward, in the order of Lowering::microbatch_ops.
std::vector<bool> whole_backwards(const Schedule& schedule) {
  std::vector<std::vector<std::size_t>> first;  // [model][replica] -> index of its stage 0, micro-batch 0
  std::size_t count = 0;
  for (const Model& model : schedule.problem.models) {
    std::vector<std::size_t>& replicas = first.emplace_back();
    for (std::size_t r = 0; r < model.replicas.size(); ++r) {
      replicas.push_back(count);
      count += static_cast<std::size_t>(model.stages()) * static_cast<std::size_t>(model.total_microbatches());
    }
  }
  std::vector<bool> whole(count);
  for (const auto& device : schedule.devices)
    for (const ScheduledOp& op : device) {
      if (traits_of(op.label.kind).backward != BackwardPart::whole) continue;
      const auto microbatches =
          static_cast<std::size_t>(schedule.problem.models[op.label.model.index()].total_microbatches());
      const std::size_t base_index = first[op.label.model.index()][op.label.replica.index()];
      whole[base_index + op.label.stage.index() * microbatches + op.label.microbatch.index()] = true;
    }
  return whole;
}

}  // namespace

base::Result<Evaluation> evaluate(const OpGraph& graph, const Order& order) {
  if (!order.barriers.empty()) return evaluate(with_predecessors(graph, order.barriers), Order{order.devices, {}});
  DOVETAIL_TRY(std::vector<Ticks> start, EarliestStarts(graph, order).run());
  return evaluate_sequences(graph, order.devices, std::move(start));
}

Evaluation evaluate(const OpGraph& graph, std::vector<Ticks> start) {
  DOVETAIL_ASSERT(start.size() == graph.size());
  const std::vector<std::vector<OpId>> sequences = sequences_by_start(graph, start);
  return evaluate_sequences(graph, sequences, std::move(start));
}

LoweredSchedule evaluate(const Schedule& schedule) {
  LoweredSchedule lowered{lower(schedule.problem, whole_backwards(schedule)), {}, {}};
  std::vector<Ticks> start(lowered.lowering.graph.size());
  for (const auto& device : schedule.devices)
    for (const ScheduledOp& op : device) start[lowered.lowering.find(op.label).index()] = op.start;
  lowered.order.devices = sequences_by_start(lowered.lowering.graph, start);
  lowered.evaluation = evaluate_sequences(lowered.lowering.graph, lowered.order.devices, std::move(start));
  return lowered;
}

Schedule to_schedule(const Problem& problem, const OpGraph& graph, const Evaluation& evaluation) {
  Schedule schedule;
  schedule.problem = problem;
  for (const auto& sequence : sequences_by_start(graph, evaluation.start)) {
    std::vector<ScheduledOp>& rows = schedule.devices.emplace_back();
    rows.reserve(sequence.size());
    for (const OpId op : sequence) {
      const Ticks start = evaluation.start[op.index()];
      rows.push_back({graph.labels[op.index()], start, start + graph.duration[op.index()]});
    }
  }
  schedule.claims.makespan = evaluation.makespan;
  schedule.claims.peak_activation = evaluation.peak_activation;
  return schedule;
}

double bubble_rate(const Evaluation& evaluation) {
  if (evaluation.makespan.count() == 0) return 0;
  double busy = 0;
  for (const DeviceUse& use : evaluation.devices) busy += static_cast<double>(use.busy.count());
  return 1 - busy / (static_cast<double>(evaluation.devices.size()) * static_cast<double>(evaluation.makespan.count()));
}

Ticks max_device_span(const Evaluation& evaluation) {
  Ticks longest;
  for (const DeviceUse& use : evaluation.devices) longest = std::max(longest, use.last_end - use.first_start);
  return longest;
}

std::vector<Memory> headroom_of(const Problem& problem, std::optional<Memory> cap) {
  std::vector<Memory> available(static_cast<std::size_t>(problem.devices), cap.value_or(Memory::max()));
  for (std::size_t device = 0; device < available.size(); ++device) {
    if (problem.capacity) available[device] = std::min(available[device], (*problem.capacity)[device]);
    if (available[device] != Memory::max()) available[device] -= problem.resident[device];
  }
  return available;
}

Problem with_cap(Problem problem, std::optional<Memory> cap) {
  if (!cap) return problem;
  if (!problem.capacity) problem.capacity.emplace(static_cast<std::size_t>(problem.devices), *cap);
  for (Memory& capacity : *problem.capacity) capacity = std::min(capacity, *cap);
  return problem;
}

std::vector<CapacityExcess> find_excess(const Problem& problem, const Evaluation& evaluation,
                                        std::optional<Memory> cap) {
  std::vector<CapacityExcess> excess;
  const std::vector<Memory> available = headroom_of(problem, cap);
  for (std::size_t device = 0; device < evaluation.devices.size(); ++device) {
    const Memory peak = evaluation.devices[device].peak;
    const Memory resident = problem.resident[device];
    if (peak > available[device]) excess.push_back({DeviceId(device), resident + peak, resident + available[device]});
  }
  return excess;
}

namespace {

/// Returns which (pipeline stage, micro-batch) has a whole backward, as expected by pipeline::lower.
std::vector<bool> whole_backwards(const Lowering& lowering) {
  std::vector<bool> whole;
  for (const MicrobatchOps& ops : lowering.microbatch_ops)
    whole.push_back(traits_of(lowering.graph.labels[ops.backward.index()].kind).backward == BackwardPart::whole);
  return whole;
}

}  // namespace

base::Result<Schedule> retimed(const Schedule& schedule, const Problem& problem) {
  if (const auto fault = find_fault(problem)) return base::bad_input(*fault);
  const LoweredSchedule given = evaluate(schedule);
  const OpGraph graph = lower(problem, whole_backwards(given.lowering)).graph;
  const base::Result<Evaluation> earliest = evaluate(graph, given.order);
  DOVETAIL_ASSERT(earliest.ok());
  return to_schedule(problem, graph, *earliest);
}

}  // namespace dovetail::pipeline
