#include "cost/trainer_limits.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cost/conventions.h"

namespace dovetail::cost {
namespace {

TEST(TrainerLimits, AreOfEachConvention) {
  for (const std::string_view name : conventions_names()) {
    const TrainerLimits& limits = trainer_limits(find_conventions(name).value().name);
    EXPECT_NE(&limits, &trainer_limits("none of the table")) << name;
    EXPECT_NE(std::find(limits.zero.begin(), limits.zero.end(), limits.searched_zero), limits.zero.end()) << name;
  }
}

TEST(TrainerLimits, MegatronAloneComputesExpertsAgain) {
  for (const std::string_view name : conventions_names())
    EXPECT_EQ(trainer_limits(name).experts_again, name.find("megatron") != std::string_view::npos) << name;
}

TEST(TrainerLimits, FullyShardedTrainersCutNoLayers) {
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
