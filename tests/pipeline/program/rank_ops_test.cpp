#include "pipeline/program/rank_ops.h"

#include <gtest/gtest.h>

#include <tuple>

#include "pipeline/program/compile.h"
#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/validate.h"
#include "support/random_problem.h"
#include "support/random_schedule.h"

namespace dovetail::pipeline {
namespace {

/// Returns the ops of each rank with their times, as in a schedule.
std::vector<std::vector<ScheduledOp>> ops_of(const Schedule& schedule, const Placement& placement) {
  std::vector<std::vector<ScheduledOp>> all;
  for (const RankWork& rank : work_of_ranks(schedule, placement)) {
    auto& ops = all.emplace_back();
    for (const RankOp& op : rank.ops) ops.push_back({op.label, op.start, op.end});
  }
  return all;
}

/// Expects a schedule of the work of the ranks at its times, which compiles to programs with the same instructions.
void expect_of_ranks(const Schedule& given, const Placement& placement) {
  const Schedule of_ranks = schedule_of_ranks(given, placement);
  const auto violation = validate(of_ranks);
  ASSERT_FALSE(violation) << violation->message;
  EXPECT_EQ(of_ranks.problem.devices, placement.ranks);
  EXPECT_EQ(of_ranks.claims.makespan, given.claims.makespan);
  const Placement own = rank_per_device(of_ranks.problem);
  EXPECT_EQ(ops_of(of_ranks, own), ops_of(given, placement));
  const auto expected = sound_programs(given, placement);
  const auto programs = sound_programs(of_ranks, own);
  ASSERT_TRUE(expected.ok() && programs.ok());
  for (std::size_t rank = 0; rank < programs->size(); ++rank) EXPECT_EQ((*programs)[rank].code, (*expected)[rank].code);
}

TEST(ScheduleOfRanks, IsUnchangedWithARankPerDevice) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    test::RandomProblemOptions options;
    options.resident = false;
    const Problem problem = test::random_problem(seed, options);
    const Schedule given = test::random_schedule(problem, seed);
    const Placement placement = rank_per_device(problem);
    EXPECT_EQ(schedule_of_ranks(given, placement), given);
    expect_of_ranks(given, placement);
    if (testing::Test::HasFailure()) return;
  }
}

ModelLayout layout(const std::string& name, int data, int pipeline, std::int64_t ticks) {
  const auto stages = static_cast<std::size_t>(pipeline);
  ModelLayout layout;
  layout.name = name;
  layout.data_parallel = data;
  layout.pipeline_parallel = pipeline;
  layout.microbatches = 4 * pipeline;
  layout.forward.assign(stages, Ticks(ticks));
  layout.backward.assign(stages, Ticks(2 * ticks));
  layout.activation.assign(stages, Memory(1'000'000));
  return layout;
}

TEST(ScheduleOfRanks, HasTheReplicasOfAllGroups) {
  for (const auto& [data, pipeline, other_data, other_pipeline] :
       {std::tuple(2, 2, 2, 2), std::tuple(2, 2, 4, 1), std::tuple(4, 2, 2, 4), std::tuple(1, 4, 4, 1)}) {
    const auto fused = fuse_layouts(layout("actor", data, pipeline, 12),
                                    layout("critic", other_data, other_pipeline, 8), TimeUnit::ns);
    ASSERT_TRUE(fused.ok()) << fused.error().message;
    const Schedule given = test::random_schedule(fused->problem, 3);
    expect_of_ranks(given, placement_of(*fused));
    const Schedule of_ranks = schedule_of_ranks(given, placement_of(*fused));
    EXPECT_EQ(of_ranks.problem.models[0].replicas.size(), static_cast<std::size_t>(data));
    EXPECT_EQ(of_ranks.problem.models[1].replicas.size(), static_cast<std::size_t>(other_data));
  }
}

TEST(ScheduleOfRanks, DividesMergedStages) {
  Problem problem;
  problem.time_unit = TimeUnit::ns;
  problem.devices = 2;
  Model actor;
  actor.name = "actor";
  actor.microbatches = 3;
  actor.replicas = {device_list({0, 1})};
  actor.forward = {Ticks(7), Ticks(7)};
  actor.backward = {Ticks(9), Ticks(9)};
  actor.transfer_forward = {Ticks(2)};
  problem.models = {actor};
  problem = with_defaults(problem);
  const Placement placement{4, 1, {{2, {{{0}, {1}, {2}, {3}}}}}};
  const Schedule given = test::random_schedule(problem, 2);
  expect_of_ranks(given, placement);
  const Model own = schedule_of_ranks(given, placement).problem.models[0];
  EXPECT_EQ(own.forward, (std::vector{Ticks(3), Ticks(4), Ticks(3), Ticks(4)}));
  EXPECT_EQ(own.backward, (std::vector{Ticks(5), Ticks(4), Ticks(5), Ticks(4)}));
  EXPECT_EQ(own.transfer_forward, (std::vector{Ticks(0), Ticks(2), Ticks(0)}));
}

}  // namespace
}  // namespace dovetail::pipeline
