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

void add(Figures& figures, std::string name, double value) { figures.push_back({std::move(name), value}); }

void add_rewards(std::span<const Sample> samples, Figures& figures) {
  std::vector<double> rewards;
  std::map<std::int64_t, std::vector<double>> groups;
  for (const Sample& sample : samples) {
    rewards.push_back(sample.reward);
    groups[sample.group].push_back(sample.reward);
  }
  const std::vector<double> all[] = {rewards};
  const learn::Moments moments = learn::moments_of(all);
  std::sort(rewards.begin(), rewards.end());
  add(figures, "reward", moments.mean);
  add(figures, "reward_deviation", moments.deviation);
  add(figures, "reward_min", rewards.front());
  add(figures, "reward_quarter", quantile(rewards, 0.25));
  add(figures, "reward_median", quantile(rewards, 0.5));
  add(figures, "reward_three_quarters", quantile(rewards, 0.75));
  add(figures, "reward_max", rewards.back());
  if (groups.size() == samples.size()) return;
  const auto equal =
      std::count_if(groups.begin(), groups.end(), [](const auto& group) { return learn::are_equal(group.second); });
  add(figures, "equal_groups", static_cast<double>(equal) / static_cast<double>(groups.size()));
}

void add_lengths(std::span<const Sample> samples, Figures& figures) {
  std::int64_t tokens = 0;
  std::int64_t max = 0;
  std::int64_t cut = 0;
  for (const Sample& sample : samples) {
    tokens += sample.tokens();
    max = std::max(max, sample.tokens());
    cut += sample.ended ? 0 : 1;
  }
  const auto count = static_cast<double>(samples.size());
  add(figures, "samples", count);
  add(figures, "response_tokens", static_cast<double>(tokens));
  add(figures, "response_length", static_cast<double>(tokens) / count);
  add(figures, "response_length_max", static_cast<double>(max));
  add(figures, "truncated", static_cast<double>(cut) / count);
}

/// Adds the gap between the engine's and the trainer's log-probabilities, if both are known.
void add_gap(std::span<const Sample> samples, Figures& figures) {
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
  add(figures, "sampler_gap", sum / static_cast<double>(tokens));
  add(figures, "sampler_gap_max", max);
}

void add_policy(const std::string& role, const TrainingRecord& record, Figures& figures) {
  const TrainingSums& sums = record.sums;
  if (find_figure(figures, "sampler_gap") == nullptr && record.first.weight > 0) {
    add(figures, "sampler_gap", record.first.gap / record.first.weight);
    add(figures, "sampler_gap_max", record.first.max_gap);
  }
  add(figures, role + "_entropy", sums.entropy / sums.weight);
  add(figures, role + "_clipped", sums.clipped / sums.weight);
  add(figures, role + "_ratio", sums.ratio / sums.weight);
  add(figures, role + "_ratio_max", sums.max_ratio);
  add(figures, role + "_divergence", sums.divergence / sums.weight);
}

void add_values(const std::string& role, const TrainingSums& sums, Figures& figures) {
  const double mean = sums.target / sums.weight;
  const double variance = sums.squared_target / sums.weight - mean * mean;
  const double error = sums.squared_error / sums.weight;
  add(figures, role + "_explained", variance > 0 ? 1 - error / variance : 0);
}

struct Warning {
  std::string kind;
  std::string text;
};

/// Finds the problems of an iteration.
class WarningFinder {
 public:
  explicit WarningFinder(const Figures& figures) : figures_(figures) {}

  std::vector<Warning> find(HealthRecord& health) {
    check_entropy(health);
    above("actor_divergence", 0.1, "the policy diverged from the sampling policy by",
          " nats per token; try a lower learning rate or a warm-up");
    above("kl_token", 10, "the policy diverged from the reference by", " nats per token");
    above("kl_sequence", 50, "the policy diverged from the reference by", " nats per response");
    constexpr double percent = 100;
    above("truncated", 0.9, "responses truncated at the cap:", "%", percent);
    const Figure* const min = find_figure(figures_, "reward_min");
    const Figure* const max = find_figure(figures_, "reward_max");
    if (min != nullptr && max != nullptr && min->value == max->value)
      found_.push_back({"reward", "all rewards are equal, so there is nothing to learn from them"});
    for (const Figure& figure : figures_)
      if (figure.name.ends_with("_skipped") && figure.value > 0)
        found_.push_back(
            {figure.name,
             fmt::format("{:.0f} steps were skipped because the loss or gradients were not finite", figure.value)});
    return std::move(found_);
  }

 private:
  void above(std::string_view name, double limit, std::string_view before, std::string_view after, double unit = 1) {
    const Figure* const figure = find_figure(figures_, name);
    if (figure == nullptr || !(figure->value > limit)) return;
    found_.push_back({std::string(name), fmt::format("{} {:.3g}{}", before, figure->value * unit, after)});
  }

  void check_entropy(HealthRecord& health) {
    const Figure* const entropy = find_figure(figures_, "actor_entropy");
    if (entropy == nullptr || find_figure(figures_, "reward") == nullptr) return;
    if (!health.first_entropy) {
      health.first_entropy = entropy->value;
      return;
    }
    const double first = *health.first_entropy;
    if (entropy->value < first / 4)
      found_.push_back(
          {"entropy", fmt::format("the entropy fell from {:.3f} to {:.3f} nats per token: the policy repeats itself",
                                  first, entropy->value)});
    if (entropy->value > 2 * first)
      found_.push_back(
          {"entropy", fmt::format("the entropy rose from {:.3f} to {:.3f} nats per token: the policy is degenerating",
                                  first, entropy->value)});
  }

  const Figures& figures_;
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

const Figure* find_figure(const Figures& figures, std::string_view name) {
  const auto found =
      std::find_if(figures.begin(), figures.end(), [name](const Figure& figure) { return figure.name == name; });
  return found == figures.end() ? nullptr : &*found;
}

void add_sample_figures(std::span<const Sample> samples, double kl_coefficient, Figures& figures) {
  add_rewards(samples, figures);
  if (const std::optional<Divergence> divergence = divergence_of(samples)) {
    add(figures, "kl_token", divergence->k1_token);
    add(figures, "kl_token_k3", divergence->k3_token);
    add(figures, "kl_sequence", divergence->k1_sequence);
    add(figures, "kl_sequence_k3", divergence->k3_sequence);
    add(figures, "kl_coefficient", kl_coefficient);
  }
  add_lengths(samples, figures);
  add_gap(samples, figures);
}

void add_training_figures(const std::map<std::string, TrainingRecord>& training, std::string_view algorithm,
                          Figures& figures) {
  for (const auto& [task, record] : training) {
    const std::string role = task.substr(0, task.rfind('_'));
    const auto counted = static_cast<double>(record.mini_batches - record.skipped);
    if (counted > 0) {
      add(figures, role + "_loss", record.sums.loss / counted);
      if (algorithm == "sft") {
        const double cross_entropy = -record.sums.log_probability / record.sums.weight;
        add(figures, role + "_cross_entropy", cross_entropy);
        add(figures, role + "_perplexity", std::exp(cross_entropy));
        add(figures, role + "_entropy", record.sums.entropy / record.sums.weight);
        add(figures, role + "_tokens", record.sums.weight);
      } else if (algorithm == "reward_model") {
        add(figures, role + "_accuracy", record.sums.accurate / record.sums.weight);
        add(figures, role + "_margin", record.sums.margin / record.sums.weight);
      } else if (record.sums.ratio > 0) {
        add_policy(role, record, figures);
      } else {
        add_values(role, record.sums, figures);
      }
      add(figures, role + "_gradient_norm", record.norm / counted);
      add(figures, role + "_gradient_norm_max", record.max_norm);
    }
    add(figures, role + "_learning_rate", record.rate);
    add(figures, role + "_steps", static_cast<double>(record.steps));
    add(figures, role + "_skipped", static_cast<double>(record.skipped));
  }
}

std::vector<std::string> warnings_of(const Figures& figures, HealthRecord& health) {
  std::vector<std::string> new_warnings;
  std::vector<std::string> standing;
  for (const Warning& warning : WarningFinder(figures).find(health)) {
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
               Figures& figures) {
  double tokens = sampled_tokens(work.samples);
  if (work.samples.empty())
    for (const auto& [task, record] : work.training) tokens += static_cast<double>(record.tokens);
  double flops_a_second = 0;
  for (const cluster::NodeGroup& group : job.cluster.groups)
    flops_a_second += group.gpu.bf16 * static_cast<double>(group.nodes) * static_cast<double>(group.devices_per_node);
  figures.push_back({"seconds", seconds, true});
  if (seconds > 0) {
    figures.push_back({"tokens_per_second", tokens / seconds, true});
    if (flops_a_second > 0)
      figures.push_back({"mfu", flops_of(work, job.workflow, models) / seconds / flops_a_second, true});
  }
  figures.push_back({"memory_gib", static_cast<double>(peak_resident_memory()) / gibibyte, true});
}

void add_shares(std::span<const RankUsage> usage, Figures& figures) {
  if (usage.size() < 2) return;
  for (std::size_t rank = 0; rank < usage.size(); ++rank)
    figures.push_back({fmt::format("processor_seconds/{}", rank), usage[rank].processor_seconds, true});
  for (std::size_t rank = 0; rank < usage.size(); ++rank)
    figures.push_back({fmt::format("live_gib/{}", rank), static_cast<double>(usage[rank].live) / gibibyte, true});
}

double processor_seconds() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace dovetail::control
