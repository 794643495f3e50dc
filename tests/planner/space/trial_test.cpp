// The search's memory account compared with task_memory.
#include "planner/space/trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "predict/closed_form/memory.h"
#include "support/spaces.h"

namespace dovetail::planner {
namespace {

/// Returns the bytes missing by task_memory, including the margin.
std::int64_t missing_bytes(const test::Place& place, const Selection& selection, FusionSelection fused) {
  plan::Plan plan = plan_of(place.space, selection, "");
  std::optional<std::int64_t> activations;
  if (fused.training) {
    plan.fusion.training = plan::train_pair(place.job);
    // A sequential schedule.
    activations = 0;
    for (const std::size_t task : *plan.fusion.training)
      activations =
          std::max(*activations, predict::bytes_of(predict::working_memory(place.scenario, task, plan.tasks[task]),
                                                   predict::MemoryKind::activations));
  }
  std::int64_t missing = 0;
  for (const predict::TaskMemory& memory : predict::task_memory(place.scenario, plan, activations))
    missing = std::max({missing, -memory.headroom(), memory.host - memory.host_memory});
  return missing;
}

struct Seen {
  int lacking = 0;  ///< selections that do not fit
  int host = 0;     ///< selections that offload something
  int fused = 0;    ///< selections that fuse their trainings
};

Seen expect_one_account(test::Place& place, int rounds, std::uint64_t seed) {
  base::Random random(seed, 0);
  Trial trial(place.space);
  Seen seen;
  for (int round = 0; round < rounds; ++round) {
    const Selection selection = round % 2 == 0 ? test::random_selection(place.space, random)
                                               : test::random_co_located_selection(place.space, random);
    const Score score = trial.score(selection, {round % 3 == 0, round % 4 < 2});
    EXPECT_EQ(score.excess, missing_bytes(place, selection, score.fused)) << "round " << round;
    seen.lacking += score.excess > 0 ? 1 : 0;
    seen.fused += score.fused.training ? 1 : 0;
    const plan::Plan plan = plan_of(place.space, selection, "");
    seen.host += std::any_of(plan.tasks.begin(), plan.tasks.end(),
                             [](const plan::TaskPlan& task) { return task.offload.optimizer; })
                     ? 1
                     : 0;
  }
  return seen;
}

constexpr const char* models = "actor: llama-2-7b, reward: llama-2-7b";

TEST(Trial, ExcessAgreesWithTheMemoryAccount) {
  test::Place place(test::small_job("ppo", models, "nodes: 2, gpus_per_node: 4, gpu: H100, host_memory: 160GiB"));
  const Seen seen = expect_one_account(place, 200, 1);
  EXPECT_GT(seen.lacking, 20);
  EXPECT_LT(seen.lacking, 190);
  EXPECT_GT(seen.host, 20);
  EXPECT_GT(seen.fused, 0);
}

TEST(Trial, ExcessAgreesWithPrefetchingAndAMargin) {
  plan::Job job = test::small_job("ppo", models, "nodes: 1, gpus_per_node: 8, gpu: A100-80");
  job.software.prefetch = true;
  job.limits.margin = plan::MinMargin{0, std::int64_t{8} << 30};
  test::Place place(std::move(job));
  EXPECT_GT(expect_one_account(place, 200, 2).lacking, 20);
}

TEST(Trial, ExcessAgreesOnTwoKindsOfNodes) {
  test::Place place(test::small_job("ppo", models,
                                    "groups: [{nodes: 1, gpus_per_node: 4, gpu: H100, host_memory: 200GiB}, "
                                    "{nodes: 2, gpus_per_node: 4, gpu: A100-80, host_memory: 60GiB}]"));
  EXPECT_GT(expect_one_account(place, 200, 3).lacking, 20);
}

TEST(Trial, ExcessAgreesWithOptimizersOnTheHost) {
  plan::Job job = test::small_job("ppo", models, "nodes: 1, gpus_per_node: 2, gpu: A100-40, host_memory: 190GiB");
  job.software.training = "deepspeed-zero";
  test::Place place(std::move(job));
  // Nothing fits with the optimizer on the device.
  ASSERT_FALSE(impossible_task(place.space));
  EXPECT_GT(expect_one_account(place, 200, 4).lacking, 20);
}

}  // namespace
}  // namespace dovetail::planner
