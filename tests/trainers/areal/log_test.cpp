// Tables of steps in the output of AReaL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "trainers/areal/areal.h"
#include "trainers/logs/damage.h"
#include "trainers/logs/logs.h"

namespace dovetail::trainers {
namespace {

using test::log_fault;
using test::log_of;
using test::Values;
using test::values_of;
using testing::HasSubstr;

const std::string head = "\x1B[37m(AReaL) 20260203-10:00:00.123 StatsLogger INFO: ";

std::string areal_steps(int steps) {
  std::string text = "\u2502 what others print \u2502 is 7 \u2502\n";
  for (int step = 1; step <= steps; ++step)
    text += head + "Epoch 1/10 Step " + std::to_string(step) + "/467 Train step " + std::to_string(step) +
            "/4670 done.\x1B[0m\n" + head + "Stats (1/1):\n" + head +
            "\n\u2552\u2550\u2564\u2550\u2555\n"
            "\u2502 ppo_actor/seq_len/avg    \u2502 5.1250e+02 \u2502 timeperf/rollout    \u2502 " +
            std::to_string(step) +
            ".2500e+01 \u2502\n\u251C\u2500\u253C\u2500\u2524\n"
            "\u2502 ppo_actor/prompt_len/avg \u2502 1.1250e+02 \u2502 timeperf/train_step \u2502 2.5000e+01 \u2502\n"
            "\u251C\u2500\u253C\u2500\u2524\n"
            "\u2502 ppo_actor/loss/avg       \u2502 nan        \u2502                     \u2502            \u2502\n"
            "\u2558\u2550\u2567\u2550\u255B\n";
  return text;
}

TEST(ArealLog, ReadsTables) {
  const StepLog log = log_of(areal_steps(2) + "\u2502 more \u2502 x \u2502\n", "run.log");
  EXPECT_EQ(values_of(log, "timeperf/rollout"), (Values{{1, 12.5}, {2, 22.5}}));
  EXPECT_EQ(values_of(log, "timeperf/train_step"), (Values{{1, 25}, {2, 25}}));
  EXPECT_EQ(values_of(log, "ppo_actor/seq_len/avg"), (Values{{1, 512.5}, {2, 512.5}}));
  EXPECT_EQ(log.series.size(), 4U);
  EXPECT_EQ(log.not_numbers, 2U);
}

TEST(ArealLog, ReadsExcerptsWithoutHeadings) {
  const auto step = [](int number, const std::string& table) {
    return "StatsLogger INFO: Train step " + std::to_string(number) + "/9 done.\n" + table;
  };
  const std::string row = "\u2502 timeperf/rollout \u2502 8.5e+01 \u2502 timeperf/train_step \u2502 2.5e+01 \u2502\n";
  const Values both{{1, 85}, {2, 85}};
  const StepLog rows = log_of(step(1, row) + "weights are sent\n" + step(2, row), "run.log");
  EXPECT_EQ(values_of(rows, "timeperf/rollout"), both);
  const std::string framed =
      "\u2552\u2550\u2555\n\u2502 rollout/reward \u2502 1.0 \u2502\n" + row + "\u2558\u2550\u255B\n";
  const StepLog tables = log_of(step(1, framed) + "\u2502 what others print \u2502\n" + step(2, framed), "run.log");
  EXPECT_EQ(values_of(tables, "timeperf/train_step"), (Values{{1, 25}, {2, 25}}));
  EXPECT_EQ(values_of(tables, "rollout/reward"), (Values{{1, 1}, {2, 1}}));
  // Tables of other programs are ignored, not errors.
  const std::string other = "\u2502 GPU \u2502 Name \u2502\n\u2502 one \u2502\n";
  const StepLog mixed =
      log_of(step(1, row + other + "\u2552\u2550\u2555\n" + other + "\u2558\u2550\u255B\n"), "run.log");
  EXPECT_EQ(mixed.series.size(), 2U);
}

TEST(ArealLog, ErrorsHavePlaces) {
  const std::string begin = "Train step 1/2 done.\nStats (1/1):\n";
  EXPECT_EQ(log_fault(begin + "\u2502 timeperf/rollout \u2502 1x \u2502\n", "run.log"),
            "run.log:3:26: `timeperf/rollout` is `1x` at step 1; accepted: a key and a number");
  EXPECT_THAT(log_fault(begin + "\u2502 timeperf/rollout \u2502\n", "run.log"),
              HasSubstr("has a key without a number"));
  EXPECT_THAT(log_fault("Train step x/2 done.\n", "run.log"), HasSubstr("run.log:1:12: the step is `x`"));
}

RC_GTEST_PROP(ArealLog, DamageIsRefusedAtItsPlace, ()) {
  test::check_damage(areal_steps(9), {"timeperf/rollout ", "timeperf/train_step ", "seq_len/avg "});
}

}  // namespace
}  // namespace dovetail::trainers
