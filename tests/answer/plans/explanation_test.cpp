// Explanations of plans, through the library.
#include "answer/plans/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "answer/plans/example_jobs.h"
#include "answer/texts.h"
#include "plan/plan_file.h"
#include "support/effort.h"

namespace dovetail::answer {
namespace {

using nlohmann::json;
using testing::HasSubstr;

ExplanationRequest request_for(const std::string& job, const std::string& plan) {
  return {.job = example(job), .plan = example(plan), .search = short_search()};
}

plan::Plan plan_of(const ExplanationAnswer& answer, const json& entry) {
  return plan::parse_plan(entry["plan"].dump(), "entry", answer.scenario.job).value();
}

TEST(Explanation, JsonPlansMatchTheirPredictions) {
  for (const auto& [job, plan] :
       {std::pair("ppo-7b.yaml", "ppo-7b.plan.yaml"), std::pair("grpo-8b.yaml", "grpo-8b.plan.json"),
        std::pair("rlhfuse-33b-13b.yaml", "rlhfuse-33b-13b.plan.json")}) {
    if (test::sanitized && job != std::string_view("ppo-7b.yaml")) continue;
    SCOPED_TRACE(job);
    const ExplanationAnswer answer = answer_to(request_for(job, plan), {}).value();
    const json object = json::parse(to_json(answer));
    ASSERT_TRUE(answer.explanation.best.has_value());
    EXPECT_EQ(predict::estimate(answer.scenario, plan_of(answer, object["best_plan"])).timing.period,
              answer.explanation.best->estimate.timing.period);
    ASSERT_EQ(object["changes"].size(), answer.explanation.changes.size());
    for (std::size_t index = 0; index < object["changes"].size(); ++index)
      EXPECT_EQ(predict::estimate(answer.scenario, plan_of(answer, object["changes"][index])).iteration_seconds,
                answer.explanation.changes[index].iteration_seconds)
          << index;
  }
}

TEST(Explanation, LimitsTheNumberOfChanges) {
  ExplanationRequest request = request_for("ppo-7b.yaml", "ppo-7b.plan.yaml");
  const ExplanationAnswer all = answer_to(request, {}).value();
  ASSERT_GT(all.explanation.changes.size(), 2U);
  request.shown = 2;
  const ExplanationAnswer answer = answer_to(request, {}).value();
  ASSERT_EQ(answer.explanation.changes.size(), 2U);
  EXPECT_EQ(json::parse(to_json(answer))["changes"][1], json::parse(to_json(all))["changes"][1]);
}

TEST(Explanation, MakesNoClaimsAboutUntriedChangesWhenStopped) {
  ExplanationAnswer answer = answer_to(request_for("ppo-7b.yaml", "ppo-7b.plan.yaml"), {}).value();
  answer.explanation.changes.clear();
  answer.explanation.ranking.cut_short = std::nullopt;
  EXPECT_THAT(texts(sections(answer)), HasSubstr("No single change (of one task, of two tasks side by side"));
  answer.explanation.ranking.cut_short = parallel::EndedBy::time;
  EXPECT_THAT(texts(sections(answer)),
              HasSubstr("No single change that was tried before the search stopped makes the plan faster.\n"));
}

TEST(Explanation, AcceptsAPlanAsText) {
  ExplanationRequest request = request_for("ppo-7b.yaml", "ppo-7b.plan.yaml");
  const std::string of_file = to_json(answer_to(request, {}).value());
  request.plan = Input{"a form", read_input(*request.plan).value()};
  EXPECT_EQ(to_json(answer_to(request, {}).value()), of_file);
  request.plan->text = "format: dovetail/plan@1\n";
  EXPECT_EQ(answer_to(request, {}).error().path, "a form");
}

TEST(Explanation, IsInfeasibleIfNothingFits) {
  ExplanationRequest request = request_for("ppo-7b.yaml", "ppo-7b.plan.yaml");
  std::string text = read_input(request.job).value();
  const std::string gpu = "gpu: H100";
  ASSERT_NE(text.find(gpu), std::string::npos);
  text.replace(text.find(gpu), gpu.size(), "gpu: {name: small, memory: 1GiB, bandwidth: 1TB/s, bf16: 100TFLOP/s}");
  request.job.text = text;
  const ExplanationAnswer answer = answer_to(request, {}).value();
  EXPECT_EQ(answer.outcome, Outcome::infeasible);
  EXPECT_FALSE(json::parse(to_json(answer)).contains("best_plan"));
}

}  // namespace
}  // namespace dovetail::answer
