#include "study/sweep_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/amount.h"
#include "base/assert.h"
#include "base/document.h"
#include "cluster/cluster.h"
#include "simulate/threshold.h"
#include "workflow/lengths.h"

namespace dovetail::study {
namespace {

/// What the values of an input are.
enum class Values { share, whole, factor };

struct Facts {
  std::string_view axis;
  Values values;
  double least;
  double most;
  bool choice;
};

constexpr double max_factor = 1000;

const Facts& facts_of(SweepInput input) {
  static const std::vector<Facts> all{
      {"threshold: samples still generated when they move", Values::share, 0, 1, true},
      {"prompts an iteration", Values::whole, 1, static_cast<double>(workflow::max_sample_count), true},
      {"samples a prompt", Values::whole, 1, static_cast<double>(workflow::max_sample_count), true},
      {"response lengths, times those of the job", Values::factor, 1 / max_factor, max_factor, false},
      {"micro-batches of training, times those of the plan", Values::factor, 1 / max_factor, max_factor, true},
      {"optimizer steps an epoch", Values::whole, 1, static_cast<double>(workflow::max_sample_count), true},
      {"steps off policy", Values::whole, 0, workflow::max_steps_off_policy, true},
      {"network bandwidth, times that of the job", Values::factor, 1 / max_factor, max_factor, false},
      {"nodes", Values::whole, 1, cluster::max_device_count, true},
  };
  return all[static_cast<std::size_t>(input)];
}

/// `text` as a value of that kind, without looking at its limits.
std::optional<double> read_value(Values values, std::string_view text) {
  double divisor = 1;  // 35 / 100 is 0.35, 35 * 0.01 is not
  const auto drop = [&text](char suffix) {
    if (text.empty() || text.back() != suffix) return false;
    text.remove_suffix(1);
    return true;
  };
  if (values == Values::share && drop('%')) divisor = 100;
  if (values == Values::factor) drop('x');
  const auto number = base::parse_amount(text, base::Measure::number);
  if (!number.ok()) return std::nullopt;
  return number.value() / divisor;
}

std::vector<double> times(double own, const std::vector<double>& factors) {
  std::vector<double> values;
  for (const double factor : factors) values.push_back(std::max(1.0, std::round(own * factor)));
  return values;
}

/// As many optimizer steps as samples at most, as many samples as a file may ask for.
std::optional<std::string> find_fault(const workflow::Workload& workload) {
  if (workload.prompts > workflow::max_sample_count / workload.samples_per_prompt)
    return fmt::format("{} prompts with {} samples each are too many; accepted: {} samples an iteration at most",
                       workload.prompts, workload.samples_per_prompt, workflow::max_sample_count);
  if (workload.mini_batches > workload.samples())
    return fmt::format("{} optimizer steps an epoch need as many samples, and there are {}", workload.mini_batches,
                       workload.samples());
  if (workload.critic && workload.critic->mini_batches > workload.samples())
    return fmt::format("{} optimizer steps an epoch of the critic need as many samples, and there are {}",
                       workload.critic->mini_batches, workload.samples());
  return std::nullopt;
}

void scale_micro_batches(const plan::Job& job, double factor, plan::Plan& plan) {
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    if (job.workflow.tasks[task].kind != workflow::TaskKind::train) continue;
    plan::MicroBatching& batching = plan.tasks[task].micro_batching;
    batching.sequences *= factor;
    batching.tokens *= factor;
    if (batching.count > 0) batching.count = std::max(1, static_cast<int>(std::lround(batching.count / factor)));
  }
}

void set(SweepInput input, double value, std::optional<std::int64_t> cap, SweptJob& swept) {
  workflow::Workload& workload = swept.job.workload;
  switch (input) {
    case SweepInput::threshold:
      swept.plan.fusion.threshold = value;
      return;
    case SweepInput::batch:
      workload.prompts = std::llround(value);
      return;
    case SweepInput::samples:
      workload.samples_per_prompt = std::llround(value);
      return;
    case SweepInput::length:
      workflow::set_responses(workload, workflow::scaled(workflow::responses_before_cap(workload), value,
                                                         cap.value_or(workflow::max_length)));
      return;
    case SweepInput::micro_batch:
      scale_micro_batches(swept.job, value, swept.plan);
      return;
    case SweepInput::mini_batch:
      workload.mini_batches = std::llround(value);
      return;
    case SweepInput::staleness:
      workload.steps_off_policy = static_cast<int>(std::lround(value));
      return;
    case SweepInput::bandwidth:
      for (cluster::NetworkLevel& level : swept.job.cluster.networks) level.bandwidth *= value;
      return;
    case SweepInput::nodes:
      break;
  }
  DOVETAIL_ASSERT(false);
}

}  // namespace

std::string_view axis_name(SweepInput input) { return facts_of(input).axis; }
bool is_choice(SweepInput input) { return facts_of(input).choice; }

std::string value_text(SweepInput input, double value) {
  switch (facts_of(input).values) {
    case Values::share:
      return fmt::format("{:.6g}%", value * 100);
    case Values::whole:
      return fmt::format("{:.0f}", value);
    case Values::factor:
      return fmt::format("{:.6g}x", value);
  }
  DOVETAIL_ASSERT(false);
}

std::optional<std::string> find_value_fault(SweepInput input, double value) {
  const Facts& facts = facts_of(input);
  switch (facts.values) {
    case Values::share:
      if (value > facts.least && value < facts.most) return std::nullopt;
      return "accepted: a share of the samples above 0% and below 100%";
    case Values::whole:
      if (value >= facts.least && value <= facts.most && value == std::floor(value)) return std::nullopt;
      return fmt::format("accepted: a whole number from {:.0f} to {:.0f}", facts.least, facts.most);
    case Values::factor:
      if (value >= facts.least && value <= facts.most) return std::nullopt;
      return fmt::format("accepted: a factor from {:g} to {:g}, such as 0.5x or 2", facts.least, facts.most);
  }
  DOVETAIL_ASSERT(false);
}

base::Result<std::vector<double>> parse_values(SweepInput input, std::string_view text) {
  std::vector<double> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    begin = end + 1;
    const std::optional<double> value = read_value(facts_of(input).values, item);
    const std::optional<std::string> fault = find_value_fault(input, value.value_or(-1));
    if (!value || fault)
      return base::bad_input(fmt::format("{} is no value of {}; {}", base::quote(item), base::enum_name(input),
                                         fault.value_or("accepted: numbers separated by commas")));
    values.push_back(*value);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::optional<double> own_value(SweepInput input, const plan::Job& job, const plan::Plan* plan) {
  switch (input) {
    case SweepInput::threshold:
      DOVETAIL_ASSERT(plan != nullptr);
      return plan->fusion.threshold;
    case SweepInput::batch:
      return static_cast<double>(job.workload.prompts);
    case SweepInput::samples:
      return static_cast<double>(job.workload.samples_per_prompt);
    case SweepInput::mini_batch:
      return static_cast<double>(job.workload.mini_batches);
    case SweepInput::staleness:
      return job.workload.steps_off_policy;
    case SweepInput::nodes:
      return cluster::node_count(job.cluster);
    case SweepInput::length:
    case SweepInput::micro_batch:
    case SweepInput::bandwidth:
      return 1;
  }
  DOVETAIL_ASSERT(false);
}

std::vector<double> default_values(SweepInput input, const plan::Job& job, const plan::Plan* plan) {
  const std::optional<double> own = own_value(input, job, plan);
  std::vector<double> values;
  if (input == SweepInput::threshold)
    values = simulate::usual_thresholds();
  else if (input == SweepInput::length)
    values = {0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8};
  else if (facts_of(input).values == Values::factor)
    values = {0.25, 0.5, 1, 2, 4, 8};
  else if (input == SweepInput::staleness)
    values = {0, 1, 2, 4, 8};
  else
    values = times(*own, {0.25, 0.5, 1, 2, 4});
  if (own) values.push_back(*own);
  std::erase_if(values, [input](double value) { return find_value_fault(input, value).has_value(); });
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

base::Result<SweptJob> with_value(SweepInput input, double value, const plan::Job& job, const plan::Plan& plan,
                                  std::optional<std::int64_t> cap) {
  SweptJob swept{job, plan};
  set(input, value, cap, swept);
  if (const auto fault = find_fault(swept.job.workload)) return base::bad_input(*fault);
  if (const auto fault = plan::find_fault(swept.plan, swept.job))
    return base::bad_input(fmt::format("{}: {}", job.workflow.tasks[fault->task].name, fault->message));
  return swept;
}

}  // namespace dovetail::study
