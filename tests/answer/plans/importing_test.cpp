// Imports of trainer configurations, through the library.
#include "answer/plans/importing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "answer/plans/example_jobs.h"
#include "answer/plans/fit.h"
#include "answer/plans/prediction.h"
#include "answer/runs/forecast.h"
#include "answer/runs/sweep.h"
#include "plan/job_file.h"
#include "plan/plan_file.h"
#include "predict/closed_form/software.h"
#include "trainers/verl/imported.h"

namespace dovetail::answer {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string first_line = "run.sh is read as a configuration of verl";

/// All texts of an answer, without tables.
std::string text_of(const Sections& sections) {
  std::string text;
  for (const Section& section : sections.all())
    if (const Text* const lines = std::get_if<Text>(&section)) text += lines->lines;
  return text;
}

JobInput script() { return {"run.sh", trainers::script_of(trainers::grpo_fsdp)}; }

ImportAnswer imported() { return answer_to(ImportRequest{.job = script()}, {}).value(); }

TEST(Importing, JobAndPlanFilesMatchTheConfiguration) {
  const ImportAnswer answer = imported();
  const plan::Job job = plan::parse_job(job_file(answer, "-").value(), "job.yaml").value();
  const plan::Plan plan = plan::parse_plan(plan_file(answer), "plan.json", job).value();
  EXPECT_FALSE(plan::is_for_another_job(plan, job));
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  JobInput with_lengths = script();
  with_lengths.import.response_length = "2048";
  const PredictionAnswer prediction =
      answer_to(PredictionRequest{with_lengths, {"plan.json", plan_file(answer)}}, {}).value();
  EXPECT_EQ(predict::estimate(scenario, plan).timing.period, prediction.estimate.timing.period);
}

TEST(Importing, JsonMatchesTheSections) {
  const ImportAnswer answer = imported();
  const nlohmann::json object = nlohmann::json::parse(to_json(answer));
  const std::string text = text_of(sections(answer));
  EXPECT_THAT(text, StartsWith(first_line));
  EXPECT_EQ(object["trainer"], "verl");
  for (const char* const kind : {"assumed", "ignored", "not_modelled"})
    for (const nlohmann::json& finding : object[kind]) EXPECT_THAT(text, HasSubstr(finding["what"].get<std::string>()));
  EXPECT_FALSE(object["assumed"].empty());
}

/// A configuration with an unmodeled setting.
JobInput quantized() {
  JobInput input = script();
  std::string& text = *input.text;
  text.replace(text.rfind('\n'), 1, " actor_rollout_ref.rollout.quantization=fp8\n");
  return input;
}

const plan::NotModelled fp8{"actor_rollout_ref.rollout.quantization",
                            "fp8: the engine's matrix products are modeled in bf16; the real run is faster"};

TEST(Importing, PlansKeepUnmodeledSettings) {
  const ImportAnswer answer = answer_to(ImportRequest{.job = quantized()}, {}).value();
  const plan::Job job = plan::parse_job(job_file(answer, "-").value(), "job.yaml").value();
  const plan::Plan plan = plan::parse_plan(plan_file(answer), "plan.json", job).value();
  EXPECT_THAT(plan.not_modelled, testing::Contains(fp8));
  EXPECT_EQ(plan.not_modelled.size(), answer.import.run.not_modelled.size());
  EXPECT_THAT(answer_to(ImportRequest{.job = script()}, {})->import.plan.not_modelled,
              testing::Not(testing::Contains(fp8)));
}

TEST(Importing, AnswersEndWithUnmodeledSettings) {
  const ImportAnswer answer = answer_to(ImportRequest{.job = quantized()}, {}).value();
  const Input plan{"plan.json", plan_file(answer)};
  const auto ends = testing::AllOf(HasSubstr("\nnot modeled:\n"), HasSubstr("\n  " + plan::to_text(fp8) + "\n"));
  // The job comes from the configuration or from its job file; the plan from the configuration.
  for (const JobInput& job : {quantized(), JobInput{"job.yaml", job_file(answer, "-").value()}}) {
    const PredictionAnswer predicted = answer_to(PredictionRequest{job, plan}, {}).value();
    EXPECT_THAT(text_of(sections(predicted)), ends);
    const nlohmann::json object = nlohmann::json::parse(to_json(predicted));
    EXPECT_THAT(object["not_modelled"], testing::Contains(nlohmann::json{{"key", fp8.key}, {"what", fp8.what}}));
    const FitRequest fit{.job = job, .plan = plan, .search = short_search()};
    EXPECT_THAT(text_of(sections(answer_to(fit, {}).value())), ends);
    const SweepRequest sweep{.job = job, .plan = plan, .over = study::SweepInput::bandwidth};
    EXPECT_THAT(text_of(sections(answer_to(sweep, {}).value())), ends);
  }
  EXPECT_THAT(
      text_of(sections(answer_to(PredictionRequest{script(), {"plan.json", plan_file(imported())}}, {}).value())),
      testing::Not(HasSubstr("fp8")));
}

TEST(Importing, RejectsAJobFile) {
  const auto answer = answer_to(ImportRequest{.job = example("ppo-7b.yaml")}, {});
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().message, HasSubstr("accepted"));
}

TEST(Importing, AnswersBeginWithTheOriginOfTheJob) {
  const Input plan{"plan.json", plan_file(imported())};
  EXPECT_THAT(text_of(sections(answer_to(PredictionRequest{script(), plan}, {}).value())), StartsWith(first_line));
  const FitRequest fit{.job = script(), .plan = plan, .search = short_search()};
  EXPECT_THAT(text_of(sections(answer_to(fit, {}).value())), StartsWith(first_line));
  SweepRequest sweep{.job = script(), .plan = plan, .over = study::SweepInput::bandwidth};
  EXPECT_THAT(text_of(sections(answer_to(sweep, {}).value())), StartsWith(first_line));
  ForecastRequest forecast;
  forecast.job = script();
  forecast.plan = plan;
  forecast.steps = 10;
  EXPECT_THAT(text_of(sections(answer_to(forecast, {}).value())), StartsWith(first_line));
}

}  // namespace
}  // namespace dovetail::answer
