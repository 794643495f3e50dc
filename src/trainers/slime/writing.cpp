#include "trainers/slime/writing.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "trainers/slime/flags.h"

namespace dovetail::trainers {
namespace {

using llm::Recomputation;

/// `--x` or `--no-x`.
void choose(ChangeList& changes, std::string_view name, bool on) {
  changes.turn(fmt::format("--{}{}", on ? "" : "no-", name), true);
}

/// A pool that is more than a node is of whole ones.
void add_pools(const plan::Job& job, const plan::TaskPlan& trained, const plan::TaskPlan& generated,
               ChangeList& changes) {
  const int count = trained.mesh.count;
  const int node = job.cluster.groups.front().devices_per_node;
  const int nodes = count > node && count % node == 0 ? count / node : 1;
  changes.set("--actor-num-gpus-per-node", count / nodes, {{"--actor-num-nodes", fmt::format("{}", nodes)}});
  changes.set("--rollout-num-gpus", generated.mesh.count);
}

void add_engines(const plan::TaskPlan& planned, bool has_experts, ChangeList& changes) {
  const llm::Layout& layout = planned.layout;
  const plan::Engine& engine = planned.engine;
  const int stage = has_experts ? std::max(layout.tensor, layout.expert * layout.expert_tensor) : layout.tensor;
  const int ranks = std::max(stage / std::max(layout.tensor, 1), 1);
  changes.set("--rollout-num-gpus-per-engine", stage * layout.pipeline);
  changes.set("--sglang-pp-size", layout.pipeline);
  if (has_experts) {
    std::vector<Setter> with;
    if (ranks > 1) with = {{"--sglang-enable-dp-attention", ""}};
    changes.set("--sglang-dp-size", ranks, std::move(with));
    changes.set("--sglang-ep-size", layout.expert);
  }
  changes.set("--sglang-mem-fraction-static", number_text(engine.memory_utilization));
  const std::int64_t sequences = engine.max_num_seqs * ranks;
  changes.set("--sglang-max-running-requests", sequences);
  // It limits an engine, too, and holds where it is the smaller one.
  changes.set("--sglang-server-concurrency", sequences);
  changes.set("--sglang-chunked-prefill-size", engine.chunked_prefill ? engine.max_num_batched_tokens : -1);
  changes.turn("--sglang-disable-cuda-graph", !engine.cuda_graphs);
}

void add_layout(const llm::Layout& layout, bool has_experts, ChangeList& changes) {
  changes.set("--tensor-model-parallel-size", layout.tensor);
  changes.turn("--sequence-parallel", layout.sequence_parallel);
  changes.set("--pipeline-model-parallel-size", layout.pipeline);
  changes.set("--context-parallel-size", layout.context);
  if (has_experts) {
    changes.set("--expert-model-parallel-size", layout.expert);
    changes.set("--expert-tensor-parallel-size", layout.expert_tensor);
  }
  changes.remove("--num-layers-per-virtual-pipeline-stage");
  if (layout.virtual_stages > 1)
    changes.set("--num-virtual-stages-per-pipeline-rank", layout.virtual_stages);
  else
    changes.remove("--num-virtual-stages-per-pipeline-rank");
  if (layout.stage_layers.size() > 1) {
    changes.set("--decoder-first-pipeline-num-layers", layout.stage_layers.front());
    changes.set("--decoder-last-pipeline-num-layers", layout.stage_layers.back());
  } else {
    changes.remove("--decoder-first-pipeline-num-layers");
    changes.remove("--decoder-last-pipeline-num-layers");
  }
}

void add_recomputation(Recomputation recomputation, ChangeList& changes) {
  changes.remove("--recompute-activations");
  if (recomputation != Recomputation::experts) changes.remove("--moe-layer-recompute");
  if (recomputation == Recomputation::full) {
    changes.set("--recompute-granularity", "full",
                {{"--recompute-method", "uniform"}, {"--recompute-num-layers", "1"}});
    return;
  }
  if (recomputation == Recomputation::selective || recomputation == Recomputation::experts)
    changes.set("--recompute-granularity", "selective");
  else
    changes.remove("--recompute-granularity");
  if (recomputation == Recomputation::selective) changes.remove("--recompute-modules");
  if (recomputation == Recomputation::experts) changes.set("--recompute-modules", "moe");
  changes.remove("--recompute-method");
  changes.remove("--recompute-num-layers");
}

void add_micro_batches(const plan::TaskPlan& planned, ChangeList& changes) {
  const plan::MicroBatching& cut = planned.micro_batching;
  const bool dynamic = cut.tokens > 0;
  changes.turn("--use-dynamic-batch-size", dynamic);
  if (dynamic) {
    changes.set("--max-tokens-per-gpu", number_text(cut.tokens / planned.layout.context));
  } else {
    changes.set("--micro-batch-size", number_text(cut.sequences));
    changes.remove("--balance-by-flops");
  }
}

void add_offload(const plan::TaskPlan& trained, const plan::TaskPlan& generated, double host_share,
                 ChangeList& changes) {
  changes.remove("--offload");
  choose(changes, "offload-train", trained.offload.gradients);
  choose(changes, "offload-rollout", generated.offload.weights);
  std::vector<Setter> with;
  if (trained.offload.optimizer_on_host)
    with = {{"--use-precision-aware-optimizer", ""}, {"--optimizer-offload-fraction", number_text(host_share)}};
  changes.turn("--optimizer-cpu-offload", trained.offload.optimizer_on_host, std::move(with));
}

std::vector<Change> slime_changes(const plan::Job& job, const plan::Plan& plan, const syntax::SettingTree& settings) {
  ChangeList changes;
  const auto* const trained = find_planned(job, plan, "actor_train");
  const auto* const generated = find_planned(job, plan, "actor_generate");
  if (trained == nullptr || generated == nullptr) return {};
  const bool has_experts = plan::model_of(job, *workflow::find_task(job.workflow, "actor_train")).experts.has_value();
  add_pools(job, *trained, *generated, changes);
  // Where nobody says it, it follows the layout.
  if (const syntax::Setting* const steps = find_setting(settings.root, "--num-steps-per-rollout");
      steps == nullptr || steps->kind == syntax::Setting::Kind::null)
    changes.set("--global-batch-size", job.workload.samples() / job.workload.mini_batches);
  add_engines(*generated, has_experts, changes);
  add_layout(trained->layout, has_experts, changes);
  add_recomputation(trained->layout.recomputation, changes);
  add_micro_batches(*trained, changes);
  add_offload(*trained, *generated, job.software.optimizer_host_share, changes);
  return std::move(changes.all);
}

}  // namespace

const TrainerWriter slime_writer{
    .name = "slime", .changes_of = slime_changes, .ways_of = slime_ways, .flags = slime_flags, .whole = slime_whole};

}  // namespace dovetail::trainers
