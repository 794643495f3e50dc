#include "fuse/search_order.h"

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

}  // namespace

pipeline::Order search_order(const Lowering& lowering, const Solution& solution) {
  std::vector<Done> done(lowering.microbatch_begin.size());
  pipeline::Order order;
  for (const auto& device : solution.order.devices) {
    std::vector<OpId>& sequence = order.devices.emplace_back();
    sequence.reserve(device.size());
    for (const OpId op : device) {
      const OpLabel& label = solution.graph.labels[op.index()];
      append(sequence, lowering, label, done[static_cast<std::size_t>(lowering.pipeline_stage(lowering.pipeline_of(label), label.stage))]);
    }
  }
  return order;
}

}  // namespace dovetail::fuse
