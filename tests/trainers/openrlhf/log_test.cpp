// Steps in the output of OpenRLHF.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "trainers/logs/damage.h"
#include "trainers/logs/logs.h"
#include "trainers/openrlhf/openrlhf.h"

namespace dovetail::trainers {
namespace {

using test::log_fault;
using test::log_of;
using test::Values;
using test::values_of;
using testing::HasSubstr;

std::string openrlhf_steps(int steps) {
  std::string text;
  for (int step = 1; step <= steps; ++step)
    text += "(PPOTrainer pid=7) INFO 03-15 10:0" + std::to_string(step) +
            ":00 ppo_trainer.py:547] \u2728 Global step " + std::to_string(step) +
            ": {'policy_loss': -0.01, 'kl': nan, 'timing/make_experience': 8.5, " +
            "'timing/ppo_train': 20.25, 'timing/broadcast': 1.5, 'rollout/response_length_mean': 411.5, " +
            "'rollout/truncated_rate': 0.0, 'timing/generation': " + std::to_string(30 + step) +
            ".125, 'timing/step_total': " + std::to_string(60 + step) + ".375}\r\n";
  return text;
}

TEST(OpenrlhfLog, ReadsTheConsole) {
  const StepLog log = log_of("\u23F0 Evaluation start time\n" + openrlhf_steps(2), "run.log");
  EXPECT_EQ(values_of(log, "timing/generation"), (Values{{1, 31.125}, {2, 32.125}}));
  EXPECT_EQ(values_of(log, "timing/step_total"), (Values{{1, 61.375}, {2, 62.375}}));
  EXPECT_EQ(log.not_numbers, 2U);
}

TEST(OpenrlhfLog, AcceptsAllPrintedPythonValues) {
  const StepLog log = log_of(
      "Global step 3: {'a': np.float64(1.5), \"b\": 'it\\'s', 'c': [1, (2, 'x]')], 'd': {'e': 2, 4: 1}, 'f': None, "
      "'g': array([1., 2.]), 'h': <Kind.x: 1>, 'i': tensor(2., device='cuda:0')} and more\n",
      "run.log");
  EXPECT_EQ(values_of(log, "a"), (Values{{3, 1.5}}));
  EXPECT_EQ(values_of(log, "d/e"), (Values{{3, 2}}));
  EXPECT_EQ(values_of(log, "d/4"), (Values{{3, 1}}));
  EXPECT_EQ(values_of(log, "i"), (Values{{3, 2}}));
  EXPECT_EQ(log.not_numbers, 5U);
}

TEST(OpenrlhfLog, AcceptsExcerptsWithMissingEntries) {
  const StepLog log = log_of("\u2728 Global step 3: {'kl': 0.5, 'timing/generation': 2.5, ...}\n", "run.log");
  EXPECT_EQ(values_of(log, "timing/generation"), (Values{{3, 2.5}}));
  EXPECT_THAT(log_fault("Global step 3: {'a': 1, ..., 'b': 2}\n", "run.log"), HasSubstr("accepted: a key in quotes"));
}

TEST(OpenrlhfLog, ErrorsHavePlaces) {
  EXPECT_THAT(log_fault("Global step 1.5: {'a': 1}\n", "run.log"),
              HasSubstr("run.log:1:13: the step is `1.5`; accepted: an integer"));
  EXPECT_EQ(
      log_fault("Global step 3: {'a': 1x}\n", "run.log"),
      "run.log:1:22: `a` is `1x`; accepted: a number, True, False, None, a string in quotes, a list or an object");
  EXPECT_EQ(log_fault("Global step 3: {'a': 1, 'b\n", "run.log"),
            "run.log:1:16: the object is not closed on its line; accepted: {...}");
  EXPECT_THAT(log_fault("Global step 3: {'a': [1, 'b': 2}\n", "run.log"),
              HasSubstr("run.log:1:29: unexpected `: 2}` in an object; accepted: `,` or `]` after a value"));
  EXPECT_THAT(log_fault("Global step 3: {'a' 1}\n", "run.log"),
              HasSubstr("run.log:1:21: unexpected `1}` in an object; accepted: `:` after a key"));
  EXPECT_THAT(log_fault("Global step 3: {a: 1}\n", "run.log"), HasSubstr("accepted: a key in quotes"));
  EXPECT_THAT(log_fault("Global step 3: " + std::string(5000, '{') + "\n", "run.log"), HasSubstr("run.log:1:"));
  std::string deep = "Global step 3: ";
  for (int depth = 0; depth < 100; ++depth) deep += "{'a': ";
  EXPECT_THAT(log_fault(deep + "1\n", "run.log"), HasSubstr("accepted: at most 64 nested objects"));
}

RC_GTEST_PROP(OpenrlhfLog, DamageIsRefusedAtItsPlace, ()) {
  test::check_damage(openrlhf_steps(9), {"'timing/generation'", "'timing/step_total'", "_mean'"});
}

}  // namespace
}  // namespace dovetail::trainers
