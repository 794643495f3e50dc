// Lists of steps in the output of NeMo-RL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "trainers/logs/damage.h"
#include "trainers/logs/logs.h"
#include "trainers/nemo_rl/nemo_rl.h"

namespace dovetail::trainers {
namespace {

using test::log_fault;
using test::log_of;
using test::Values;
using test::values_of;
using testing::HasSubstr;

std::string nemo_rl_steps(int steps) {
  std::string text = "\u25B6 Worker Initialization Timing:\n  \u2022 vLLM init: 30.0s\n";
  for (int step = 1; step <= steps; ++step)
    text += "\n" + std::string(25, '=') + " Step " + std::to_string(step) + "/100 " + std::string(25, '=') +
            "\n\u25B6 Preparing batch...\n  \u23F1\uFE0F  Validation Timing:\n    \u2022 Total validation time: 9.00s\n"
            "\n\U0001F4CA Training Results:\n  \u2022 Loss: 0.1032\n  \u2022 Mean Generation Length: 1070.2500\n"
            "\n\u23F1\uFE0F  Timing:\n  \u2022 Total step time: " +
            std::to_string(90 + step) +
            ".70s\n(VllmWorker pid=3) INFO: a line between\n  \u2022 generation: " + std::to_string(50 + step) +
            ".50s (56.8%)\n  \u2022 prepare_for_generation/total: 5.25s (5.3%)\n  \u2022 policy_training: 20.80s "
            "(21.3%)\n\n\U0001F50D Performance Metrics:\n  \u2022 Mean Total Tokens per Sample: 1200.00\n"
            "  \u2022 Throughputs (per GPU):\n    - E2E (Samples/sec/gpu): 2.62\n";
  return text;
}

TEST(NemoRlLog, ReadsTheConsole) {
  const StepLog log = log_of(nemo_rl_steps(2), "run.log");
  EXPECT_EQ(values_of(log, "timing/train/total_step_time"), (Values{{1, 91.7}, {2, 92.7}}));
  EXPECT_EQ(values_of(log, "timing/train/generation"), (Values{{1, 51.5}, {2, 52.5}}));
  EXPECT_EQ(values_of(log, "timing/train/prepare_for_generation/total"), (Values{{1, 5.25}, {2, 5.25}}));
  EXPECT_EQ(values_of(log, "train/mean_gen_tokens_per_sample"), (Values{{1, 1070.25}, {2, 1070.25}}));
  EXPECT_EQ(log.series.size(), 5U);
}

TEST(NemoRlLog, NumbersTheStepsOfExcerpts) {
  std::string text = "\u25B6 Worker Initialization Timing:\n  \u2022 vLLM init: 30.0s\n";
  for (const std::string seconds : {"66.55", "60.00"})
    text += "\n\U0001F4CA Training Results:\n  \u2022 Loss: 0.1\n  \u2022 Mean Generation Length: " + seconds +
            "\n\n\u23F1\uFE0F  Timing:\n  \u2022 Total step time: " + seconds +
            "s\n  \u2022 exposed_generation: 32.52s (48.9%)\n  \u2022 policy_training: 25.05s (37.6%)\n";
  const StepLog log = log_of(text, "run.log");
  EXPECT_EQ(values_of(log, "timing/train/total_step_time"), (Values{{1, 66.55}, {2, 60.0}}));
  EXPECT_EQ(values_of(log, "train/mean_gen_tokens_per_sample"), (Values{{1, 66.55}, {2, 60.0}}));
  EXPECT_EQ(values_of(log, "timing/train/policy_training"), (Values{{1, 25.05}, {2, 25.05}}));
  EXPECT_EQ(log.series.size(), 4U);
  const StepLog bare =
      log_of("Timing:\n  \u2022 Total step time: 5.00s\nTiming:\n  \u2022 Total step time: 6.00s\n", "run.log");
  EXPECT_EQ(values_of(bare, "timing/train/total_step_time"), (Values{{1, 5.0}, {2, 6.0}}));
}

TEST(NemoRlLog, ErrorsHavePlaces) {
  const std::string begin = "= Step 4/9 =\nTiming:\n";
  EXPECT_EQ(log_fault(begin + "  \u2022 generation: 5.x0s (5%)\n", "run.log"),
            "run.log:3:19: `generation` is `5.x0s` at step 4; accepted: seconds, such as 12.50s");
  EXPECT_THAT(log_fault(begin + "  \u2022 generation: 5.0\n", "run.log"), HasSubstr("run.log:3:19: "));
  EXPECT_THAT(log_fault("= Step x/9 =\n", "run.log"), HasSubstr("run.log:1:8: the step is `x`"));
}

RC_GTEST_PROP(NemoRlLog, DamageIsRefusedAtItsPlace, ()) {
  test::check_damage(nemo_rl_steps(9), {"Total step time: ", " generation: ", "Generation Length: "});
}

}  // namespace
}  // namespace dovetail::trainers
