#include "trainers/areal/writing.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "trainers/areal/engines.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

using llm::Layout;
using llm::Recomputation;

/// "d4t2": the degrees of an engine that are more than 1, data in any case.
std::string degrees_of(const Layout& layout, bool with_experts) {
  std::string text = fmt::format("d{}", layout.data);
  const auto add = [&text](char letter, int degree) {
    if (degree > 1) text += fmt::format("{}{}", letter, degree);
  };
  add('p', layout.pipeline);
  add('t', layout.tensor);
  add('c', layout.context);
  if (with_experts) add('e', layout.expert);
  return text;
}

/// The degrees of an engine; experts with tensor parallelism of their own have a part of their own.
std::string allocation_of(const Layout& layout) {
  if (layout.expert_tensor == 1) return degrees_of(layout, true);
  const int copy = layout.expert * layout.expert_tensor * layout.pipeline;
  const Layout experts{.data = layout.devices() / copy,
                       .tensor = layout.expert_tensor,
                       .pipeline = layout.pipeline,
                       .expert = layout.expert,
                       .stage_layers = {}};
  return fmt::format("(attn:{}|ffn:{})", degrees_of(layout, false), degrees_of(experts, true));
}

/// The string of an engine of its own: "fsdp[actor]:d4".
std::string backend_text(const ArealAllocation& said, const Layout& layout) {
  return fmt::format("{}{}:{}", said.backend, said.name.empty() ? "" : "[" + said.name + "]", allocation_of(layout));
}

/// The string for all engines, with what the base's has: a dot for the colon, and no backend of training where AReaL
/// would choose it.
std::string mode_text(const std::string& said, const ArealAllocation& rollout, const Layout& generated,
                      const ArealAllocation& actor, const Layout& trained) {
  const char* const sign = said.find(':') == std::string::npos ? "." : ":";
  const std::string chosen =
      trained.pipeline > 1 || trained.expert > 1 || trained.expert_tensor > 1 ? "megatron" : "fsdp";
  const bool names_it = said.find(actor.backend) != std::string::npos || chosen != actor.backend;
  return fmt::format("{}{}{}{}{}{}", rollout.backend, sign, degrees_of(generated, false),
                     said.find('|') != std::string::npos && said.find("ffn") == std::string::npos ? "|" : "+",
                     names_it ? actor.backend + sign : "", allocation_of(trained));
}

/// Collects what is set of a role that trains or passes.
class ArealChanges {
 public:
  ArealChanges(const ArealEngine& engine, ChangeList& changes) : engine_(engine), changes_(changes) {}

  void add_layout(const Layout& layout) {
    const std::string& backend = engine_.allocation.backend;
    const bool recomputes = layout.recomputation != Recomputation::none;
    set("gradient_checkpointing", yaml_flag(recomputes));
    if (backend == "archon") {
      if (recomputes) set("archon.ac_mode", std::string(base::enum_name(layout.recomputation)));
      if (layout.pipeline > 1) set("archon.pp_schedule", layout.virtual_stages > 1 ? "Interleaved1F1B" : "1F1B");
    }
    if (backend != "megatron") return;
    set("megatron.ddp.use_distributed_optimizer", yaml_flag(layout.zero > 0));
    set("megatron.virtual_pipeline_parallel_size", std::to_string(layout.virtual_stages));
    // Megatron-LM stops at a method or a number of layers beside selective recomputation, and without them beside full.
    const bool full = layout.recomputation == Recomputation::full;
    if (recomputes)
      set("megatron.recompute_granularity", megatron_granularity(layout.recomputation),
          {{engine_.role + ".megatron.recompute_method", full ? "uniform" : "null"},
           {engine_.role + ".megatron.recompute_num_layers", full ? "1" : "null"}});
    if (const auto modules = megatron_modules(layout.recomputation)) set("megatron.recompute_modules", *modules);
  }

  void add_micro_batches(const plan::MicroBatching& cut) {
    set("mb_spec.max_tokens_per_mb", cut.tokens > 0 ? number_text(cut.tokens) : "null");
    if (cut.tokens <= 0) set("mb_spec.n_mbs", std::to_string(std::max(cut.count, 1)));
  }

  void add_offload(const plan::Offload& offload) {
    const std::string& backend = engine_.allocation.backend;
    if (backend == "megatron") return;
    set(backend + ".offload_params", yaml_flag(offload.optimizer_on_host));
    if (backend == "fsdp" && !offload.optimizer_on_host) set("fsdp.per_layer_optim_step", "false");
  }

  void add_leaving(bool leaves) {
    std::vector<Setter> with;
    if (leaves) with = {{"enable_offload", "true"}};
    set("offload", yaml_flag(leaves), std::move(with));
  }

 private:
  void set(std::string_view name, std::string value, std::vector<Setter> with = {}) {
    changes_.set(key_below(engine_.role, name), std::move(value), std::move(with));
  }

  const ArealEngine& engine_;
  ChangeList& changes_;
};

void add_engine(const plan::Job& job, const ArealEngine& rollout, const plan::TaskPlan& planned, ChangeList& changes) {
  const plan::Engine& engine = planned.engine;
  const bool sglang = rollout.allocation.backend == "sglang";
  const auto set = [&](std::string_view name, std::string value, std::vector<Setter> with = {}) {
    changes.set(key_below(sglang ? "sglang" : "vllm", name), std::move(value), std::move(with));
  };
  set(sglang ? "mem_fraction_static" : "gpu_memory_utilization", number_text(engine.memory_utilization));
  set(sglang ? "disable_cuda_graph" : "enforce_eager", yaml_flag(!engine.cuda_graphs));
  if (sglang) {
    const std::string tokens = std::to_string(engine.max_num_batched_tokens);
    std::vector<Setter> with;
    if (!engine.chunked_prefill) with = {{"sglang.max_prefill_tokens", tokens}};
    set("chunked_prefill_size", engine.chunked_prefill ? tokens : "-1", std::move(with));
    if (planned.layout.expert > 1) set("ep_size", std::to_string(planned.layout.expert));
  } else {
    set("no_enable_chunked_prefill", yaml_flag(!engine.chunked_prefill));
  }
  set(sglang ? "max_running_requests" : "max_num_seqs", std::to_string(engine.max_num_seqs));
  // All engines together begin no more than that, where it is the smaller limit.
  const std::int64_t samples = job.workload.samples_per_prompt;
  changes.set("rollout.max_concurrent_rollouts", (engine.max_num_seqs * planned.layout.data + samples - 1) / samples);
}

/// The strings of all engines, which decide their GPUs together.
void add_allocations(const std::vector<ArealEngine>& engines, const std::vector<const plan::TaskPlan*>& planned,
                     const syntax::SettingTree& settings, ChangeList& changes) {
  const ArealEngine& rollout = areal_engine_of(engines, "rollout");
  const auto layout_of = [&](const ArealEngine& engine) -> const Layout& {
    return planned[static_cast<std::size_t>(&engine - engines.data())]->layout;
  };
  if (rollout.key == "allocation_mode") {
    const ArealEngine& actor = areal_engine_of(engines, "actor");
    const syntax::Setting* const said = find_setting(settings.root, rollout.key);
    changes.set(rollout.key, mode_text(said == nullptr ? "" : said->text, rollout.allocation, layout_of(rollout),
                                       actor.allocation, layout_of(actor)));
    return;
  }
  for (const ArealEngine& engine : engines) changes.set(engine.key, backend_text(engine.allocation, layout_of(engine)));
}

std::vector<Change> areal_changes(const plan::Job& job, const plan::Plan& plan, const syntax::SettingTree& settings) {
  ImportedRun run;
  run.reference = find_planned(job, plan, "reference_infer") != nullptr;
  const auto engines = areal_engines(settings, run);
  if (!engines.ok()) return {};
  ChangeList changes;
  std::vector<const plan::TaskPlan*> planned;
  for (const ArealEngine& engine : *engines) {
    const std::string task = engine.role == "rollout" ? "actor_generate"
                             : engine.role == "ref"   ? "reference_infer"
                                                      : engine.role + "_train";
    planned.push_back(find_planned(job, plan, task));
    if (planned.back() == nullptr) return {};
  }
  add_allocations(*engines, planned, settings, changes);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const ArealEngine& engine = (*engines)[i];
    if (engine.role == "rollout") {
      add_engine(job, engine, *planned[i], changes);
      continue;
    }
    ArealChanges of_role(engine, changes);
    if (engine.role != "ref") {
      of_role.add_layout(planned[i]->layout);
      of_role.add_offload(planned[i]->offload);
    }
    of_role.add_micro_batches(planned[i]->micro_batching);
    if (engine.role != "actor" || !areal_is_colocated(*engines)) of_role.add_leaving(planned[i]->offload.weights);
  }
  return std::move(changes.all);
}

}  // namespace

const TrainerWriter areal_writer{
    .name = "areal", .changes_of = areal_changes, .ways_of = areal_ways, .patches = true, .whole = areal_whole};

}  // namespace dovetail::trainers
