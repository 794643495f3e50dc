// Rollouts and their training in the output of slime.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "trainers/logs/damage.h"
#include "trainers/logs/logs.h"
#include "trainers/slime/slime.h"

namespace dovetail::trainers {
namespace {

using test::log_of;
using test::Values;
using test::values_of;

std::string slime_steps(int steps) {
  std::string text;
  for (int step = 0; step < steps; ++step) {
    const std::string number = std::to_string(step);
    text += "\x1B[36m(RolloutManager pid=9)\x1B[0m [2026-01-05 12:20:29] rollout_metrics.py:268 - perf " + number +
            ": {'rollout/response_len/mean': 811.5, 'rollout/truncated_ratio': 0.01, 'perf/rollout_time': " +
            std::to_string(11 + step) + ".25}\n(MegatronTrainRayActor pid=8) Timer train_wait start\n" +
            "(MegatronTrainRayActor pid=8) [2026-01-05 12:20:40] train_metric_utils.py:401 - perf " + number +
            ": {'perf/sleep_time': 4.035936594009399, 'perf/update_weights_time': 0.3353748321533203, " +
            "'perf/train_wait_time': 11.3, 'perf/log_probs_time': 0.5, 'perf/actor_train_time': 1.25, " +
            "'perf/train_time': 2.75, 'perf/actor_train_tflops': 3.7, 'perf/step_time': " + std::to_string(14 + step) +
            ".182998418807983}\n[2026-01-05 12:20:41] model.py:918 - step " + number + ": {'train/loss': 0.5}\n";
  }
  return text;
}

TEST(SlimeLog, ReadsTheConsole) {
  const StepLog log = log_of(slime_steps(2), "run.log");
  EXPECT_EQ(values_of(log, "perf/rollout_time"), (Values{{0, 11.25}, {1, 12.25}}));
  EXPECT_EQ(values_of(log, "perf/step_time"), (Values{{0, 14.182998418807983}, {1, 15.182998418807983}}));
  EXPECT_EQ(values_of(log, "rollout/response_len/mean"), (Values{{0, 811.5}, {1, 811.5}}));
  EXPECT_EQ(values_of(log, "train/loss"), Values{}) << "its steps are numbered differently";
}

TEST(SlimeLog, TimesHaveTheirSuffix) {
  EXPECT_EQ(time_name(slime_log_keys(), "perf/actor_train_tflops"), std::nullopt);
  EXPECT_EQ(time_name(slime_log_keys(), "perf/actor_train_time"), "actor_train_time");
  EXPECT_EQ(time_name(slime_log_keys(), "timeperf/rollout"), std::nullopt);
}

RC_GTEST_PROP(SlimeLog, DamageIsRefusedAtItsPlace, ()) {
  test::check_damage(slime_steps(9), {"'perf/rollout_time'", "'perf/step_time'", "'perf/actor_train_time'", "mean'"});
}

}  // namespace
}  // namespace dovetail::trainers
