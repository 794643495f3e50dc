#include "answer/text/plan_text.h"

#include <gtest/gtest.h>

#include "plan/job_file.h"
#include "support/other_value.h"

namespace dovetail::answer {
namespace {

std::vector<study::FusionVariant> variants_of(double none, double inter, double both) {
  return {{study::FusionMode::none, none, {}, false},
          {study::FusionMode::inter, inter, {}, false},
          {study::FusionMode::both, both, {}, true}};
}

TEST(LessFusionText, NamesFasterVariantsIfTheDifferenceIsVisible) {
  EXPECT_EQ(less_fusion_text(variants_of(20, 21, 22)), "The iteration is shorter if nothing is fused.");
  EXPECT_EQ(less_fusion_text(variants_of(21, 20, 22)), "The iteration is shorter if only generation is fused.");
  EXPECT_EQ(less_fusion_text(variants_of(21, 20, 19)), "");
  EXPECT_EQ(less_fusion_text(variants_of(20, 20, 20)), "") << "a tie";
  EXPECT_EQ(less_fusion_text(variants_of(20.0001, 20, 20.0002)), "") << "too small to be printed";
  EXPECT_EQ(less_fusion_text({}), "") << "nothing is fused";
}

TEST(LessFusionText, PrefersFittingOverFasterVariants) {
  auto variants = variants_of(21, 20, 19);
  variants[2].fit = predict::Fit::does_not_fit;
  EXPECT_EQ(less_fusion_text(variants), "It fits if only generation is fused.");
  variants[1].fit = predict::Fit::does_not_fit;
  EXPECT_EQ(less_fusion_text(variants), "It fits if nothing is fused.");
  variants[0].fit = predict::Fit::does_not_fit;
  EXPECT_EQ(less_fusion_text(variants), "") << "nothing fits";
  EXPECT_EQ(less_fusion_text(variants_of(20, 21, 22)), "The iteration is shorter if nothing is fused.");
}

TEST(LessFusionText, ReportsFitEvenIfTimesLookEqual) {
  for (const double none : {19.9999, 19.0}) {
    auto variants = variants_of(none, 21, 20);
    variants[1].fit = variants[2].fit = predict::Fit::does_not_fit;
    EXPECT_EQ(less_fusion_text(variants), "It fits if nothing is fused.") << none;
  }
}

plan::Job small_job() {
  return plan::parse_job(
             "{format: dovetail/job@1, algorithm: ppo, models: {actor: opt-1.3b, reward: opt-1.3b}, workload: "
             "{prompts: 8, "
             "prompt_length: 9, response_length: 9}, cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}}",
             "job.yaml")
      .value();
}

/// Description of the change from `from` to `to` in the engine of generation, the first task.
std::string engine_change(const plan::Engine& from, const plan::Engine& to) {
  const plan::Job job = small_job();
  plan::Plan plan;
  plan.tasks.resize(job.workflow.tasks.size());
  plan.tasks[0].engine = from;
  planner::Change change{.kind = planner::ChangeKind::engine, .tasks = {0}, .plan = plan};
  change.plan.tasks[0].engine = to;
  return change_text(job, plan, change);
}

TEST(ChangeText, NameEveryEngineSetting) {
  base::for_each_field<plan::Engine>([](const auto& field) {
    plan::Engine to;
    to.*field.member = test::other_value(field.kind, to.*field.member);
    EXPECT_GT(engine_change({}, to).size(), std::string("actor_generate: ").size()) << field.key;
  });
}

TEST(ChangeText, NameOldAndNewValues) {
  EXPECT_EQ(engine_change({}, {.memory_utilization = 0.5}), "actor_generate: memory utilization 0.5 in place of 0.9");
  EXPECT_EQ(engine_change({}, {.max_num_seqs = 64, .chunked_prefill = false, .longest_first = true}),
            "actor_generate: at most 64 sequences in place of 256, no chunked prefill, longest first");
  EXPECT_EQ(engine_change({.max_num_batched_tokens = 512, .cuda_graphs = false},
                          {.memory_utilization = 0.5, .own_weights = false}),
            "actor_generate: with the trained weights, at most 256 sequences in place of memory utilization 0.9, at "
            "most 256 sequences, at most 8192 tokens per step in place of 512, CUDA graphs");
}

predict::TaskMemory memory_of(std::int64_t needed, std::int64_t host) {
  return {.parts = {{predict::MemoryKind::workspace, std::nullopt, needed << 30}},
          .usable = 70LL << 30,
          .device = 0,
          .host = host << 30,
          .host_memory = 400LL << 30};
}

TEST(MissingText, NameTheMemory) {
  EXPECT_EQ(missing_text({memory_of(60, 300), memory_of(80, 300)}), "short by 10.00 GiB");
  EXPECT_EQ(missing_text({memory_of(60, 300), memory_of(60, 427)}), "short by 27.00 GiB of a node's host memory");
  EXPECT_EQ(missing_text({memory_of(80, 300), memory_of(60, 427)}), "short by 27.00 GiB of a node's host memory");
  EXPECT_EQ(missing_text({memory_of(80, 427), memory_of(105, 300)}), "short by 35.00 GiB");
}

}  // namespace
}  // namespace dovetail::answer
