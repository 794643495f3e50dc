// Lengths of a log become a distribution with the figures that were logged.
#include "measure/measured_lengths.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace dovetail::measure {
namespace {

workflow::LengthDistribution taken(const LoggedLengths& logged, std::int64_t cap, std::int64_t draws) {
  const LengthsOfLog lengths = lengths_of_log(logged, cap, draws);
  EXPECT_TRUE(lengths.figures && !workflow::find_fault(*lengths.figures));
  EXPECT_FALSE(lengths.spread.empty());
  return workflow::log_normal_lengths(*lengths.figures);
}

TEST(MeasuredLengths, AsManyEndAtTheCapAsWereLogged) {
  const auto lengths = taken({.mean = 500, .longest = 1024, .at_cap = 0.05}, 1024, 4096);
  EXPECT_NEAR(lengths.mean(), 500, 1);
  EXPECT_NEAR(lengths.survival(1023), 0.05, 1e-3);
  EXPECT_EQ(lengths.longest(), 1024);
}

TEST(MeasuredLengths, TheLongestOfAStepIsAsLongAsTheLoggedOne) {
  for (const double longest : {200.0, 380.0, 900.0}) {
    const auto lengths = taken({.mean = 142.9, .longest = longest, .at_cap = 0}, 1024, 5120);
    EXPECT_NEAR(lengths.mean(), 142.9, 0.5) << longest;
    EXPECT_NEAR(lengths.expected_maximum(5120), longest, 2) << longest;
  }
}

TEST(MeasuredLengths, AFractionThatIsRoundedAwayIsAtLeastOne) {
  const auto lengths = taken({.mean = 300, .longest = 1024, .at_cap = 0}, 1024, 1000);
  EXPECT_NEAR(lengths.survival(1023), 1e-3, 1e-4);
}

TEST(MeasuredLengths, WithoutASpreadTheUsualOneIsTaken) {
  const LengthsOfLog lengths = lengths_of_log({.mean = 300}, 2048, 512);
  EXPECT_EQ(lengths.figures->sigma, usual_sigma);
  EXPECT_NE(lengths.spread.find("the log says no spread"), std::string::npos);
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
  // Whole lengths, and a least one of one token, move short means.
  RC_ASSERT(std::abs(distribution.mean() - expected) <= 1 + 0.01 * expected);
}

TEST(MeasuredLengths, AreThoseOfTheStepsThatCount) {
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

TEST(MeasuredLengths, ALogWithoutThemSaysNone) {
  const MeasuredRun run =
      measured_run(trainers::read_step_log({{"step:1 - timing_s/gen:1.0 - timing_s/step:2.0\n", "run.log"}}).value())
          .value();
  EXPECT_FALSE(logged_responses(run));
  EXPECT_FALSE(logged_prompts(run));
}

}  // namespace
}  // namespace dovetail::measure
