#include "predict/closed_form/software.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/file.h"
#include "cost/bundled_efficiencies.h"
#include "cost/efficiency_file.h"
#include "cost/profile_file.h"
#include "plan/framework.h"
#include "predict/closed_form/trainer_rules.h"

namespace dovetail::predict {
namespace {

/// Links inside a node do what was measured of them, whatever is published.
void take_links(const cost::Profile& profile, const cluster::Cluster& cluster, cluster::LinkEfficiency& inside) {
  const auto link = cost::measured_link(profile);
  const double published = cluster.groups.front().gpu.link_bandwidth;
  if (link && published > 0) inside = {link->bandwidth / published, link->latency, link->half_size};
}

int bytes_of(plan::StateType type) { return type == plan::StateType::fp32 ? 4 : 2; }

int bytes_of(plan::MasterType type) {
  return type == plan::MasterType::none ? 0 : type == plan::MasterType::fp32 ? 4 : 2;
}

/// Bytes a parameter that an optimizer reads and writes: the gradient, and what it keeps twice each; weights beside a
/// copy of its own are written alone.
int stepped_bytes(const cost::Conventions& conventions) {
  const int weight = (conventions.master_bytes > 0 ? 1 : 2) * conventions.weight_bytes;
  return conventions.gradient_bytes + 2 * (conventions.moment_bytes + conventions.master_bytes) + weight;
}

double logit_bytes(const cost::Conventions& conventions, plan::LossEntropy said) {
  if (said == plan::LossEntropy::usual) return conventions.logit_bytes;
  return said == plan::LossEntropy::none ? conventions.plain_logit_bytes : conventions.entropy_logit_bytes;
}

base::Error unknown_loss(const cost::Conventions& conventions, plan::LossEntropy said) {
  std::vector<std::string_view> accepted = cost::conventions_names();
  std::erase_if(accepted,
                [said](std::string_view name) { return logit_bytes(cost::find_conventions(name).value(), said) == 0; });
  return base::bad_input(fmt::format(
      "`loss_entropy: {}` with `training: {}`: what such a loss holds is not known; accepted: training by {}, "
      "or `loss_entropy: usual`",
      base::enum_name(said), conventions.name, fmt::join(accepted, ", ")));
}

void take_loss_in_parts(cost::Conventions& conventions) {
  DOVETAIL_ASSERT(conventions.parts_logit_bytes > 0);
  conventions.logit_bytes = conventions.parts_logit_bytes;
  conventions.parallel_logit_bytes = conventions.parts_parallel_logit_bytes;
  conventions.inference_logit_bytes = conventions.parts_inference_logit_bytes;
}

/// What the job says in place of the conventions.
cost::Conventions with_said(cost::Conventions conventions, const plan::Software& said) {
  using enum plan::StateType;
  const int before = stepped_bytes(conventions);
  if (said.weight_type != usual) conventions.weight_bytes = bytes_of(said.weight_type);
  if (said.gradient_type != usual) conventions.gradient_bytes = bytes_of(said.gradient_type);
  // A buffer of gradients is reduced as it is; those that come and go are reduced in the type that was fitted.
  if (said.gradient_type != usual && !conventions.fleeting_gradients)
    conventions.reduced_bytes = bytes_of(said.gradient_type);
  if (said.moment_type != usual) conventions.moment_bytes = 2 * bytes_of(said.moment_type);
  if (said.master_type != plan::MasterType::usual) conventions.master_bytes = bytes_of(said.master_type);
  conventions.step_bytes += stepped_bytes(conventions) - before;
  conventions.logit_tokens = said.logit_tokens;
  conventions.logit_entries = said.logit_entries;
  conventions.shard_group = said.shard_group;
  conventions.optimizer_host_share = said.optimizer_host_share;
  return conventions;
}

}  // namespace

base::Result<cost::Conventions> conventions_of(const plan::Software& software) {
  std::string_view name = "megatron";
  if (!software.training.empty()) name = software.training;
  const plan::Framework* const framework = plan::find_framework(software);
  if (framework != nullptr) name = framework->training;
  DOVETAIL_TRY(cost::Conventions conventions, cost::find_conventions(name));
  if (framework != nullptr && framework->loss_in_parts && software.loss_entropy == plan::LossEntropy::usual)
    take_loss_in_parts(conventions);
  conventions.logit_bytes = logit_bytes(conventions, software.loss_entropy);
  if (conventions.logit_bytes == 0) return unknown_loss(conventions, software.loss_entropy);
  return with_said(std::move(conventions), software);
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
