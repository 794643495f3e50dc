#include "plan/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/descriptor_file.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "plan/framework.h"
#include "plan/plan_members.h"

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

// A new member must not change the hash of jobs that do not use it. When you add a member to one of these structs,
// decide here whether it is part of the hash.
static_assert(base::member_count<Job> == 15);
static_assert(base::member_count<workflow::Role> == 5 && base::member_count<workflow::Task> == 8);
static_assert(base::member_count<workflow::Workload> == 11 && base::member_count<workflow::OwnTraining> == 2);
static_assert(base::member_count<cluster::Cluster> == 3 && base::member_count<cluster::NodeGroup> == 4);
static_assert(base::member_count<cluster::NetworkLevel> == 5 && base::member_count<cluster::Gpu> == 10);

std::string role_text(const workflow::Role& role) {
  JsonObject text;
  text.add("name", json_string(role.name));
  text.add("head", json_string(base::enum_name(role.head)));
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
  text.add("kind", json_string(base::enum_name(task.kind)));
  if (!task.role.empty()) text.add("role", json_string(task.role));
  text.add("inputs", strings(task.inputs));
  text.add("outputs", strings(task.outputs));
  add(text, "sequences", task.sequences.count);
  text.add("per", json_string(base::enum_name(task.sequences.per)));
  add(text, "extra_tokens", task.extra_tokens);
  add(text, "nanoseconds", task.time_per_sequence.count());
  return text.text();
}

std::string lengths_text(const workflow::LengthDistribution& lengths) {
  std::vector<std::string> points;
  for (const workflow::LengthPoint& point : lengths.points())
    points.push_back(fmt::format("[{},{}]", point.length, point.weight));
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
  text.add("response_length", lengths_text(workflow::responses_before_cap(workload)));
  if (workload.sequence_cap > 0) add(text, "sequence_cap", workload.sequence_cap);
  if (workload.critic) {
    JsonObject critic;
    add(critic, "mini_batches", workload.critic->mini_batches);
    add(critic, "epochs", workload.critic->epochs);
    text.add("critic", critic.text());
  }
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

/// Merges adjacent groups that differ only in their number of nodes.
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

/// A file's name without its folder: the folder depends on where the job was read.
std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

std::string software_text(Software software) {
  if (is_efficiency_file(software.efficiency)) software.efficiency = file_name(software.efficiency);
  software.profile = file_name(software.profile);
  // Hashes do not distinguish `any` from an empty name.
  if (software.framework == any_framework) software.framework = {};
  return base::json_object(base::non_default(software)).text();
}

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
  if (const JsonObject fusion = fusion_pin_object(job.fixed_fusion); !fusion.empty())
    members.push_back("\"fusion\":" + fusion.text());
  if (!job.placements.empty()) {
    std::vector<std::string> placements = job.placements;
    std::sort(placements.begin(), placements.end());
    members.push_back("\"placement\":" + strings(placements));
  }
  return fmt::format("{{{}}}", fmt::join(members, ","));
}

}  // namespace

bool is_efficiency_file(std::string_view efficiency) {
  return efficiency.ends_with(".json") || efficiency.ends_with(".yaml") || efficiency.ends_with(".yml");
}

const llm::Transformer& model_of(const Job& job, workflow::TaskId task) {
  const auto role = job.workflow.role_of[task.index()];
  DOVETAIL_ASSERT(role.has_value());
  return job.models[role->index()];
}

std::int64_t MinMargin::of(std::int64_t usable) const {
  return bytes + std::llround(share * static_cast<double>(usable));
}

std::string to_text(const NotModelled& setting) {
  return setting.key.empty() ? setting.what : fmt::format("{}: {}", setting.key, setting.what);
}

std::vector<NotModelled> joined(std::vector<NotModelled> first, const std::vector<NotModelled>& second) {
  for (const NotModelled& setting : second)
    if (std::find(first.begin(), first.end(), setting) == first.end()) first.push_back(setting);
  return first;
}

std::string canonical_job(const Job& job) {
  std::vector<std::string> roles;
  for (const workflow::Role& role : job.workflow.roles) roles.push_back(role_text(role));
  std::vector<std::string> tasks;
  for (const workflow::Task& task : job.workflow.tasks) tasks.push_back(task_text(task));
  std::vector<std::string> models;
  for (const llm::Transformer& model : job.models) models.push_back(base::canonical_object(model).text());
  JsonObject text;
  text.add("roles", list_of(roles));
  text.add("tasks", list_of(tasks));
  text.add("models", list_of(models));
  text.add("workload", workload_text(job.workload));
  text.add("cluster", cluster_text(job.cluster));
  text.add("software", software_text(job.software));
  if (job.limits.margin) text.add("limits", limits_text(*job.limits.margin));
  text.add("fixed", fixed_text(job));
  return base::canonical_json(text.text());
}

std::string job_hash(const Job& job) { return base::sha256_hex(canonical_job(job)); }

}  // namespace dovetail::plan
