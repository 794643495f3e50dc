#include "simulate/threshold.h"

#include <gtest/gtest.h>

#include "simulate/inter_stage.h"
#include "stage_tasks.h"
#include "workflow/log_normal.h"

namespace dovetail::simulate {
namespace {

using base::Ticks;
using test::layout_of;
using test::long_tailed;
using test::StageContext;

std::vector<std::vector<Sample>> draws_of(double sigma, int prompts) {
  workflow::Workload workload{workflow::LengthDistribution::fixed(100),
                              workflow::log_normal_lengths({.mean = 300, .sigma = sigma, .cap = 2000})};
  workload.prompts = prompts;
  std::vector<std::vector<Sample>> draws;
  for (std::uint64_t draw = 0; draw < 3; ++draw) draws.push_back(draw_samples(workload, {}, 7, draw));
  return draws;
}

TEST(Threshold, EveryPointEqualsASeparateSimulation) {
  StageContext scenario("llama-3.1-8b", layout_of(8, 1, 1));
  scenario.add("llama-3.1-8b", 1, 1, 4, 0.2);
  const std::vector<std::vector<Sample>> draws = draws_of(0.8, 128);
  scenario.know(draws.front());
  const ThresholdChoice choice =
      choose_threshold(scenario.task, draws, {{0.01, 0.1, 0.3, 0.6, 0.9}, std::nullopt, 1}).value();
  ASSERT_EQ(choice.points.size(), 6U);
  for (const ThresholdPoint& point : choice.points) {
    Ticks sum;
    for (std::size_t draw = 0; draw < draws.size(); ++draw) {
      const InterStage stages = simulate_inter_stage(scenario.task, draws[draw], point.threshold);
      EXPECT_EQ(point.ends[draw], stages.end);
      sum += stages.end;
    }
    EXPECT_EQ(point.value, Ticks(sum.count() / 3));
    EXPECT_GE(point.value, choice.points[choice.best].value);
  }
  EXPECT_EQ(choice.points.front().migrated, 0U);
  EXPECT_TRUE(choice.points[choice.best].threshold) << "a long tail hides inference";
}

TEST(Threshold, NotMigratingIsAChoice) {
  StageContext scenario("llama-3.1-8b", layout_of(8, 1, 1));
  // Loading takes longer than the tail can hide.
  scenario.add("llama-3.1-8b", 1, 1, 4, 60);
  const std::vector<Sample> samples = test::equal_samples(64, 100, 200);
  scenario.know(samples);
  const ThresholdChoice choice = choose_threshold(scenario.task, {samples}, {}).value();
  EXPECT_EQ(choice.points.size(), 23U) << "none, 1% to 3%, and 5% to 95%";
  EXPECT_EQ(choice.best, 0U);
}

TEST(Threshold, QuantilesAreDraws) {
  StageContext scenario("llama-3.1-8b", layout_of(4, 1, 1));
  scenario.add("llama-3.1-8b", 1, 1, 4, 0.2);
  const std::vector<std::vector<Sample>> draws = draws_of(0.8, 64);
  scenario.know(draws.front());
  const ThresholdChoice worst = choose_threshold(scenario.task, draws, {{0.25, 0.5, 0.75}, 1.0, 1}).value();
  const ThresholdChoice median = choose_threshold(scenario.task, draws, {{0.25, 0.5, 0.75}, 0.5, 1}).value();
  for (std::size_t point = 0; point < worst.points.size(); ++point) {
    std::vector<Ticks> ends = worst.points[point].ends;
    std::sort(ends.begin(), ends.end());
    EXPECT_EQ(worst.points[point].value, ends[2]);
    EXPECT_EQ(median.points[point].value, ends[1]);
  }
}

TEST(Threshold, ThreadsDoNotChangeTheResult) {
  StageContext scenario("llama-3.1-8b", layout_of(4, 1, 1));
  scenario.add("llama-3.1-8b", 1, 1, 4, 0.2);
  const std::vector<std::vector<Sample>> draws = draws_of(1.0, 64);
  scenario.know(draws.front());
  const ThresholdChoice alone = choose_threshold(scenario.task, draws, {{0.2, 0.6}, std::nullopt, 1}).value();
  const ThresholdChoice together = choose_threshold(scenario.task, draws, {{0.2, 0.6}, std::nullopt, 3}).value();
  EXPECT_EQ(alone.best, together.best);
  for (std::size_t point = 0; point < alone.points.size(); ++point)
    EXPECT_EQ(alone.points[point].ends, together.points[point].ends);
}

}  // namespace
}  // namespace dovetail::simulate
