#include "answer/text/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/text/figures.h"
#include "answer/text/text.h"
#include "base/descriptor_file.h"
#include "cluster/mesh.h"

namespace dovetail::answer {
namespace {

using plan::TaskPlan;
using workflow::TaskKind;

std::string micro_batch_text(const plan::MicroBatching& batching) {
  if (batching.count > 0) return counted(batching.count, "micro-batch");
  if (batching.tokens > 0) return fmt::format("micro-batches of {:.0f} tokens", batching.tokens);
  return fmt::format("micro-batches of {:g} sequence{}", batching.sequences, batching.sequences == 1 ? "" : "s");
}

std::string engine_text(const plan::Engine& engine) {
  const std::string weights = base::description_of(engine, &plan::Engine::own_weights);
  const std::string memory = base::description_of(engine, &plan::Engine::memory_utilization);
  return fmt::format("{}, {}", engine.own_weights ? memory : weights,
                     base::description_of(engine, &plan::Engine::max_num_seqs));
}

std::vector<std::string> offloaded(plan::Offload offload) {
  if (offload.optimizer_on_host) offload.optimizer = false;  // implied by optimizer_on_host
  return base::changed_descriptions({}, offload);
}

std::string offload_text(const plan::Offload& offload) {
  const std::vector<std::string> names = offloaded(offload);
  return names.empty() ? "nothing offloaded" : fmt::format("{} offloaded", fmt::join(names, ", "));
}

std::string settings_text(const TaskPlan& planned, TaskKind kind) {
  std::string text =
      kind == TaskKind::generate ? engine_text(planned.engine) : micro_batch_text(planned.micro_batching);
  if (!offloaded(planned.offload).empty()) text += ", " + offload_text(planned.offload);
  return text;
}

/// "dp2 tp2 pp1 zero1, micro-batches of 4096 tokens, optimizer offloaded": a task's plan without its devices.
std::string layout_and_settings(const TaskPlan& planned, TaskKind kind) {
  return llm::to_text(planned.layout) + ", " + settings_text(planned, kind);
}

/// "0-7", "4-7 of node 3".
std::string devices_text(const plan::Job& job, const TaskPlan& planned) {
  return cluster::name_of(job.cluster, planned.mesh);
}

/// "micro-batches of 16384 tokens in place of 8192": names the unit once if both sides share it.
std::string micro_batch_change(const plan::MicroBatching& from, const plan::MicroBatching& to) {
  if (from.count > 0 || to.count > 0)
    return fmt::format("{} in place of {}", micro_batch_text(to), micro_batch_text(from));
  if (from.tokens > 0 && to.tokens > 0) return fmt::format("{} in place of {:.0f}", micro_batch_text(to), from.tokens);
  if (from.sequences > 0 && to.sequences > 0)
    return fmt::format("{} in place of {:g}", micro_batch_text(to), from.sequences);
  return fmt::format("{} in place of {}", micro_batch_text(to), micro_batch_text(from));
}

std::vector<std::string> engine_changes(const plan::Engine& from, const plan::Engine& to) {
  if (from.own_weights == to.own_weights) return base::changed_descriptions(from, to);
  std::vector<std::string> texts{fmt::format("{} in place of {}", engine_text(to), engine_text(from))};
  plan::Engine rest = from;
  rest.own_weights = to.own_weights;
  rest.memory_utilization = to.memory_utilization;
  for (std::string& text : base::changed_descriptions(rest, to)) texts.push_back(std::move(text));
  return texts;
}

/// "ZeRO stage 2 in place of 1" and all other differences except devices and parallel degrees.
std::vector<std::string> changed_settings(const TaskPlan& from, const TaskPlan& to, TaskKind kind, bool same_layout) {
  std::vector<std::string> texts;
  if (same_layout) texts = base::changed_descriptions(from.layout, to.layout);
  if (kind == TaskKind::generate)
    for (std::string& text : engine_changes(from.engine, to.engine)) texts.push_back(std::move(text));
  else if (from.micro_batching != to.micro_batching)
    texts.push_back(micro_batch_change(from.micro_batching, to.micro_batching));
  if (from.offload != to.offload)
    texts.push_back(fmt::format("{} in place of {}", offload_text(to.offload), offload_text(from.offload)));
  return texts;
}

/// " (shared with critic_train)" if another task runs on `mesh`; otherwise empty.
std::string where_text(const plan::Job& job, const plan::Plan& from, std::size_t task, const cluster::Mesh& mesh) {
  for (std::size_t other = 0; other < from.tasks.size(); ++other)
    if (other != task && job.workflow.role_of[other] && from.tasks[other].mesh == mesh)
      return fmt::format(" (shared with {})", job.workflow.tasks[other].name);
  return "";
}

std::string task_change(const plan::Job& job, std::size_t task, const plan::Plan& plan, const TaskPlan& to) {
  const TaskPlan& from = plan.tasks[task];
  const std::string& name = job.workflow.tasks[task].name;
  const TaskKind kind = job.workflow.tasks[task].kind;
  if (from.mesh != to.mesh)
    return fmt::format("{} on {}{} in place of {}: {}", name, devices_text(job, to),
                       where_text(job, plan, task, to.mesh), devices_text(job, from), layout_and_settings(to, kind));
  const bool same_layout = planner::kind_of(from, to) != planner::ChangeKind::layout;
  std::vector<std::string> texts = changed_settings(from, to, kind, same_layout);
  if (!same_layout)
    texts.insert(texts.begin(), fmt::format("{} in place of {}", llm::to_text(to.layout), llm::to_text(from.layout)));
  return fmt::format("{}: {}", name, fmt::join(texts, ", "));
}

std::string side_by_side(const plan::Job& job, const planner::Change& change) {
  const std::size_t a = change.tasks[0], b = change.tasks[1];
  const TaskPlan &of_a = change.plan.tasks[a], &of_b = change.plan.tasks[b];
  return fmt::format("{} on {} while {} is on {}: {}; {}", job.workflow.tasks[a].name, devices_text(job, of_a),
                     job.workflow.tasks[b].name, devices_text(job, of_b),
                     layout_and_settings(of_a, job.workflow.tasks[a].kind),
                     layout_and_settings(of_b, job.workflow.tasks[b].kind));
}

/// "fuse actor_train + critic_train", "actor_generate + critic_infer at a threshold of 20% in place of 60%".
std::string fusion_change(const plan::Job& job, const plan::Plan& from, const planner::Change& change) {
  std::vector<std::string> names;
  for (const std::size_t task : change.tasks) names.push_back(job.workflow.tasks[task].name);
  const std::string tasks = fmt::format("{}", fmt::join(names, " + "));
  const plan::Fusion& fusion = change.plan.fusion;
  const auto in_percent = [](double share) { return fmt::format("{:g}%", 100 * share); };
  if (change.kind == planner::ChangeKind::threshold)
    return fmt::format("{} at a threshold of {} in place of {}", tasks, in_percent(*fusion.threshold),
                       in_percent(*from.fusion.threshold));
  if (fusion.threshold.has_value() && !from.fusion.threshold)
    return fmt::format("fuse {} at a threshold of {}", tasks, in_percent(*fusion.threshold));
  return fmt::format("{} {}", fusion.training.has_value() && !from.fusion.training ? "fuse" : "do not fuse", tasks);
}

std::string generation_text(const predict::InterStage& fused) {
  std::string text = fmt::format("\ngeneration fused with inference: {} instead of {}; threshold {:g}%",
                                 seconds_text(fused.seconds()), seconds_text(fused.apart), 100 * fused.threshold);
  if (fused.kept_instances == fused.instances)
    return text + fmt::format(", which frees none of {} instances\n", fused.instances);
  return text + fmt::format(", {} of {} instances keep the tail; {:.0f} samples move {} in {}\n", fused.kept_instances,
                            fused.instances, fused.moved, fused.prefills ? "and prefill again" : "with their KV cache",
                            seconds_text(fused.migration));
}

std::string training_text(const plan::Job& job, const predict::IntraStage& fused) {
  return fmt::format("\n{} fused with {}: {} instead of {}; schedule within {} of the lower bound\n",
                     job.workflow.tasks[fused.pair[0]].name, job.workflow.tasks[fused.pair[1]].name,
                     seconds_text(fused.seconds()), seconds_text(fused.apart), percent(fused.over_bound() - 1));
}

}  // namespace

std::string origin_line(const plan::Job& job) { return job.origin.empty() ? "" : job.origin + "\n"; }

std::string job_line(const plan::Job& job) {
  return fmt::format("{}{}: {} on {}, {} samples per iteration", origin_line(job), job.name, job.workflow.name,
                     counted(cluster::device_count(job.cluster), "device"), job.workload.samples());
}

std::string not_modelled_text(const std::vector<plan::NotModelled>& settings) {
  if (settings.empty()) return "";
  std::string text = "\nnot modeled:\n";
  for (const plan::NotModelled& setting : settings) text += fmt::format("  {}\n", plan::to_text(setting));
  return text;
}

std::string activity_text(const plan::Job& job, plan::Activity::Kind kind, std::size_t task) {
  const std::string& name = job.workflow.tasks[task].name;
  switch (kind) {
    case plan::Activity::Kind::task:
      break;
    case plan::Activity::Kind::reallocation:
      return fmt::format("weights to {}", name);
    case plan::Activity::Kind::load:
      return fmt::format("{}, from host", name);
    case plan::Activity::Kind::unload:
      return fmt::format("{}, to host", name);
  }
  return name;
}

std::vector<TaskText> task_texts(const plan::Job& job, const plan::Plan& plan) {
  std::vector<TaskText> result;
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    const TaskKind kind = job.workflow.tasks[task].kind;
    if (kind == TaskKind::rule) continue;
    result.push_back({job.workflow.tasks[task].name, devices_text(job, plan.tasks[task]),
                      llm::to_text(plan.tasks[task].layout), settings_text(plan.tasks[task], kind)});
  }
  return result;
}

std::string change_text(const plan::Job& job, const plan::Plan& from, const planner::Change& change) {
  if (change.kind == planner::ChangeKind::side_by_side && change.tasks.size() == 2) return side_by_side(job, change);
  if (change.kind == planner::ChangeKind::fusion || change.kind == planner::ChangeKind::threshold)
    return fusion_change(job, from, change);
  std::vector<std::string> texts;
  for (const std::size_t task : change.tasks) texts.push_back(task_change(job, task, from, change.plan.tasks[task]));
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string missing_text(const std::vector<predict::TaskMemory>& memory) {
  const planner::Missing missing = planner::missing_of(memory);
  return fmt::format("short by {}{}", gibibytes(missing.bytes), missing.host ? " of a node's host memory" : "");
}

std::string_view short_name(predict::Fit fit) {
  return fit == predict::Fit::fits ? "yes" : fit == predict::Fit::tight ? "tight" : "NO";
}

std::string less_fusion_text(const std::vector<study::FusionVariant>& variants) {
  const auto simulated = std::find_if(variants.begin(), variants.end(),
                                      [](const study::FusionVariant& variant) { return variant.is_simulated_plan; });
  const auto best = std::min_element(variants.begin(), variants.end(),
                                     [](const study::FusionVariant& a, const study::FusionVariant& b) {
                                       return std::pair(!a.fits(), a.seconds) < std::pair(!b.fits(), b.seconds);
                                     });
  if (simulated == variants.end()) return "";
  const bool only_fits = best->fits() && !simulated->fits();
  if (!only_fits && seconds_text(best->seconds) == seconds_text(simulated->seconds)) return "";
  const std::string what = best->mode == study::FusionMode::none    ? "nothing is"
                           : best->mode == study::FusionMode::intra ? "only training is"
                                                                    : "only generation is";
  return fmt::format("{} if {} fused.", only_fits ? "It fits" : "The iteration is shorter", what);
}

std::string fusion_text(const plan::Job& job, const predict::Estimate& estimate) {
  std::string text;
  if (estimate.inter_stage) text += generation_text(*estimate.inter_stage);
  if (estimate.intra_stage) text += training_text(job, *estimate.intra_stage);
  return text;
}

}  // namespace dovetail::answer
