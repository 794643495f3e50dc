#include "answer/schedules/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answer/schedules/schedule_question.h"
#include "answer/texts.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/instances.h"
#include "pipeline/schedule/validate.h"

namespace dovetail::answer {
namespace {

using nlohmann::json;
using testing::HasSubstr;

ScheduleRequest request_of(const std::string& problem, const std::string& solver = "greedy") {
  ScheduleRequest request{.problem = {problem}, .solver = solver};
  request.search.budget.iterations = 2000;
  request.search.budget.threads = 1;
  return request;
}

TEST(AnswerSchedule, ReportsProgress) {
  std::vector<std::string> reported;
  Callbacks callbacks;
  callbacks.on_label = [&reported](const std::string& label) { reported.push_back("label " + label); };
  callbacks.on_read = [&reported]() -> base::Status { return reported.emplace_back("read"), base::Status(); };
  int figures = 0;
  callbacks.on_figures = [&](const Figures& of) { figures += of().empty() ? 0 : 1; };
  const auto answer = answer_to(request_of("exp2", "search"), callbacks);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(reported, (std::vector<std::string>{"label exp2", "read"}));
  EXPECT_GT(figures, 0);
  EXPECT_GT(answer->iterations_per_second, 0);
  EXPECT_EQ(answer->outcome, Outcome::done);
  EXPECT_FALSE(pipeline::validate(answer->solved->schedule).has_value());
}

TEST(AnswerSchedule, EndsIfTheCallerRejectsTheInput) {
  Callbacks callbacks;
  callbacks.on_read = [] { return base::Status(base::bad_input("the output is the input")); };
  EXPECT_EQ(answer_to(request_of("exp2"), callbacks).error().message, "the output is the input");
}

TEST(AnswerSchedule, AnswersWithSchedulesThatDoNotFit) {
  ScheduleRequest request = request_of("exp2");
  request.search.memory_cap = base::Memory(3'000'000);
  const auto answer = answer_to(request, {});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->outcome, Outcome::infeasible);
  EXPECT_FALSE(answer->impossible.has_value());
  EXPECT_THAT(texts(sections(*answer)), HasSubstr("no schedule found by greedy fits in memory; the closest one:\n"));
  EXPECT_FALSE(json::parse(to_json(*answer))["excess"].empty());
}

TEST(AnswerSchedule, SearchesNothingForImpossibleRequests) {
  ScheduleRequest request = request_of("exp2");
  request.search.memory_cap = base::Memory(1'000'000);
  request.deadline = "9";
  const auto answer = answer_to(request, {});
  ASSERT_TRUE(answer.ok());
  ASSERT_TRUE(answer->impossible.has_value());
  EXPECT_FALSE(answer->solved.has_value());
  EXPECT_EQ(answer->outcome, Outcome::infeasible);
  const std::string text = texts(sections(*answer));
  EXPECT_THAT(text, HasSubstr(impossible_message));
  EXPECT_THAT(text, HasSubstr("no schedule meets the deadline of 9 ticks: the lower bound on the makespan is 225\n"));
  const json object = json::parse(to_json(*answer));
  EXPECT_EQ(object["impossible"], true);
  EXPECT_EQ(object["meets_deadline"], false);
  EXPECT_FALSE(object.contains("makespan"));
}

TEST(AnswerSchedule, StartsFromASchedule) {
  const auto first = answer_to(request_of("exp2", "search"), {});
  ASSERT_TRUE(first.ok());
  ScheduleRequest request = request_of("exp2", "search");
  request.search.budget.iterations = 1;
  request.from = Input{"first.json", pipeline::schedule_to_json(first->solved->schedule)};
  const auto second = answer_to(request, {});
  ASSERT_TRUE(second.ok()) << to_text(second.error());
  EXPECT_LE(second->solved->solution.evaluation.makespan, first->solved->solution.evaluation.makespan);
  request.solver = "greedy";
  EXPECT_THAT(answer_to(request, {}).error().message,
              HasSubstr("--from needs a solver that searches; 'greedy' constructs its schedule by rule"));
}

TEST(AnswerSchedule, ReportsValidAndImprovingSchedules) {
  ScheduleRequest request = request_of("exp4", "search");
  std::vector<base::Ticks> makespans;
  request.on_better = [&makespans](const pipeline::Schedule& schedule) {
    EXPECT_FALSE(pipeline::validate(schedule).has_value());
    makespans.push_back(*schedule.claims.makespan);
  };
  const auto answer = answer_to(request, {});
  ASSERT_TRUE(answer.ok());
  ASSERT_FALSE(makespans.empty());
  EXPECT_TRUE(std::is_sorted(makespans.rbegin(), makespans.rend()));
  EXPECT_EQ(makespans.back(), answer->solved->solution.evaluation.makespan);
}

TEST(AnswerSchedule, RejectsObjectivePareto) {
  ScheduleRequest request = request_of("exp2", "auto");
  request.objective = Objective::pareto;
  EXPECT_EQ(answer_to(request, {}).error().message,
            "objective pareto yields a front, not a schedule; accepted: makespan, memory");
}

TEST(ScheduleSections, ListWrittenFilesBeforeTheTime) {
  auto answer = answer_to(request_of("exp2"), {});
  ASSERT_TRUE(answer.ok());
  answer->written = {"one.csv", "two.csv"};
  EXPECT_THAT(texts(sections(*answer)), HasSubstr("\nwritten: one.csv\nwritten: two.csv\ntook: "));
  EXPECT_EQ(json::parse(to_json(*answer))["written"], json({"one.csv", "two.csv"}));
}

TEST(MinCapacity, IsSufficientForASchedule) {
  const pipeline::Problem& problem = pipeline::find_instance("exp2")->problem;
  ScheduleRequest request = request_of("exp2", "search");
  const std::vector<base::Memory> capacities = min_capacities(problem);
  request.search.memory_cap = *std::max_element(capacities.begin(), capacities.end());
  EXPECT_EQ(answer_to(request, {})->outcome, Outcome::done);
  request.search.memory_cap = base::Memory(request.search.memory_cap->count() - 1);
  EXPECT_TRUE(answer_to(request, {})->impossible.has_value());
}

}  // namespace
}  // namespace dovetail::answer
