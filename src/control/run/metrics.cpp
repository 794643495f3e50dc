#include "control/run/metrics.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>
#include <utility>

#include "cluster/cluster.h"
#include "learn/advantages.h"
#include "workflow/workflow.h"

namespace dovetail::control {
namespace {

/// Returns a quantile, interpolated linearly as NumPy does by default. REQUIRES: `sorted` is sorted and not empty.
double quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

void add(Metrics& metrics, std::string name, double value) { metrics.push_back({std::move(name), value}); }

void add_rewards(std::span<const Sample> samples, Metrics& metrics) {
  std::vector<double> rewards;
  std::map<std::int64_t, std::vector<double>> groups;
  for (const Sample& sample : samples) {
    rewards.push_back(sample.reward);
    groups[sample.group].push_back(sample.reward);
  }
  const std::vector<double> all[] = {rewards};
  const learn::Moments moments = learn::moments_of(all);
  std::sort(rewards.begin(), rewards.end());
  add(metrics, "reward", moments.mean);
  add(metrics, "reward_deviation", moments.deviation);
  add(metrics, "reward_min", rewards.front());
  add(metrics, "reward_quarter", quantile(rewards, 0.25));
  add(metrics, "reward_median", quantile(rewards, 0.5));
  add(metrics, "reward_three_quarters", quantile(rewards, 0.75));
  add(metrics, "reward_max", rewards.back());
  if (groups.size() == samples.size()) return;
  const auto equal =
      std::count_if(groups.begin(), groups.end(), [](const auto& group) { return learn::are_equal(group.second); });
  add(metrics, "equal_groups", static_cast<double>(equal) / static_cast<double>(groups.size()));
}

void add_lengths(std::span<const Sample> samples, Metrics& metrics) {
  std::int64_t tokens = 0;
  std::int64_t max = 0;
  std::int64_t cut = 0;
  for (const Sample& sample : samples) {
    tokens += sample.tokens();
    max = std::max(max, sample.tokens());
    cut += sample.ended ? 0 : 1;
  }
  const auto count = static_cast<double>(samples.size());
  add(metrics, "samples", count);
  add(metrics, "response_tokens", static_cast<double>(tokens));
  add(metrics, "response_length", static_cast<double>(tokens) / count);
  add(metrics, "response_length_max", static_cast<double>(max));
  add(metrics, "truncated", static_cast<double>(cut) / count);
}

/// Adds the gap between the engine's and the trainer's log-probabilities, if both are known.
void add_gap(std::span<const Sample> samples, Metrics& metrics) {
  double sum = 0;
  double max = 0;
  std::int64_t tokens = 0;
  for (const Sample& sample : samples)
    for (std::size_t t = 0; t < sample.policy.size(); ++t, ++tokens) {
      const double gap = std::abs(sample.policy[t] - sample.sampled[t]);
      sum += gap;
      max = std::max(max, gap);
    }
  if (tokens == 0) return;
  add(metrics, "sampler_gap", sum / static_cast<double>(tokens));
  add(metrics, "sampler_gap_max", max);
}

void add_policy(const std::string& role, const TrainingRecord& record, Metrics& metrics) {
  const TrainingSums& sums = record.sums;
  if (find_metric(metrics, "sampler_gap") == nullptr && record.first.weight > 0) {
    add(metrics, "sampler_gap", record.first.gap / record.first.weight);
    add(metrics, "sampler_gap_max", record.first.max_gap);
  }
  add(metrics, role + "_entropy", sums.entropy / sums.weight);
  add(metrics, role + "_clipped", sums.clipped / sums.weight);
  add(metrics, role + "_ratio", sums.ratio / sums.weight);
  add(metrics, role + "_ratio_max", sums.max_ratio);
  add(metrics, role + "_divergence", sums.divergence / sums.weight);
}

void add_values(const std::string& role, const TrainingSums& sums, Metrics& metrics) {
  const double mean = sums.target / sums.weight;
  const double variance = sums.squared_target / sums.weight - mean * mean;
  const double error = sums.squared_error / sums.weight;
  add(metrics, role + "_explained", variance > 0 ? 1 - error / variance : 0);
}

struct Warning {
  std::string kind;
  std::string text;
};

/// Finds the problems of an iteration.
class WarningFinder {
 public:
  explicit WarningFinder(const Metrics& metrics) : metrics_(metrics) {}

  std::vector<Warning> find(HealthRecord& health) {
    check_entropy(health);
    above("actor_divergence", 0.1, "the policy diverged from the sampling policy by",
          " nats per token; try a lower learning rate or a warm-up");
    above("kl_token", 10, "the policy diverged from the reference by", " nats per token");
    above("kl_sequence", 50, "the policy diverged from the reference by", " nats per response");
    constexpr double percent = 100;
    above("truncated", 0.9, "responses truncated at the cap:", "%", percent);
    const Metric* const min = find_metric(metrics_, "reward_min");
    const Metric* const max = find_metric(metrics_, "reward_max");
    if (min != nullptr && max != nullptr && min->value == max->value)
      found_.push_back({"reward", "all rewards are equal, so they do not show which responses are better"});
    for (const Metric& metric : metrics_)
      if (metric.name.ends_with("_skipped") && metric.value > 0)
        found_.push_back(
            {metric.name,
             fmt::format("`{}` is {:.0f}: steps were skipped because their loss or gradients were not finite",
                         metric.name, metric.value)});
    return std::move(found_);
  }

 private:
  void above(std::string_view name, double limit, std::string_view before, std::string_view after, double unit = 1) {
    const Metric* const metric = find_metric(metrics_, name);
    if (metric == nullptr || !(metric->value > limit)) return;
    found_.push_back({std::string(name), fmt::format("{} {:.3g}{}", before, metric->value * unit, after)});
  }

  void check_entropy(HealthRecord& health) {
    const Metric* const entropy = find_metric(metrics_, "actor_entropy");
    if (entropy == nullptr || find_metric(metrics_, "reward") == nullptr) return;
    if (!health.first_entropy) {
      health.first_entropy = entropy->value;
      return;
    }
    const double first = *health.first_entropy;
    if (entropy->value < first / 4)
      found_.push_back(
          {"entropy",
           fmt::format(
               "the entropy fell from {:.3f} to {:.3f} nats per token since the first iteration: responses vary less",
               first, entropy->value)});
    if (entropy->value > 2 * first)
      found_.push_back({"entropy", fmt::format("the entropy rose from {:.3f} to {:.3f} nats per token since the first "
                                               "iteration: responses are more random",
                                               first, entropy->value)});
  }

  const Metrics& metrics_;
  std::vector<Warning> found_;
};

constexpr double gibibyte = 1 << 30;

double sampled_tokens(std::span<const Sample> samples) {
  double tokens = 0;
  for (const Sample& sample : samples) tokens += static_cast<double>(sample.sequence.tokens.size());
  return tokens;
}

double trained_tokens(const std::map<std::string, TrainingRecord>& training, const std::string& task) {
  const auto found = training.find(task);
  return found == training.end() ? 0 : static_cast<double>(found->second.tokens);
}

}  // namespace

const Metric* find_metric(const Metrics& metrics, std::string_view name) {
  const auto found =
      std::find_if(metrics.begin(), metrics.end(), [name](const Metric& metric) { return metric.name == name; });
  return found == metrics.end() ? nullptr : &*found;
}

void add_sample_metrics(std::span<const Sample> samples, double kl_coefficient, Metrics& metrics) {
  add_rewards(samples, metrics);
  if (const std::optional<Divergence> divergence = divergence_of(samples)) {
    add(metrics, "kl_token", divergence->k1_token);
    add(metrics, "kl_token_k3", divergence->k3_token);
    add(metrics, "kl_sequence", divergence->k1_sequence);
    add(metrics, "kl_sequence_k3", divergence->k3_sequence);
    add(metrics, "kl_coefficient", kl_coefficient);
  }
  add_lengths(samples, metrics);
  add_gap(samples, metrics);
}

void add_training_metrics(const std::map<std::string, TrainingRecord>& training, std::string_view algorithm,
                          Metrics& metrics) {
  for (const auto& [task, record] : training) {
    const std::string role = task.substr(0, task.rfind('_'));
    const auto counted = static_cast<double>(record.mini_batches - record.skipped);
    if (counted > 0) {
      add(metrics, role + "_loss", record.sums.loss / counted);
      if (algorithm == "sft") {
        const double cross_entropy = -record.sums.log_probability / record.sums.weight;
        add(metrics, role + "_cross_entropy", cross_entropy);
        add(metrics, role + "_perplexity", std::exp(cross_entropy));
        add(metrics, role + "_entropy", record.sums.entropy / record.sums.weight);
        add(metrics, role + "_tokens", record.sums.weight);
      } else if (algorithm == "reward_model") {
        add(metrics, role + "_accuracy", record.sums.accurate / record.sums.weight);
        add(metrics, role + "_margin", record.sums.margin / record.sums.weight);
      } else if (record.sums.ratio > 0) {
        add_policy(role, record, metrics);
      } else {
        add_values(role, record.sums, metrics);
      }
      add(metrics, role + "_gradient_norm", record.norm / counted);
      add(metrics, role + "_gradient_norm_max", record.max_norm);
    }
    add(metrics, role + "_learning_rate", record.rate);
    add(metrics, role + "_steps", static_cast<double>(record.steps));
    add(metrics, role + "_skipped", static_cast<double>(record.skipped));
  }
}

std::vector<std::string> warnings_of(const Metrics& metrics, HealthRecord& health) {
  std::vector<std::string> new_warnings;
  std::vector<std::string> standing;
  for (const Warning& warning : WarningFinder(metrics).find(health)) {
    standing.push_back(warning.kind);
    const auto& before = health.active_warnings;
    if (std::find(before.begin(), before.end(), warning.kind) == before.end()) new_warnings.push_back(warning.text);
  }
  health.active_warnings = std::move(standing);
  return new_warnings;
}

double flops_of(const IterationWork& work, const workflow::Workflow& workflow, const Models& models) {
  constexpr double forward = 2;
  constexpr double forward_and_backward = 6;
  double flops = 0;
  for (const workflow::Task& task : workflow.tasks) {
    if (task.role.empty()) continue;
    const double parameter_tokens = task.kind == workflow::TaskKind::train
                                        ? forward_and_backward * trained_tokens(work.training, task.name)
                                        : forward * sampled_tokens(work.samples);
    flops += parameter_tokens * static_cast<double>(models.parameters(task.role));
  }
  return flops;
}

std::int64_t peak_resident_memory() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  constexpr std::int64_t kibibyte = 1024;
  return static_cast<std::int64_t>(usage.ru_maxrss) * kibibyte;
}

void add_usage(const IterationWork& work, const plan::Job& job, const Models& models, double seconds,
               Metrics& metrics) {
  double tokens = sampled_tokens(work.samples);
  if (work.samples.empty())
    for (const auto& [task, record] : work.training) tokens += static_cast<double>(record.tokens);
  double flops_a_second = 0;
  for (const cluster::NodeGroup& group : job.cluster.groups)
    flops_a_second += group.gpu.bf16 * static_cast<double>(group.nodes) * static_cast<double>(group.devices_per_node);
  metrics.push_back({"seconds", seconds, true});
  if (seconds > 0) {
    metrics.push_back({"tokens_per_second", tokens / seconds, true});
    if (flops_a_second > 0)
      metrics.push_back({"mfu", flops_of(work, job.workflow, models) / seconds / flops_a_second, true});
  }
  metrics.push_back({"memory_gib", static_cast<double>(peak_resident_memory()) / gibibyte, true});
}

void add_shares(std::span<const RankUsage> usage, Metrics& metrics) {
  if (usage.size() < 2) return;
  for (std::size_t rank = 0; rank < usage.size(); ++rank)
    metrics.push_back({fmt::format("processor_seconds/{}", rank), usage[rank].processor_seconds, true});
  for (std::size_t rank = 0; rank < usage.size(); ++rank)
    metrics.push_back({fmt::format("live_gib/{}", rank), static_cast<double>(usage[rank].live) / gibibyte, true});
}

double processor_seconds() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace dovetail::control
