// Conventions of frameworks and limits of their trainers.
#include "cost/conventions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace dovetail::cost {

namespace {

TEST(Conventions, FindsThemByName) {
  EXPECT_THAT(conventions_names(),
              testing::IsSupersetOf({"megatron", "megatron-bridge", "nanotron", "fsdp1", "deepspeed-3d", "fsdp2"}));
  for (const std::string_view name : conventions_names()) {
    const auto found = find_conventions(name);
    ASSERT_TRUE(found.ok()) << name;
    EXPECT_FALSE(found->description.empty()) << name;
    EXPECT_TRUE(found->name == name || name == "torchtitan") << name;
  }
}

TEST(Conventions, RollComputesLogitsInPlace) {
  const Conventions roll = find_conventions("roll-megatron").value();
  const Conventions policy = find_conventions("megatron-policy").value();
  // bf16 logits, an fp32 copy that becomes the gradient, and the gradient in bf16. A forward pass has no gradient.
  EXPECT_EQ(roll.logit_bytes, 8);
  EXPECT_EQ(roll.inference_logit_bytes, 6);
  EXPECT_EQ(roll.gradient_bytes, policy.gradient_bytes);
  EXPECT_EQ(roll.moment_bytes, policy.moment_bytes);
}

TEST(Conventions, AnUnknownNameSuggestsTheNearest) {
  const auto found = find_conventions("megatorn");
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message, testing::HasSubstr("`megatorn`"));
  EXPECT_THAT(found.error().message, testing::HasSubstr("did you mean 'megatron'"));
  EXPECT_THAT(found.error().message, testing::HasSubstr("nanotron"));
}

TEST(Conventions, MixedPrecisionWithAdamTakes18BytesAParameter) {
  const Conventions megatron = find_conventions("megatron").value();
  EXPECT_EQ(megatron.weight_bytes + megatron.gradient_bytes + megatron.moment_bytes + megatron.master_bytes, 18);
  const Conventions fsdp = find_conventions("fsdp2").value();
  EXPECT_EQ(fsdp.weight_bytes + fsdp.gradient_bytes + fsdp.moment_bytes + fsdp.master_bytes, 16);
  EXPECT_EQ(fsdp.element_bytes, 2);
}

TEST(Conventions, FullPrecisionWithAdamTakes16AndFrozenWeights4) {
  const Conventions dovetail = find_conventions("dovetail").value();
  EXPECT_EQ(dovetail.weight_bytes + dovetail.gradient_bytes + dovetail.moment_bytes + dovetail.master_bytes, 16);
  EXPECT_EQ(dovetail.element_bytes, 4);
}

}  // namespace

namespace {

TEST(TrainerLimits, ExistForEachConventions) {
  for (const std::string_view name : conventions_names()) {
    const TrainerLimits& limits = trainer_limits(find_conventions(name).value().name);
    EXPECT_NE(&limits, &trainer_limits("none of the table")) << name;
    EXPECT_NE(std::find(limits.zero.begin(), limits.zero.end(), limits.searched_zero), limits.zero.end()) << name;
  }
}

TEST(TrainerLimits, OnlyMegatronRecomputesExperts) {
  for (const std::string_view name : conventions_names())
    EXPECT_EQ(trainer_limits(name).experts_again, name.find("megatron") != std::string_view::npos) << name;
}

TEST(TrainerLimits, FullyShardedTrainersHaveNoTensorOrPipelineParallelism) {
  for (const std::string_view name : {"fsdp1", "verl-fsdp"}) {
    EXPECT_EQ(trainer_limits(name).tensor, Ability::absent);
    EXPECT_EQ(trainer_limits(name).pipeline, Ability::absent);
    EXPECT_EQ(trainer_limits(name).zero, std::vector<int>{3});
    EXPECT_TRUE(trainer_limits(name).one_layout);
  }
  EXPECT_EQ(trainer_limits("deepspeed-zero").tensor, Ability::pinned);
  EXPECT_EQ(trainer_limits("deepspeed-zero").pipeline, Ability::absent);
}

}  // namespace

}  // namespace dovetail::cost
