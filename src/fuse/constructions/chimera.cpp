// Chimera: two equal pipelines in opposite directions.
#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "fuse/constructions/building_blocks.h"
#include "fuse/constructions/constructions.h"

namespace dovetail::fuse {
namespace {

using pipeline::BackwardForm;
using pipeline::Lowering;
using pipeline::MicrobatchId;
using pipeline::Model;
using pipeline::OpId;
using pipeline::PipelineId;
using pipeline::Problem;
using pipeline::StageId;

/// Whether two models are equal apart from name and devices.
bool same_costs(Model a, const Model& b) {
  a.name = b.name;
  a.replicas = b.replicas;
  return a == b;
}

std::optional<std::string> why_not_chimera(const Problem& problem) {
  if (auto other = pipeline::find_other_ops(problem, pipeline::problem_solver_kinds)) return other;
  const auto pipelines = pipeline::pipelines_of(problem);
  if (pipelines.size() != 2) return fmt::format("the solver needs exactly two pipelines, got {}", pipelines.size());
  const Model& down = problem.models[pipelines[0].model.index()];
  const Model& up = problem.models[pipelines[1].model.index()];
  if (!same_costs(down, up)) return "the two pipelines differ in more than their names and devices";
  if (down.stages() % 2 != 0) return fmt::format("a pipeline needs an even number of stages, got {}", down.stages());
  auto mirrored = up.replicas[pipelines[1].replica.index()];
  std::reverse(mirrored.begin(), mirrored.end());
  if (down.replicas[pipelines[0].replica.index()] != mirrored)
    return "the second pipeline does not visit the devices of the first one in reverse order";
  if (!pipeline::on_distinct_devices(mirrored)) return "a device has several stages of the same pipeline";
  return std::nullopt;
}

/// The slot of an op in Chimera's diagram, in which every op takes one slot, and the op.
using Slot = std::pair<int, OpId>;

/// Appends the slots of one mini-batch of one pipeline. A micro-batch enters every second slot and moves one stage per
/// slot, forward and back. A block has half as many micro-batches as there are stages. The next block starts when the
/// first micro-batch of this one has left.
void append_slots(std::vector<std::vector<Slot>>& devices, const Lowering& lowering, PipelineId pipeline, int stages,
                  int first, int microbatches) {
  const int block = stages / 2;
  for (int m = 0; m < microbatches; ++m) {
    const int enter = m / block * 2 * stages + m % block * 2;
    for (int stage = 0; stage < stages; ++stage) {
      const auto& ops = lowering.ops(pipeline, StageId(stage), MicrobatchId(first + m));
      auto& slots = devices[lowering.graph.device[ops.forward.index()].index()];
      slots.emplace_back(enter + stage, ops.forward);
      slots.emplace_back(enter + 2 * stages - 1 - stage, ops.backward);
    }
  }
}

pipeline::Order merge_pipelines(const Problem& problem, const Lowering& lowering, const Model& model) {
  pipeline::Order order;
  order.devices.resize(static_cast<std::size_t>(problem.devices));
  for (int minibatch = 0; minibatch < model.minibatches; ++minibatch) {
    std::vector<std::vector<Slot>> devices(order.devices.size());
    for (const std::size_t pipeline : {std::size_t{0}, std::size_t{1}})
      append_slots(devices, lowering, PipelineId(pipeline), model.stages(), minibatch * model.microbatches,
                   model.microbatches);
    for (std::size_t device = 0; device < devices.size(); ++device) {
      std::sort(devices[device].begin(), devices[device].end());
      for (const auto& [slot, op] : devices[device]) order.devices[device].push_back(op);
    }
    for (const std::size_t pipeline : {std::size_t{0}, std::size_t{1}})
      for (int stage = 0; stage < model.stages(); ++stage) {
        OpChain step;
        append_step(step, lowering, PipelineId(pipeline), StageId(stage), minibatch);
        for (const OpId op : step) order.devices[lowering.graph.device[op.index()].index()].push_back(op);
      }
  }
  return order;
}

}  // namespace

Answer solve_chimera(const Problem& problem, const SolveOptions&) {
  if (const auto why = why_not_chimera(problem)) return NotApplicable{*why};
  Lowering lowering = pipeline::lower(problem, BackwardForm::whole);
  pipeline::Order order = merge_pipelines(problem, lowering, problem.models.front());
  return construction_answer("chimera", problem, std::move(lowering), std::move(order));
}

}  // namespace dovetail::fuse
