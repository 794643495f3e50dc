// dovetail forecast: a run whose responses grow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/job_files.h"
#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

/// `dovetail forecast` of the small job, which keeps its plan, with more arguments.
class ForecastCommand : public testing::Test {
 protected:
  ProgramResult forecast(const std::vector<std::string>& more, const std::string& job = small_job) {
    std::vector<std::string> arguments{"forecast", folder_.write("job.yaml", job), "--plan", plan_, "--searches", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  TemporaryFolder folder_;
  std::string plan_ = folder_.write("plan.json", small_plan);
};

TEST_F(ForecastCommand, AFlatRunIsTheIterationOfPlanTimesTheSteps) {
  const json planned =
      json::parse(run_program({"plan", folder_.write("job.yaml", small_job), "--plan", plan_, "--json"}).out);
  const json object = json::parse(forecast({"--steps", "1000", "--json"}).out);
  EXPECT_NEAR(object["seconds"].get<double>(), 1000 * planned["iteration_seconds"].get<double>(), 0.6);
  const json doubled = json::parse(forecast({"--steps", "2000", "--json"}).out);
  EXPECT_NEAR(doubled["seconds"].get<double>(), 2 * object["seconds"].get<double>(), 0.002);
  EXPECT_NEAR(doubled["price"].get<double>(), 2 * doubled["gpu_hours"].get<double>(), 1e-4);
}

TEST_F(ForecastCommand, ShowsTheRunAsItGoes) {
  const ProgramResult result = forecast({"--steps", "500", "--lengths", "500:3", "--pause", "100:5m"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("\nwall-clock +[0-9.]+ (min|h) for 500 steps\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nof which +25.0 min in pauses\n"));
  EXPECT_THAT(result.out, ContainsRegex("\n0-499 +A +co-located +given "));
  EXPECT_THAT(result.out, ContainsRegex("\n +499 +3x +153[0-9] +- +A "));
}

TEST_F(ForecastCommand, GrowthComesFromAFileToo) {
  const std::string file = folder_.write("growth.csv", "step,mean\n0,512\n100,1024\n");
  const json of_file = json::parse(forecast({"--steps", "100", "--lengths", file, "--json"}).out);
  const json of_text = json::parse(forecast({"--steps", "100", "--mean", "0:512,100:1024", "--json"}).out);
  EXPECT_EQ(of_file, of_text);
  const ProgramResult broken =
      forecast({"--steps", "100", "--lengths", folder_.write("growth.csv", "step,mean\n0,512\n0,600\n")});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.err, ContainsRegex("growth.csv:3:1: step 0 comes behind step 0"));
}

TEST_F(ForecastCommand, TheCapStaysUnlessTold) {
  std::string job = small_job;
  job.replace(job.find("response_length: 512"), 20, "response_length: {p50: 400, p90: 900, cap: 1024}");
  const json kept = json::parse(forecast({"--steps", "10", "--lengths", "9:4", "--json"}, job).out);
  EXPECT_EQ(kept["cap"], 1024);
  EXPECT_GT(kept["points"].back()["at_cap"].get<double>(), kept["points"].front()["at_cap"].get<double>());
  EXPECT_LT(kept["points"].back()["mean_tokens"].get<double>(), 1024);
  const json scaled = json::parse(forecast({"--steps", "10", "--lengths", "9:4", "--cap", "scale", "--json"}, job).out);
  EXPECT_FALSE(scaled.contains("cap"));
  EXPECT_GT(scaled["points"].back()["mean_tokens"].get<double>(), 1024);
  EXPECT_GT(scaled["seconds"].get<double>(), kept["seconds"].get<double>());
}

TEST_F(ForecastCommand, ARunThatStopsFittingSaysWhereAndWhatGrew) {
  std::string job = small_job;
  job.replace(job.find("prompt_length: 128"), 18, "packing: false, prompt_length: 128");
  const ProgramResult result = forecast({"--steps", "1000", "--lengths", "1000:60"}, job);
  EXPECT_EQ(result.exit_code, 3) << result.out;
  EXPECT_THAT(result.out, ContainsRegex("If plan A is kept, it stops fitting at step [0-9]+: actor_train needs [0-9.]+ "
                                        "[GM]iB more than the 78.40 GiB of device"));
  EXPECT_THAT(result.out, ContainsRegex("From step [0-9]+ on, none of the compared plans fits"));
}

TEST_F(ForecastCommand, LengthsAreFactorsOrAFile) {
  const ProgramResult result = forecast({"--steps", "10", "--lengths", "foo"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--lengths: `foo` is neither a list of factors nor a file; accepted: STEP:FACTOR"));
}

TEST_F(ForecastCommand, WritesThePlansOfTheSchedule) {
  const ProgramResult result = forecast({"--steps", "10", "-o", folder_.file("run")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const ProgramResult again =
      run_program({"plan", folder_.file("job.yaml"), "--plan", folder_.file("run.A.plan.json")});
  EXPECT_EQ(again.exit_code, 0) << again.err;
}

TEST_F(ForecastCommand, SearchesPlansForTheLengthsOfTheRun) {
  const ProgramResult result =
      run_program({"forecast", folder_.write("job.yaml", small_job), "--steps", "100", "--lengths", "99:4",
                   "--searches", "2", "--chains", "1", "--iterations", "500", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_GE(object["candidates"].get<int>(), 2);
  EXPECT_EQ(object["schedule"].back()["last_step"], 99);
  EXPECT_TRUE(object["plans"][0].contains("found_at_step"));
}

TEST_F(ForecastCommand, MistakesSayWhatIsAccepted) {
  const auto fails = [&](const std::vector<std::string>& more, const std::string& message) {
    const ProgramResult result = forecast(more);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(message));
  };
  fails({}, "--steps is required");
  fails({"--steps", "0"}, "--steps");
  fails({"--steps", "10", "--mean", "5:x"}, "--mean: `x` is no value at step 5; accepted: a number above 0");
  fails({"--steps", "10", "--mean", "5:600", "--p50", "5:600"}, "cannot be combined");
  fails({"--steps", "10", "--mean", "5:600", "--cap", "550"},
        "no growth makes the mean 600 tokens at step 5: responses end at 550");
  fails({"--steps", "10", "--pause", "5m"}, "accepted: STEPS:TIME");
  fails({"--steps", "10", "-o", ""}, "-o `` names no file");
  fails({"--steps", "10", "-o", folder_.file("")}, "names no file");
  fails({"--steps", "10", "-o", folder_.file(".")}, "names no file");
  fails({"--steps", "10", "-o", "-"}, "-o `-` names no file");
  EXPECT_THAT(run_program({"forecast", "-", "--steps", "10", "--lengths", "-"}).err,
              HasSubstr("standard input can be read only once"));
  const ProgramResult without =
      run_program({"forecast", folder_.write("job.yaml", small_job), "--steps", "10", "--searches", "0"});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.err, HasSubstr("--searches 0 needs --plan FILE"));
}

}  // namespace
}  // namespace dovetail::cli
