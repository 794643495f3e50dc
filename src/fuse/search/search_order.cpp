#include "fuse/search/search_order.h"

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

/// How many ops of each kind have run on a pipeline stage.
struct Done {
  int forward = 0;
  int backward = 0;
  int weight_gradient = 0;
  int step = 0;
};

/// Appends what stands for `label` in the lowering: its next like op, or its next I and W.
void append(std::vector<OpId>& sequence, const Lowering& lowering, const OpLabel& label, Done& done) {
  const pipeline::PipelineId pipeline = lowering.pipeline_of(label);
  const auto ops = [&](int microbatch) -> const MicrobatchOps& { return lowering.ops(pipeline, label.stage, MicrobatchId(microbatch)); };
  if (label.kind == OpKind::S) {
    const auto stage = static_cast<std::size_t>(lowering.pipeline_stage(pipeline, label.stage));
    sequence.push_back(lowering.steps[stage][static_cast<std::size_t>(done.step++)]);
  } else if (label.kind == OpKind::F) {
    sequence.push_back(ops(done.forward++).forward);
  } else if (label.kind == OpKind::W) {
    sequence.push_back(ops(done.weight_gradient++).weight_gradient);
  } else {
    sequence.push_back(ops(done.backward++).backward);
    const bool split = ops(0).weight_gradient != ops(0).backward;
    if (label.kind == OpKind::B && split) sequence.push_back(ops(done.weight_gradient++).weight_gradient);
  }
}

/// Where a part's mini-batch ended without steps, as a step of no time does in a problem of one mini-batch: puts them behind it.
void append_missing_steps(pipeline::Order& order, const Lowering& lowering, const std::vector<Done>& before, std::vector<Done>& done) {
  for (std::size_t stage = 0; stage < lowering.steps.size(); ++stage) {
    const bool ended = done[stage].forward > before[stage].forward && done[stage].step == before[stage].step;
    if (lowering.steps[stage].empty() || !ended) continue;
    const OpId step = lowering.steps[stage][static_cast<std::size_t>(done[stage].step++)];
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
