// Which tasks may run together, and the reasons if they may not.
#include "plan/fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/iteration_graph.h"
#include "plan/jobs.h"
#include "plan/timing.h"

namespace dovetail::plan {
namespace {

using testing::HasSubstr;

struct PpoFusion : testing::Test {
  Job job = test::job_of("ppo", 2);
  Plan plan = test::together(job, {0, 16});

  std::vector<std::string> inferring() const {
    std::vector<std::string> names;
    if (const auto stage = generation_stage(job, plan.tasks))
      for (const std::size_t task : stage->infer) names.push_back(job.workflow.tasks[task].name);
    return names;
  }
  TrainPair pair() const { return {test::index_of(job, "actor_train"), test::index_of(job, "critic_train")}; }
  std::string training_fault() {
    return find_training_fault(job, pair(), test::task_of(plan, job, "actor_train"),
                               test::task_of(plan, job, "critic_train"))
        .value_or("none");
  }
};

TEST(Fusion, FaultsAreRewordedAsReasons) {
  EXPECT_EQ(as_reason("one is here, the other there; accepted: the same devices"),
            "one is here, the other there; fusion needs the same devices");
  EXPECT_EQ(as_reason("neither is here"), "neither is here");
}

TEST_F(PpoFusion, GenerationIsFusedWithInferenceOnItsDevices) {
  EXPECT_THAT(inferring(), testing::ElementsAre("reward_infer", "reference_infer", "critic_infer"));
  test::task_of(plan, job, "reference_infer").mesh = {0, 8};
  EXPECT_THAT(inferring(), testing::ElementsAre("reward_infer", "critic_infer"));
  EXPECT_EQ(find_threshold_fault(0.2, job, plan.tasks), std::nullopt);
  for (const char* task : {"reward_infer", "critic_infer"}) test::task_of(plan, job, task).mesh = {8, 8};
  EXPECT_EQ(generation_stage(job, plan.tasks), std::nullopt);
  EXPECT_THAT(
      find_threshold_fault(0.2, job, plan.tasks).value(),
      HasSubstr(
          "no infer task that depends only on actor_generate runs on the devices of actor_generate; accepted: such a "
          "task on"));
}

TEST_F(PpoFusion, ThresholdsAreFractions) {
  for (const double threshold : {0.0, 1.0, -0.1, 1.5})
    EXPECT_THAT(find_threshold_fault(threshold, job, plan.tasks).value(), HasSubstr("accepted: above 0 and below 1"));
  plan.fusion.threshold = 1.5;
  EXPECT_EQ(find_fault(plan, job)->message, "the threshold is 1.5; accepted: above 0 and below 1");
}

TEST_F(PpoFusion, ActorAndCriticTrainTogetherWithCompatibleLayouts) {
  EXPECT_EQ(train_pair(job), pair());
  EXPECT_EQ(training_fault(), "none");
  test::task_of(plan, job, "actor_train").layout = test::layout_of(2, 4, 2);
  test::task_of(plan, job, "critic_train").layout = test::layout_of(8, 1, 2);
  EXPECT_THAT(training_fault(), HasSubstr("must divide the pp of the model with the smaller tp"));
  test::task_of(plan, job, "critic_train").layout = test::layout_of(4, 1, 4);
  EXPECT_EQ(training_fault(), "none");
  test::task_of(plan, job, "critic_train").layout.virtual_stages = 2;
  EXPECT_EQ(training_fault(), "critic_train has 2 virtual stages; accepted: 1");
  test::task_of(plan, job, "critic_train") = test::task_of(plan, job, "actor_train");
  test::task_of(plan, job, "critic_train").mesh = {8, 8};
  EXPECT_THAT(training_fault(), HasSubstr("accepted: the same devices"));
  plan.fusion.training = pair();
  EXPECT_FALSE(possible_fusion(plan.fusion, job, plan.tasks).training.has_value());
}

TEST_F(PpoFusion, APairIsTwoIndependentTrainTasksOfDifferentRoles) {
  const auto fault_of = [&](const char* a, const char* b) {
    const TaskPlan& planned = plan.tasks.front();
    return find_training_fault(job, {test::index_of(job, a), test::index_of(job, b)}, planned, planned)
        .value_or("none");
  };
  EXPECT_EQ(fault_of("actor_train", "critic_infer"), "critic_infer does not train; accepted: two train tasks");
  EXPECT_EQ(fault_of("actor_train", "actor_train"), "both tasks train the same role; accepted: two roles");
  for (const char* name : {"grpo", "{name: dpo}"}) EXPECT_EQ(train_pair(test::job_of(name)), std::nullopt) << name;
  const Job waiting =
      parse_job(R"({format: dovetail/job@1, algorithm: {roles: [{name: actor}, {name: critic, head: scalar}],
    tasks: [{name: first, kind: train, role: actor, inputs: [prompts], outputs: [a]},
            {name: second, kind: train, role: critic, inputs: [a]}]},
    models: {actor: llama-2-7b, critic: llama-2-7b}, workload: {prompts: 64, prompt_length: 100, response_length: 500},
    cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}})",
                "job.yaml")
          .value();
  EXPECT_EQ(find_training_fault(waiting, {0, 1}, {}, {}).value_or("none"),
            "second waits for data of first; accepted: tasks that do not wait for each other");
  EXPECT_EQ(train_pair(waiting), std::nullopt);
}

TEST_F(PpoFusion, PinsRequireAndForbidFusion) {
  const Fusion both{0.2, pair()};
  EXPECT_TRUE(agrees(FusionPin{}, both) && agrees(FusionPin{}, Fusion{}));
  EXPECT_TRUE(agrees(FusionPin{.inter_stage = true, .threshold = 0.2, .intra_stage = true}, both));
  EXPECT_FALSE(agrees(FusionPin{.inter_stage = true, .threshold = 0.3}, both));
  EXPECT_FALSE(agrees(FusionPin{.inter_stage = false}, both));
  EXPECT_FALSE(agrees(FusionPin{.intra_stage = true}, Fusion{}));
  EXPECT_EQ(find_fault(FusionPin{.inter_stage = true, .threshold = std::nullopt, .intra_stage = true}, job),
            std::nullopt);
  const Job grpo = test::job_of("grpo");
  EXPECT_THAT(find_fault(FusionPin{.intra_stage = true}, grpo).value(), HasSubstr("accepted: `intra_stage: false`"));
  EXPECT_EQ(find_fault(FusionPin{.inter_stage = true}, grpo), std::nullopt);
  EXPECT_THAT(find_fault(FusionPin{.inter_stage = true}, test::job_of("{name: dpo}")).value(),
              HasSubstr("`inter_stage: false`"));
}

/// An iteration on one device that runs one activity after the other. Activities within another take no time.
TEST_F(PpoFusion, ActivitiesWithinAnotherTakeNoTimeAndEndWithIt) {
  IterationGraph graph = iteration_graph(job, plan);
  std::vector<base::Ticks> durations(graph.activities.size(), base::Ticks(10));
  const base::Ticks apart = time_iterations(graph, job, plan, durations).period;
  const auto stage = generation_stage(job, plan.tasks).value();
  put_within(graph, stage.generate, stage.infer);
  put_within(graph, pair()[0], {pair()[1]});
  for (const std::size_t task : stage.infer) durations[task] = base::Ticks(0);
  durations[pair()[1]] = base::Ticks(0);
  const Timing timing = time_iterations(graph, job, plan, durations);
  EXPECT_EQ(timing.period, apart - base::Ticks(40));
  for (const std::size_t task : stage.infer) {
    EXPECT_EQ(timing.activities[task].begin, timing.activities[stage.generate].end);
    EXPECT_EQ(timing.activities[task].end, timing.activities[stage.generate].end);
    EXPECT_TRUE(meshes_of(graph.activities[task], job, plan).empty());
  }
  EXPECT_EQ(timing.activities[pair()[1]].end, timing.activities[pair()[0]].end);
}

/// Actor and reference on devices 0-3, reward and critic on 4-7: inference on 4-7 waits for generation, but not for the
/// reference.
TEST_F(PpoFusion, ActivitiesThatNeedOnlyTheLeaderStartBeforeItsMembersEnd) {
  for (const char* name : {"actor_generate", "reference_infer", "actor_train"})
    test::task_of(plan, job, name).mesh = {0, 4};
  for (const char* name : {"reward_infer", "critic_infer", "critic_train"})
    test::task_of(plan, job, name).mesh = {4, 4};
  IterationGraph graph = iteration_graph(job, plan);
  std::vector<base::Ticks> durations(graph.activities.size(), base::Ticks(10));
  const auto stage = generation_stage(job, plan.tasks).value();
  ASSERT_EQ(stage.infer.size(), 1U);
  put_within(graph, stage.generate, stage.infer);
  durations[stage.generate] = base::Ticks(100);
  durations[stage.infer[0]] = base::Ticks(0);
  const auto beginnings = [&](const Timing& timing) {
    std::vector<base::Ticks> waits;
    for (const char* name : {"reward_infer", "actor_train"})
      waits.push_back(timing.activities[workflow::find_task(job.workflow, name)->index()].begin -
                      timing.activities[stage.generate].begin);
    return waits;
  };
  EXPECT_GE(beginnings(time_iterations(graph, job, plan, durations))[0], base::Ticks(100));
  release(graph, stage.generate, base::Ticks(30));
  const std::vector<base::Ticks> released = beginnings(time_iterations(graph, job, plan, durations));
  EXPECT_EQ(released[0], base::Ticks(70));
  EXPECT_GE(released[1], base::Ticks(100)) << "its devices are not free before";
}

RC_GTEST_PROP(Fusion, ThePossiblePartIsValid, ()) {
  const Job job = test::random_job();
  Plan plan = test::random_plan(job);
  Fusion wanted;
  wanted.threshold = *rc::gen::element(0.05, 0.2, 0.95);
  wanted.training = train_pair(job);
  plan.fusion = possible_fusion(wanted, job, plan.tasks);
  RC_ASSERT(!find_fault(plan, job).has_value());
  RC_ASSERT(possible_fusion(plan.fusion, job, plan.tasks) == plan.fusion);
  RC_CLASSIFY(plan.fusion.any());
}

}  // namespace
}  // namespace dovetail::plan
