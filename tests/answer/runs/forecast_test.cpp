#include "answer/runs/forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/job_files.h"

namespace dovetail::answer {
namespace {

using testing::HasSubstr;

/// A run that keeps its plan.
ForecastRequest small_request() {
  ForecastRequest request;
  request.job = {"job.yaml", cli::small_job};
  request.plan = Input{"plan.json", cli::small_plan};
  request.steps = 100;
  request.searches = 0;
  return request;
}

std::string message_of(const ForecastRequest& request) {
  const auto answer = answer_to(request, {});
  return answer.ok() ? "" : answer.error().message;
}

TEST(ForecastAnswer, PlansHaveLetters) {
  EXPECT_EQ(plan_letter(0), "A");
  EXPECT_EQ(plan_letter(25), "Z");
  EXPECT_EQ(plan_letter(26), "A1");
}

TEST(ForecastAnswer, CountsPausesAndRestarts) {
  ForecastRequest request = small_request();
  const study::Forecast plain = answer_to(request, {}).value().forecast;
  request.pauses = {"10:1m", "50:1h"};
  const study::Forecast paused = answer_to(request, {}).value().forecast;
  EXPECT_GT(paused.pause_seconds, 0);
  EXPECT_NEAR(paused.seconds, plain.seconds + paused.pause_seconds, 1e-6);
  request.pauses = {"0:1m"};
  EXPECT_THAT(message_of(request), HasSubstr("`0:1m` is not a pause; accepted: STEPS:TIME"));
}

TEST(ForecastAnswer, RejectsContradictingOptions) {
  ForecastRequest request = small_request();
  request.mean = "100:600";
  request.median = "100:600";
  EXPECT_THAT(message_of(request), HasSubstr("cannot be combined"));
  ForecastRequest without = small_request();
  without.plan.reset();
  EXPECT_THAT(message_of(without), HasSubstr("--searches 0 needs --plan FILE"));
  ForecastRequest twice = small_request();
  twice.job = {"-"};
  twice.lengths = "-";
  EXPECT_THAT(message_of(twice), HasSubstr("standard input can be read only once"));
}

TEST(ForecastAnswer, EndsWhenNoPlanFits) {
  ForecastRequest request = small_request();
  std::string padded = cli::small_job;
  padded.replace(padded.find("prompt_length: 128"), 18, "packing: false, prompt_length: 128");
  request.job.text = padded;
  request.lengths = "100:60";
  const ForecastAnswer answer = answer_to(request, {}).value();
  EXPECT_EQ(answer.outcome, Outcome::infeasible);
  EXPECT_LT(answer.forecast.steps, 100);
  EXPECT_EQ(answer.forecast.points.back().fit == predict::Fit::does_not_fit, false) << "only steps that fit are listed";
  EXPECT_TRUE(std::any_of(answer.forecast.points.begin(), answer.forecast.points.end(),
                          [](const study::ForecastPoint& point) { return point.fit == predict::Fit::fits; }));
}

}  // namespace
}  // namespace dovetail::answer
