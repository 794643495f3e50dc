#include "fuse/constructions/building_blocks.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace dovetail::fuse {
namespace {

using pipeline::Arc;
using pipeline::DeviceId;
using pipeline::ModelId;
using pipeline::OpGraph;
using pipeline::OpId;
using pipeline::Order;
using pipeline::PipelineId;
using pipeline::Precedence;
using pipeline::StageId;
using pipeline::Ticks;

template <class T>
using MinFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;

enum class EventKind : std::uint8_t { end, ready };

/// Ends precede arrivals at the same time, so that gates are open and devices free when an op is chosen.
struct BlockEvent {
  Ticks time;
  EventKind kind;
  OpId op;

  friend auto operator<=>(const BlockEvent&, const BlockEvent&) = default;
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
        const BlockEvent event = events_.top();
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

  /// Lets one op parked at the gate try again after a slot has opened. The others could not pass.
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
  std::vector<std::int32_t> open_;            // [gate] free slots
  std::vector<MinFirst<Choice>> parked_;      // [gate] ready ops that wait for a slot
  std::vector<MinFirst<Choice>> ready_;       // [device]
  std::vector<bool> busy_;                    // [device]
  std::vector<std::vector<OpId>> sequences_;  // [device]
  MinFirst<BlockEvent> events_;
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

namespace {

/// Maximum number of pairs in a barrier, which joins every last op to every first one. More would not fit in memory.
constexpr std::size_t max_barriers = 1 << 24;

/// Returns the ops at one end of `sequences` that have no arcs on that side. Every other op comes after (or before) one
/// of them.
std::vector<OpId> loose_ends(const OpGraph& graph, const std::vector<std::vector<OpId>>& sequences, bool last) {
  std::vector<OpId> ends;
  for (const auto& sequence : sequences) {
    if (sequence.empty()) continue;
    const OpId op = last ? sequence.back() : sequence.front();
    if ((last ? graph.successors(op) : graph.predecessors(op)).empty()) ends.push_back(op);
  }
  return ends;
}

/// Appends the sequences of the next model after a barrier. Returns false if the barrier would be too large.
bool append_model(Order& order, const OpGraph& graph, const std::vector<std::vector<OpId>>& before,
                  const std::vector<std::vector<OpId>>& next) {
  const std::vector<OpId> last = loose_ends(graph, before, true);
  const std::vector<OpId> first = loose_ends(graph, next, false);
  if (last.size() * first.size() > max_barriers) return false;
  for (const OpId from : last)
    for (const OpId to : first) order.barriers.push_back({from, to, Ticks(0)});
  for (std::size_t device = 0; device < next.size(); ++device)
    order.devices[device].insert(order.devices[device].end(), next[device].begin(), next[device].end());
  return true;
}

}  // namespace

std::optional<Order> run_models_in_turn(const pipeline::Problem& problem, const pipeline::Lowering& lowering,
                                        const ChainsOf& chains_of) {
  std::vector<Precedence> links;
  for (std::size_t pipeline = 0; pipeline < lowering.pipelines.size(); ++pipeline)
    for (const OpChain& chain : chains_of(lowering, PipelineId(pipeline)))
      for (std::size_t next = 1; next < chain.size(); ++next) links.push_back({chain[next - 1], chain[next], Ticks(0)});
  const OpGraph chained = pipeline::with_predecessors(lowering.graph, links);
  const DispatchRules rules = backward_first_rules(lowering);
  Order order;
  order.devices.resize(static_cast<std::size_t>(problem.devices));
  std::vector<std::vector<OpId>> before;
  for (std::size_t model = 0; model < problem.models.size(); ++model) {
    auto sequences = dispatch(chained, rules, ModelId(model));
    if (!sequences || !append_model(order, lowering.graph, before, *sequences)) return std::nullopt;
    before = std::move(*sequences);
  }
  return order;
}

std::vector<OpChain> chains_by_stage(const pipeline::Problem& problem, const pipeline::Lowering& lowering,
                                     PipelineId pipeline, const AppendMinibatch& append_minibatch) {
  const pipeline::Model& model = problem.models[lowering.pipelines[pipeline.index()].model.index()];
  std::vector<OpChain> chains;
  for (int stage = 0; stage < model.stages(); ++stage) {
    OpChain& chain = chains.emplace_back();
    for (int minibatch = 0; minibatch < model.minibatches; ++minibatch) {
      append_minibatch(chain, lowering, pipeline, StageId(stage), minibatch * model.microbatches, model.microbatches);
      append_step(chain, lowering, pipeline, StageId(stage), minibatch);
    }
  }
  return chains;
}

void append_step(OpChain& chain, const pipeline::Lowering& lowering, PipelineId pipeline, StageId stage,
                 int minibatch) {
  const auto& steps = lowering.steps[static_cast<std::size_t>(lowering.pipeline_stage(pipeline, stage))];
  if (!steps.empty()) chain.push_back(steps[static_cast<std::size_t>(minibatch)]);
}

Answer construction_answer(std::string_view name, const pipeline::Problem& problem, pipeline::Lowering lowering,
                           std::optional<Order> order) {
  constexpr std::string_view no_order =
      "the solver's stage orders deadlock, or too many replicas wait for the previous model";
  if (!order) return NotApplicable{std::string(no_order)};
  auto evaluation = pipeline::evaluate(lowering.graph, *order);
  if (!evaluation.ok()) return NotApplicable{std::string(no_order)};
  Solution solution{problem, {}, std::move(lowering.graph), std::move(*order), std::move(evaluation).value(), {}, {}};
  solution.solver.name = name;
  return solution;
}

}  // namespace dovetail::fuse
