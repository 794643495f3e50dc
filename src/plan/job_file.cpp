#include "plan/job_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/amount.h"
#include "base/descriptor_file.h"
#include "base/enum_names.h"
#include "base/fields.h"
#include "base/utf8.h"
#include "cluster/cluster_file.h"
#include "plan/framework.h"
#include "plan/job_text.h"
#include "plan/model_file.h"
#include "plan/plan_members.h"
#include "workflow/algorithms.h"
#include "workflow/workflow_file.h"

namespace dovetail::plan {
namespace {

using base::FilePlace;
using base::Node;
using base::quote;
using base::Result;
using base::Status;

constexpr double max_percent = 90;
constexpr std::int64_t min_amount = 1'000'000;  // smaller numbers are probably percentages without their sign
constexpr std::string_view accepted_margin =
    "accepted: a share of a device's usable memory, from `0%` to `90%`, or an amount: `0`, or at least `1MB`";

base::Result<MinMargin> read_share(const base::Node& node) {
  std::string_view number = node.text();
  number.remove_suffix(1);
  const auto percent = base::parse_amount(number, base::Measure::number);
  if (!percent.ok() || *percent > max_percent)
    return node.error(fmt::format("`margin` is {}; {}", node.describe(), accepted_margin));
  return MinMargin{*percent / 100, 0};
}

base::Result<MinMargin> read_margin(const base::Node& node) {
  if (node.is_string() && node.text().ends_with('%')) return read_share(node);
  if (!node.is_number() && !node.is_string())
    return node.error(fmt::format("`margin` is {}; {}", node.describe(), accepted_margin));
  const auto bytes = base::parse_bytes(node.text());
  const auto number = base::parse_amount(node.text(), base::Measure::number);
  const bool zero = number.ok() && *number == 0;
  if (!bytes.ok() || (*bytes < min_amount && !zero))
    return node.error(fmt::format("`margin` is {}; {}", node.describe(), accepted_margin));
  return MinMargin{0, *bytes};
}

constexpr std::string_view placement_key = "placement";
constexpr std::string_view fusion_key = "fusion";

/// Reads a list of distinct names.
Result<std::vector<std::string>> read_placements(const Node& node) {
  constexpr std::string_view accepted = "accepted: a list of placement names";
  if (!node.is_list() || node.size() == 0)
    return node.error(
        fmt::format("`placement` is {}; {}", node.is_list() ? "an empty list" : node.describe(), accepted));
  std::vector<std::string> names;
  for (std::size_t item = 0; item < node.size(); ++item) {
    const Node name = node.item(item);
    if (!name.is_string() || name.text().empty())
      return name.error(fmt::format("an item of `placement` is {}; {}", name.describe(), accepted));
    if (std::find(names.begin(), names.end(), name.text()) != names.end())
      return name.error(fmt::format("{} appears twice in `placement`; accepted: each name once", quote(name.text())));
    names.emplace_back(name.text());
  }
  return names;
}

/// Returns the task named by `key`.
Result<std::size_t> find_task_at(const Node& key, const workflow::Workflow& workflow) {
  std::vector<std::string_view> names;
  for (const workflow::Task& task : workflow.tasks)
    if (task.kind != workflow::TaskKind::rule) names.push_back(task.name);
  const std::string accepted = fmt::format("accepted: {}, {}, {}", fmt::join(names, ", "), placement_key, fusion_key);
  const auto task = workflow::find_task(workflow, key.text());
  if (!task)
    return key.error(
        fmt::format("unknown task {}{}; {}", quote(key.text()), base::did_you_mean(key.text(), names), accepted));
  if (workflow.tasks[task->index()].kind == workflow::TaskKind::rule)
    return key.error(fmt::format("{} is a rule, which has no plan; {}", quote(key.text()), accepted));
  return task->index();
}

Result<TaskPin> read_pin(const Node& node, const Job& job, std::size_t index) {
  const workflow::Task& task = job.workflow.tasks[index];
  DOVETAIL_CHECK(base::check_keys(node, fmt::format("`fixed` of {}", task.name), task_keys(task.kind)));
  DOVETAIL_TRY(TaskPin pin, read_task_pin(node));
  if (const auto fault = find_fault(pin, model_of(job, workflow::TaskId(index)), job.cluster))
    return node.error(fmt::format("{}: {}", task.name, *fault));
  TaskPlan planned;
  conform(job, index, planned);
  apply(pin, planned);
  DOVETAIL_CHECK(check_task(job, index, node, planned));
  return pin;
}

base::FilePlace place_of(const std::optional<Node>& node) {
  return node ? base::FilePlace{node->line(), node->column()} : base::FilePlace{};
}

PinPlaces places_of(const Node& node) {
  const auto layout = node.find("layout");
  const auto member = [&](std::string_view key) { return place_of(layout ? layout->find(key) : std::nullopt); };
  return {place_of(node), member("tp"), member("pp"), member("zero")};
}

/// Suggests a way to run without a reward model, if the algorithm allows it.
std::string alternative_to(const workflow::Workflow& workflow, const workflow::Role& role) {
  const workflow::Algorithm* algorithm = workflow::find_algorithm(workflow.name);
  if (role.name != "reward" || algorithm == nullptr) return "";
  const bool may_be_rule = std::find(algorithm->options.begin(), algorithm->options.end(),
                                     base::key_of(&workflow::AlgorithmOptions::reward)) != algorithm->options.end();
  return may_be_rule ? fmt::format(", or `algorithm: {{name: {}, reward: rule}}`", workflow.name) : "";
}

/// Reads the models of a job's roles.
class ModelReader {
 public:
  ModelReader(const workflow::Workflow& workflow, const Node& models, std::filesystem::path folder)
      : workflow_(workflow),
        models_(models),
        folder_(std::move(folder)),
        read_(workflow.roles.size()),
        resolving_(workflow.roles.size()) {}

  Result<std::vector<llm::Transformer>> read() {
    std::vector<std::string_view> names;
    for (const workflow::Role& role : workflow_.roles) names.push_back(role.name);
    DOVETAIL_CHECK(base::check_keys(models_, fmt::format("`models` of {}", workflow_.name), names));
    std::vector<llm::Transformer> models;
    for (std::size_t role = 0; role < workflow_.roles.size(); ++role) {
      DOVETAIL_TRY(llm::Transformer model, model_of(role));
      if (!workflow_.roles[role].averaged_from.empty()) DOVETAIL_CHECK(check_average(workflow_.roles[role], model));
      if (workflow_.roles[role].head == workflow::Head::scalar) model = llm::with_scalar_head(std::move(model));
      models.push_back(std::move(model));
    }
    return models;
  }

 private:
  /// The model of a role. A role without an entry has the model of the role that it is initialized or averaged from. A
  /// trained role that starts from its own average would cause a cycle.
  Result<llm::Transformer> model_of(std::size_t index) {
    if (read_[index]) return *read_[index];
    const workflow::Role& role = workflow_.roles[index];
    if (const auto node = models_.find(role.name)) {
      DOVETAIL_TRY(read_[index], read_model(*node, role.name, folder_));
      return *read_[index];
    }
    const std::string& other = role.initialised_from.empty() ? role.averaged_from : role.initialised_from;
    if (other.empty() || resolving_[index])
      return models_.error(fmt::format(
          "{} has no {}, which the algorithm {} needs; accepted: `{}: MODEL` (a bundled model, a config.json or its "
          "folder){}",
          base::quote("models"), base::quote(role.name), workflow_.name, role.name, alternative_to(workflow_, role)));
    resolving_[index] = true;
    DOVETAIL_TRY(llm::Transformer model, model_of(workflow::find_role(workflow_, other)->index()));
    resolving_[index] = false;
    // Adapters belong to the role that trains them.
    model.adapter_rank = 0;
    return model;
  }

  /// An average is computed from its trained role's weights: shapes must be equal, but names and adapters may differ.
  Status check_average(const workflow::Role& role, llm::Transformer model) {
    DOVETAIL_TRY(const llm::Transformer trained, model_of(workflow::find_role(workflow_, role.averaged_from)->index()));
    model.name = trained.name;
    model.adapter_rank = trained.adapter_rank;
    if (model == trained) return {};
    return models_.find(role.name).value_or(models_).error(
        fmt::format("{0} is a moving average of {1}, but has another shape; accepted: the model of {1}",
                    base::quote(role.name), base::quote(role.averaged_from)));
  }

  const workflow::Workflow& workflow_;
  const Node models_;
  const std::filesystem::path folder_;
  std::vector<std::optional<llm::Transformer>> read_;  // [role]
  std::vector<bool> resolving_;                        // [role] whether its model is being resolved, to detect cycles
};

FilePlace place_of(const Node& job, std::string_view name) {
  const auto software = job.find("software");
  const auto node = software ? software->find(name) : std::nullopt;
  return node ? FilePlace{node->line(), node->column()} : FilePlace{};
}

/// Reads a cluster from a map, or from the file that a string names.
Result<cluster::Cluster> read_cluster_at(const Node& node, const std::filesystem::path& folder) {
  if (!node.is_string()) return cluster::read_cluster(node);
  const std::filesystem::path path = (folder / node.text()).lexically_normal();
  std::error_code none;
  if (!node.text().empty() && std::filesystem::is_regular_file(path, none))
    return cluster::read_cluster_file(path.string());
  return node.error(
      fmt::format("there is no file {}; accepted: a map such as {{nodes: 1, gpus_per_node: 8, gpu: H100}}, or the path "
                  "of a cluster file",
                  base::quote(path.string())));
}

Result<Software> read_software(const Node& job, const std::filesystem::path& folder) {
  const auto node = job.find("software");
  if (!node) return Software{};
  DOVETAIL_TRY(const base::Partial<Software> given, base::read_partial<Software>(*node, "`software`"));
  Software software = given.or_defaults();
  if (software.logit_tokens > 0 && software.logit_entries > 0)
    return node->find("logit_entries")
        ->error(
            "`logit_entries` and `logit_tokens` cannot be combined: a kernel holds logits of some tokens, or gradients "
            "of some entries; accepted: only one of these keys");
  const auto from_folder = [&folder](const std::string& path) { return (folder / path).lexically_normal().string(); };
  if (is_efficiency_file(software.efficiency)) software.efficiency = from_folder(software.efficiency);
  if (!software.profile.empty()) software.profile = from_folder(software.profile);
  return software;
}

}  // namespace

base::Result<Limits> read_limits(const base::Node& node) {
  DOVETAIL_CHECK(base::check_keys(node, "`limits`", {"margin"}));
  Limits limits;
  if (const auto margin = node.find("margin")) {
    DOVETAIL_TRY(limits.margin, read_margin(*margin));
  }
  return limits;
}

Status read_fixed(const Node& node, Job& job) {
  if (!node.is_map())
    return node.error(
        fmt::format("`fixed` is {}; accepted: a map whose keys are tasks, `placement` or `fusion`", node.describe()));
  std::vector<TaskPin> fixed(job.workflow.tasks.size());
  std::vector<PinPlaces> places(fixed.size());
  for (std::size_t member = 0; member < node.size(); ++member) {
    if (node.key(member) == placement_key) {
      DOVETAIL_TRY(job.placements, read_placements(node.value(member)));
      continue;
    }
    if (node.key(member) == fusion_key) {
      DOVETAIL_TRY(job.fixed_fusion, read_fusion_pin(node.value(member), job));
      continue;
    }
    DOVETAIL_TRY(const std::size_t task, find_task_at(node.key_node(member), job.workflow));
    DOVETAIL_TRY(fixed[task], read_pin(node.value(member), job, task));
    places[task] = places_of(node.value(member));
  }
  if (std::none_of(fixed.begin(), fixed.end(), [](const TaskPin& pin) { return pin != TaskPin{}; })) return {};
  job.fixed = std::move(fixed);
  job.fixed_places = std::move(places);
  return {};
}

Result<Job> parse_job(std::string_view content, const std::string& path) {
  DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(content, path));
  return read_job(document.root(), path);
}

Result<Job> read_job(const Node& root, const std::string& path, std::string_view framework) {
  DOVETAIL_CHECK(base::require_format(root, "a job", job_format));
  DOVETAIL_CHECK(base::check_keys(root, "a job",
                                  {"format", "name", "folder", "algorithm", "models", "workload", "cluster", "software",
                                   "limits", "fixed", "train"}));
  DOVETAIL_TRY(const std::filesystem::path folder, read_job_folder(root, path));
  std::error_code none;
  if (const auto node = root.find("folder"); node && !std::filesystem::is_directory(folder, none))
    return node->error(
        fmt::format("there is no folder {}; accepted: the folder that relative paths of the job start from",
                    base::quote(folder.string())));
  DOVETAIL_TRY(const Node algorithm, base::require(root, "a job", "algorithm", "algorithm: ppo"));
  DOVETAIL_TRY(const Node models, base::require(root, "a job", "models", "models: {actor: llama-2-7b}"));
  DOVETAIL_TRY(const Node workload, base::require(root, "a job", "workload", "workload: {prompts: 128, ...}"));
  DOVETAIL_TRY(const Node cluster,
               base::require(root, "a job", "cluster", "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}"));
  DOVETAIL_TRY(workflow::Workflow read_workflow, workflow::read_algorithm(algorithm));
  DOVETAIL_TRY(workflow::Workload read_workload, workflow::read_workload(workload, folder.string()));
  if (const auto critic = workload.find("critic"); critic && !workflow::find_role(read_workflow, "critic"))
    return critic->error(fmt::format("{} has no critic; accepted: no `critic`", read_workflow.name));
  DOVETAIL_TRY(std::vector<llm::Transformer> read_models, ModelReader(read_workflow, models, folder).read());
  DOVETAIL_TRY(cluster::Cluster read_cluster, read_cluster_at(cluster, folder));
  DOVETAIL_TRY(std::string name, base::find_name(root, "name"));
  DOVETAIL_TRY(Software software, read_software(root, folder));
  const bool is_free = software.framework.empty() || software.framework == any_framework;
  if (is_free && !framework.empty()) software.framework = framework;
  if (name.empty()) name = base::visible(std::filesystem::path(path).stem().string());
  Job job{std::move(name),        std::move(read_workflow), std::move(read_workload),
          std::move(read_models), std::move(read_cluster),  std::move(software)};
  job.training_place = place_of(root, "training");
  job.efficiency_place = place_of(root, "efficiency");
  DOVETAIL_CHECK(check_framework(root, job));
  if (const auto limits = root.find("limits")) {
    DOVETAIL_TRY(job.limits, read_limits(*limits));
  }
  if (const auto fixed = root.find("fixed")) DOVETAIL_CHECK(read_fixed(*fixed, job));
  return job;
}

}  // namespace dovetail::plan
