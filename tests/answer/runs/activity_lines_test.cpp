#include "answer/runs/activity_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "answer/words/amounts.h"
#include "answer/words/figures.h"
#include "support/jobs.h"

namespace dovetail::answer {
namespace {

TEST(ActivityLines, NameEachActivityOnceWithItsSeconds) {
  const plan::Job job = test::grpo_job();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const plan::Plan plan = test::separated(job);
  const predict::Simulation simulation = predict::Simulator(scenario, {}).simulate(plan).value();
  const std::vector<ActivityLine> lines = activity_lines(scenario, plan, simulation);
  ASSERT_EQ(lines.size(), simulation.closed.graph.activities.size()) << "nothing is fused";
  bool moves_weights = false;
  for (const ActivityLine& line : lines) {
    const plan::ActivityTime& time = simulation.iteration.activities[line.activity];
    EXPECT_NEAR(line.simulated, base::seconds_of_ticks(time.end - time.begin), 1e-12);
    EXPECT_EQ(line.closed, simulation.closed.activities[line.activity].seconds);
    if (line.name == "weights to actor_generate") moves_weights = true;
    if (line.name == "actor_train") {
      EXPECT_EQ(line.devices, "node 0: 4-7");
    }
  }
  EXPECT_TRUE(moves_weights);
}

TEST(ActivityLines, NameWhatComesFromHostMemoryBesideOtherTasks) {
  plan::Job job = test::grpo_job();
  job.software.prefetch = true;
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const plan::Plan plan = test::co_located(job, R"(, "offload": ["optimizer"])", R"(, "offload": ["weights"])");
  const predict::Simulation simulation = predict::Simulator(scenario, {}).simulate(plan).value();
  std::vector<std::string> names;
  for (const ActivityLine& line : activity_lines(scenario, plan, simulation)) {
    names.push_back(line.name);
    if (line.name == "reference_infer, from host") {
      EXPECT_LT(line.begin, 0) << "the iteration before is still under way";
      EXPECT_EQ(seconds_text(line.begin).front(), '-');
      EXPECT_NEAR(line.simulated, line.closed, 1e-8);
    } else {
      EXPECT_GE(line.begin, 0) << line.name;
    }
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"actor_train", "actor_train, from host", "actor_train, to host",
                                            "reference_infer, from host"}));
}

TEST(ActivityLines, SayHowFarValuesAreApart) {
  EXPECT_EQ(difference_text(1.05, 1), "+5.0%");
  EXPECT_EQ(difference_text(0.9, 1), "-10.0%");
  EXPECT_EQ(difference_text(1, 0), "");
}

}  // namespace
}  // namespace dovetail::answer
