#include "plan/job_canonical.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/canonical_json.h"
#include "base/json_object.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "plan/plan_file_fusion.h"
#include "plan/plan_file_task.h"

namespace dovetail::plan {
namespace {

using base::json_string;
using base::JsonObject;

std::string list_of(const std::vector<std::string>& items) { return fmt::format("[{}]", fmt::join(items, ",")); }

std::string strings(const std::vector<std::string>& texts) {
  std::vector<std::string> items;
  for (const std::string& text : texts) items.push_back(json_string(text));
  return list_of(items);
}

template <class T>
void add(JsonObject& object, std::string_view key, const T& value) {
  object.add(key, fmt::format("{}", value));
}

std::string role_text(const workflow::Role& role) {
  JsonObject text;
  text.add("name", json_string(role.name));
  text.add("head", role.head == workflow::Head::scalar ? "\"scalar\"" : "\"language_model\"");
  if (!role.initialised_from.empty()) text.add("initialised_from", json_string(role.initialised_from));
  if (!role.averaged_from.empty()) {
    text.add("averaged_from", json_string(role.averaged_from));
    add(text, "decay", role.decay);
  }
  return text.text();
}

std::string task_text(const workflow::Task& task) {
  JsonObject text;
  text.add("name", json_string(task.name));
  text.add("kind", json_string(workflow::name_of(task.kind)));
  if (!task.role.empty()) text.add("role", json_string(task.role));
  text.add("inputs", strings(task.inputs));
  text.add("outputs", strings(task.outputs));
  add(text, "sequences", task.sequences.count);
  text.add("per", task.sequences.per == workflow::SequenceCount::Per::sample ? "\"sample\"" : "\"prompt\"");
  add(text, "extra_tokens", task.extra_tokens);
  add(text, "nanoseconds", task.time_per_sequence.count());
  return text.text();
}

void add_latent(JsonObject& model, const llm::LatentAttention& latent) {
  JsonObject text;
  add(text, "query_rank", latent.query_rank);
  add(text, "key_value_rank", latent.key_value_rank);
  add(text, "plain_size", latent.plain_size);
  add(text, "rotary_size", latent.rotary_size);
  add(text, "value_size", latent.value_size);
  model.add("latent", text.text());
}

void add_experts(JsonObject& model, const llm::Experts& experts) {
  JsonObject text;
  add(text, "count", experts.count);
  add(text, "active", experts.active);
  add(text, "width", experts.width);
  add(text, "shared_width", experts.shared_width);
  add(text, "shared_gate", experts.shared_gate);
  add(text, "dense_layers", experts.dense_layers);
  add(text, "router_bias", experts.router_bias);
  model.add("experts", text.text());
}

std::string model_text(const llm::Transformer& model) {
  JsonObject text;
  add(text, "layers", model.layers);
  add(text, "hidden", model.hidden);
  add(text, "heads", model.heads);
  add(text, "key_value_heads", model.key_value_heads);
  add(text, "head_size", model.head_size);
  add(text, "width", model.width);
  add(text, "vocabulary", model.vocabulary);
  add(text, "positions", model.positions);
  text.add("feed_forward", model.feed_forward == llm::FeedForward::gated ? "\"gated\"" : "\"plain\"");
  text.add("normalization", model.normalization == llm::Normalization::layer ? "\"layer\"" : "\"root_mean_square\"");
  text.add("head", model.head == llm::Head::scalar ? "\"scalar\"" : "\"language_model\"");
  add(text, "tied_embeddings", model.tied_embeddings);
  add(text, "query_key_norm", model.query_key_norm);
  add(text, "query_key_value_bias", model.query_key_value_bias);
  add(text, "attention_output_bias", model.attention_output_bias);
  add(text, "feed_forward_bias", model.feed_forward_bias);
  if (model.latent) add_latent(text, *model.latent);
  if (model.experts) add_experts(text, *model.experts);
  add(text, "adapter_rank", model.adapter_rank);
  return text.text();
}

std::string lengths_text(const workflow::LengthDistribution& lengths) {
  std::vector<std::string> points;
  for (const workflow::LengthPoint& point : lengths.points()) points.push_back(fmt::format("[{},{}]", point.length, point.weight));
  return list_of(points);
}

std::string workload_text(const workflow::Workload& workload) {
  JsonObject text;
  add(text, "prompts", workload.prompts);
  add(text, "samples_per_prompt", workload.samples_per_prompt);
  add(text, "mini_batches", workload.mini_batches);
  add(text, "epochs", workload.epochs);
  add(text, "steps_off_policy", workload.steps_off_policy);
  add(text, "packing", workload.packing);
  text.add("prompt_length", lengths_text(workload.prompt_length));
  text.add("response_length", lengths_text(workload.response_length));
  return text.text();
}

std::string gpu_text(const cluster::Gpu& gpu) {
  JsonObject text;
  text.add("name", json_string(gpu.name));
  add(text, "memory", gpu.memory);
  add(text, "usable_memory", gpu.usable_memory);
  add(text, "bandwidth", gpu.memory_bandwidth);
  add(text, "bf16", gpu.bf16);
  add(text, "fp16", gpu.fp16);
  add(text, "fp8", gpu.fp8);
  add(text, "link", gpu.link_bandwidth);
  add(text, "host_link", gpu.host_bandwidth);
  return text.text();
}

std::string group_text(const cluster::NodeGroup& group) {
  JsonObject text;
  add(text, "nodes", group.nodes);
  add(text, "gpus_per_node", group.devices_per_node);
  text.add("gpu", gpu_text(group.gpu));
  add(text, "host_memory", group.host_memory);
  return text.text();
}

std::string network_text(const cluster::NetworkLevel& network) {
  JsonObject text;
  if (network.nodes > 0) add(text, "nodes", network.nodes);
  add(text, "bandwidth", network.bandwidth);
  add(text, "latency", network.latency);
  if (network.half_bandwidth_size) add(text, "half_bandwidth_size", *network.half_bandwidth_size);
  return text.text();
}

/// Those that are alike but for their number and follow each other as one.
std::vector<cluster::NodeGroup> joined(const std::vector<cluster::NodeGroup>& groups) {
  std::vector<cluster::NodeGroup> result;
  for (const cluster::NodeGroup& group : groups) {
    cluster::NodeGroup as_last = group;
    if (!result.empty()) as_last.nodes = result.back().nodes;
    if (!result.empty() && as_last == result.back())
      result.back().nodes += group.nodes;
    else
      result.push_back(group);
  }
  return result;
}

std::string cluster_text(const cluster::Cluster& cluster) {
  std::vector<std::string> groups;
  for (const cluster::NodeGroup& group : joined(cluster.groups)) groups.push_back(group_text(group));
  std::vector<std::string> networks;
  for (const cluster::NetworkLevel& network : cluster.networks) networks.push_back(network_text(network));
  JsonObject text;
  text.add("groups", list_of(groups));
  text.add("networks", list_of(networks));
  if (cluster.price) add(text, "price", *cluster.price);
  return text.text();
}

/// A file by its name alone: which way leads to it depends on where the job was read from.
std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

std::string efficiency_name(const std::string& efficiency) { return is_efficiency_file(efficiency) ? file_name(efficiency) : efficiency; }

std::string limits_text(const MinMargin& margin) {
  JsonObject text;
  add(text, "margin_share", margin.share);
  add(text, "margin_bytes", margin.bytes);
  return text.text();
}

std::string fixed_text(const Job& job) {
  std::vector<std::string> members;
  for (std::size_t task = 0; task < job.fixed.size(); ++task)
    if (const JsonObject pin = task_pin_object(job.fixed[task]); !pin.empty())
      members.push_back(fmt::format("{}:{}", json_string(job.workflow.tasks[task].name), pin.text()));
  if (const JsonObject fusion = fusion_pin_object(job.fixed_fusion); !fusion.empty()) members.push_back("\"fusion\":" + fusion.text());
  if (!job.placements.empty()) {
    std::vector<std::string> placements = job.placements;
    std::sort(placements.begin(), placements.end());
    members.push_back("\"placement\":" + strings(placements));
  }
  return fmt::format("{{{}}}", fmt::join(members, ","));
}

}  // namespace

std::string canonical_job(const Job& job) {
  std::vector<std::string> roles;
  for (const workflow::Role& role : job.workflow.roles) roles.push_back(role_text(role));
  std::vector<std::string> tasks;
  for (const workflow::Task& task : job.workflow.tasks) tasks.push_back(task_text(task));
  std::vector<std::string> models;
  for (const llm::Transformer& model : job.models) models.push_back(model_text(model));
  JsonObject software;
  if (!job.software.training.empty()) software.add("training", json_string(job.software.training));
  if (!job.software.efficiency.empty()) software.add("efficiency", json_string(efficiency_name(job.software.efficiency)));
  if (!job.software.profile.empty()) software.add("profile", json_string(file_name(job.software.profile)));
  if (job.software.prefetch) add(software, "prefetch", true);
  JsonObject text;
  text.add("roles", list_of(roles));
  text.add("tasks", list_of(tasks));
  text.add("models", list_of(models));
  text.add("workload", workload_text(job.workload));
  text.add("cluster", cluster_text(job.cluster));
  text.add("software", software.text());
  if (job.limits.margin) text.add("limits", limits_text(*job.limits.margin));
  text.add("fixed", fixed_text(job));
  return base::canonical_json(text.text());
}

std::string job_hash(const Job& job) { return base::sha256_hex(canonical_job(job)); }

}  // namespace dovetail::plan
