#include "report/words/plan_words.h"

#include <gtest/gtest.h>

namespace dovetail::report {
namespace {

std::vector<place::FusionVariant> variants_of(double none, double inter, double both) {
  return {{"none", none, {}, false}, {"inter", inter, {}, false}, {"both", both, {}, true}};
}

TEST(LessFusionWords, NameWhatIsFasterThanThePlanAsFarAsItShows) {
  EXPECT_EQ(less_fusion_words(variants_of(20, 21, 22)), "The iteration is shorter where nothing is fused.");
  EXPECT_EQ(less_fusion_words(variants_of(21, 20, 22)), "The iteration is shorter where generation alone is fused.");
  EXPECT_EQ(less_fusion_words(variants_of(21, 20, 19)), "");
  EXPECT_EQ(less_fusion_words(variants_of(20, 20, 20)), "") << "a tie";
  EXPECT_EQ(less_fusion_words(variants_of(20.0001, 20, 20.0002)), "") << "nobody would see it";
  EXPECT_EQ(less_fusion_words({}), "") << "nothing is fused";
}

TEST(LessFusionWords, WhatFitsComesBeforeWhatIsFaster) {
  auto variants = variants_of(21, 20, 19);
  variants[2].fits = false;
  EXPECT_EQ(less_fusion_words(variants), "It fits where generation alone is fused.");
  variants[1].fits = false;
  EXPECT_EQ(less_fusion_words(variants), "It fits where nothing is fused.");
  variants[0].fits = false;
  EXPECT_EQ(less_fusion_words(variants), "") << "nothing fits";
  EXPECT_EQ(less_fusion_words(variants_of(20, 21, 22)), "The iteration is shorter where nothing is fused.");
}

TEST(LessFusionWords, FittingIsWorthSayingWhereTimesLookAlike) {
  for (const double none : {19.9999, 19.0}) {
    auto variants = variants_of(none, 21, 20);
    variants[1].fits = variants[2].fits = false;
    EXPECT_EQ(less_fusion_words(variants), "It fits where nothing is fused.") << none;
  }
}

place::TaskMemory memory_of(std::int64_t needed, std::int64_t host) {
  return {.parts = {{"all", needed << 30}}, .usable = 70LL << 30, .device = 0, .host = host << 30, .host_memory = 400LL << 30};
}

TEST(MissingWords, SayWhichMemory) {
  EXPECT_EQ(missing_words({memory_of(60, 300), memory_of(80, 300)}), "10.00 GiB are missing");
  EXPECT_EQ(missing_words({memory_of(60, 300), memory_of(60, 427)}), "27.00 GiB of a node's host memory are missing");
  EXPECT_EQ(missing_words({memory_of(80, 300), memory_of(60, 427)}), "27.00 GiB of a node's host memory are missing");
  EXPECT_EQ(missing_words({memory_of(80, 427), memory_of(105, 300)}), "35.00 GiB are missing");
}

}  // namespace
}  // namespace dovetail::report
