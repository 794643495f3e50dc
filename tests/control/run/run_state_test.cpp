#include "control/run/run_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace dovetail::control {
namespace {

RunState example() {
  RunState state;
  state.iterations = 7;
  state.scales.rewards = {0.99, 0.1, 1.0 / 3, 0.7};
  state.scales.kl_coefficient = 0.1 + 0.2;
  state.skipped_in_a_row = {{"actor", 2}};
  state.best = -0.0;
  state.health = {1.25, {"entropy"}};
  state.tasks_done = 3;
  state.is_settled = true;
  Sample sample;
  sample.epoch = 1;
  sample.prompt = 5;
  sample.sequence = {{3, 1, 2}, 1};
  sample.is_sampled = true;
  sample.text = "a \"quoted\" {\"not_finite\": \"inf\"} 日\n";
  sample.sampled = {-0.25, -1e-300};
  state.samples = {sample};
  state.training["actor_train"].sums.loss = 5e-324;
  state.training["actor_train"].first.gap = 1e-9;
  state.training["actor_train"].is_stopped = true;
  state.seconds = 1.0 / 7;
  state.phase_seconds = {{"actor_generate", 0.1}};
  return state;
}

TEST(RunState, RoundTrips) {
  const RunState state = example();
  const std::string text = state_to_json(state);
  const RunState back = parse_state(text, "state.json").value();
  EXPECT_EQ(state_to_json(back), text);
  EXPECT_EQ(back.samples[0].text, state.samples[0].text);
  EXPECT_EQ(back.samples[0].sampled, state.samples[0].sampled);
  EXPECT_EQ(back.scales.kl_coefficient, state.scales.kl_coefficient);
  EXPECT_EQ(back.training.at("actor_train").sums.loss, 5e-324);
  EXPECT_EQ(back.training.at("actor_train").first.gap, 1e-9);
  EXPECT_TRUE(back.training.at("actor_train").is_stopped);
  EXPECT_EQ(back.seconds, state.seconds);
  EXPECT_EQ(back.phase_seconds, state.phase_seconds);
  EXPECT_TRUE(std::signbit(*back.best));
  EXPECT_EQ(back.skipped_in_a_row, state.skipped_in_a_row);
  EXPECT_EQ(back.health.active_warnings, state.health.active_warnings);
}

RC_GTEST_PROP(RunState, KeepsEveryDoubleToTheBit, ()) {
  RunState state = example();
  const auto value = std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>());
  state.samples[0].advantages = {value};
  const RunState back = parse_state(state_to_json(state), "state.json").value();
  const double read = back.samples[0].advantages.at(0);
  if (std::isnan(value))
    RC_ASSERT(std::isnan(read));
  else
    RC_ASSERT(std::bit_cast<std::uint64_t>(read) == std::bit_cast<std::uint64_t>(value));
}

TEST(RunState, KeepsInfinitiesAndNan) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  RunState state = example();
  state.samples[0].sampled = {-infinity, infinity, std::nan("")};
  state.training["actor_train"].sums.max_ratio = infinity;
  const RunState back = parse_state(state_to_json(state), "state.json").value();
  EXPECT_EQ(back.samples[0].sampled[0], -infinity);
  EXPECT_EQ(back.samples[0].sampled[1], infinity);
  EXPECT_TRUE(std::isnan(back.samples[0].sampled[2]));
  EXPECT_EQ(back.training.at("actor_train").sums.max_ratio, infinity);
}

TEST(RunState, RejectsOtherTexts) {
  const std::string text = state_to_json(example());
  for (const std::string& bad : {std::string(), std::string("[]"), text.substr(0, text.size() / 2), std::string("{}")})
    EXPECT_THAT(to_text(parse_state(bad, "state.json").error()), testing::StartsWith("state.json: not a run state"));
}

}  // namespace
}  // namespace dovetail::control
