// Logs of training runs: steps that count, and the comparison with predictions.
#include "measure/measured.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/file.h"
#include "cost/efficiency.h"
#include "measure/measured_comparison.h"
#include "measure/measurement_file.h"
#include "support/jobs.h"
#include "support/measurements.h"

namespace dovetail::measure {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using trainers::read_step_log;

StepLog log_of(std::string content, std::string path = "run.jsonl") {
  return read_step_log({{std::move(content), std::move(path)}}).value();
}

std::string error_of(std::string content, const MeasuredOptions& options = {}) {
  const auto log = read_step_log({{std::move(content), "run.jsonl"}});
  if (!log.ok()) return base::to_text(log.error());
  const auto run = measured_run(*log, options);
  return run.ok() ? "" : base::to_text(run.error());
}

TEST(MeasuredRun, ImpossibleLengthsAreErrors) {
  const auto with = [](const char* figure) {
    return error_of(
        std::string("{\"step\": 1, \"timing_s/step\": 9, \"timing_s/gen\": 2, \"response_length/") + figure + "}\n",
        {.skip = 0});
  };
  EXPECT_EQ(with("mean\": 300"), "");
  EXPECT_THAT(with("mean\": -5"),
              HasSubstr("`response_length/mean` is -5; it must be a number of tokens from 0 to 16777216"));
  EXPECT_THAT(with("clip_ratio\": 7"),
              HasSubstr("`response_length/clip_ratio` is 7; it must be a fraction from 0 to 1"));
}

TEST(MeasuredRun, ReportsErrors) {
  EXPECT_THAT(error_of("{\"loss\": 1}\n"), HasSubstr("the log has no times; expected keys `timing_s/...` (verl)"));
  EXPECT_THAT(error_of("{\"timing_s/gen\": 1, \"timing/train/generation\": 1}\n"),
              HasSubstr("times of verl and of nemo-rl"));
  EXPECT_THAT(error_of("{\"timing_s/gen\": 1}\n", {.format = LogFormat::nemo_rl}),
              HasSubstr("the log has no times of nemo-rl"));
  EXPECT_THAT(error_of("{\"timing_s/gen\": 1}\n", {.skip = 1}),
              HasSubstr("--skip must be less than the number of steps in the log (1), got 1"));
  EXPECT_THAT(error_of("{\"timing_s/gen\": 1}\n{\"timing_s/gen\": -2}\n"),
              HasSubstr("run.jsonl:2:18: `timing_s/gen` takes -2 s at step 2"));
  EXPECT_THAT(error_of("{\"timing_s/mine\": 1}\n"), HasSubstr("no time in the log belongs to a known phase"));
}

/// Step of a verl log with these seconds.
std::string verl_step(int step, double gen, double train, const std::string& more = "") {
  return "{\"step\": " + std::to_string(step) + ", \"timing_s/gen\": " + std::to_string(gen) +
         ", \"timing_s/old_log_prob\": 1, " +
         "\"timing_s/ref\": 2, \"timing_s/update_actor\": " + std::to_string(train) +
         ", \"timing_s/update_weights\": 3, \"timing_s/adv\": 0.5, " +
         "\"timing_s/step\": " + std::to_string(gen + train + 7) + more + "}\n";
}

TEST(MeasuredRun, LeavesOutWarmUpAndInterruptions) {
  std::string text;
  for (int step = 1; step <= 9; ++step)
    text += verl_step(step, step <= 2 ? 100 : 10 + step, 20,
                      step == 5 ? ", \"timing_s/testing\": 40" : ", \"timing_s/reshape\": 1");
  const MeasuredRun run = measured_run(log_of(text)).value();
  EXPECT_EQ(run.format, LogFormat::verl);
  EXPECT_THAT(run.warm_up, ElementsAre(1, 2));
  EXPECT_THAT(run.interrupted, ElementsAre(5));
  EXPECT_THAT(run.steps, ElementsAre(3, 4, 6, 7, 8, 9));
  EXPECT_THAT(run.unknown, ElementsAre("timing_s/reshape"));
  ASSERT_NE(iteration_of(run), nullptr);
  EXPECT_DOUBLE_EQ(iteration_of(run)->spread.median, 27 + 16.5);
  EXPECT_DOUBLE_EQ(*run.warm_up_ratio, 127 / 43.5);
  const MeasuredRun all = measured_run(log_of(text), {.skip = 0, .statistic = Statistic::mean}).value();
  EXPECT_EQ(all.steps.size(), 8U);
}

TEST(MeasuredRun, UntimedIterationIsTheSumOfItsLoop) {
  std::string text;
  for (int i = 1; i <= 5; ++i)
    text += "{\"step\": " + std::to_string(i) +
            ", \"timeperf/rollout\": 40, \"timeperf/train_step\": 20, \"timeperf/compute_advantage\": 1, "
            "\"timeperf/rollout_pause\": 9, \"timeperf/save\": 0.1, \"ppo_actor/seq_len/avg\": 500, "
            "\"ppo_actor/correct_seq_len/avg\": 7, \"ppo_actor/prompt_len/avg\": 100}\n";
  const MeasuredRun run = measured_run(log_of(text)).value();
  EXPECT_EQ(run.format, LogFormat::areal);
  EXPECT_EQ(iteration_of(run)->spread.median, 61) << "neither parts nor interruptions";
  EXPECT_EQ(run.mean_response, 400);
}

TEST(MeasuredRun, LoggedContainerReplacesItsParts) {
  const auto measured = [](const std::string& more) {
    return measured_run(log_of("{\"step\": 1, \"time/rollout\": 40, \"time/actor_train/train_step/total\": 20, "
                               "\"time/actor_train/model_update/total\": 5, \"time/adv\": 1, "
                               "\"tokens/prompt_length/mean\": 566" +
                               more + "}\n"))
        .value();
  };
  const MeasuredRun bare = measured("");
  EXPECT_EQ(iteration_of(bare)->spread.median, 66);
  EXPECT_EQ(bare.mean_prompt, 566);
  const MeasuredRun whole = measured(", \"time/step_rollout\": 41, \"time/step_train\": 22");
  EXPECT_EQ(iteration_of(whole)->spread.median, 41 + 22 + 5 + 1);
  EXPECT_EQ(iteration_of(measured(", \"time/step_total\": 70"))->spread.median, 70);
}

TEST(MeasuredRun, TotalOfThePreviousStepIsShifted) {
  const auto totals = [](const std::string& first) {
    std::string text;
    for (int i = 0; i < 4; ++i)
      text += "{\"step\": " + std::to_string(i) +
              ", \"time/step_total\": " + (i == 0 ? first : std::to_string(90 + i)) + ", \"time/step_generate\": 40}\n";
    std::vector<std::pair<std::int64_t, double>> values;
    const MeasuredRun run = measured_run(log_of(text), {.skip = 0}).value();
    for (const LoggedValue& value : iteration_of(run)->values) values.emplace_back(value.step, value.value);
    return values;
  };
  using Totals = std::vector<std::pair<std::int64_t, double>>;
  EXPECT_EQ(totals("0"), (Totals{{0, 91}, {1, 92}, {2, 93}}));
  EXPECT_EQ(totals("95"), (Totals{{0, 95}, {1, 91}, {2, 92}, {3, 93}}))
      << "each step keeps its time if the first is not 0";
}

TEST(MeasuredRun, ReadsMetricsOfDovetailRuns) {
  std::string text;
  for (int i = 1; i <= 5; ++i)
    text += "{\"iteration\": " + std::to_string(i) +
            ", \"reward\": 1, \"response_length\": 7, \"response_length_max\": 12, \"truncated\": 0.25, \"timing\": "
            "{\"actor_generate_seconds\": 1, \"reward_rule_seconds\": 0.5, \"actor_train_seconds\": 2, \"seconds\": " +
            std::to_string(3 + i) +
            ", \"tokens_per_second\": 9, \"mfu\": 0.5, \"memory_gib\": 1, "
            "\"processor_seconds/0\": 7, \"live_gib/1\": 1}}\n";
  const MeasuredRun run = measured_run(log_of(text)).value();
  EXPECT_EQ(run.format, LogFormat::dovetail);
  EXPECT_THAT(run.steps, ElementsAre(3, 4, 5));
  EXPECT_THAT(run.unknown, IsEmpty());
  EXPECT_EQ(iteration_of(run)->spread.median, 7);
  EXPECT_EQ(run.mean_response, 7);
  EXPECT_EQ(run.max_response, 12);
  EXPECT_EQ(run.at_cap, 0.25);
}

RC_GTEST_PROP(MeasuredRun, QuartilesLieBetweenExtremes, (std::vector<std::uint8_t> numbers)) {
  RC_PRE(!numbers.empty());
  const std::vector<double> values(numbers.begin(), numbers.end());
  const TimeSpread spread = spread_of(values);
  RC_ASSERT(spread.min <= spread.lower && spread.lower <= spread.median && spread.median <= spread.upper &&
            spread.upper <= spread.max);
  RC_ASSERT(spread.min <= spread.mean + 1e-9 && spread.mean <= spread.max + 1e-9);
  const auto below = std::count_if(values.begin(), values.end(), [&](double value) { return value <= spread.median; });
  RC_ASSERT(2 * below >= static_cast<std::ptrdiff_t>(values.size()));
}

class ComparedRun : public testing::Test {
 protected:
  MeasuredComparison compare(const std::string& text) {
    run = measured_run(log_of(text)).value();
    return compare_measured(run, job, {plan, estimate});
  }

  double predicted(const std::string& phase) const {
    double seconds = 0;
    for (std::size_t step = 0; step < estimate.activities.size(); ++step)
      seconds += seconds_in_phase(phase_named(phase, job).value(), job, estimate.graph.activities[step],
                                  estimate.activities[step]);
    return seconds;
  }

  plan::Job job = test::grpo_job();
  plan::Plan plan = test::co_located(job);
  predict::Software software = predict::software_of(job).value();
  predict::Estimate estimate = predict::estimate(predict::scenario_of(job, software), plan);
  MeasuredRun run;
};

const MeasuredAgainst& phase_of(const MeasuredComparison& comparison, const std::string& name) {
  const auto found = std::find_if(comparison.phases.begin(), comparison.phases.end(),
                                  [&name](const MeasuredAgainst& phase) { return phase.phase == name; });
  EXPECT_NE(found, comparison.phases.end()) << name;
  return *found;
}

TEST_F(ComparedRun, ComparesTasksThatVerlTimes) {
  std::string text;
  for (int step = 1; step <= 5; ++step)
    text += verl_step(step, 500, 20, ", \"timing_s/values\": 4, \"response_length/mean\": 900");
  const MeasuredComparison comparison = compare(text);
  ASSERT_EQ(comparison.phases.size(), 5U);
  for (const char* name : {"actor_generate", "actor_infer", "reference_infer", "actor_train", "refit"}) {
    EXPECT_DOUBLE_EQ(phase_of(comparison, name).predicted, predicted(name)) << name;
    EXPECT_TRUE(phase_of(comparison, name).whole);
  }
  EXPECT_DOUBLE_EQ(comparison.iteration->predicted, estimate.iteration_seconds);
  EXPECT_EQ(comparison.by_difference().front()->phase, "actor_generate");
  EXPECT_THAT(phase_of(comparison, "actor_generate").reasons.front(),
              HasSubstr("responses had 900 tokens on average, but the job specifies 512"));
  ASSERT_EQ(comparison.only_measured.size(), 2U);
  EXPECT_EQ(comparison.only_measured[0].name, "timing_s/values") << "the job has no critic";
  EXPECT_THAT(comparison.only_predicted, IsEmpty());
}

TEST_F(ComparedRun, AgreementHasNoReasons) {
  std::string text;
  for (int step = 1; step <= 4; ++step)
    text += "{\"timing_s/gen\": " + std::to_string(predicted("actor_generate")) +
            ", \"timing_s/update_weights\": " + std::to_string(predicted("refit")) + "}\n";
  const MeasuredComparison comparison = compare(text);
  for (const MeasuredAgainst& phase : comparison.phases) EXPECT_THAT(phase.reasons, IsEmpty()) << phase.phase;
  EXPECT_FALSE(comparison.iteration.has_value());
  EXPECT_EQ(comparison.only_predicted.size(), 3U);
}

TEST_F(ComparedRun, ReasonsDependOnTheOffloadSettings) {
  std::string text;
  for (int step = 1; step <= 5; ++step) text += verl_step(step, 12, 500);
  const auto reasons = [&] { return phase_of(compare(text), "actor_train").reasons; };
  const auto gradients = HasSubstr("gradients are offloaded to host memory, but the plan keeps them on the devices");
  const auto optimizer =
      HasSubstr("optimizer states are offloaded to host memory, but the plan keeps them on the devices");
  const auto slower = HasSubstr("offload transfers are slower than predicted");
  EXPECT_THAT(reasons(), AllOf(Contains(gradients), Contains(optimizer), Not(Contains(slower))));
  plan.tasks.back().offload.optimizer = true;
  EXPECT_THAT(reasons(), AllOf(Contains(gradients), Not(Contains(optimizer)), Contains(slower)));
}

TEST_F(ComparedRun, NemoRlTimesKinds) {
  const MeasuredComparison comparison = compare(
      "{\"timing/train/total_step_time\": 50, \"timing/train/generation\": 20, "
      "\"timing/train/policy_and_reference_logprobs\": 5, "
      "\"timing/train/logprob_inference_prep\": 1, \"timing/train/training_prep\": 2, "
      "\"timing/train/policy_training\": 15, "
      "\"timing/train/prepare_for_generation/total\": 4, "
      "\"timing/train/prepare_for_generation/transfer_and_update_weights\": 3}\n");
  EXPECT_EQ(phase_of(comparison, "scoring").seconds, 6);
  EXPECT_DOUBLE_EQ(phase_of(comparison, "scoring").predicted, predicted("actor_infer") + predicted("reference_infer"));
  EXPECT_DOUBLE_EQ(phase_of(comparison, "training").predicted, predicted("training"));
  EXPECT_EQ(phase_of(comparison, "refit").seconds, 4);
  EXPECT_EQ(phase_of(comparison, "offload").seconds, 2);
}

TEST_F(ComparedRun, UntimedWeightSyncIsPartOfGeneration) {
  const MeasuredComparison comparison = compare("{\"timing_s/gen\": 30, \"timing_s/step\": 60}\n");
  const MeasuredAgainst& phase = phase_of(comparison, "actor_generate");
  EXPECT_TRUE(phase.with_weight_sync);
  EXPECT_FALSE(phase.whole);
  EXPECT_DOUBLE_EQ(phase.predicted, predicted("actor_generate") + predicted("refit"));
}

TEST_F(ComparedRun, CalibrateReadsTheFile) {
  std::string text;
  for (int step = 1; step <= 5; ++step)
    text += verl_step(step, 12, 20, ", \"response_length/mean\": 300, \"response_length/max\": 1000");
  const MeasuredComparison comparison = compare(text);
  const std::string folder = testing::TempDir();
  ASSERT_TRUE(base::write_file(folder + "/measured-job.yaml", test::job_text("H100") + "\n").ok());
  ASSERT_TRUE(base::write_file(folder + "/measured-plan.yaml", test::plan_text() + "\n").ok());
  const MeasurementNames names{"h100/verl",         "one: two",           "a \"log\"",
                               "measured-job.yaml", "measured-plan.yaml", "h100/megatron-vllm"};
  for (const auto write : {measurement_to_yaml, measurement_to_json}) {
    const std::string written = write(names, run, comparison, job).value();
    const auto read = parse_measurements(written, folder + "/runs.yaml");
    ASSERT_TRUE(read.ok()) << base::to_text(read.error()) << written;
    ASSERT_EQ(read->rows.size(), 1U);
    EXPECT_EQ(read->start.iteration, cost::find_efficiency("h100/megatron-vllm")->iteration);
    EXPECT_EQ(read->rows[0].name, "one: two");
    EXPECT_DOUBLE_EQ(read->rows[0].seconds, 39);
    ASSERT_EQ(read->rows[0].phases.size(), 5U);
    EXPECT_EQ(name_of(read->rows[0].phases[0].phase, read->rows[0].job), "actor_generate");
    EXPECT_DOUBLE_EQ(read->rows[0].phases[0].seconds, 12);
    ASSERT_TRUE(read->rows[0].responses.has_value());
    EXPECT_EQ(read->rows[0].responses->mean, 300);
    EXPECT_EQ(read->rows[0].responses->cap, 1000);
    MeasurementNames without_start = names;
    without_start.start.clear();
    const std::string plain = write(without_start, run, comparison, job).value();
    EXPECT_THAT(plain, Not(HasSubstr("start")));
    EXPECT_EQ(parse_measurements(plain, folder + "/runs.yaml")->start.iteration, cost::Efficiency().iteration);
  }
  const MeasuredComparison without = compare("{\"timing_s/gen\": 30}\n");
  EXPECT_THAT(base::to_text(measurement_to_yaml(names, run, without, job).error()), HasSubstr("has no iteration time"));
}

workflow::LengthDistribution taken(const LoggedLengths& logged, std::int64_t cap, std::int64_t draws) {
  const LengthsOfLog lengths = lengths_of_log(logged, cap, draws);
  EXPECT_TRUE(lengths.figures && !workflow::find_fault(*lengths.figures));
  EXPECT_FALSE(lengths.spread.empty());
  return workflow::log_normal_lengths(*lengths.figures);
}

TEST(MeasuredLengths, FractionAtCapMatchesTheLog) {
  const auto lengths = taken({.mean = 500, .longest = 1024, .at_cap = 0.05}, 1024, 4096);
  EXPECT_NEAR(lengths.mean(), 500, 1);
  EXPECT_NEAR(lengths.survival(1023), 0.05, 1e-3);
  EXPECT_EQ(lengths.longest(), 1024);
}

TEST(MeasuredLengths, LongestLengthMatchesTheLog) {
  for (const double longest : {200.0, 380.0, 900.0}) {
    const auto lengths = taken({.mean = 142.9, .longest = longest, .at_cap = 0}, 1024, 5120);
    EXPECT_NEAR(lengths.mean(), 142.9, 0.5) << longest;
    EXPECT_NEAR(lengths.expected_maximum(5120), longest, 2) << longest;
  }
}

TEST(MeasuredLengths, RoundedFractionMeansAtLeastOne) {
  const auto lengths = taken({.mean = 300, .longest = 1024, .at_cap = 0}, 1024, 1000);
  EXPECT_NEAR(lengths.survival(1023), 1e-3, 1e-4);
}

TEST(MeasuredLengths, MissingSpreadUsesTheDefault) {
  const LengthsOfLog lengths = lengths_of_log({.mean = 300}, 2048, 512);
  EXPECT_EQ(lengths.figures->sigma, workflow::default_sigma);
  EXPECT_NE(lengths.spread.find("the log does not determine the spread"), std::string::npos);
}

RC_GTEST_PROP(MeasuredLengths, AnyFiguresMakeLengthsWithTheirMean, ()) {
  const auto cap = *rc::gen::inRange<std::int64_t>(2, 20000);
  const auto limit = static_cast<double>(cap);
  const double mean = std::max(1.0, limit * static_cast<double>(*rc::gen::inRange(1, 1101)) / 1000);
  LoggedLengths logged{.mean = mean};
  if (*rc::gen::arbitrary<bool>()) logged.longest = mean * static_cast<double>(*rc::gen::inRange(50, 800)) / 100;
  if (*rc::gen::arbitrary<bool>()) logged.at_cap = static_cast<double>(*rc::gen::inRange(0, 101)) / 100;
  const LengthsOfLog lengths = lengths_of_log(logged, cap, *rc::gen::inRange<std::int64_t>(1, 10000));
  if (lengths.figures) RC_ASSERT(!workflow::find_fault(*lengths.figures));
  RC_ASSERT(lengths.mean >= 1);
  RC_ASSERT(lengths.mean <= cap);
  const auto distribution = lengths.figures ? workflow::log_normal_lengths(*lengths.figures)
                                            : workflow::LengthDistribution::fixed(lengths.mean);
  RC_ASSERT(distribution.longest() <= cap);
  const double expected = std::min(mean, limit);
  // Integer lengths with a minimum of one token shift short means.
  RC_ASSERT(std::abs(distribution.mean() - expected) <= 1 + 0.01 * expected);
}

TEST(MeasuredLengths, UseOnlyTheStepsThatCount) {
  std::string log;
  for (int step = 1; step <= 5; ++step)
    log += "step:" + std::to_string(step) +
           " - timing_s/gen:10.0 - timing_s/step:20.0 - response_length/mean:" + std::to_string(step * 100) +
           ".0 - response_length/max:" + std::to_string(step * 200) +
           ".0 - response_length/clip_ratio:0.010 - prompt_length/mean:80.0 - prompt_length/max:160.0\n";
  const MeasuredRun run = measured_run(trainers::read_step_log({{log, "run.log"}}).value()).value();
  EXPECT_EQ(logged_responses(run), (LoggedLengths{.mean = 400, .longest = 800, .at_cap = 0.01}));
  EXPECT_EQ(logged_prompts(run), (LoggedLengths{.mean = 80, .longest = 160}));
}

TEST(MeasuredLengths, LogWithoutLengthsHasNone) {
  const MeasuredRun run =
      measured_run(trainers::read_step_log({{"step:1 - timing_s/gen:1.0 - timing_s/step:2.0\n", "run.log"}}).value())
          .value();
  EXPECT_FALSE(logged_responses(run));
  EXPECT_FALSE(logged_prompts(run));
}

}  // namespace

}  // namespace dovetail::measure
