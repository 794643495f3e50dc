#include "plan/job_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/descriptor_file.h"
#include "base/fields.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "cluster/cluster_file.h"
#include "plan/framework.h"
#include "plan/job_file_fixed.h"
#include "plan/job_folder.h"
#include "plan/model_file.h"
#include "workflow/algorithms.h"
#include "workflow/workflow_file.h"

namespace dovetail::plan {
namespace {

using base::FilePlace;
using base::Node;
using base::Result;
using base::Status;

/// How a job does without a model that scores, where its algorithm can.
std::string way_without(const workflow::Workflow& workflow, const workflow::Role& role) {
  const workflow::Algorithm* algorithm = workflow::find_algorithm(workflow.name);
  if (role.name != "reward" || algorithm == nullptr) return "";
  const bool may_be_rule = std::find(algorithm->options.begin(), algorithm->options.end(),
                                     base::key_of(&workflow::AlgorithmOptions::reward)) != algorithm->options.end();
  return may_be_rule ? fmt::format(", or `algorithm: {{name: {}, reward: rule}}`", workflow.name) : "";
}

/// Fills in the models of a job's roles.
class ModelReader {
 public:
  ModelReader(const workflow::Workflow& workflow, const Node& models, std::filesystem::path folder)
      : workflow_(workflow),
        models_(models),
        folder_(std::move(folder)),
        read_(workflow.roles.size()),
        asked_(workflow.roles.size()) {}

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
  /// Of a role that nothing is said of, the one that it leads back to. A trained role that starts from its own average
  /// leads in a circle.
  Result<llm::Transformer> model_of(std::size_t index) {
    if (read_[index]) return *read_[index];
    const workflow::Role& role = workflow_.roles[index];
    if (const auto node = models_.find(role.name)) {
      DOVETAIL_TRY(read_[index], read_model(*node, role.name, folder_));
      return *read_[index];
    }
    const std::string& other = role.initialised_from.empty() ? role.averaged_from : role.initialised_from;
    if (other.empty() || asked_[index])
      return models_.error(fmt::format(
          "{} says nothing of {}, which the algorithm {} needs; accepted: {}: a bundled model or the path of a "
          "config.json{}",
          base::quote("models"), base::quote(role.name), workflow_.name, role.name, way_without(workflow_, role)));
    asked_[index] = true;
    DOVETAIL_TRY(llm::Transformer model, model_of(workflow::find_role(workflow_, other)->index()));
    asked_[index] = false;
    // Adapters belong to the role that trains them.
    model.adapter_rank = 0;
    return model;
  }

  /// An average is made of its trained role's weights: shapes are equal, names and adapters need not be.
  Status check_average(const workflow::Role& role, llm::Transformer model) {
    DOVETAIL_TRY(const llm::Transformer trained, model_of(workflow::find_role(workflow_, role.averaged_from)->index()));
    model.name = trained.name;
    model.adapter_rank = trained.adapter_rank;
    if (model == trained) return {};
    return models_.find(role.name).value_or(models_).error(
        fmt::format("{} is a moving average of {} and has another shape; accepted: the same model",
                    base::quote(role.name), base::quote(role.averaged_from)));
  }

  const workflow::Workflow& workflow_;
  const Node models_;
  const std::filesystem::path folder_;
  std::vector<std::optional<llm::Transformer>> read_;  // [role]
  std::vector<bool> asked_;                            // [role] whether its model is just being looked for
};

FilePlace place_of(const Node& job, std::string_view name) {
  const auto software = job.find("software");
  const auto node = software ? software->find(name) : std::nullopt;
  return node ? FilePlace{node->line(), node->column()} : FilePlace{};
}

/// A map, or the file that has it.
Result<cluster::Cluster> read_cluster_at(const Node& node, const std::filesystem::path& folder) {
  if (!node.is_string()) return cluster::read_cluster(node);
  const std::filesystem::path path = (folder / node.text()).lexically_normal();
  std::error_code none;
  if (!node.text().empty() && std::filesystem::is_regular_file(path, none))
    return cluster::read_cluster_file(path.string());
  return node.error(
      fmt::format("there is no file {}; accepted: a map such as {{nodes: 1, gpus_per_node: 8, gpu: H100}}, "
                  "or the path of a file that has a `cluster`",
                  base::quote(path.string())));
}

Result<Software> read_software(const Node& job, const std::filesystem::path& folder) {
  const auto node = job.find("software");
  if (!node) return Software{};
  DOVETAIL_TRY(const base::Partial<Software> said, base::read_partial<Software>(*node, "`software`"));
  Software software = said.or_defaults();
  if (software.logit_tokens > 0 && software.logit_entries > 0)
    return node->find("logit_entries")
        ->error(
            "`logit_entries` stands beside `logit_tokens`: a kernel holds logits of some tokens, or gradients of some "
            "entries; accepted: one of the two");
  const auto from_folder = [&folder](const std::string& path) { return (folder / path).lexically_normal().string(); };
  if (is_efficiency_file(software.efficiency)) software.efficiency = from_folder(software.efficiency);
  if (!software.profile.empty()) software.profile = from_folder(software.profile);
  return software;
}

}  // namespace

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
    return node->error(fmt::format("there is no folder {}; accepted: the one in which the paths of the job begin",
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
