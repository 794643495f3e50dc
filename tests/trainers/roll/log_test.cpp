// Steps in the logs of ROLL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "trainers/logs/damage.h"
#include "trainers/logs/logs.h"
#include "trainers/roll/roll.h"

namespace dovetail::trainers {
namespace {

using test::log_fault;
using test::log_of;
using test::Values;
using test::values_of;
using testing::HasSubstr;

const std::string head = "[2026-02-03 10:00:00] [rlvr_pipeline.py (838)] [INFO] [DRIVER 0 / 1][PID 77] ";

std::string roll_steps(int steps) {
  std::string text;
  for (int step = 0; step < steps; ++step)
    text += head + "pipeline step " + std::to_string(step) + " start...\n" + head +
            "[{\"prompt\": \"what is \\\"time/step_total\\\": 4?\", \"response\": \"4\"}]\n" + head +
            "{\"time/step_total\": " + std::to_string(step == 0 ? 0 : 90 + step) +
            ".5, \"time/step_generate\": " + std::to_string(40 + step) +
            ".25, \"critic/kl\": NaN, \"time/step_train\": 30.5, \"token/response_length/mean\": 512.5}\n" + head +
            "pipeline step " + std::to_string(step) + " finished\n";
  return text;
}

TEST(RollLog, ReadsTheLog) {
  const StepLog log = log_of(roll_steps(3), "run.log");
  EXPECT_EQ(values_of(log, "time/step_generate"), (Values{{0, 40.25}, {1, 41.25}, {2, 42.25}}));
  EXPECT_EQ(values_of(log, "time/step_total"), (Values{{0, 0.5}, {1, 91.5}, {2, 92.5}}));
  EXPECT_EQ(log.not_numbers, 3U);
}

TEST(RollLog, ReadsTheStateSavedWithACheckpoint) {
  const auto state = [](const std::string& entries) {
    return "{\n  \"kv\": {\"scheduler_state\": {\"seen\": 4}},\n  \"log_history\": [\n" + entries +
           "  ],\n  \"step\": 1\n}\n";
  };
  const std::string first = "    {\n      \"time/step_generate\": 40.25,\n      \"critic/kl\": NaN\n    },\n";
  const StepLog log =
      log_of(state(first + "    {\"system/step\": 5, \"time/step_generate\": 41.25}\n"), "worker_state_pipeline.json");
  EXPECT_EQ(values_of(log, "time/step_generate"), (Values{{0, 40.25}, {5, 41.25}}));
  EXPECT_EQ(log.not_numbers, 1U);
  EXPECT_THAT(log_fault(state(first + "    {\"system/step\": -1}\n"), "state.json"),
              HasSubstr("state.json:8:21: the step `system/step` is"));
  EXPECT_THAT(log_fault(state(first + "    7\n"), "state.json"),
              HasSubstr("state.json:8:5: an entry of `log_history` is"));
}

TEST(RollLog, ReadsTheStandardOutputTracker) {
  const StepLog log = log_of(
      head + "metrics_tag: {\"step\": 7, \"metrics\": {\"time/step_total\": 91.5, \"time/step_rollout\": 40.25}}\n",
      "run.log");
  EXPECT_EQ(values_of(log, "time/step_total"), (Values{{7, 91.5}}));
  EXPECT_EQ(log.series.size(), 2U);
}

TEST(RollLog, NumbersObjectsWithoutSteps) {
  EXPECT_EQ(values_of(log_of(head + "{\"time/step_train\": 3.5}\n" + head + "{\"time/step_train\": 4.5}\n", "run.log"),
                      "time/step_train"),
            (Values{{1, 3.5}, {2, 4.5}}));
}

/// Log of the agentic pipeline of 2025, which times neither whole steps nor whole training phases.
TEST(RollLog, MetricsMayIncludeTheirStep) {
  const std::string agents = "[2026-02-03 10:00:00] [agentic_pipeline.py (368)] [INFO] [DRIVER 0 / 1][PID 77] ";
  const StepLog log = log_of(agents +
                                 "{\"memory/reference/end/allocated/0\": 9.5e-07, \"time/rollout\": 458.25, "
                                 "\"time/actor_train/train_step/total\": 1035.5, \"system/samples\": 256, "
                                 "\"system/step\": 7}\n",
                             "run.log");
  EXPECT_EQ(values_of(log, "time/rollout"), (Values{{7, 458.25}}));
  EXPECT_EQ(values_of(log, "time/actor_train/train_step/total"), (Values{{7, 1035.5}}));
}

TEST(RollLog, ErrorsHavePlaces) {
  EXPECT_EQ(log_fault("metrics_tag: {\"metrics\": {}}\n", "run.log"),
            "run.log:1:14: the metrics lack a step; accepted: {\"step\": 12, \"metrics\": {...}}");
  EXPECT_THAT(log_fault("metrics_tag: {\"step\": -1, \"metrics\": {}}\n", "run.log"),
              HasSubstr("run.log:1:23: the step"));
}

RC_GTEST_PROP(RollLog, DamageIsRefusedAtItsPlace, ()) {
  test::check_damage(roll_steps(9), {"{\"time/step_total\"", "\"time/step_generate\"", "\"time/step_train\""});
}

}  // namespace
}  // namespace dovetail::trainers
