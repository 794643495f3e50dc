// Numbers by step from the files of trackers, and the known keys.
#include "trainers/logs/step_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "trainers/log_formats.h"
#include "trainers/logs/logs.h"

namespace dovetail::trainers {
namespace {

using test::log_fault;
using test::log_of;
using test::Values;
using test::values_of;
using testing::HasSubstr;

const LogKeys& of(LogFormat format) { return log_keys(format); }

TEST(StepLog, ReadsJsonLines) {
  const StepLog log = log_of(
      "{\"step\": 3, \"timing_s/gen\": 1.5, \"note\": \"NaN\"}\n\n{\"step\": 4, \"timing_s\": {\"gen\": 2e0, \"adv\": "
      "NaN}, \"loss\": "
      "-Infinity}\n");
  EXPECT_EQ(values_of(log, "timing_s/gen"), (Values{{3, 1.5}, {4, 2}}));
  EXPECT_EQ(log.series.size(), 1U);
  EXPECT_EQ(log.not_numbers, 3U);
  EXPECT_EQ(values_of(log_of("{\"a\": 1}\n{\"a\": 2}"), "a"), (Values{{1, 1}, {2, 2}}))
      << "without steps, lines are counted";
}

TEST(StepLog, ByteOrderMarkAndLeadingBlankLinesAreIgnored) {
  const Values two{{1, 1}, {2, 2}};
  EXPECT_EQ(values_of(log_of("\xEF\xBB\xBF{\"a\": 1}\n{\"a\": 2}"), "a"), two);
  EXPECT_EQ(values_of(log_of("\xEF\xBB\xBF{\"a\": {\"1\": 1, \"2\": 2}}"), "a"), two);
  EXPECT_EQ(values_of(log_of("\xEF\xBB\xBF\n\nstep,a\n1,1\n\n2,2\n"), "a"), two);
}

TEST(StepLog, ReadsTheFileLoggerOfVerl) {
  const StepLog log = log_of("{\"step\": 1, \"data\": {\"timing_s/step\": 9, \"training/global_step\": 1}}\n");
  EXPECT_EQ(values_of(log, "data/timing_s/step"), (Values{{1, 9}}));
}

TEST(StepLog, ReadsMetricsByStep) {
  const StepLog log =
      log_of("{\n  \"timing/train/generation\": {\"2\": 5.5, \"10\": 6},\n  \"train/loss\": {\"2\": 0.1}\n}\n");
  EXPECT_EQ(values_of(log, "timing/train/generation"), (Values{{2, 5.5}, {10, 6}}));
  EXPECT_EQ(log.series.front().values.front().line, 2);
}

TEST(StepLog, ReadsCsv) {
  const StepLog scalar = log_of("Wall time,Step,Value\n1.7e9,1,58.5\n1.7e9,2,57\n", "logs/run-1-tag-timing_s_gen.csv");
  EXPECT_EQ(values_of(scalar, "timing_s_gen"), (Values{{1, 58.5}, {2, 57}}));
  const StepLog named = read_step_log({{"Wall time,Step,Value\n1,1,3\n", "x.csv", "timing_s/gen"}}).value();
  EXPECT_EQ(values_of(named, "timing_s/gen"), (Values{{1, 3}}));
  const auto fault_of = [](const std::string& content) {
    return base::to_text(read_step_log({{content, "x.csv"}}).error());
  };
  EXPECT_EQ(fault_of("step,timing_s/gen,timing_s/gen\n1,2,3\n"),
            "x.csv:1:19: duplicate column `timing_s/gen`; each column may appear only once");
  for (const char* const own : {"format: \"dovetail/measurement@1\"\nname: a\n", "{\"format\": \"dovetail/plan@1\",\n"})
    EXPECT_THAT(fault_of(own), testing::HasSubstr("x.csv:1:1: this is a Dovetail file, not a log; accepted: "));
  EXPECT_THAT(fault_of("[{\"step\": 1}]"),
              testing::HasSubstr("x.csv:1:1: this is a JSON list; accepted: console output"));
  const StepLog wide = log_of("Step,timing_s/gen,name\n5,1.5,a\n6,,b\n", "wide.csv");
  EXPECT_EQ(values_of(wide, "timing_s/gen"), (Values{{5, 1.5}}));
  EXPECT_EQ(wide.not_numbers, 2U);
}

TEST(StepLog, LaterValuesReplaceEarlierOnes) {
  const StepLog log = log_of("{\"step\": 1, \"a\": 1}\n{\"step\": 2, \"a\": 2}\n{\"step\": 1, \"a\": 3}\n");
  EXPECT_EQ(values_of(log, "a"), (Values{{1, 3}, {2, 2}}));
  EXPECT_EQ(log.repeated, 1U);
}

TEST(StepLog, ErrorsHaveAPlace) {
  for (const char* nothing : {"", " \n\n", "\xEF\xBB\xBF"})
    EXPECT_THAT(log_fault(nothing), HasSubstr("run.jsonl: the log is empty")) << nothing;
  EXPECT_THAT(log_fault("{\"a\": 1}\n{\"a\": }\n"), HasSubstr("run.jsonl:2:7: "));
  EXPECT_THAT(log_fault("{\"a\": 1}\n[1]\n"), HasSubstr("run.jsonl:2:1: a line of the log is a list"));
  EXPECT_THAT(log_fault("{\"step\": 1.5, \"a\": 1}\n"), HasSubstr("run.jsonl:1:10: the step `step` is 1.5"));
  EXPECT_THAT(log_fault("{\"a\": \"b\"}\n"), HasSubstr("the log contains no numbers"));
  EXPECT_THAT(log_fault("\x1B[36m(TaskRunner pid=7)\x1B[0m {'a': 1}\n"),
              HasSubstr("run.jsonl: this console output contains no step metrics"));
  EXPECT_THAT(log_fault("hello\n"), HasSubstr("run.jsonl:1:1: not a log"));
  EXPECT_THAT(log_fault("Step,a\n1\n"), HasSubstr("run.jsonl:2:1: the number of cells is 1, but the header has 2"));
  EXPECT_THAT(log_fault("Step,a\nx,1\n"), HasSubstr("run.jsonl:2:1: the step `Step` is `x`"));
  EXPECT_THAT(log_fault("Wall time,Step,Value\n1,1,x\n"), HasSubstr("run.jsonl:2:5: the value is `x`"));
}

TEST(StepLog, TruncatedLastObjectIsIgnored) {
  const StepLog log = log_of("{\"a\": 1}\n{\"a\": 2}\n{\"a\": 3, \"b");
  EXPECT_EQ(values_of(log, "a"), (Values{{1, 1}, {2, 2}}));
  EXPECT_EQ(log.cut, 1U);
  EXPECT_THAT(log_fault("{\"a\": 1, \"b"), HasSubstr("run.jsonl:1:")) << "an error if there are no other values";
  EXPECT_THAT(log_fault("{\"a\": 1}\n{\"a\": 3, \"b\n{\"a\": 2}\n"), HasSubstr("run.jsonl:2:"));
}

TEST(LogKeys, MatchNamesWithAnyPrefixAndFileNames) {
  EXPECT_EQ(time_name(of(LogFormat::verl), "data/timing_s/gen"), "gen");
  EXPECT_EQ(time_name(of(LogFormat::verl), "my run - timing_s/gen"), "gen");
  EXPECT_EQ(time_name(of(LogFormat::verl), "timing_s_old_log_prob"), "old_log_prob");
  EXPECT_EQ(time_name(of(LogFormat::verl), "mytiming_s/gen"), std::nullopt);
  EXPECT_EQ(time_name(of(LogFormat::verl), "timing_per_token_ms/gen"), std::nullopt);
  EXPECT_EQ(time_name(of(LogFormat::nemo_rl), "timing/validation/generation"), std::nullopt);
  EXPECT_EQ(find_timed_key(of(LogFormat::nemo_rl), "prepare_for_generation_total")->phase, PhaseKind::refit);
  EXPECT_EQ(find_timed_key(of(LogFormat::nemo_rl), "policy_training/sharding_data")->use, TimeKind::part);
  EXPECT_EQ(find_timed_key(of(LogFormat::nemo_rl), "policy_trainings"), std::nullopt);
  EXPECT_EQ(time_name(of(LogFormat::verl), "timing_s/timing_s/param_sync"), "param_sync");
  EXPECT_EQ(time_name(of(LogFormat::verl), "timing/gen"), "gen") << "older versions";
  EXPECT_EQ(time_name(of(LogFormat::dovetail), "timing/train/generation"), std::nullopt);
  EXPECT_EQ(time_name(of(LogFormat::dovetail), "timing_s/gen"), std::nullopt);
}

TEST(LogKeys, TablesAreComplete) {
  for (const auto& format : names_of(LogFormat{})) {
    const LogKeys& keys = log_keys(format.value);
    EXPECT_TRUE(keys.sums_iteration || keys.times.front().use == TimeKind::iteration) << format.name;
    for (const TimedKey& key : keys.times) {
      const std::string logged = std::string(keys.prefixes.front()) + std::string(key.name);
      EXPECT_EQ(time_name(keys, logged), key.name) << logged;
      EXPECT_EQ(find_timed_key(keys, key.name)->name, key.name);
      EXPECT_EQ(key.use == TimeKind::phase, key.phase.has_value()) << logged;
      EXPECT_TRUE(key.unless.empty() || find_timed_key(keys, key.unless)) << logged;
    }
  }
}

}  // namespace
}  // namespace dovetail::trainers
