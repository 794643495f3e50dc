#include "pipeline/program/rank_schedule.h"

#include <cstddef>
#include <vector>

#include "base/assert.h"
#include "pipeline/program/rank_ops.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::pipeline {
namespace {

/// Between merged stages nothing travels.
std::vector<Ticks> transfers_of(const std::vector<Ticks>& transfers, std::size_t parts) {
  std::vector<Ticks> all;
  for (const Ticks transfer : transfers) {
    all.insert(all.end(), parts - 1, Ticks());
    all.push_back(transfer);
  }
  all.insert(all.end(), parts - 1, Ticks());
  return all;
}

/// `model` in the stages of its ranks, without times of ops.
Model stages_of_ranks(const Model& model, const ModelPlacement& placement) {
  const auto parts = static_cast<std::size_t>(placement.parts);
  DOVETAIL_ASSERT(parts == 1 || !model.split());
  Model own = model;
  own.replicas.clear();
  for (const auto& stages : placement.ranks) {
    auto& devices = own.replicas.emplace_back();
    for (const std::vector<int>& ranks : stages) {
      DOVETAIL_ASSERT(ranks.size() == 1);
      devices.emplace_back(ranks.front());
    }
  }
  const auto divided = [&](const auto& values) {
    auto all = values;
    all.clear();
    for (const auto& value : values) all.insert(all.end(), parts, value);
    return all;
  };
  for_each_duration(own, [&](std::vector<Ticks>& times, const OpTraits&) { times = divided(times); });
  own.activation = divided(model.activation);
  own.weight_activation = divided(model.weight_activation);
  own.transfer_forward = transfers_of(model.transfer_forward, parts);
  own.transfer_backward = transfers_of(model.transfer_backward, parts);
  return own;
}

/// Gives each stage the times that its ops have on ranks.
void take_durations(const std::vector<ScheduledOp>& ops, std::vector<Model>& models) {
  for (const ScheduledOp& op : ops) {
    Model& model = models[op.label.model.index()];
    const OpTraits& traits = traits_of(op.label.kind);
    if (traits.backward == BackwardPart::whole && model.split()) continue;
    (model.*traits.duration)[op.label.stage.index()] = op.end - op.start;
  }
}

}  // namespace

Schedule schedule_of_ranks(const Schedule& schedule, const Placement& placement) {
  Schedule own;
  own.problem.time_unit = schedule.problem.time_unit;
  own.problem.devices = placement.ranks;
  own.problem.resident.assign(static_cast<std::size_t>(placement.ranks), Memory());
  for (std::size_t m = 0; m < placement.models.size(); ++m)
    own.problem.models.push_back(stages_of_ranks(schedule.problem.models[m], placement.models[m]));
  for (const RankWork& rank : work_of_ranks(schedule, placement)) {
    std::vector<ScheduledOp>& ops = own.devices.emplace_back();
    for (const RankOp& op : rank.ops) ops.push_back({op.label, op.start, op.end});
    take_durations(ops, own.problem.models);
  }
  const LoweredSchedule lowered = evaluate(own);
  return to_schedule(own.problem, lowered.lowering.graph, lowered.evaluation);
}

}  // namespace dovetail::pipeline
