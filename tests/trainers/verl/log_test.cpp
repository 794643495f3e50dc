// verl's output as Ray prints it: prefixes, colors, progress bars, other programs' lines, and a truncated end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "trainers/logs/damage.h"
#include "trainers/logs/logs.h"
#include "trainers/verl/verl.h"

namespace dovetail::trainers {
namespace {

using test::log_fault;
using test::log_of;
using test::Values;
using test::values_of;
using testing::HasSubstr;

std::string verl_steps(int steps) {
  std::string text;
  for (int step = 1; step <= steps; ++step)
    text += "step:" + std::to_string(step) + " - actor/pg_loss:-0.028 - response_length/mean:192.36" +
            " - timing_s/gen:" + std::to_string(60 + step) +
            ".055 - timing_s/update_actor:36.739 - timing_s/step:" + std::to_string(120 + step) + ".889\n";
  return text;
}

TEST(VerlLog, ReadsTheConsole) {
  const StepLog log = log_of(verl_steps(2), "run.log");
  EXPECT_EQ(values_of(log, "timing_s/gen"), (Values{{1, 61.055}, {2, 62.055}}));
  EXPECT_EQ(values_of(log, "actor/pg_loss"), (Values{{1, -0.028}, {2, -0.028}}));
  EXPECT_EQ(log.not_numbers, 0U);
  EXPECT_EQ(log.cut, 0U);
}

TEST(VerlLog, IgnoresOtherOutput) {
  const StepLog log = log_of(
      "(TaskRunner pid=4711) {'actor_rollout_ref': {'actor': {'strategy': 'fsdp'}},\n"
      "(TaskRunner pid=4711, ip=10.0.0.7)  'trainer': {'logger': ['console']}}\n"
      "Training Progress:   0%|          | 0/105 [00:00<?, ?it/s]\rTraining Progress:   1%|1 | 1/105 [02:01<1:00, 121 "
      "s/it]\r\x1B[36m(TaskRunner pid=4711)\x1B[0m step:1 - timing_s/gen:1.5 - timing_s/step:3.25\r\n"
      "(WorkerDict pid=12) INFO global_step:9 - loss:3 [repeated 7x across cluster]\n"
      "(TaskRunner pid=4711) step:2 - timing_s/gen:np.float64(2.5) - val/acc:np.float32(nan) - flag:True - "
      "timing_s/step:1e1(WorkerDict pid=12) more - of:this\n"
      "step:3 - timing_s/gen:4.5step:4 - timing_s/gen:5.5\n",
      "run.log");
  EXPECT_EQ(values_of(log, "timing_s/gen"), (Values{{1, 1.5}, {2, 2.5}, {3, 4.5}, {4, 5.5}}));
  EXPECT_EQ(values_of(log, "timing_s/step"), (Values{{1, 3.25}, {2, 10}}));
  EXPECT_EQ(log.series.size(), 2U);
  EXPECT_EQ(log.not_numbers, 2U);
}

TEST(VerlLog, ALogThatBeginsWithItsConfigurationIsNotJson) {
  const StepLog log = log_of("{'trainer': {'nnodes': 1}}\n" + verl_steps(1), "run.log");
  EXPECT_EQ(values_of(log, "timing_s/gen"), (Values{{1, 61.055}}));
}

TEST(VerlLog, OmitsATruncatedLastLine) {
  const std::string text = verl_steps(2);
  const std::size_t last = text.find("step:2 - ");
  for (std::size_t end = last + 10; end < text.size(); ++end) {
    const StepLog log = log_of(text.substr(0, end), "run.log");
    ASSERT_EQ(values_of(log, "timing_s/gen"), (Values{{1, 61.055}})) << end;
    ASSERT_EQ(log.cut, 1U) << end;
  }
  EXPECT_EQ(values_of(log_of("step:1 - timing_s/gen:2", "run.log"), "timing_s/gen"), (Values{{1, 2}}))
      << "a single line counts even without an end";
}

TEST(VerlLog, ErrorsHavePlaces) {
  EXPECT_EQ(log_fault("\nstep:7 - timing_s/gen:1x - a:1\n", "run.log"),
            "run.log:2:23: `timing_s/gen` is `1x` at step 7; accepted: a number");
  EXPECT_EQ(log_fault("\x1B[36mstep:7 - timing_s/gen:\n", "run.log"),
            "run.log:1:28: `timing_s/gen` is `` at step 7; accepted: a number");
  EXPECT_EQ(log_fault("step:7 - timing_s/gen - a:1\n", "run.log"),
            "run.log:1:10: `timing_s/gen` is not a metric of step 7; accepted: `KEY:NUMBER`, separated by ` - `");
  EXPECT_THAT(log_fault("step:99999999999999 - a:1\n", "run.log"), HasSubstr("run.log:1:6: the step is "));
}

RC_GTEST_PROP(VerlLog, DamageIsRefusedAtItsPlace, ()) {
  test::check_damage("\x1B[32mhello\x1B[0m\n" + verl_steps(9) + "bye\n", {"timing_s/gen:", "timing_s/step:", "mean:"});
}

}  // namespace
}  // namespace dovetail::trainers
