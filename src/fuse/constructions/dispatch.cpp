#include "fuse/constructions/dispatch.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace dovetail::fuse {
namespace {

using pipeline::Arc;
using pipeline::DeviceId;
using pipeline::OpGraph;
using pipeline::OpId;
using pipeline::Ticks;

template <class T>
using MinFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;

enum class EventKind : std::uint8_t { end, ready };

/// Ends come before arrivals of the same moment, so that gates are open and devices free when the choice is made.
struct Event {
  Ticks time;
  EventKind kind;
  OpId op;

  friend auto operator<=>(const Event&, const Event&) = default;
};

class Dispatcher {
 public:
  Dispatcher(const OpGraph& graph, const DispatchRules& rules, std::optional<pipeline::ModelId> model)
      : graph_(graph),
        rules_(rules),
        waits_(graph.size()),
        earliest_(graph.size()),
        open_(rules.limit),
        parked_(rules.limit.size()) {
    const auto devices = static_cast<std::size_t>(graph.devices);
    ready_.resize(devices);
    busy_.resize(devices);
    sequences_.resize(devices);
    for (std::size_t op = 0; op < graph.size(); ++op) {
      waits_[op] = static_cast<std::int32_t>(graph.predecessors(OpId(op)).size());
      if (model && graph.labels[op].model != *model) continue;
      ++remaining_;
      if (waits_[op] == 0) events_.push({Ticks(0), EventKind::ready, OpId(op)});
    }
  }

  std::optional<std::vector<std::vector<OpId>>> run() && {
    while (!events_.empty()) {
      const Ticks now = events_.top().time;
      touched_.clear();
      while (!events_.empty() && events_.top().time == now) {
        const Event event = events_.top();
        events_.pop();
        if (event.kind == EventKind::end)
          finish(event.op, now);
        else
          make_ready(event.op);
      }
      for (const DeviceId device : touched_) start_best(device, now);
    }
    if (remaining_ > 0) return std::nullopt;
    return std::move(sequences_);
  }

 private:
  using Choice = std::pair<std::int64_t, OpId>;

  void make_ready(OpId op) {
    const DeviceId device = graph_.device[op.index()];
    ready_[device.index()].push({rules_.priority[op.index()], op});
    touched_.push_back(device);
  }

  /// A gate that opened by one lets one op try again: the rest could not pass it anyway.
  void unpark_one(std::size_t gate) {
    if (parked_[gate].empty()) return;
    make_ready(parked_[gate].top().second);
    parked_[gate].pop();
  }

  void finish(OpId op, Ticks now) {
    const DeviceId device = graph_.device[op.index()];
    busy_[device.index()] = false;
    touched_.push_back(device);
    --remaining_;
    if (const std::int32_t gate = rules_.returns[op.index()]; gate >= 0) {
      ++open_[static_cast<std::size_t>(gate)];
      unpark_one(static_cast<std::size_t>(gate));
    }
    for (const Arc& arc : graph_.successors(op)) {
      Ticks& earliest = earliest_[arc.op.index()];
      earliest = std::max(earliest, now + arc.lag);
      if (--waits_[arc.op.index()] == 0) events_.push({earliest, EventKind::ready, arc.op});
    }
  }

  void start_best(DeviceId device, Ticks now) {
    auto& ready = ready_[device.index()];
    while (!busy_[device.index()] && !ready.empty()) {
      const Choice choice = ready.top();
      const OpId op = choice.second;
      ready.pop();
      const std::int32_t gate = rules_.takes[op.index()];
      if (gate >= 0 && open_[static_cast<std::size_t>(gate)] <= 0) {
        parked_[static_cast<std::size_t>(gate)].push(choice);
        continue;
      }
      if (gate >= 0) --open_[static_cast<std::size_t>(gate)];
      busy_[device.index()] = true;
      sequences_[device.index()].push_back(op);
      events_.push({now + graph_.duration[op.index()], EventKind::end, op});
    }
  }

  const OpGraph& graph_;
  const DispatchRules& rules_;
  std::vector<std::int32_t> waits_;
  std::vector<Ticks> earliest_;
  std::vector<std::int32_t> open_;            // [gate] how many more may take it
  std::vector<MinFirst<Choice>> parked_;      // [gate] ready ops that found it closed
  std::vector<MinFirst<Choice>> ready_;       // [device]
  std::vector<bool> busy_;                    // [device]
  std::vector<std::vector<OpId>> sequences_;  // [device]
  MinFirst<Event> events_;
  std::vector<DeviceId> touched_;
  std::size_t remaining_ = 0;
};

}  // namespace

std::optional<std::vector<std::vector<OpId>>> dispatch(const OpGraph& graph, const DispatchRules& rules,
                                                       std::optional<pipeline::ModelId> model) {
  return Dispatcher(graph, rules, model).run();
}

DispatchRules backward_first_rules(const pipeline::Lowering& lowering) {
  const OpGraph& graph = lowering.graph;
  DispatchRules rules;
  rules.takes.assign(graph.size(), -1);
  rules.returns.assign(graph.size(), -1);
  rules.priority.resize(graph.size());
  for (std::size_t op = 0; op < graph.size(); ++op) {
    const pipeline::OpLabel& label = graph.labels[op];
    const std::int64_t pipeline_index = lowering.pipeline_of(label).value;
    const auto pipelines = static_cast<std::int64_t>(lowering.pipelines.size());
    const std::int64_t group = pipeline::traits_of(label.kind).rank * pipelines + pipeline_index;
    rules.priority[op] = (group << 32) + label.microbatch.value;
  }
  return rules;
}

void add_in_flight_gates(DispatchRules& rules, const pipeline::Lowering& lowering,
                         const std::vector<std::int32_t>& limit, bool returned_by_weight_gradient) {
  const auto first_gate = static_cast<std::int32_t>(rules.limit.size());
  rules.limit.insert(rules.limit.end(), limit.begin(), limit.end());
  for (std::size_t stage = 0; stage < lowering.microbatch_begin.size(); ++stage) {
    const auto begin = static_cast<std::size_t>(lowering.microbatch_begin[stage]);
    const std::size_t end = stage + 1 < lowering.microbatch_begin.size()
                                ? static_cast<std::size_t>(lowering.microbatch_begin[stage + 1])
                                : lowering.microbatch_ops.size();
    const std::int32_t gate = first_gate + static_cast<std::int32_t>(stage);
    for (std::size_t index = begin; index < end; ++index) {
      const pipeline::MicrobatchOps& ops = lowering.microbatch_ops[index];
      rules.takes[ops.forward.index()] = gate;
      rules.returns[(returned_by_weight_gradient ? ops.weight_gradient : ops.backward).index()] = gate;
    }
  }
}

}  // namespace dovetail::fuse
