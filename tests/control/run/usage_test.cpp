#include "control/run/usage.h"

#include <gtest/gtest.h>

#include <vector>

#include "control/fake_run.h"

namespace dovetail::control {
namespace {

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
  // The actor and, untrained here, reward and critic, which have 4 parameters each, pass over what was sampled.
  EXPECT_EQ(flops_of({work.samples, work.training}, run.job.workflow, run.models),
            2 * 16 * 10 + 6 * 16 * 20 + 2 * 2 * 4 * 10);
}

TEST(Usage, IsOfTheIterationsSeconds) {
  const FakeRun run("{name: ppo, reference: skip}", "{prompts: 2, prompt_length: 1, response_length: 4}", 4);
  const Work work;
  Figures figures;
  add_usage({work.samples, work.training}, run.job, run.models, 2, figures);
  for (const Figure& figure : figures) EXPECT_TRUE(figure.is_timing) << figure.name;
  EXPECT_EQ(find_figure(figures, "seconds")->value, 2);
  EXPECT_EQ(find_figure(figures, "tokens_per_second")->value, 5);
  EXPECT_DOUBLE_EQ(find_figure(figures, "mfu")->value, 1200.0 / run.job.cluster.groups[0].gpu.bf16);
  EXPECT_GT(find_figure(figures, "memory_gib")->value, 1e-4);
  Figures trained;
  add_usage({{}, work.training}, run.job, run.models, 2, trained);
  EXPECT_EQ(find_figure(trained, "tokens_per_second")->value, 10) << "nothing is sampled: what is trained on counts";
}

TEST(Usage, IsSaidOfEachRankWhereThereAreSeveral) {
  Figures figures;
  add_shares(std::vector<RankUsage>{{1, 2}}, figures);
  EXPECT_TRUE(figures.empty()) << "of one rank the rest of the row says it";
  add_shares(std::vector<RankUsage>{{0.5, 1 << 30}, {0.25, 1 << 29}}, figures);
  EXPECT_EQ(find_figure(figures, "processor_seconds/1")->value, 0.25);
  EXPECT_EQ(find_figure(figures, "live_gib/1")->value, 0.5);
  for (const Figure& figure : figures) EXPECT_TRUE(figure.is_timing) << figure.name;
}

TEST(Usage, ProcessorTimeGrows) {
  const double before = processor_seconds();
  EXPECT_GT(before, 0);
  while (processor_seconds() == before) {
  }
  EXPECT_GT(processor_seconds(), before);
}

TEST(Usage, HasAllOfAMachineThatWasFast) {
  const FakeRun run("sft", "{prompts: 2, prompt_length: 1, response_length: 4}", 4);
  Figures figures;
  add_usage({{}, {}}, run.job, run.models, 0, figures);
  EXPECT_EQ(find_figure(figures, "tokens_per_second"), nullptr) << "no figure in place of a division by zero";
}

}  // namespace
}  // namespace dovetail::control
