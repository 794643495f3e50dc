#include "predict/closed_form/software.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/file.h"
#include "cost/efficiency.h"
#include "cost/profile.h"
#include "plan/framework.h"
#include "predict/closed_form/trainer_rules.h"

namespace dovetail::predict {
namespace {

std::vector<std::string> gpu_names(const cluster::Cluster& cluster) {
  std::vector<std::string> names;
  for (const cluster::NodeGroup& group : cluster.groups)
    if (std::find(names.begin(), names.end(), group.gpu.name) == names.end()) names.push_back(group.gpu.name);
  return names;
}

/// Returns whether the file gives a GPU's specifications instead of its name.
bool is_custom(const cluster::NodeGroup& group) {
  const auto known = cluster::find_gpu(group.gpu.name);
  return !known.ok() || *known != group.gpu;
}

}  // namespace

std::string_view name_of(EfficiencyReason reason) {
  switch (reason) {
    case EfficiencyReason::named:
      return "named";
    case EfficiencyReason::fitted:
      return "fitted";
    case EfficiencyReason::gpu_fitted:
      return "gpu fitted";
    case EfficiencyReason::training_fitted:
      return "training fitted";
    case EfficiencyReason::unmeasured:
      return "unmeasured";
    case EfficiencyReason::custom_gpu:
      return "custom gpu";
    case EfficiencyReason::mixed_gpus:
      return "mixed gpus";
  }
  DOVETAIL_ASSERT(false);
}

EfficiencyChoice choose_efficiency(const plan::Job& job, std::string_view conventions) {
  EfficiencyChoice choice{job.software.efficiency, EfficiencyReason::named, gpu_names(job.cluster),
                          std::string(conventions)};
  if (!choice.efficiency.empty()) return choice;
  choice.efficiency = cost::Efficiency{}.name;
  choice.reason = EfficiencyReason::unmeasured;
  if (choice.gpus.size() > 1) {
    choice.reason = EfficiencyReason::mixed_gpus;
  } else if (const cost::FittedTo* fitted = cost::fitted_to(choice.gpus.front(), conventions)) {
    const auto& training = fitted->training;
    choice.efficiency = fitted->efficiency;
    if (fitted->gpu != choice.gpus.front()) {
      choice.reason = EfficiencyReason::training_fitted;
    } else {
      choice.reason = std::find(training.begin(), training.end(), conventions) != training.end()
                          ? EfficiencyReason::fitted
                          : EfficiencyReason::gpu_fitted;
    }
  } else if (std::any_of(job.cluster.groups.begin(), job.cluster.groups.end(), is_custom)) {
    choice.reason = EfficiencyReason::custom_gpu;
  }
  return choice;
}

namespace {

/// Uses the measured performance of links inside a node instead of the published one.
void take_links(const cost::Profile& profile, const cluster::Cluster& cluster, cluster::LinkEfficiency& inside) {
  const auto link = cost::measured_link(profile);
  const double published = cluster.groups.front().gpu.link_bandwidth;
  if (link && published > 0) inside = {link->bandwidth / published, link->latency, link->half_size};
}

int bytes_of(plan::StateType type) { return type == plan::StateType::fp32 ? 4 : 2; }

int bytes_of(plan::MasterType type) {
  return type == plan::MasterType::none ? 0 : type == plan::MasterType::fp32 ? 4 : 2;
}

/// Returns the bytes per parameter that an optimizer step reads and writes. The step reads the gradient, reads and
/// writes its own state, and only writes weights that have a master copy.
int stepped_bytes(const cost::Conventions& conventions) {
  const int weight = (conventions.master_bytes > 0 ? 1 : 2) * conventions.weight_bytes;
  return conventions.gradient_bytes + 2 * (conventions.moment_bytes + conventions.master_bytes) + weight;
}

double logit_bytes(const cost::Conventions& conventions, plan::LossEntropy entropy) {
  if (entropy == plan::LossEntropy::by_default) return conventions.logit_bytes;
  return entropy == plan::LossEntropy::none ? conventions.plain_logit_bytes : conventions.entropy_logit_bytes;
}

base::Error unknown_loss(const cost::Conventions& conventions, plan::LossEntropy entropy) {
  std::vector<std::string_view> accepted = cost::conventions_names();
  std::erase_if(accepted, [entropy](std::string_view name) {
    return logit_bytes(cost::find_conventions(name).value(), entropy) == 0;
  });
  return base::bad_input(
      fmt::format("`loss_entropy: {}` with `training: {}`: the memory of this loss is unknown; accepted: another "
                  "`training` ({}), or `loss_entropy: usual`",
                  base::enum_name(entropy), conventions.name, fmt::join(accepted, ", ")));
}

void take_loss_in_parts(cost::Conventions& conventions) {
  DOVETAIL_ASSERT(conventions.parts_logit_bytes > 0);
  conventions.logit_bytes = conventions.parts_logit_bytes;
  conventions.parallel_logit_bytes = conventions.parts_parallel_logit_bytes;
  conventions.inference_logit_bytes = conventions.parts_inference_logit_bytes;
}

/// Returns the conventions with the job's settings applied.
cost::Conventions with_settings(cost::Conventions conventions, const plan::Software& settings) {
  using enum plan::StateType;
  const int before = stepped_bytes(conventions);
  if (settings.weight_type != by_default) conventions.weight_bytes = bytes_of(settings.weight_type);
  if (settings.gradient_type != by_default) conventions.gradient_bytes = bytes_of(settings.gradient_type);
  // A gradient buffer is reduced in its own type. Temporary gradients are reduced in the fitted type.
  if (settings.gradient_type != by_default && !conventions.transient_gradients)
    conventions.reduced_bytes = bytes_of(settings.gradient_type);
  if (settings.moment_type != by_default) conventions.moment_bytes = 2 * bytes_of(settings.moment_type);
  if (settings.master_type != plan::MasterType::by_default) conventions.master_bytes = bytes_of(settings.master_type);
  conventions.step_bytes += stepped_bytes(conventions) - before;
  conventions.logit_tokens = settings.logit_tokens;
  conventions.logit_entries = settings.logit_entries;
  conventions.shard_group = settings.shard_group;
  conventions.optimizer_host_share = settings.optimizer_host_share;
  return conventions;
}

}  // namespace

base::Result<cost::Conventions> conventions_of(const plan::Software& software) {
  std::string_view name = "megatron";
  if (!software.training.empty()) name = software.training;
  const plan::Framework* const framework = plan::find_framework(software);
  if (framework != nullptr) name = framework->training;
  DOVETAIL_TRY(cost::Conventions conventions, cost::find_conventions(name));
  if (framework != nullptr && framework->loss_in_parts && software.loss_entropy == plan::LossEntropy::by_default)
    take_loss_in_parts(conventions);
  conventions.logit_bytes = logit_bytes(conventions, software.loss_entropy);
  if (conventions.logit_bytes == 0) return unknown_loss(conventions, software.loss_entropy);
  return with_settings(std::move(conventions), software);
}

base::Result<cost::Efficiency> efficiency_of(const std::string& name) {
  if (!name.ends_with(".json") && !name.ends_with(".yaml") && !name.ends_with(".yml"))
    return cost::find_efficiency(name);
  DOVETAIL_TRY(const std::string content, base::read_file(name));
  return cost::parse_efficiency(content, name);
}

base::Result<Software> software_of(const plan::Job& job) {
  Software software;
  DOVETAIL_TRY(software.conventions, conventions_of(job.software));
  if (auto fault = find_trainer_fault(job, software.conventions)) {
    base::Error error = base::bad_input(std::move(fault->message));
    error.line = fault->place.line;
    error.column = fault->place.column;
    return error;
  }
  software.choice = choose_efficiency(job, software.conventions.name);
  DOVETAIL_TRY(software.efficiency, efficiency_of(software.choice.efficiency));
  if (!job.software.profile.empty()) {
    DOVETAIL_TRY(const std::string content, base::read_file(job.software.profile));
    DOVETAIL_TRY(software.profile, cost::parse_profile(content, job.software.profile));
    take_links(software.profile, job.cluster, software.efficiency.links.inside);
  }
  return software;
}

}  // namespace dovetail::predict
