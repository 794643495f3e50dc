// GPipe, 1F1B in its forms, and one micro-batch at a time.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "fuse/constructions/constructions.h"
#include "fuse/constructions/dispatch.h"
#include "fuse/constructions/serial.h"

namespace dovetail::fuse {
namespace {

using pipeline::BackwardForm;
using pipeline::Lowering;
using pipeline::Memory;
using pipeline::MicrobatchId;
using pipeline::Model;
using pipeline::PipelineId;
using pipeline::Problem;
using pipeline::StageId;
using pipeline::Ticks;

int stages_of(const Lowering& lowering, PipelineId pipeline) {
  return lowering.stage_begin[pipeline.index() + 1] - lowering.stage_begin[pipeline.index()];
}

void append_gpipe(OpChain& chain, const Lowering& lowering, PipelineId pipeline, StageId stage, int first,
                  int microbatches) {
  for (int m = 0; m < microbatches; ++m)
    chain.push_back(lowering.ops(pipeline, stage, MicrobatchId(first + m)).forward);
  for (int m = 0; m < microbatches; ++m)
    chain.push_back(lowering.ops(pipeline, stage, MicrobatchId(first + m)).backward);
}

void append_1f1b(OpChain& chain, const Lowering& lowering, PipelineId pipeline, StageId stage, int first,
                 int microbatches) {
  const int ahead = std::min(microbatches, stages_of(lowering, pipeline) - 1 - stage.value);
  for (int m = 0; m < microbatches + ahead; ++m) {
    if (m < microbatches) chain.push_back(lowering.ops(pipeline, stage, MicrobatchId(first + m)).forward);
    if (m >= ahead) chain.push_back(lowering.ops(pipeline, stage, MicrobatchId(first + m - ahead)).backward);
  }
}

Answer solve_serial(std::string_view name, const Problem& problem, const AppendMinibatch& append_minibatch) {
  Lowering lowering = pipeline::lower(problem, BackwardForm::whole);
  auto order = run_models_in_turn(problem, lowering, [&](const Lowering& lowered, PipelineId pipeline) {
    return chains_by_stage(problem, lowered, pipeline, append_minibatch);
  });
  return construction_answer(name, problem, std::move(lowering), std::move(order));
}

/// One mini-batch of all replicas of a model, whose first pipeline is `first`: micro-batch by micro-batch, then the
/// steps.
void append_minibatch_one_at_a_time(const Lowering& lowering, const Model& model, PipelineId first, int minibatch,
                                    const std::function<void(pipeline::OpId)>& append) {
  for (std::size_t replica = 0; replica < model.replicas.size(); ++replica) {
    const PipelineId pipeline(first.index() + replica);
    for (int m = 0; m < model.microbatches; ++m) {
      const MicrobatchId microbatch(minibatch * model.microbatches + m);
      for (int s = 0; s < model.stages(); ++s) append(lowering.ops(pipeline, StageId(s), microbatch).forward);
      for (int s = model.stages() - 1; s >= 0; --s) {
        const pipeline::MicrobatchOps& ops = lowering.ops(pipeline, StageId(s), microbatch);
        for (std::size_t op = ops.forward.index() + 1; op <= ops.backward.index(); ++op) append(pipeline::OpId(op));
      }
    }
  }
  for (std::size_t replica = 0; replica < model.replicas.size(); ++replica)
    for (int s = 0; s < model.stages(); ++s) {
      OpChain step;
      append_step(step, lowering, PipelineId(first.index() + replica), StageId(s), minibatch);
      for (const pipeline::OpId op : step) append(op);
    }
}

/// One model with its stages merged in pairs: two pipelines, one on the first and one on the second device of each
/// pair.
Model halve_pipeline(const Model& model) {
  Model halved = model;
  halved.microbatches = model.microbatches / 2;
  const auto merge = [](auto& values) {
    for (std::size_t pair = 0; 2 * pair + 1 < values.size(); ++pair)
      values[pair] = values[2 * pair] + values[2 * pair + 1];
    values.resize(values.size() / 2);
  };
  pipeline::for_each_duration(halved, [&](std::vector<Ticks>& times, const auto&) { merge(times); });
  merge(halved.activation);
  merge(halved.weight_activation);
  const auto keep_outer = [](std::vector<Ticks>& transfers) {
    for (std::size_t boundary = 0; 2 * boundary + 1 < transfers.size(); ++boundary)
      transfers[boundary] = transfers[2 * boundary + 1];
    transfers.resize(transfers.size() / 2);
  };
  keep_outer(halved.transfer_forward);
  keep_outer(halved.transfer_backward);
  halved.replicas.clear();
  for (const auto& replica : model.replicas)
    for (const std::size_t copy : {std::size_t{0}, std::size_t{1}}) {
      auto& devices = halved.replicas.emplace_back();
      for (std::size_t pair = 0; 2 * pair < replica.size(); ++pair) devices.push_back(replica[2 * pair + copy]);
    }
  return halved;
}

/// Why a model cannot have its pipeline halved, if so.
std::optional<std::string> why_not_halved(const Model& model) {
  if (model.stages() % 2 != 0) return fmt::format("model {} has {} stages, an odd number", model.name, model.stages());
  if (model.microbatches % 2 != 0)
    return fmt::format("model {} has {} micro-batches, an odd number", model.name, model.microbatches);
  for (const auto& replica : model.replicas)
    if (!pipeline::on_distinct_devices(replica))
      return fmt::format("model {} has several stages on a device", model.name);
  return std::nullopt;
}

}  // namespace

Answer solve_gpipe(const Problem& problem, const SolveOptions&) { return solve_serial("gpipe", problem, append_gpipe); }

Answer solve_1f1b(const Problem& problem, const SolveOptions&) { return solve_serial("1f1b", problem, append_1f1b); }

Answer solve_one_at_a_time(const Problem& problem, const SolveOptions&) {
  Lowering lowering = pipeline::lower(problem, BackwardForm::whole);
  pipeline::Order order;
  order.devices.resize(static_cast<std::size_t>(problem.devices));
  const auto append = [&](pipeline::OpId op) {
    order.devices[lowering.graph.device[op.index()].index()].push_back(op);
  };
  for (std::size_t model = 0; model < problem.models.size(); ++model)
    for (int minibatch = 0; minibatch < problem.models[model].minibatches; ++minibatch)
      append_minibatch_one_at_a_time(lowering, problem.models[model], lowering.first_pipeline[model], minibatch,
                                     append);
  return construction_answer("one-at-a-time", problem, std::move(lowering), std::move(order));
}

Answer solve_fused_1f1b(const Problem& problem, const SolveOptions&) {
  Lowering lowering = pipeline::lower(problem, BackwardForm::whole);
  std::vector<std::int32_t> in_flight;
  for (const pipeline::Pipeline& pipeline : lowering.pipelines) {
    const Model& model = problem.models[pipeline.model.index()];
    for (int stage = 0; stage < model.stages(); ++stage)
      in_flight.push_back(std::min(model.microbatches, model.stages() - stage));
  }
  DispatchRules rules = backward_first_rules(lowering);
  add_in_flight_gates(rules, lowering, in_flight, false);
  auto sequences = dispatch(lowering.graph, rules);
  std::optional<pipeline::Order> order;
  if (sequences) order = pipeline::Order{std::move(*sequences), {}};
  return construction_answer("fused-1f1b", problem, std::move(lowering), std::move(order));
}

Answer solve_1f1b_plus(const Problem& problem, const SolveOptions& options) {
  Problem halved = problem;
  for (Model& model : halved.models) {
    if (const auto why = why_not_halved(model)) return NotApplicable{*why};
    model = halve_pipeline(model);
  }
  if (const auto fault = pipeline::find_fault(halved)) return NotApplicable{*fault};
  Answer answer = solve_1f1b(halved, options);
  if (auto* solution = std::get_if<Solution>(&answer)) {
    solution->solver.name = "1f1b+";
    solution->other_layout = "pipeline degrees halved, data parallelism doubled, half the micro-batches a pipeline";
  }
  return answer;
}

}  // namespace dovetail::fuse
