#include "answer/runs/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "answer/text/figures.h"
#include "cli/job_files.h"
#include "support/jobs.h"

namespace dovetail::answer {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

SimulationRequest small_request() {
  SimulationRequest request{
      .job = {"job.yaml", cli::small_job}, .plan = Input{"plan.json", cli::small_plan}, .plan_options = {}};
  request.plan_options.search.budget.chains = 1;
  request.plan_options.search.budget.iterations = 500;
  return request;
}

TEST(SimulationAnswer, TimelineAddsSpansToTheAnswer) {
  const SimulationAnswer answer = answer_to(small_request(), {}).value();
  json with = json::parse(timeline_json(answer));
  EXPECT_EQ(with["span_columns"].size(), with["devices"][0]["spans"][0].size());
  with.erase("span_columns");
  for (json& device : with["devices"]) {
    device.erase("spans");
    device.erase("memory");
  }
  EXPECT_EQ(with, json::parse(to_json(answer)));
}

TEST(SimulationAnswer, ComparesPlansOnRequest) {
  SimulationRequest request = small_request();
  const SimulationAnswer alone = answer_to(request, {}).value();
  EXPECT_FALSE(alone.ranking || alone.thresholds);
  EXPECT_TRUE(alone.notes.empty());
  request.compared = true;
  const SimulationAnswer compared = answer_to(request, {}).value();
  ASSERT_TRUE(compared.ranking);
  EXPECT_FALSE(compared.ranking->plans.empty());
  ASSERT_TRUE(compared.thresholds);
  EXPECT_FALSE(compared.notes.empty()) << "why nothing is fused";
  EXPECT_EQ(compared.plan, alone.plan);
  EXPECT_EQ(compared.simulation.iteration_seconds, alone.simulation.iteration_seconds);
}

TEST(SimulationAnswer, KeepsNoCancellation) {
  EXPECT_EQ(answer_to(small_request(), {}).value().scenario.cancellation, nullptr);
}

TEST(SimulationAnswer, EndsIfTheCallerRejectsTheInput) {
  std::vector<std::string> reported;
  Callbacks callbacks;
  callbacks.on_label = [&](const std::string& label) { reported.push_back(label); };
  callbacks.on_work = [&](std::string_view work) { reported.emplace_back(work); };
  callbacks.on_read = [] { return base::Status(base::bad_input("not over an input")); };
  const auto answer = answer_to(small_request(), callbacks);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message, "not over an input");
  EXPECT_EQ(reported, std::vector<std::string>{"small"}) << "nothing was simulated";
}

TEST(SimulationAnswer, RejectsLargeJobs) {
  std::string many = cli::small_job;
  many.replace(many.find("prompts: 32"), 11, "prompts: 1000000");
  SimulationRequest request = small_request();
  request.job.text = many;
  const auto answer = answer_to(request, {});
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().message, HasSubstr("an iteration has 8000000 samples, too many to simulate"));
  EXPECT_EQ(answer.error().path, "job.yaml");
}

TEST(SimulationAnswer, IsInterruptedIfStopped) {
  parallel::Cancellation stop;
  Callbacks callbacks{.cancellation = &stop};
  callbacks.on_work = [&](std::string_view work) {
    if (work.starts_with("simulating draw 2")) stop.request();
  };
  SimulationRequest request = small_request();
  request.plan_options.draws = 20;
  const SimulationAnswer answer = answer_to(request, callbacks).value();
  EXPECT_LT(answer.simulation.draws.size(), 20U);
  EXPECT_EQ(answer.outcome, Outcome::interrupted);
}

TEST(ActivityLines, NameEachActivityOnce) {
  const plan::Job job = test::grpo_job();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const plan::Plan plan = test::separated(job);
  const predict::Simulation simulation = predict::Simulator(scenario, {}).simulate(plan).value();
  const std::vector<ActivityLine> lines = activity_lines(scenario, plan, simulation);
  ASSERT_EQ(lines.size(), simulation.closed.graph.activities.size()) << "nothing is fused";
  bool moves_weights = false;
  for (const ActivityLine& line : lines) {
    const plan::ActivityTime& time = simulation.iteration.activities[line.activity];
    EXPECT_NEAR(line.simulated, base::seconds_of_ticks(time.end - time.begin), 1e-12);
    EXPECT_EQ(line.closed, simulation.closed.activities[line.activity].seconds);
    if (line.name == "weights to actor_generate") moves_weights = true;
    if (line.name == "actor_train") {
      EXPECT_EQ(line.devices, "4-7 of node 0");
    }
  }
  EXPECT_TRUE(moves_weights);
}

TEST(ActivityLines, NameHostTransfersThatOverlapTasks) {
  plan::Job job = test::grpo_job();
  job.software.prefetch = true;
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const plan::Plan plan = test::co_located(job, R"(, "offload": ["optimizer"])", R"(, "offload": ["weights"])");
  const predict::Simulation simulation = predict::Simulator(scenario, {}).simulate(plan).value();
  std::vector<std::string> names;
  for (const ActivityLine& line : activity_lines(scenario, plan, simulation)) {
    names.push_back(line.name);
    if (line.name == "reference_infer, from host") {
      EXPECT_LT(line.begin, 0) << "the previous iteration is still running";
      EXPECT_EQ(seconds_text(line.begin).front(), '-');
      EXPECT_NEAR(line.simulated, line.closed, 1e-8);
    } else {
      EXPECT_GE(line.begin, 0) << line.name;
    }
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"actor_train", "actor_train, from host", "actor_train, to host",
                                            "reference_infer, from host"}));
}

}  // namespace
}  // namespace dovetail::answer
