#include "fuse/constructions/serial.h"

#include <utility>

#include "fuse/constructions/dispatch.h"

namespace dovetail::fuse {
namespace {

using pipeline::ModelId;
using pipeline::OpGraph;
using pipeline::OpId;
using pipeline::Order;
using pipeline::PipelineId;
using pipeline::Precedence;
using pipeline::StageId;
using pipeline::Ticks;

/// Barriers join every last op to every first one; more of them than this would not fit into memory.
constexpr std::size_t max_barriers = 1 << 24;

/// The ops of `sequences` at one of their ends that have no arcs on that side: whatever is in the sequences lies behind
/// (or before) one.
std::vector<OpId> loose_ends(const OpGraph& graph, const std::vector<std::vector<OpId>>& sequences, bool last) {
  std::vector<OpId> ends;
  for (const auto& sequence : sequences) {
    if (sequence.empty()) continue;
    const OpId op = last ? sequence.back() : sequence.front();
    if ((last ? graph.successors(op) : graph.predecessors(op)).empty()) ends.push_back(op);
  }
  return ends;
}

/// Appends the sequences of the next model behind a barrier. False where the barrier would be too large.
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
      "its stage orders wait for each other, or too many replicas wait for the model before theirs";
  if (!order) return NotApplicable{std::string(no_order)};
  auto evaluation = pipeline::evaluate(lowering.graph, *order);
  if (!evaluation.ok()) return NotApplicable{std::string(no_order)};
  Solution solution{problem, {}, std::move(lowering.graph), std::move(*order), std::move(evaluation).value(), {}, {}};
  solution.solver.name = name;
  return solution;
}

}  // namespace dovetail::fuse
