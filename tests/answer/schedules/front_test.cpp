#include "answer/schedules/front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dovetail::answer {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* small =
    "format: dovetail/pipeline-problem@1\ntime_unit: tick\ndevices: 2\nmodels:\n"
    "  - {name: large, microbatches: 8, devices: [0, 1], forward: 2, backward: 4, activation: 2}\n"
    "  - {name: small, microbatches: 8, devices: [1, 0], forward: 1, backward: 2, activation: 1}\n";

ScheduleRequest front_request() {
  ScheduleRequest request{.problem = {"small.yaml", small}, .objective = Objective::pareto};
  request.search.budget.iterations = 400;
  request.search.budget.threads = 1;
  return request;
}

TEST(FrontOf, RejectsUnsupportedOptions) {
  const auto error_of = [](auto change) {
    ScheduleRequest request = front_request();
    change(request);
    const auto front = front_of(request);
    return front.ok() ? std::string() : front.error().message;
  };
  EXPECT_EQ(error_of([](ScheduleRequest&) {}), "");
  EXPECT_THAT(error_of([](ScheduleRequest& request) { request.deadline = "5"; }),
              HasSubstr("--objective pareto and --deadline cannot be combined"));
  EXPECT_THAT(error_of([](ScheduleRequest& request) { request.robustness_percent = 5; }),
              HasSubstr("--objective pareto and --robust cannot be combined"));
  EXPECT_THAT(error_of([](ScheduleRequest& request) { request.solver = "greedy"; }),
              HasSubstr("the only accepted --solver is auto"));
}

TEST(AnswerFront, HasNoDominatedSchedules) {
  const auto answer = answer_to(*front_of(front_request()), {});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->outcome, Outcome::done);
  ASSERT_GT(answer->schedules.size(), 2U);
  for (std::size_t i = 1; i < answer->schedules.size(); ++i) {
    EXPECT_LT(answer->schedules[i - 1].evaluation().makespan, answer->schedules[i].evaluation().makespan);
    EXPECT_GT(answer->schedules[i - 1].evaluation().peak_activation, answer->schedules[i].evaluation().peak_activation);
  }
  const json file = json::parse(front_file(*answer));
  const json report = json::parse(to_json(*answer));
  EXPECT_EQ(file["format"], "dovetail/pareto@1");
  EXPECT_EQ(file["front"].size(), report["front"].size());
  EXPECT_EQ(file["front"][1]["schedule"]["makespan"], report["front"][1]["makespan"]);
  EXPECT_FALSE(report["peak_bound"].empty());
}

TEST(AnswerFront, OmitsTheBoundUnlessRequested) {
  FrontRequest request = *front_of(front_request());
  request.peak_bound = false;
  EXPECT_TRUE(answer_to(request, {})->peak_bound.empty());
}

TEST(AnswerFront, ReportsThatNoScheduleFits) {
  FrontRequest request = *front_of(front_request());
  request.search.memory_cap = base::Memory(1'000'000);
  const auto answer = answer_to(request, {});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->outcome, Outcome::infeasible);
  EXPECT_TRUE(answer->impossible.has_value());
  EXPECT_EQ(answer->lost_process(), std::nullopt);
  EXPECT_EQ(json::parse(to_json(*answer))["impossible"], true);
}

TEST(FrontJson, HasTheExcessIfNothingFits) {
  auto answer = answer_to(*front_of(front_request()), {});
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(json::parse(to_json(*answer)).contains("excess"));
  // An interrupted search may end with a single schedule that does not fit.
  answer->schedules.resize(1);
  answer->schedules[0].solved.excess = {{base::DeviceId(1), base::Memory(9'000'000), base::Memory(8'000'000)}};
  const json report = json::parse(to_json(*answer));
  EXPECT_EQ(report["excess"][0]["excess"], 1);
  EXPECT_EQ(report["smallest_capacity"].size(), 2U);
}

}  // namespace
}  // namespace dovetail::answer
