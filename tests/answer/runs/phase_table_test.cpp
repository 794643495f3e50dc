#include "answer/runs/phase_table.h"

#include <gtest/gtest.h>

#include "fuse/solve.h"
#include "support/two_models.h"

namespace dovetail::answer {
namespace {

TEST(FusionGain, ComparesWithModelsInSequence) {
  const pipeline::Problem problem = test::two_models(4, 4);
  const auto fused = fuse::solve(problem, "auto");
  ASSERT_TRUE(fused.ok());
  const auto gain = fusion_gain(fused->schedule);
  ASSERT_TRUE(gain);
  // 1F1B of one model takes (micro-batches + stages - 1) forwards and backwards.
  EXPECT_EQ(gain->serial.count(), 2 * 7 * 6'000'000);
  EXPECT_EQ(gain->fused, fused->schedule.claims.makespan);
  EXPECT_NEAR(gain->saved(), 1 - static_cast<double>(gain->fused.count()) / (2 * 7 * 6e6), 1e-12);
  EXPECT_GT(gain->saved(), 0.2);
}

TEST(FusionGain, IsEmptyForOneModel) {
  pipeline::Problem problem = test::two_models(2, 2);
  problem.models.pop_back();
  EXPECT_FALSE(fusion_gain(fuse::solve(problem, "1f1b")->schedule));
}

TEST(PhaseTable, ShowsSavingsForFusedPhasesOnly) {
  const pipeline::Problem both = test::two_models(2, 4);
  pipeline::Problem alone = both;
  alone.models.pop_back();
  const auto rows_of = [](const pipeline::Problem& problem) {
    const pipeline::Schedule schedule = fuse::solve(problem, "1f1b")->schedule;
    records::TrainingPhase phase{"actor_train", schedule, schedule, {}};
    phase.trace.end = base::Ticks(123'000'000);
    return phase_table(phase).rows;
  };
  const auto rows = rows_of(both);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[1], (std::vector<std::string>{"makespan of the last run", "", "123.0 ms"}));
  // The schedule is 1F1B, so fusion saves nothing.
  EXPECT_EQ(rows[3], (std::vector<std::string>{"saved by fusion", "0.0%", "0.0%"}));
  EXPECT_EQ(rows_of(alone).size(), 2U);
}

}  // namespace
}  // namespace dovetail::answer
