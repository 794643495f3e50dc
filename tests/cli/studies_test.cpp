// dovetail sweep, what-if and forecast.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/job_files.h"
#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Runs `dovetail sweep` on the small job and its plan.
class SweepCommand : public testing::Test {
 protected:
  ProgramResult sweep(const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"sweep", job_, "--plan", plan_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  TemporaryFolder folder_;
  std::string job_ = folder_.write("job.yaml", small_job);
  std::string plan_ = folder_.write("plan.json", small_plan);
};

TEST_F(SweepCommand, ShowsALinePerValue) {
  const ProgramResult result = sweep({"--over", "batch", "--values", "16,32,64"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("small, co-located: prompts per iteration\n"));
  EXPECT_THAT(result.out, ContainsRegex("\n +16 +[0-9.]+ s +[0-9.]+ "));
  EXPECT_THAT(result.out, ContainsRegex("\n +32 .* yes +.*current"));
  EXPECT_THAT(result.out, ContainsRegex("\nHighest throughput at [0-9]+: [0-9.]+ samples/s\\.\n"));
}

TEST_F(SweepCommand, PointEqualsThePlanPrediction) {
  const json sweep_json = json::parse(sweep({"--over", "samples", "--values", "4,16", "--json"}).out);
  for (const json& point : sweep_json["points"]) {
    std::string job = small_job;
    job.replace(job.find("samples_per_prompt: 8"), 21, "samples_per_prompt: " + point["label"].get<std::string>());
    const json planned =
        json::parse(run_program({"plan", folder_.write("other.yaml", job), "--plan", plan_, "--json"}).out);
    for (const char* key :
         {"iteration_seconds", "samples_per_second", "tokens_per_second_and_device", "gpu_hours", "price", "fits"})
      EXPECT_EQ(point[key], planned[key]) << key;
  }
}

TEST_F(SweepCommand, WritesPicturesTablesAndJson) {
  const std::string svg = folder_.file("curve.svg");
  const std::string csv = folder_.file("curve.csv");
  const std::string file = folder_.file("curve.json");
  for (const std::string& path : {svg, csv, file})
    ASSERT_EQ(sweep({"--over", "length", "--values", "1,2", "-o", path}).exit_code, 0);
  EXPECT_THAT(content_of(svg), HasSubstr(">response lengths relative to the job</text>"));
  EXPECT_THAT(content_of(csv), ContainsRegex("^value,iteration_seconds.*\n1,[0-9.]+,,,,.*\n2,"));
  EXPECT_EQ(json::parse(content_of(file))["points"].size(), 2U);
}

TEST_F(SweepCommand, JsonOnStandardOutputHoldsTheFile) {
  json both = json::parse(sweep({"--over", "length", "--values", "1,2", "--json", "-o", "-"}).out);
  const json output = both["output"];
  both.erase("output");
  EXPECT_EQ(both, output);
}

TEST_F(SweepCommand, ReportsTightPlansLikeFit) {
  std::string scarce = small_job;
  scarce += "limits: {margin: 90%}\n";
  job_ = folder_.write("scarce.yaml", scarce);
  EXPECT_EQ(json::parse(run_program({"fit", job_, "--plan", plan_, "--json"}).out)["verdict"], "tight");
  EXPECT_THAT(sweep({"--over", "length", "--values", "1"}).out, HasSubstr(" tight  current "));
  const json point = json::parse(sweep({"--over", "length", "--values", "1", "--json"}).out)["points"][0];
  EXPECT_EQ(point["verdict"], "tight");
  EXPECT_EQ(point["fits"], true);
}

TEST_F(SweepCommand, SimulatesPointsOnRequest) {
  const json object =
      json::parse(sweep({"--over", "staleness", "--values", "0", "--simulate", "--draws", "2", "--json"}).out);
  const json& simulated = object["points"][0]["simulated"];
  EXPECT_GT(simulated["mean_seconds"].get<double>(), 0);
  EXPECT_LE(simulated["least_seconds"].get<double>(), simulated["most_seconds"].get<double>());
}

TEST_F(SweepCommand, OneDrawHasNoTies) {
  const ProgramResult result = sweep({"--over", "threshold", "--values", "20%,21%", "--simulate", "--draws", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("cannot distinguish")));
}

TEST_F(SweepCommand, ExplainsWhyStaleWeightsDoNotHelp) {
  EXPECT_THAT(sweep({"--over", "staleness", "--values", "0,1"}).out,
              HasSubstr("\nGeneration and training share devices, so neither can run ahead of the other, "));
}

TEST_F(SweepCommand, OmitsSharedDevicesIfStaleWeightsHelp) {
  // The critic is trained on the devices where the actor generates, the actor elsewhere.
  const std::string job =
      folder_.write("ppo.yaml",
                    "format: dovetail/job@1\nalgorithm: ppo\nmodels: {actor: qwen3-0.6b, reward: qwen3-0.6b}\n"
                    "workload: {prompts: 64, prompt_length: 128, response_length: 512}\ncluster: {nodes: 1, "
                    "gpus_per_node: 8, gpu: H100}\n");
  std::string plan_text =
      "format: dovetail/plan@1\ntasks:\n  - {task: actor_generate, devices: 0-3, layout: {dp: 4}, engine: "
      "{memory_utilization: 0.5}}\n";
  for (const char* task : {"critic_train, devices: 0-3", "reward_infer, devices: 4-7", "reference_infer, devices: 4-7",
                           "critic_infer, devices: 4-7", "actor_train, devices: 4-7"})
    plan_text += fmt::format("  - {{task: {}, layout: {{dp: 4}}, micro_batch: {{tokens: 8192}}}}\n", task);
  const std::string plan = folder_.write("ppo.plan.yaml", plan_text);
  const ProgramResult result = run_program({"sweep", job, "--plan", plan, "--over", "staleness", "--values", "0,1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nHighest throughput at 1: "));
  EXPECT_THAT(result.out, Not(HasSubstr("share devices")));
}

TEST_F(SweepCommand, ExplainsWhyNothingMigrates) {
  // All responses have the same length, so nothing waits for the last one.
  const ProgramResult result = sweep({"--over", "threshold", "--values", "20%", "--simulate", "--draws", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(
      result.out,
      HasSubstr(
          "\nNothing migrates: at each threshold, the remaining samples need all instances, finish within the last 1% "
          "of generation, or leave too few devices for any replica.\n"));
  std::string one = small_plan;
  one.replace(one.find("{\"dp\": 8}, \"engine\""), 19, "{\"tp\": 8}, \"engine\"");
  plan_ = folder_.write("one.json", one);
  const ProgramResult alone = sweep({"--over", "threshold", "--values", "20%", "--draws", "1"});
  EXPECT_THAT(alone.out,
              HasSubstr("\nNothing migrates: only one instance generates, so none can be freed for inference.\n"));
}

TEST_F(SweepCommand, NamesThresholdsThatTie) {
  std::string tailed = small_job;
  tailed.replace(tailed.find("response_length: 512"), 20, "response_length: {p50: 300, p90: 800, cap: 1024}");
  job_ = folder_.write("tailed.yaml", tailed);
  const ProgramResult result = sweep({"--over", "threshold", "--values", "20%,21%,22%", "--simulate", "--draws", "8"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("20%.* [0-9]+ to [1-7](\\.[0-9]+)? "));
  EXPECT_THAT(result.out,
              ContainsRegex("The best threshold is 2[012]%: .*The draws of lengths cannot distinguish 2[012]%"));
}

TEST_F(SweepCommand, ValueWithoutAPlanIsALine) {
  const ProgramResult result = sweep({"--over", "mini-batches", "--values", "2,1000"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("\n +1000 +- .*no plan"));
  EXPECT_THAT(
      result.out,
      HasSubstr(
          "\nNo plan at:\n1000: 1000 optimizer steps per epoch need at least that many samples, but there are 256\n"));
}

TEST_F(SweepCommand, NodesSearchPlans) {
  const ProgramResult result = run_program(
      {"sweep", job_, "--over", "nodes", "--values", "1,2", "--chains", "1", "--iterations", "500", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json points = json::parse(result.out)["points"];
  ASSERT_EQ(points.size(), 2U);
  for (const json& point : points) EXPECT_GE(point["plan"]["tasks"].size(), 4U);
  EXPECT_GT(points[1]["samples_per_second"].get<double>(), points[0]["samples_per_second"].get<double>());
}

TEST_F(SweepCommand, ErrorsNameAcceptedValues) {
  const auto fails = [&](const std::vector<std::string>& more, const std::string& message) {
    const ProgramResult result = sweep(more);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(message));
  };
  fails({}, "--over is required; accepted: --over threshold|");
  fails({"--over", "lenght"}, "length");
  fails({"--over", "batch", "--values", "2.5"}, "`2.5` is not a valid value of batch; accepted: an integer from 1");
  fails({"--over", "batch", "--cap", "keep"}, "--cap needs --over length");
  fails({"--over", "length", "--cap", "none"}, "`none` is not a cap; accepted: keep, scale, or a number of tokens");
  fails({"--over", "nodes"}, "--over nodes and --plan cannot be combined: ");
  fails({"--over", "bandwidth"}, "the cluster has a single node, so nothing crosses a network");
  fails({"--over", "batch", "-o", "curve.pdf"}, "use .svg, .json or .csv");
}

ProgramResult what_if(const TemporaryFolder& folder, std::vector<std::string> more) {
  std::vector<std::string> arguments{"what-if", folder.write("job.yaml", small_job), "--plan",
                                     folder.write("plan.json", small_plan)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

TEST(WhatIf, JudgesBothFusions) {
  const TemporaryFolder folder;
  const ProgramResult result = what_if(folder, {});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nFused training: no, grpo does not train a second model"));
  EXPECT_THAT(result.out, HasSubstr("\nGeneration fused with inference: no, "));
  EXPECT_THAT(result.out, ContainsRegex("\n1F1B \\* +[0-9.]+ m?s "));
  EXPECT_THAT(result.out, ContainsRegex("\nno fusion \\* +8 +[0-9.]+ s "));
  EXPECT_THAT(result.out, ContainsRegex("\n1 step off policy +[0-9]+\\+[0-9]+ "));
  EXPECT_THAT(result.out, ContainsRegex("\npartial rollout at 90% +8 "));
}

TEST(WhatIf, TablesFitATerminal) {
  const TemporaryFolder folder;
  std::istringstream lines(what_if(folder, {}).out);
  for (std::string line; std::getline(lines, line);) {
    const bool in_table = line.find("---  ---") != std::string::npos;
    EXPECT_LE(in_table ? line.size() : 0U, 100U) << line;
  }
}

TEST(WhatIf, JsonHasThroughputAndStaleness) {
  const TemporaryFolder folder;
  const ProgramResult result = what_if(folder, {"--json", "--draws", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["format"], "dovetail/what-if@1");
  EXPECT_FALSE(object["training"]["worth"].get<bool>());
  EXPECT_EQ(object["training"]["ways"].size(), 6U);
  std::size_t simulated = 0;
  for (const json& alternative : object["ways"]) {
    if (alternative.contains("why_not")) continue;
    ++simulated;
    EXPECT_NEAR(alternative["samples_per_second"].get<double>() * alternative["iteration_seconds"].get<double>(), 256,
                1e-3);
    EXPECT_LE(alternative["staleness"]["mean"].get<double>(), alternative["staleness"]["most"].get<double>());
  }
  EXPECT_GE(simulated, 6U);
  EXPECT_FALSE(object["splits"].empty());
  // Rows of other policies use a job with the same steps off policy.
  std::string off_policy = small_job;
  off_policy.replace(off_policy.find("workload: {"), 11, "workload: {steps_off_policy: 1, ");
  const json& split = object["splits"][0];
  const json planned = json::parse(run_program({"plan", folder.write("off_policy.yaml", off_policy), "--plan",
                                                folder.write("split.json", split["plan"].dump()), "--json"})
                                       .out);
  EXPECT_NEAR(planned["iteration_seconds"].get<double>(), split["closed_form_seconds"].get<double>(), 1e-3);
}

TEST(WhatIf, IsReproducible) {
  const TemporaryFolder folder;
  EXPECT_EQ(what_if(folder, {"--json", "--threads", "1"}).out, what_if(folder, {"--json", "--threads", "2"}).out);
}

TEST(WhatIf, SearchesAPlanIfNoneIsGiven) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program(
      {"what-if", folder.write("job.yaml", small_job), "--chains", "2", "--iterations", "500", "--threads", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nIs fusion worth it?\n"));
}

TEST(WhatIf, ReportsErrors) {
  const TemporaryFolder folder;
  EXPECT_EQ(what_if(folder, {"--draws", "0"}).exit_code, 2);
  const ProgramResult missing =
      run_program({"what-if", folder.write("job.yaml", small_job), "--plan", folder.file("none.json")});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("none.json"));
  const ProgramResult wrong =
      run_program({"what-if", folder.write("job.yaml", small_job), "--plan", folder.write("plan.json", "{}")});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, ContainsRegex("plan.json:1:"));
}

/// Runs `dovetail forecast` on the small job, which keeps its plan.
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

TEST_F(ForecastCommand, ConstantLengthsTakeIterationTimesSteps) {
  const json planned =
      json::parse(run_program({"plan", folder_.write("job.yaml", small_job), "--plan", plan_, "--json"}).out);
  const json object = json::parse(forecast({"--steps", "1000", "--json"}).out);
  EXPECT_NEAR(object["seconds"].get<double>(), 1000 * planned["iteration_seconds"].get<double>(), 0.6);
  const json doubled = json::parse(forecast({"--steps", "2000", "--json"}).out);
  EXPECT_NEAR(doubled["seconds"].get<double>(), 2 * object["seconds"].get<double>(), 0.002);
  EXPECT_NEAR(doubled["price"].get<double>(), 2 * doubled["gpu_hours"].get<double>(), 1e-4);
}

TEST_F(ForecastCommand, ShowsTheCourseOfTheRun) {
  const ProgramResult result = forecast({"--steps", "500", "--lengths", "500:3", "--pause", "100:5m"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("\nwall-clock +[0-9.]+ (min|h) for 500 steps\n"));
  EXPECT_THAT(result.out, ContainsRegex("\npauses +25.0 min of the wall-clock time\n"));
  EXPECT_THAT(result.out, ContainsRegex("\n0-499 +A +co-located +given "));
  EXPECT_THAT(result.out, ContainsRegex("\n +499 +3x +153[0-9] +- +A "));
}

TEST_F(ForecastCommand, ReadsGrowthFromAFile) {
  const std::string file = folder_.write("growth.csv", "step,mean\n0,512\n100,1024\n");
  const json of_file = json::parse(forecast({"--steps", "100", "--lengths", file, "--json"}).out);
  const json of_text = json::parse(forecast({"--steps", "100", "--mean", "0:512,100:1024", "--json"}).out);
  EXPECT_EQ(of_file, of_text);
  const ProgramResult broken =
      forecast({"--steps", "100", "--lengths", folder_.write("growth.csv", "step,mean\n0,512\n0,600\n")});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.err, ContainsRegex("growth.csv:3:1: step 0 follows step 0"));
}

TEST_F(ForecastCommand, CapIsKeptByDefault) {
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

TEST_F(ForecastCommand, ReportsOverflowStepAndGrowingMemory) {
  std::string job = small_job;
  job.replace(job.find("prompt_length: 128"), 18, "packing: false, prompt_length: 128");
  const ProgramResult result = forecast({"--steps", "1000", "--lengths", "1000:60"}, job);
  EXPECT_EQ(result.exit_code, 3) << result.out;
  EXPECT_THAT(result.out, ContainsRegex("If plan A is kept, it stops fitting at step [0-9]+: actor_train needs [0-9.]+ "
                                        "[GM]iB more than the 78.40 GiB usable on device"));
  EXPECT_THAT(result.out, ContainsRegex("\nFrom step [0-9]+ on, none of the compared plans fits\\.\n"));
}

TEST_F(ForecastCommand, AcceptsFactorsOrAFile) {
  const ProgramResult result = forecast({"--steps", "10", "--lengths", "foo"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(
      result.err,
      HasSubstr("--lengths: `foo` is neither a list of factors nor a file; accepted: a CSV file, or STEP:FACTOR"));
}

TEST_F(ForecastCommand, WritesThePlansOfTheSchedule) {
  const ProgramResult result = forecast({"--steps", "10", "-o", folder_.file("run")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const ProgramResult again =
      run_program({"plan", folder_.file("job.yaml"), "--plan", folder_.file("run.A.plan.json")});
  EXPECT_EQ(again.exit_code, 0) << again.err;
}

TEST_F(ForecastCommand, SearchesPlansForLaterLengths) {
  const ProgramResult result =
      run_program({"forecast", folder_.write("job.yaml", small_job), "--steps", "100", "--lengths", "99:4",
                   "--searches", "2", "--chains", "1", "--iterations", "500", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_GE(object["candidates"].get<int>(), 2);
  EXPECT_EQ(object["schedule"].back()["last_step"], 99);
  EXPECT_TRUE(object["plans"][0].contains("found_at_step"));
}

TEST_F(ForecastCommand, ErrorsNameAcceptedValues) {
  const auto fails = [&](const std::vector<std::string>& more, const std::string& message) {
    const ProgramResult result = forecast(more);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(message));
  };
  fails({}, "--steps is required");
  fails({"--steps", "0"}, "--steps");
  fails({"--steps", "10", "--mean", "5:x"}, "--mean: the value at step 5 must be a number above 0, got `x`");
  fails({"--steps", "10", "--mean", "5:600", "--p50", "5:600"},
        "--lengths, --mean and --p50 cannot be combined: each describes the growth of responses");
  fails({"--steps", "10", "--mean", "5:600", "--cap", "550"},
        "a mean of 600 tokens at step 5 is out of reach, because responses end at 550 tokens");
  fails({"--steps", "10", "--pause", "5m"}, "accepted: STEPS:TIME");
  fails({"--steps", "10", "-o", ""}, "-o `` is not a file name prefix");
  fails({"--steps", "10", "-o", folder_.file("")}, "is not a file name prefix");
  fails({"--steps", "10", "-o", folder_.file(".")}, "is not a file name prefix");
  fails({"--steps", "10", "-o", "-"}, "-o `-` is not a file name prefix");
  EXPECT_THAT(run_program({"forecast", "-", "--steps", "10", "--lengths", "-"}).err,
              HasSubstr("standard input can be read only once"));
  const ProgramResult without =
      run_program({"forecast", folder_.write("job.yaml", small_job), "--steps", "10", "--searches", "0"});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.err, HasSubstr("--searches 0 needs --plan FILE: it keeps the given plan"));
}

}  // namespace

}  // namespace dovetail::cli
