#include "fuse/search/search_order.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <utility>

namespace dovetail::fuse {
namespace {

using pipeline::Lowering;
using pipeline::MicrobatchId;
using pipeline::MicrobatchOps;
using pipeline::OpId;
using pipeline::OpKind;
using pipeline::OpLabel;

/// [kind] how many such ops have run on a pipeline stage.
using Done = std::array<std::int32_t, pipeline::op_kinds>;

std::int32_t& count_of(Done& done, OpKind kind) { return done[static_cast<std::size_t>(kind)]; }
std::int32_t count_of(const Done& done, OpKind kind) { return done[static_cast<std::size_t>(kind)]; }

/// Appends what stands for `label` in the lowering: its next like op, or its next I and W.
void append(std::vector<OpId>& sequence, const Lowering& lowering, OpLabel label, Done& done) {
  const MicrobatchOps& ops = lowering.ops(lowering.pipeline_of(label), label.stage, MicrobatchId(0));
  const bool split = ops.weight_gradient != ops.backward;
  const auto append_next = [&](OpKind kind) {
    label.kind = kind;
    label.microbatch = MicrobatchId(count_of(done, kind)++);
    sequence.push_back(lowering.find(label));
  };
  if (!split || pipeline::traits_of(label.kind).backward != pipeline::BackwardPart::whole)
    return append_next(label.kind);
  for (const pipeline::OpTraits& traits : pipeline::op_table)
    if (traits.backward == pipeline::BackwardPart::half) append_next(traits.kind);
}

/// Where a part's mini-batch ended without steps, as a step of no time does in a problem of one mini-batch: puts them
/// behind it.
void append_missing_steps(pipeline::Order& order, const Lowering& lowering, const std::vector<Done>& before,
                          std::vector<Done>& done) {
  for (std::size_t stage = 0; stage < lowering.steps.size(); ++stage) {
    const auto ran = [&](OpKind kind) { return count_of(done[stage], kind) > count_of(before[stage], kind); };
    if (lowering.steps[stage].empty() || !ran(OpKind::F) || ran(OpKind::S)) continue;
    const OpId step = lowering.steps[stage][static_cast<std::size_t>(count_of(done[stage], OpKind::S)++)];
    order.devices[lowering.graph.device[step.index()].index()].push_back(step);
  }
}

}  // namespace

pipeline::Order search_order(const Lowering& lowering, const std::vector<SearchOrderPart>& parts) {
  std::vector<Done> done(lowering.microbatch_begin.size());
  pipeline::Order order;
  order.devices.resize(static_cast<std::size_t>(lowering.graph.devices));
  for (const SearchOrderPart& part : parts) {
    const std::vector<Done> before = done;
    for (std::size_t device = 0; device < order.devices.size(); ++device) {
      for (const OpId op : part.solution->order.devices[device]) {
        OpLabel label = part.solution->graph.labels[op.index()];
        label.model = pipeline::ModelId(part.models[label.model.index()]);
        const auto stage = lowering.pipeline_stage(lowering.pipeline_of(label), label.stage);
        append(order.devices[device], lowering, label, done[static_cast<std::size_t>(stage)]);
      }
    }
    append_missing_steps(order, lowering, before, done);
  }
  return order;
}

pipeline::Order search_order(const Lowering& lowering, const Solution& solution) {
  std::vector<std::int32_t> models(solution.problem.models.size());
  std::iota(models.begin(), models.end(), 0);
  return search_order(lowering, {{&solution, std::move(models)}});
}

}  // namespace dovetail::fuse
