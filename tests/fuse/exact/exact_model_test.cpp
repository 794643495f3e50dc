#include "fuse/exact/exact_model.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"
#include "support/problem_maker.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;

constexpr std::int64_t no_cap = std::numeric_limits<std::int64_t>::max();

/// One device with `microbatches` of a model that holds `activation`, of which `kept` remains from I to W.
pipeline::Problem split_problem(int microbatches, std::int64_t activation, std::int64_t kept) {
  pipeline::Model model = test::chain_model("a", {0}, microbatches, 1, 1);
  model.weight_gradient = {Ticks(1)};
  model.activation = {Memory(activation)};
  model.weight_activation = {Memory(kept)};
  return test::problem_of(1, {model});
}

std::vector<std::int64_t> all_of(Levels levels) {
  std::vector<std::int64_t> all;
  while (const auto least = levels.least()) {
    all.push_back(*least);
    levels.drop_up_to(*least);
  }
  return all;
}

TEST(Levels, AreSumsOfStageActivations) {
  const ExactModel model = make_exact_model(split_problem(2, 10, 3));
  EXPECT_EQ(all_of(Levels(model, {no_cap}, 1, 21)), (std::vector<std::int64_t>{3, 6, 10, 13, 20}));
  EXPECT_EQ(all_of(Levels(model, {no_cap}, 6, 20)), (std::vector<std::int64_t>{6, 10, 13}))
      << "below the peak that is known";
  EXPECT_EQ(all_of(Levels(model, {12}, 6, 20)), (std::vector<std::int64_t>{6, 10})) << "within the cap";
  EXPECT_TRUE(all_of(Levels(model, {no_cap}, 0, 0)).empty());
}

TEST(Levels, CombineAllDevices) {
  pipeline::Model first = test::chain_model("a", {0, 1}, 2, 1, 1);
  first.activation = {Memory(5), Memory(8)};
  pipeline::Model second = test::chain_model("b", {1}, 1, 1, 1);
  second.activation = {Memory(1)};
  const ExactModel model = make_exact_model(test::problem_of(2, {first, second}));
  EXPECT_EQ(all_of(Levels(model, {no_cap, no_cap}, 1, 100)), (std::vector<std::int64_t>{1, 5, 8, 9, 10, 16, 17}));
}

TEST(Levels, AreHalvedFromBothSides) {
  const ExactModel model = make_exact_model(split_problem(2, 10, 3));
  Levels levels(model, {no_cap}, 1, 21);
  EXPECT_EQ(levels.middle(), 10);
  levels.drop_up_to(10);
  EXPECT_EQ(levels.middle(), 20);
  levels.drop_from(20);
  EXPECT_EQ(levels.middle(), 13);
  levels.drop_from(13);
  EXPECT_EQ(levels.middle(), std::nullopt);
}

TEST(Levels, AreAllIntegersIfTooMany) {
  std::vector<pipeline::Model> models;
  for (int index = 0; index < 6; ++index) {
    models.push_back(test::chain_model("m" + std::to_string(index), {0}, 20, 1, 1));
    models.back().activation = {
        Memory(1'000'000 + static_cast<std::int64_t>(base::scatter(static_cast<std::uint64_t>(index)) % 500'000))};
  }
  const ExactModel model = make_exact_model(test::problem_of(1, models));
  Levels levels(model, {no_cap}, 1'000'000, 50'000'001);
  EXPECT_EQ(levels.least(), 1'000'000);
  levels.drop_up_to(1'234'567);
  EXPECT_EQ(levels.least(), 1'234'568);
  levels.drop_from(1'234'570);
  EXPECT_EQ(levels.middle(), 1'234'569);
  levels.drop_up_to(1'234'569);
  EXPECT_EQ(levels.least(), std::nullopt);
}

}  // namespace
}  // namespace dovetail::fuse
