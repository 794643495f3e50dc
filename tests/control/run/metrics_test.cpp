#include "control/run/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "control/fake_run.h"

namespace dovetail::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Sample> samples_with(const std::vector<double>& rewards, std::size_t copies) {
  std::vector<Sample> samples(rewards.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].group = static_cast<std::int64_t>(i / copies);
    samples[i].reward = rewards[i];
    samples[i].sequence = {std::vector<TokenId>(i + 2, 1), 1};
    samples[i].sampled.assign(i + 1, -1);
    samples[i].ended = i > 0;
  }
  return samples;
}

double value_of(const Metrics& metrics, std::string_view name) {
  const Metric* const metric = find_metric(metrics, name);
  EXPECT_NE(metric, nullptr) << name;
  return metric != nullptr ? metric->value : std::nan("");
}

TEST(SampleMetrics, DescribeRewardsAndLengths) {
  Metrics metrics;
  std::vector<Sample> samples = samples_with({4, 4, 0, 2}, 2);
  samples[1].policy = {-1, -1.5};
  samples[2].policy = {-1, -1, -1.25};
  add_sample_metrics(samples, 0.1, metrics);
  EXPECT_EQ(metrics.front().name, "reward");
  EXPECT_EQ(value_of(metrics, "reward"), 2.5);
  EXPECT_DOUBLE_EQ(value_of(metrics, "reward_deviation"), std::sqrt((2 * 2.25 + 6.25 + 0.25) / 4));
  EXPECT_EQ(value_of(metrics, "reward_min"), 0);
  EXPECT_EQ(value_of(metrics, "reward_quarter"), 1.5);
  EXPECT_EQ(value_of(metrics, "reward_median"), 3);
  EXPECT_EQ(value_of(metrics, "reward_three_quarters"), 4);
  EXPECT_EQ(value_of(metrics, "reward_max"), 4);
  EXPECT_EQ(value_of(metrics, "equal_groups"), 0.5);
  EXPECT_EQ(value_of(metrics, "response_tokens"), 1 + 2 + 3 + 4);
  EXPECT_EQ(value_of(metrics, "response_length"), 2.5);
  EXPECT_EQ(value_of(metrics, "response_length_max"), 4);
  EXPECT_EQ(value_of(metrics, "truncated"), 0.25);
  EXPECT_DOUBLE_EQ(value_of(metrics, "sampler_gap"), 0.75 / 5);
  EXPECT_DOUBLE_EQ(value_of(metrics, "sampler_gap_max"), 0.5);
  EXPECT_EQ(find_metric(metrics, "kl_token"), nullptr) << "without a reference";
  Metrics single;
  add_sample_metrics(samples_with({1, 2}, 1), 0.1, single);
  EXPECT_EQ(find_metric(single, "equal_groups"), nullptr) << "one response does not form a group";
}

TEST(TrainingMetrics, ArePerTokenOverAllMiniBatches) {
  TrainingRecord actor;
  actor.sums.weight = 10;
  actor.sums.loss = 3;
  actor.sums.entropy = 5;
  actor.sums.clipped = 2;
  actor.sums.ratio = 11;
  actor.sums.max_ratio = 2;
  actor.sums.divergence = 0.5;
  actor.first.weight = 4;
  actor.first.gap = 0.4;
  actor.first.max_gap = 0.2;
  actor.mini_batches = 4;
  actor.steps = 3;
  actor.skipped = 1;
  actor.norm = 6;
  actor.max_norm = 4;
  actor.rate = 1e-3;
  TrainingRecord critic;
  critic.sums.weight = 4;
  critic.sums.loss = 1;
  critic.sums.target = 4;
  critic.sums.squared_target = 12;
  critic.sums.squared_error = 2;
  critic.mini_batches = 2;
  Metrics metrics;
  add_training_metrics({{"actor_train", actor}, {"critic_train", critic}}, "ppo", metrics);
  EXPECT_EQ(value_of(metrics, "actor_loss"), 1);
  EXPECT_EQ(value_of(metrics, "actor_entropy"), 0.5);
  EXPECT_EQ(value_of(metrics, "actor_clipped"), 0.2);
  EXPECT_EQ(value_of(metrics, "actor_ratio"), 1.1);
  EXPECT_EQ(value_of(metrics, "actor_ratio_max"), 2);
  EXPECT_EQ(value_of(metrics, "actor_divergence"), 0.05);
  EXPECT_EQ(value_of(metrics, "actor_gradient_norm"), 2);
  EXPECT_EQ(value_of(metrics, "actor_gradient_norm_max"), 4);
  EXPECT_EQ(value_of(metrics, "actor_learning_rate"), 1e-3);
  EXPECT_EQ(value_of(metrics, "actor_steps"), 3);
  EXPECT_EQ(value_of(metrics, "actor_skipped"), 1);
  EXPECT_EQ(value_of(metrics, "sampler_gap"), 0.1);
  EXPECT_EQ(value_of(metrics, "sampler_gap_max"), 0.2);
  EXPECT_EQ(value_of(metrics, "critic_explained"), 1 - 0.5 / (3 - 1));
}

Metrics good() {
  return {{"iteration", 1},       {"reward", 0.5},           {"reward_min", 0},  {"reward_max", 1},
          {"truncated", 0.1},     {"kl_token", 0.1},         {"kl_sequence", 1}, {"actor_entropy", 2},
          {"actor_skipped", 0.0}, {"actor_divergence", 0.01}};
}

void set(Metrics& metrics, std::string_view name, double value) {
  for (Metric& metric : metrics)
    if (metric.name == name) metric.value = value;
}

TEST(Warnings, AreIssuedOnceUntilRecovery) {
  HealthRecord health;
  EXPECT_THAT(warnings_of(good(), health), IsEmpty());
  Metrics bad = good();
  set(bad, "actor_entropy", 0.4);
  EXPECT_THAT(warnings_of(bad, health), ElementsAre(HasSubstr("the entropy fell from 2.000 to 0.400")));
  EXPECT_THAT(warnings_of(bad, health), IsEmpty());
  EXPECT_THAT(warnings_of(good(), health), IsEmpty());
  EXPECT_THAT(warnings_of(bad, health), ElementsAre(HasSubstr("the entropy fell")));
}

TEST(Warnings, AreIssuedAboveTheirLimits) {
  const std::vector<std::pair<std::pair<std::string, double>, std::string>> cases{
      {{"actor_entropy", 4.1}, "the entropy rose"},  {{"actor_divergence", 0.11}, "diverged from the sampling policy"},
      {{"kl_token", 11}, "nats per token"},          {{"kl_sequence", 51}, "nats per response"},
      {{"truncated", 0.95}, "at the cap: 95%"},      {{"reward_min", 1}, "all rewards are equal"},
      {{"actor_skipped", 2}, "`actor_skipped` is 2"}};
  for (const auto& [metric, text] : cases) {
    HealthRecord health;
    EXPECT_THAT(warnings_of(good(), health), IsEmpty());
    Metrics bad = good();
    set(bad, metric.first, metric.second);
    EXPECT_THAT(warnings_of(bad, health), ElementsAre(HasSubstr(text))) << metric.first;
  }
}

TEST(Warnings, DetectEqualRewardsWithARoundedMean) {
  Metrics metrics;
  add_sample_metrics(samples_with({0.1, 0.1, 0.1}, 1), 0, metrics);
  HealthRecord health;
  EXPECT_THAT(warnings_of(metrics, health), ElementsAre(HasSubstr("all rewards are equal")));
}

/// Ten tokens are sampled, and the actor trains on twice as many.
struct Work {
  std::vector<Sample> samples = std::vector<Sample>(2);
  std::map<std::string, TrainingRecord> training;

  Work() {
    for (Sample& sample : samples) sample.sequence.tokens.assign(5, 0);
    training["actor_train"].tokens = 20;
  }
};

TEST(Usage, CountsTwoFlopsForwardAndSixInTraining) {
  const FakeRun run("{name: ppo, reference: skip}", "{prompts: 2, prompt_length: 1, response_length: 4}", 4);
  const Work work;
  // The actor and the untrained reward and critic, with 4 parameters each, pass over the samples.
  EXPECT_EQ(flops_of({work.samples, work.training}, run.job.workflow, run.models),
            2 * 16 * 10 + 6 * 16 * 20 + 2 * 2 * 4 * 10);
}

TEST(Usage, IsPerSecondOfTheIteration) {
  const FakeRun run("{name: ppo, reference: skip}", "{prompts: 2, prompt_length: 1, response_length: 4}", 4);
  const Work work;
  Metrics metrics;
  add_usage({work.samples, work.training}, run.job, run.models, 2, metrics);
  for (const Metric& metric : metrics) EXPECT_TRUE(metric.is_timing) << metric.name;
  EXPECT_EQ(find_metric(metrics, "seconds")->value, 2);
  EXPECT_EQ(find_metric(metrics, "tokens_per_second")->value, 5);
  EXPECT_DOUBLE_EQ(find_metric(metrics, "mfu")->value, 1200.0 / run.job.cluster.groups[0].gpu.bf16);
  EXPECT_GT(find_metric(metrics, "memory_gib")->value, 1e-4);
  Metrics trained;
  add_usage({{}, work.training}, run.job, run.models, 2, trained);
  EXPECT_EQ(find_metric(trained, "tokens_per_second")->value, 10) << "without samples, trained tokens count";
}

TEST(Usage, IsReportedPerRankIfThereAreSeveral) {
  Metrics metrics;
  add_shares(std::vector<RankUsage>{{1, 2}}, metrics);
  EXPECT_TRUE(metrics.empty()) << "for a single rank, the rest of the row has it";
  add_shares(std::vector<RankUsage>{{0.5, 1 << 30}, {0.25, 1 << 29}}, metrics);
  EXPECT_EQ(find_metric(metrics, "processor_seconds/1")->value, 0.25);
  EXPECT_EQ(find_metric(metrics, "live_gib/1")->value, 0.5);
  for (const Metric& metric : metrics) EXPECT_TRUE(metric.is_timing) << metric.name;
}

TEST(Usage, ProcessorTimeGrows) {
  const double before = processor_seconds();
  EXPECT_GT(before, 0);
  while (processor_seconds() == before) {
  }
  EXPECT_GT(processor_seconds(), before);
}

TEST(Usage, HandlesZeroSeconds) {
  const FakeRun run("sft", "{prompts: 2, prompt_length: 1, response_length: 4}", 4);
  Metrics metrics;
  add_usage({{}, {}}, run.job, run.models, 0, metrics);
  EXPECT_EQ(find_metric(metrics, "tokens_per_second"), nullptr) << "no metric instead of a division by zero";
}

}  // namespace

}  // namespace dovetail::control
