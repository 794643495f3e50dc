#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/machine.h"
#include "cost/training.h"
#include "predict/closed_form/activity_seconds.h"
#include "predict/simulated/ranks.h"
#include "predict/simulated/task_traces.h"
#include "support/jobs.h"
#include "workflow/workflow.h"

namespace dovetail::predict {
namespace {

/// GRPO of 256 samples with 640 tokens each in two mini-batches, on eight devices with NeMo-RL.
struct Case {
  Case() : job(packed_job()), scenario(scenario_of(job, software_of(job).value())), plan(test::co_located(job)) {
    for (plan::TaskPlan& planned : plan.tasks) planned.micro_batching = {.tokens = 2000};
  }
  Case(const Case&) = delete;

  static plan::Job packed_job() {
    plan::Job job = test::grpo_job();
    job.software.training = "nemo-rl-megatron";
    return job;
  }
  std::size_t task(std::string_view name) const { return workflow::find_task(job.workflow, name)->index(); }
  plan::TaskPlan& planned(std::string_view name) { return plan.tasks[task(name)]; }
  std::optional<DistributedPacks> dealt(std::string_view name) {
    return distribute_packs(scenario, task(name), planned(name));
  }

  plan::Job job;
  Scenario scenario;
  plan::Plan plan;
};

TEST(DistributedPacks, TheFirstRanksHaveOneMore) {
  Case of;
  // Three sequences fit: 86 packs, of which six of eight ranks get eleven.
  const DistributedPacks scored = of.dealt("actor_infer").value();
  EXPECT_EQ(scored.count, 11);
  EXPECT_DOUBLE_EQ(scored.micro_batch.count, 3 * 640);
  EXPECT_DOUBLE_EQ(scored.micro_batch.squares, 3 * 640 * 640);
  // 43 of each mini-batch. The last one has two sequences and is on rank 2.
  EXPECT_EQ(of.dealt("actor_train").value().count, 6);
}

TEST(DistributedPacks, ArePaddedInAPipeline) {
  Case of;
  plan::TaskPlan& planned = of.planned("actor_train");
  planned.layout.pipeline = 8;
  planned.layout.data = 1;
  // 42 packs of three and one of two, whose last sequence is as long as two.
  const DistributedPacks trained = of.dealt("actor_train").value();
  EXPECT_EQ(trained.count, 43);
  EXPECT_DOUBLE_EQ(trained.micro_batch.count, 3 * 640);
  EXPECT_DOUBLE_EQ(trained.micro_batch.squares, (42 * 3 + 1 + 4) * 640.0 * 640 / 43);
  planned.layout.virtual_stages = 2;
  EXPECT_EQ(of.dealt("actor_train").value().count, 48) << "full rounds of eight stages";
}

TEST(DistributedPacks, SequencesArePaddedToTheRanksThatDivideThem) {
  Case of;
  plan::TaskPlan& planned = of.planned("actor_infer");
  planned.layout.data = 2;
  planned.layout.context = 4;
  of.job.workload.prompt_length = workflow::LengthDistribution::fixed(129);
  const Scenario scenario = scenario_of(of.job, of.scenario.software);
  EXPECT_DOUBLE_EQ(distribute_packs(scenario, of.task("actor_infer"), planned)->micro_batch.count, 3 * 648);
}

TEST(DistributedPacks, RequireSoftwareAndPlan) {
  Case of;
  of.planned("actor_infer").micro_batching = {.sequences = 4};
  of.planned("actor_train").micro_batching = {.count = 4};
  EXPECT_FALSE(of.dealt("actor_infer").has_value());
  EXPECT_FALSE(of.dealt("actor_train").has_value());
  EXPECT_TRUE(of.dealt("reference_infer").has_value());
  of.scenario.software.conventions.deals_packs = false;
  EXPECT_FALSE(of.dealt("reference_infer").has_value());
}

TEST(DistributedPacks, AreUsedByTraces) {
  Case of;
  const cost::Efficiency& efficiency = of.scenario.software.efficiency;
  const cost::Machine machine = cost::machine_of(of.job.cluster, {0, 8}, efficiency);
  const cost::ModelFacts& facts = facts_of(of.scenario, of.task("actor_train"));
  const llm::Tokens pack{3 * 640, 3 * 640 * 640};
  const plan::TaskPlan& scored = of.planned("actor_infer");
  const double pass = cost::inference_passes(facts, scored.layout, pack, machine, efficiency).stages.front().sum();
  const auto seconds = [](const simulate::Trace& trace) { return 1e-9 * static_cast<double>(trace.end.count()); };
  EXPECT_NEAR(seconds(inference_trace(of.scenario, of.task("actor_infer"), scored)), 11 * pass, 1e-7);
  const TrainTask train{of.task("actor_train"), of.planned("actor_train")};
  const cost::ChunkPasses passes =
      cost::training_passes(facts, train.planned.layout, 6, pack, machine, efficiency).chunks.front();
  const cost::TrainingSeconds closed = closed_training_seconds(of.scenario, train);
  EXPECT_NEAR(seconds(training_trace(of.scenario, train).value()),
              2 * 6 * (passes.forward.sum() + passes.backward.sum()) + closed.gradients + closed.optimizer, 1e-7);
}

}  // namespace
}  // namespace dovetail::predict
