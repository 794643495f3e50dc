// Rankings of plans, through the library.
#include "answer/plans/ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "answer/plans/example_jobs.h"
#include "answer/plans/job_input.h"
#include "answer/texts.h"
#include "plan/plan_file.h"
#include "support/effort.h"
#include "support/thread_exchange.h"

namespace dovetail::answer {
namespace {

using nlohmann::json;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

RankingRequest request_for(const std::string& job) {
  return {.job = example(job), .simulated = 0, .search = short_search()};
}

void expect_same(const predict::Estimate& estimate, const predict::Estimate& other) {
  EXPECT_EQ(estimate.timing.period, other.timing.period);
  EXPECT_EQ(estimate.iteration_seconds, other.iteration_seconds);
  ASSERT_EQ(estimate.timing.activities.size(), other.timing.activities.size());
  for (std::size_t step = 0; step < estimate.timing.activities.size(); ++step) {
    EXPECT_EQ(estimate.timing.activities[step].begin, other.timing.activities[step].begin) << step;
    EXPECT_EQ(estimate.timing.activities[step].end, other.timing.activities[step].end) << step;
  }
  for (std::size_t task = 0; task < estimate.memory.size(); ++task)
    EXPECT_EQ(estimate.memory[task].needed(), other.memory[task].needed()) << task;
}

TEST(Ranking, JsonPlansMatchTheirPredictionsToTheNs) {
  int fused_generations = 0;
  int fused_trainings = 0;
  for (const char* job :
       {"ppo-7b.yaml", "grpo-8b.yaml", "dpo-8b.yaml", "reward-model-7b.yaml", "rlhfuse-33b-13b.yaml"}) {
    if (test::sanitized && job != std::string_view("ppo-7b.yaml")) continue;
    SCOPED_TRACE(job);
    const RankingAnswer answer = answer_to(request_for(job), {}).value();
    const json entries = json::parse(to_json(answer))["plans"];
    ASSERT_GE(answer.ranking.plans.size(), 2U);
    ASSERT_EQ(entries.size(), answer.ranking.plans.size());
    for (std::size_t index = 0; index < entries.size(); ++index) {
      SCOPED_TRACE(index);
      const auto plan = plan::parse_plan(entries[index]["plan"].dump(), "entry", answer.scenario.job);
      ASSERT_TRUE(plan.ok()) << to_text(plan.error());
      EXPECT_FALSE(plan::is_for_another_job(*plan, answer.scenario.job));
      expect_same(predict::estimate(answer.scenario, *plan), answer.ranking.plans[index].estimate);
      fused_generations += plan->fusion.threshold.has_value();
      fused_trainings += plan->fusion.training.has_value();
    }
  }
  if (test::sanitized) return;
  EXPECT_GT(fused_generations, 0);
  EXPECT_GT(fused_trainings, 0);
}

TEST(Ranking, AcceptsAJobAsText) {
  const std::string text = read_input(example("ppo-7b.yaml")).value();
  RankingRequest request = request_for("ppo-7b.yaml");
  const json of_file = json::parse(to_json(answer_to(request, {}).value()));
  request.job = {"ppo-7b.yaml", text};  // a job without a name is named after its file
  const json of_text = json::parse(to_json(answer_to(request, {}).value()));
  EXPECT_EQ(of_file["plans"], of_text["plans"]);
  request.job.text = text + "colour: red\n";
  const auto error = answer_to(request, {});
  ASSERT_FALSE(error.ok());
  EXPECT_THAT(to_text(error.error()), HasSubstr("ppo-7b.yaml:"));
}

TEST(Ranking, RequestedPlacementsOverrideTheJob) {
  RankingRequest request = request_for("ppo-7b.yaml");
  request.placements = {"co-located", "interleaving"};
  const RankingAnswer answer = answer_to(request, {}).value();
  std::vector<std::string> names;
  const json entries = json::parse(to_json(answer))["plans"];
  for (const json& entry : entries) names.push_back(entry["placement"]);
  EXPECT_THAT(names, testing::UnorderedElementsAre("co-located", "interleaving"));
  EXPECT_FALSE(answer.ranking.search.has_value());
  request.placements = {"co-locatd"};
  EXPECT_THAT(to_text(answer_to(request, {}).error()), HasSubstr("did you mean 'co-located'?"));
}

TEST(Ranking, ReportsNoFlipsOnlyIfAllInputsWereTried) {
  RankingAnswer answer = answer_to(request_for("ppo-7b.yaml"), {}).value();
  EXPECT_TRUE(answer.all_inputs_tried);
  EXPECT_FALSE(json::parse(to_json(answer)).contains("flips_cut_short"));
  answer.flips.clear();
  EXPECT_THAT(texts(sections(answer)), HasSubstr("No single input"));
  answer.all_inputs_tried = false;
  EXPECT_THAT(texts(sections(answer)), testing::Not(HasSubstr("No single input")));
  EXPECT_EQ(json::parse(to_json(answer))["flips_cut_short"], true);
}

TEST(Ranking, SectionsHaveAHeadingTheTableAndTheFirstPlan) {
  const RankingAnswer answer = answer_to(request_for("ppo-7b.yaml"), {}).value();
  const Sections printed = sections(answer);
  ASSERT_EQ(printed.all().size(), 5U);
  EXPECT_THAT(std::get<Text>(printed.all()[0]).lines,
              HasSubstr("ppo-7b: ppo on 8 devices, 256 samples per iteration\nefficiencies: "));
  const auto& plans = std::get<Table>(printed.all()[1]);
  EXPECT_EQ(plans.rows.size(), answer.ranking.plans.size());
  for (const std::vector<std::string>& row : plans.rows) EXPECT_EQ(row.size(), plans.columns.size());
  EXPECT_EQ(std::get<Table>(printed.all()[3]).rows.size(), answer.scenario.job.workflow.tasks.size()) << "no rules";
}

TEST(Ranking, ReportsTheNameAndCanBeCanceledBeforeTheSearch) {
  std::string label;
  int figures = 0;
  Callbacks callbacks;
  callbacks.on_label = [&](std::string name) { label = std::move(name); };
  callbacks.on_figures = [&](const Figures& fields) { figures += !fields().empty(); };
  EXPECT_TRUE(answer_to(request_for("ppo-7b.yaml"), callbacks).ok());
  EXPECT_EQ(label, "ppo-7b");
  EXPECT_GT(figures, 0);
  figures = 0;
  callbacks.on_read = [] { return base::Status(base::bad_input("not today")); };
  EXPECT_EQ(answer_to(request_for("ppo-7b.yaml"), callbacks).error().message, "not today");
  EXPECT_EQ(figures, 0);
}

TEST(Ranking, ReportsEachBetterPlanWithItsJob) {
  RankingRequest request = request_for("ppo-7b.yaml");
  const predict::Scenario scenario = read_scenario(request.job, {}).value();
  std::vector<base::Ticks> periods;
  request.on_better = [&](const plan::Plan& plan, const plan::Job& job) {
    EXPECT_EQ(job.name, "ppo-7b");
    periods.push_back(predict::estimate(scenario, plan).timing.period);
  };
  ASSERT_TRUE(answer_to(request, {}).ok());
  EXPECT_FALSE(periods.empty());
}

/// Answers of several processes, and the notes of all.
struct Shared {
  std::vector<base::Result<RankingAnswer>> answers;
  std::vector<std::string> notes;
};
Shared ask_as_processes(const std::vector<std::string>& jobs) {
  Shared shared;
  shared.answers.resize(jobs.size(), base::bad_input("no answer"));
  std::mutex mutex;
  test::run_on_ranks(static_cast<int>(jobs.size()), [&](const parallel::Exchange& exchange) {
    const auto rank = static_cast<std::size_t>(exchange.rank);
    RankingRequest request = request_for(jobs[rank]);
    request.search.budget.threads = std::nullopt;
    request.exchange = &exchange;
    Callbacks callbacks;
    callbacks.on_note = [&](std::string_view note) {
      const std::lock_guard lock(mutex);
      shared.notes.emplace_back(note);
    };
    auto answer = answer_to(request, callbacks);
    const std::lock_guard lock(mutex);
    shared.answers[rank] = std::move(answer);
  });
  return shared;
}

json without_timing(const RankingAnswer& answer) {
  json object = json::parse(to_json(answer));
  object.erase("timing");
  return object;
}

TEST(Ranking, GivesAllProcessesTheSameAnswer) {
  const json alone = without_timing(answer_to(request_for("ppo-7b.yaml"), {}).value());
  const Shared shared = ask_as_processes({"ppo-7b.yaml", "ppo-7b.yaml", "ppo-7b.yaml"});
  for (const auto& answer : shared.answers) {
    ASSERT_TRUE(answer.ok()) << to_text(answer.error());
    EXPECT_EQ(without_timing(*answer), alone);
    EXPECT_EQ(answer->lost_process(), nullptr);
  }
  EXPECT_EQ(shared.notes.size(), 3U);
  EXPECT_THAT(shared.notes, Each(HasSubstr("3 processes share 2 chains, so some are idle")));
}

TEST(Ranking, RejectsDifferentJobsInAllProcesses) {
  const Shared shared = ask_as_processes({"ppo-7b.yaml", "grpo-8b.yaml"});
  for (const auto& answer : shared.answers) {
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().message, "rank 1 reads a different job than rank 0; all ranks must read the same input");
  }
}

TEST(Ranking, HasTheOptionsOfTheCommandLine) {
  std::vector<std::string> names;
  for_each_option<RankingRequest>([&](const auto& option) {
    if (!option.name.empty()) names.emplace_back(option.name);
  });
  EXPECT_THAT(names, ElementsAre("JOB", "placement", "top", "simulate", "allow", "way"));
}

}  // namespace
}  // namespace dovetail::answer
