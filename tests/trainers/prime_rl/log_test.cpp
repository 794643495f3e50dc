// Lines of steps in the output of prime-rl.
#include "trainers/prime_rl/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "trainers/logs/damage.h"
#include "trainers/logs/logs.h"

namespace dovetail::trainers {
namespace {

using test::log_fault;
using test::log_of;
using test::Values;
using test::values_of;
using testing::HasSubstr;

std::string prime_rl_steps(int steps) {
  std::string text = "10:00:00    INFO Starting training\n10:00:00   DEBUG Micro Step 1/8 | Loss 0.1 | Entropy 0.2\n";
  for (int step = 1; step <= steps; ++step)
    text += "\x1B[2m10:00:00\x1B[0m \x1B[32m\x1B[1mSUCCESS\x1B[0m \x1B[32m\x1B[22mStep " + std::to_string(step) +
            " |   " + std::to_string(30 + step) +
            ".5s | Loss 0.0123 | Entropy 0.4567 | Grad. Norm 0.1234 | LR 1.00e-06 | Throughput 12345 tokens/s | MFU "
            "31.5% | Peak Mem. 62.1 GiB\x1B[0m\n";
  return text;
}

TEST(PrimeRlLog, ReadsTheConsole) {
  const StepLog log = log_of(prime_rl_steps(2), "run.log");
  EXPECT_EQ(values_of(log, "time/step"), (Values{{1, 31.5}, {2, 32.5}}));
  EXPECT_EQ(log.series.size(), 1U);
}

TEST(PrimeRlLog, ReadsAllDurationsOldLinesAndTheOrchestrator) {
  const StepLog log = log_of(
      "10:00:00 SUCCESS Step 0 |   850ms | Loss 1\n10:00:00 SUCCESS Step 1 | Time: 5.13s | Loss: 12.2500 | LR: 1e-06\n"
      "10:00:00 SUCCESS Step 2 |   2m 5s | Reward 0.5 | Trainable 3/4 (75.0%) | Error 0.0% | Truncation 3.1%\n"
      "10:00:00 SUCCESS Step 3 |   1h 2m | Reward 0.5\n10:00:00 SUCCESS Evaluated x (Step 3) | 5s\n",
      "run.log");
  EXPECT_EQ(values_of(log, "time/step"), (Values{{0, 0.85}, {1, 5.13}, {2, 125}, {3, 3720}}));
  ASSERT_EQ(values_of(log, "truncation").size(), 1U);
  EXPECT_DOUBLE_EQ(values_of(log, "truncation").front().second, 0.031);
}

TEST(PrimeRlLog, ErrorsHavePlaces) {
  EXPECT_EQ(log_fault("SUCCESS Step 2 |  5x | Loss 1\n", "run.log"),
            "run.log:1:19: the time is `5x` at step 2; accepted: a duration such as 850ms, 12.5s, 1m 5s, 2h 3m");
  EXPECT_THAT(log_fault("SUCCESS Step 2 |  5s | Reward 1 | Truncation x%\n", "run.log"), HasSubstr("run.log:1:46: "));
  EXPECT_THAT(log_fault("SUCCESS Step 2x | 5s | Loss 1\n", "run.log"), HasSubstr("run.log:1:14: the step is `2x`"));
  EXPECT_THAT(log_fault("SUCCESS Step 2 |  | Loss 1\n", "run.log"), HasSubstr("the time is ``"));
}

RC_GTEST_PROP(PrimeRlLog, DamageIsRefusedAtItsPlace, ()) {
  test::check_damage(prime_rl_steps(9), {"[22mStep", " |   "});
}

}  // namespace
}  // namespace dovetail::trainers
