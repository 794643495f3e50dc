#include "pipeline/problem/fuse_layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "pipeline/problem/instances.h"

namespace dovetail::pipeline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Returns a layout whose stages are all alike.
ModelLayout layout(std::string name, int dp, int pp, int tp, int microbatches, int forward,
                   std::int64_t activation_hundredths) {
  const auto stages = static_cast<std::size_t>(pp);
  return {std::move(name),
          dp,
          pp,
          tp,
          microbatches,
          std::vector<Ticks>(stages, Ticks(forward)),
          std::vector<Ticks>(stages, Ticks(2 * forward)),
          std::vector<Memory>(stages, Memory(activation_hundredths * 10'000))};
}

std::string error_of(const ModelLayout& first, const ModelLayout& second) {
  const auto fused = fuse_layouts(first, second, TimeUnit::tick);
  return fused.ok() ? "no error" : to_text(fused.error());
}

TEST(FuseLayouts, ThePapersExample) {
  // RLHFuse, figure of the fused schedule: one pipeline of four stages with two of two.
  const auto fused = fuse_layouts(layout("A", 1, 4, 2, 4, 3, 100), layout("B", 2, 2, 2, 2, 5, 200), TimeUnit::ms);
  ASSERT_TRUE(fused.ok()) << to_text(fused.error());
  EXPECT_EQ(fused->copies[0], 1);
  EXPECT_EQ(fused->copies[1], 2);
  EXPECT_EQ(fused->groups, 1);
  EXPECT_EQ(fused->merged_stages, 1);
  EXPECT_EQ(fused->problem.time_unit, TimeUnit::ms);
  EXPECT_EQ(fused->problem.devices, 4);
  EXPECT_THAT(fused->problem.models[0].replicas,
              ElementsAre(ElementsAre(DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3))));
  EXPECT_THAT(fused->problem.models[1].replicas,
              ElementsAre(ElementsAre(DeviceId(1), DeviceId(0)), ElementsAre(DeviceId(3), DeviceId(2))));
  EXPECT_THAT(fused->notes, ElementsAre("1 pipeline of A and 2 pipelines of B are fused on 4 devices of 2 GPUs each",
                                        "these pipelines form the only fused group"));
  EXPECT_THAT(fused->warnings, IsEmpty());
}

TEST(FuseLayouts, MakesThePublishedProblems) {
  const auto same_tp =
      fuse_layouts(layout("33B", 1, 8, 8, 32, 5, 195), layout("13B", 2, 4, 8, 16, 4, 200), TimeUnit::tick);
  EXPECT_EQ(same_tp->problem, find_instance("exp0")->problem);
  // Twice as many stages with half as many GPUs each are merged in pairs.
  const auto merged =
      fuse_layouts(layout("33B", 1, 8, 8, 32, 5, 195), layout("13B", 2, 8, 4, 16, 2, 200), TimeUnit::tick);
  EXPECT_EQ(merged->problem, find_instance("exp0")->problem);
  EXPECT_EQ(merged->merged_stages, 2);
  EXPECT_EQ(merged->merged_model, 1);
  EXPECT_THAT(merged->notes,
              ElementsAre("each stage of 13B in this problem merges 2 consecutive stages of the model: "
                          "within a merged op, only one of these is busy at a time",
                          "1 pipeline of 33B and 2 pipelines of 13B are fused on 8 devices of 8 GPUs each",
                          "these pipelines form the only fused group"));
  const auto groups =
      fuse_layouts(layout("65B", 4, 16, 8, 64, 2, 164), layout("33B", 4, 16, 8, 64, 1, 100), TimeUnit::tick);
  EXPECT_EQ(groups->problem, find_instance("exp9")->problem);
  EXPECT_EQ(groups->groups, 4);
  EXPECT_EQ(groups->notes.back(), "4 fused groups like this run in parallel, each with the same schedule");
}

TEST(FuseLayouts, MergesStagesOfDifferentCosts) {
  ModelLayout first = layout("A", 2, 4, 2, 4, 1, 100);
  first.forward = {Ticks(1), Ticks(2), Ticks(3), Ticks(4)};
  first.backward = {Ticks(2), Ticks(4), Ticks(6), Ticks(9)};
  first.activation = {Memory(5), Memory(3), Memory(1), Memory(2)};
  const auto fused = fuse_layouts(first, layout("B", 2, 2, 4, 4, 1, 100), TimeUnit::tick);
  ASSERT_TRUE(fused.ok()) << to_text(fused.error());
  EXPECT_EQ(fused->merged_model, 0);
  EXPECT_EQ(fused->merged_stages, 2);
  const Model& merged = fused->problem.models[0];
  EXPECT_THAT(merged.forward, ElementsAre(Ticks(3), Ticks(7)));
  EXPECT_THAT(merged.backward, ElementsAre(Ticks(6), Ticks(15)));
  EXPECT_THAT(merged.activation, ElementsAre(Memory(5), Memory(2)));
  EXPECT_EQ(find_fault(fused->problem), std::nullopt);
}

TEST(FuseLayouts, WarnsOfMicrobatchesOfDifferentSize) {
  const auto fused = fuse_layouts(layout("A", 1, 4, 2, 8, 3, 100), layout("B", 2, 2, 2, 2, 5, 200), TimeUnit::tick);
  EXPECT_THAT(fused->warnings, ElementsAre("A has 1 x 8 = 8 micro-batches per group and B has 2 x 2 = 4: if both use "
                                           "the same batch, their micro-batches differ in size"));
}

TEST(FuseLayouts, DifferentDeviceCountsAreRejected) {
  EXPECT_EQ(error_of(layout("A", 1, 8, 8, 1, 1, 1), layout("B", 1, 4, 8, 1, 1, 1)),
            "dp x pp x tp must be the same for both models: A has 1 x 8 x 8 = 64, B has 1 x 4 x 8 = 32; nearest "
            "layouts that work: A with dp 1, pp 4, tp 8; or A with dp 1, pp 8, tp 4; or B with dp 1, pp 4, tp 16");
}

TEST(FuseLayouts, TensorParallelismMustBeAMultiple) {
  EXPECT_EQ(error_of(layout("A", 1, 4, 6, 1, 1, 1), layout("B", 1, 6, 4, 1, 1, 1)),
            "the larger tp must be a multiple of the smaller: A has 6, B has 4; nearest layouts that work: A with dp "
            "1, pp 3, tp 8; or A with dp 1, pp 6, tp 4; or A with dp 1, pp 2, tp 12");
}

TEST(FuseLayouts, UnmergeableStagesAreRejected) {
  EXPECT_EQ(
      error_of(layout("A", 3, 4, 8, 1, 1, 1), layout("B", 8, 3, 4, 1, 1, 1)),
      "s = larger tp / smaller tp = 8 / 4 = 2 must divide the pp of the model with the smaller tp: B has pp 3; nearest "
      "layouts that work: B with dp 6, pp 4, tp 4; or B with dp 12, pp 2, tp 4; or A with dp 3, pp 8, tp 4");
}

TEST(FuseLayouts, ImpossibleLayoutsAreRejected) {
  const ModelLayout sound = layout("B", 1, 2, 1, 1, 1, 1);
  ModelLayout wrong = layout("A", 1, 2, 1, 1, 1, 1);
  wrong.tensor_parallel = 0;
  EXPECT_EQ(error_of(wrong, sound), "tp of A is 0; it must be from 1 to 65536");
  wrong = layout("A", 1, 2, 1, 0, 1, 1);
  EXPECT_EQ(error_of(sound, wrong), "the number of micro-batches of A is 0; it must be from 1 to 65536");
  wrong = layout("A", 65536, 2, 65536, 1, 1, 1);
  EXPECT_EQ(error_of(wrong, sound), "A has dp x pp x tp = 65536 x 2 x 65536 = 8589934592; the maximum is 16777216");
  wrong = layout("A", 1, 2, 1, 1, 1, 1);
  wrong.backward.pop_back();
  EXPECT_EQ(error_of(wrong, sound),
            "A needs forward, backward and activation for each of its 2 stages; got 2, 1 and 2");
  wrong = layout("A", 1, 2, 1, 1, 0, 1);
  EXPECT_EQ(error_of(wrong, sound),
            "forward and backward of stage 0 of A must be above 0 and at most 1000000000000000 ticks or ns");
  EXPECT_EQ(error_of(layout("", 1, 2, 1, 1, 1, 1), sound), "a model has no name; every model needs one");
  EXPECT_EQ(error_of(sound, sound), "the layouts do not form a valid problem: two models are named B");
  EXPECT_EQ(error_of(layout("A", 4095, 4096, 1, 1, 1, 1), layout("B", 4096, 4095, 1, 1, 1, 1)),
            "a fused group has 16773120 devices; the maximum is 65536");
}

RC_GTEST_PROP(FuseLayouts, EveryFusionFillsItsDevicesAndKeepsTheGpus, ()) {
  const auto power = [](int most) { return 1 << *rc::gen::inRange(0, most); };
  const int tp = power(4);
  const int s = power(3);
  const int stages_a = *rc::gen::inRange(1, 7);
  const int stages_b = *rc::gen::inRange(1, 7);
  const int groups = *rc::gen::inRange(1, 4);
  const int common = std::gcd(stages_a, stages_b);
  const ModelLayout a = layout("A", groups * stages_b / common, stages_a, tp * s, 4, 3, 100);
  const ModelLayout b = layout("B", groups * stages_a / common, stages_b * s, tp, 4, 2, 100);
  const auto fused = fuse_layouts(a, b, TimeUnit::tick);
  RC_ASSERT(fused.ok());
  RC_ASSERT(find_fault(fused->problem) == std::nullopt);
  RC_ASSERT(fused->groups == groups);
  RC_ASSERT(fused->merged_stages == s);
  RC_ASSERT(fused->problem.devices * tp * s * groups == a.data_parallel * a.pipeline_parallel * a.tensor_parallel);
  for (const Model& model : fused->problem.models) {
    std::vector<int> stages_on(static_cast<std::size_t>(fused->problem.devices));
    for (const auto& replica : model.replicas)
      for (const DeviceId device : replica) ++stages_on[device.index()];
    RC_ASSERT(stages_on == std::vector<int>(stages_on.size(), 1));
  }
}

RC_GTEST_PROP(FuseLayouts, EverySuggestionWorks, ()) {
  const auto degree = [] { return *rc::gen::inRange(1, 9); };
  const ModelLayout a = layout("A", degree(), degree(), degree(), 4, 3, 100);
  const ModelLayout b = layout("B", degree(), degree(), degree(), 4, 2, 100);
  const std::string text = error_of(a, b);
  if (text == "no error") return;
  const std::size_t begin = text.find("work: ");
  RC_ASSERT(begin != std::string::npos);
  int suggestions = 0;
  for (std::size_t at = begin + 6; at < text.size(); ++suggestions) {
    char name = 0;
    int dp = 0;
    int pp = 0;
    int tp = 0;
    RC_ASSERT(std::sscanf(text.c_str() + at, "%c with dp %d, pp %d, tp %d", &name, &dp, &pp, &tp) == 4);
    const ModelLayout changed = layout(std::string(1, name), dp, pp, tp, 4, 3, 100);
    RC_ASSERT(error_of(name == 'A' ? changed : a, name == 'A' ? b : changed) == "no error");
    const std::size_t next = text.find("; or ", at);
    at = next == std::string::npos ? text.size() : next + 5;
  }
  const bool some_and_few = suggestions >= 1 && suggestions <= 3;
  RC_ASSERT(some_and_few);
}

}  // namespace
}  // namespace dovetail::pipeline
