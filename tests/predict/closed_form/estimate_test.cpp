// Predictions of full plans: time and derived figures.
#include "predict/closed_form/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "predict/closed_form/software.h"
#include "support/jobs.h"

namespace dovetail::predict {
namespace {

Estimate estimate_of(const plan::Job& job, const plan::Plan& plan) {
  return estimate(scenario_of(job, software_of(job).value()), plan);
}

double seconds_of(const Estimate& estimate, const plan::Job& job, std::string_view task) {
  const std::size_t index = workflow::find_task(job.workflow, task)->index();
  return estimate.activities[index].seconds;
}

double sum_of_steps(const Estimate& estimate) {
  return std::accumulate(estimate.activities.begin(), estimate.activities.end(), 0.0,
                         [](double sum, const ActivitySeconds& step) { return sum + step.seconds; });
}

TEST(Estimate, OnTheSameDevicesStepsAddUp) {
  const plan::Job job = test::grpo_job();
  const Estimate result = estimate_of(job, test::co_located(job));
  const double overlapping = software_of(job)->efficiency.iteration;
  const double rule = seconds_of(result, job, "reward_rule");
  EXPECT_NEAR(rule, 256 * 0.001, 1e-9);
  // The rule needs no device, so inference continues in parallel.
  const double inference = seconds_of(result, job, "actor_infer") + seconds_of(result, job, "reference_infer");
  EXPECT_NEAR(result.iteration_seconds, sum_of_steps(result) - std::min(rule, inference) + overlapping, 1e-6);
}

TEST(Estimate, PartsOfAStepAddUpToIt) {
  const plan::Job job = test::grpo_job();
  for (const ActivitySeconds& activity : estimate_of(job, test::co_located(job)).activities) {
    double sum = 0;
    for (const SecondsPart& part : activity.parts) {
      EXPECT_GE(part.seconds, 0) << base::enum_name(part.of);
      sum += part.seconds;
    }
    EXPECT_NEAR(sum, activity.seconds, 1e-9);
  }
}

TEST(Estimate, OneStepOffPolicyGenerationOverlapsTraining) {
  const plan::Job on = test::grpo_job(0);
  const plan::Job off = test::grpo_job(1);
  const Estimate waiting = estimate_of(on, test::separated(on));
  const Estimate overlapping = estimate_of(off, test::separated(off));
  const double generation = seconds_of(overlapping, off, "actor_generate") + overlapping.activities.back().seconds;
  const double training = seconds_of(overlapping, off, "actor_infer") +
                          seconds_of(overlapping, off, "reference_infer") +
                          seconds_of(overlapping, off, "actor_train") + overlapping.activities.back().seconds;
  const double fixed = software_of(off)->efficiency.iteration;
  EXPECT_LT(overlapping.iteration_seconds, waiting.iteration_seconds);
  EXPECT_GE(overlapping.iteration_seconds - fixed, std::max(generation, training) - 1e-6);
  // The rule, and the tasks that wait for it.
  EXPECT_LE(overlapping.iteration_seconds - fixed, std::max(generation, training) + 0.3);
}

/// GRPO with responses of these lengths, padded or not.
plan::Job with_responses(workflow::LengthDistribution lengths, bool packing) {
  plan::Job job = test::grpo_job();
  job.workload.response_length = std::move(lengths);
  job.workload.packing = packing;
  return job;
}

TEST(Estimate, PaddedRowsTakeTheTimeOfTheLongest) {
  const auto vary = workflow::LengthDistribution::of({{64, 7}, {900, 1}}).value();
  const plan::Job packed = with_responses(vary, true);
  const plan::Job padded = with_responses(vary, false);
  const plan::Job all_long = with_responses(workflow::LengthDistribution::fixed(900), true);
  const plan::Plan plan = test::co_located(packed);
  const Estimate rows = estimate_of(padded, plan);
  for (const std::string_view task : {"actor_infer", "reference_infer", "actor_train"}) {
    EXPECT_DOUBLE_EQ(seconds_of(rows, padded, task), seconds_of(estimate_of(all_long, plan), all_long, task)) << task;
    EXPECT_GT(seconds_of(rows, padded, task), seconds_of(estimate_of(packed, plan), packed, task)) << task;
  }
  // Engines do not pad, and padding does not count as throughput.
  EXPECT_DOUBLE_EQ(seconds_of(rows, padded, "actor_generate"),
                   seconds_of(estimate_of(packed, plan), packed, "actor_generate"));
  EXPECT_DOUBLE_EQ(rows.tokens_per_second, 256 * (128 + vary.mean()) / rows.iteration_seconds / 8);
}

TEST(Estimate, FiguresFollowFromTheIteration) {
  const plan::Job job = test::grpo_job();
  const Estimate result = estimate_of(job, test::co_located(job));
  EXPECT_DOUBLE_EQ(result.samples_per_second, 256 / result.iteration_seconds);
  EXPECT_DOUBLE_EQ(result.tokens_per_second, 256 * 640 / result.iteration_seconds / 8);
  EXPECT_DOUBLE_EQ(result.gpu_hours, 8 * result.iteration_seconds / 3600);
  EXPECT_DOUBLE_EQ(*result.price, 2 * result.gpu_hours);
}

TEST(Software, IsNamedByTheJob) {
  plan::Job job = test::grpo_job();
  EXPECT_EQ(software_of(job)->efficiency.name, "h100/megatron-vllm");
  job.software.efficiency = "a100/realhf";
  EXPECT_EQ(software_of(job)->efficiency.name, "a100/realhf");
  job.software.efficiency.clear();
  job.cluster.groups[0].gpu = cluster::find_gpu("A100").value();
  EXPECT_EQ(software_of(job)->efficiency.name, "assumed");
  EXPECT_EQ(software_of(job)->conventions.name, "megatron");
  job.software.training = "fsdp2";
  EXPECT_EQ(software_of(job)->conventions.name, "fsdp2");
  job.software.training = "megatorn";
  EXPECT_NE(software_of(job).error().message.find("megatron"), std::string::npos);
}

TEST(Software, MayHaveItsEfficienciesInAFile) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "dovetail-efficiency.yaml";
  std::ofstream(path) << "format: dovetail/efficiency@1\nname: mine\nconstants: {matrix_products: 0.6}\n";
  plan::Job job = test::grpo_job();
  job.software.efficiency = path.string();
  EXPECT_EQ(software_of(job)->efficiency.name, "mine");
  EXPECT_EQ(software_of(job)->efficiency.matrix_products, 0.6);
  std::ofstream(path) << "format: dovetail/efficiency@1\nname: mine\nconstants: {matrix_products: 6}\n";
  EXPECT_NE(base::to_text(software_of(job).error()).find("dovetail-efficiency.yaml:3:30: "), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_EQ(software_of(job).error().failure, base::Failure::io);
}

}  // namespace
}  // namespace dovetail::predict
