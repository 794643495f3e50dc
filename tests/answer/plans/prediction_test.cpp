// Predictions for given plans, through the library.
#include "answer/plans/prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "answer/plans/example_jobs.h"
#include "answer/plans/job_input.h"

namespace dovetail::answer {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const Input fused_job = example("rlhfuse-33b-13b.yaml");
const Input fused_plan = example("rlhfuse-33b-13b.plan.json");

TEST(Prediction, MatchesTheEstimateOfThePlan) {
  const PredictionAnswer answer = answer_to(PredictionRequest{fused_job, fused_plan}, {}).value();
  const predict::Scenario scenario = read_scenario(fused_job, {}).value();
  const plan::Plan plan = read_plan(fused_plan, scenario, {}).value();
  EXPECT_EQ(answer.estimate.timing.period, predict::estimate(scenario, plan).timing.period);
  EXPECT_FALSE(answer.unfused);
  EXPECT_EQ(answer.outcome, Outcome::done);
  const json object = json::parse(to_json(answer));
  EXPECT_EQ(object["steps"].size(), answer.estimate.graph.activities.size());
  EXPECT_TRUE(object.contains("fusion"));
}

TEST(Prediction, RemovesFusionOnRequest) {
  const PredictionAnswer fused = predict_plan(fused_job, fused_plan, true, {}).value();
  const PredictionAnswer parted = predict_plan(fused_job, fused_plan, false, {}).value();
  EXPECT_TRUE(fused.plan.fusion.any());
  EXPECT_TRUE(parted.unfused);
  EXPECT_FALSE(parted.plan.fusion.any());
  EXPECT_GT(parted.estimate.iteration_seconds, fused.estimate.iteration_seconds);
  EXPECT_FALSE(predict_plan(example("ppo-7b.yaml"), example("ppo-7b.plan.yaml"), false, {})->unfused)
      << "nothing was fused";
}

TEST(Prediction, TableMatchesStartTimes) {
  const PredictionAnswer answer =
      answer_to(PredictionRequest{example("ppo-7b.yaml"), example("ppo-7b.plan.yaml")}, {}).value();
  const json steps = json::parse(to_json(answer))["steps"];
  for (std::size_t step = 0; step < steps.size(); ++step) {
    EXPECT_NEAR(steps[step]["begin"].get<double>(), begin_of_activity(answer.estimate, step), 0.0005);
    EXPECT_LE(begin_of_activity(answer.estimate, step) + answer.estimate.activities[step].seconds,
              answer.estimate.iteration_seconds + 1e-6);
  }
  const Sections printed = sections(answer);
  ASSERT_EQ(printed.all().size(), 3U);
  EXPECT_EQ(std::get<Table>(printed.all()[1]).rows.size(), steps.size());
  EXPECT_THAT(std::get<Text>(printed.all()[2]).lines, HasSubstr("\nthroughput "));
}

TEST(Prediction, NotesThatThePlanBelongsToAnotherJob) {
  std::vector<std::string> notes;
  Callbacks callbacks;
  callbacks.on_note = [&](std::string_view note) { notes.emplace_back(note); };
  Input job = example("grpo-8b.yaml");
  ASSERT_TRUE(answer_to(PredictionRequest{job, example("grpo-8b.plan.json")}, callbacks).ok());
  EXPECT_TRUE(notes.empty());
  job.text = read_input(job).value();
  job.text->replace(job.text->find("mean: 1060"), 10, "mean: 1061");
  ASSERT_TRUE(answer_to(PredictionRequest{job, example("grpo-8b.plan.json")}, callbacks).ok());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes.front(), HasSubstr("the plan was made for another job"));
}

TEST(Prediction, RejectsStandardInputTwice) {
  const auto answer = answer_to(PredictionRequest{{"-"}, {"-"}}, {});
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().message, HasSubstr("standard input can be read only once"));
}

}  // namespace
}  // namespace dovetail::answer
