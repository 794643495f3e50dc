// dovetail sweep: curves over one input.
#include <fmt/format.h>
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
using testing::Not;
using testing::StartsWith;

/// `dovetail sweep` of the small job and its plan with more arguments.
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

TEST_F(SweepCommand, ShowsALineAValue) {
  const ProgramResult result = sweep({"--over", "batch", "--values", "16,32,64"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("small, co-located: prompts an iteration\n"));
  EXPECT_THAT(result.out, ContainsRegex("\n +16 +[0-9.]+ s +[0-9.]+ "));
  EXPECT_THAT(result.out, ContainsRegex("\n +32 .* yes +.*current"));
  EXPECT_THAT(result.out, ContainsRegex("\nHighest throughput at [0-9]+: [0-9.]+ samples/s\\.\n"));
}

TEST_F(SweepCommand, APointIsWhatPlanSaysOfTheJobWithThatValue) {
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
  EXPECT_THAT(content_of(svg), HasSubstr(">response lengths, times those of the job</text>"));
  EXPECT_THAT(content_of(csv), ContainsRegex("^value,iteration_seconds.*\n1,[0-9.]+,,,,.*\n2,"));
  EXPECT_EQ(json::parse(content_of(file))["points"].size(), 2U);
}

TEST_F(SweepCommand, OneObjectHasTheAnswerAndItsFile) {
  json both = json::parse(sweep({"--over", "length", "--values", "1,2", "--json", "-o", "-"}).out);
  const json output = both["output"];
  both.erase("output");
  EXPECT_EQ(both, output);
}

TEST_F(SweepCommand, SaysTightWhereFitDoes) {
  std::string scarce = small_job;
  scarce += "limits: {margin: 90%}\n";
  job_ = folder_.write("scarce.yaml", scarce);
  EXPECT_EQ(json::parse(run_program({"fit", job_, "--plan", plan_, "--json"}).out)["verdict"], "tight");
  EXPECT_THAT(sweep({"--over", "length", "--values", "1"}).out, HasSubstr(" tight  current"));
  const json point = json::parse(sweep({"--over", "length", "--values", "1", "--json"}).out)["points"][0];
  EXPECT_EQ(point["verdict"], "tight");
  EXPECT_EQ(point["fits"], true);
}

TEST_F(SweepCommand, PlaysPointsWhereItIsAskedTo) {
  const json object =
      json::parse(sweep({"--over", "staleness", "--values", "0", "--simulate", "--draws", "2", "--json"}).out);
  const json& played = object["points"][0]["simulated"];
  EXPECT_GT(played["mean_seconds"].get<double>(), 0);
  EXPECT_LE(played["least_seconds"].get<double>(), played["most_seconds"].get<double>());
}

TEST_F(SweepCommand, OfOneDrawNoThresholdIsATie) {
  const ProgramResult result = sweep({"--over", "threshold", "--values", "20%,21%", "--simulate", "--draws", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("cannot distinguish")));
}

TEST_F(SweepCommand, SaysWhyOlderWeightsGainNothing) {
  EXPECT_THAT(sweep({"--over", "staleness", "--values", "0,1"}).out,
              HasSubstr("\nGeneration and training share devices"));
}

TEST_F(SweepCommand, SaysNothingOfSharedDevicesWhereOlderWeightsGain) {
  // The critic is trained where the actor generates, the actor is not.
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

TEST_F(SweepCommand, SaysWhyNothingMigrates) {
  // All responses are as long: nothing waits for a last one.
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

TEST_F(SweepCommand, SaysAmongWhichThresholdsDrawsDoNotDecide) {
  std::string tailed = small_job;
  tailed.replace(tailed.find("response_length: 512"), 20, "response_length: {p50: 300, p90: 800, cap: 1024}");
  job_ = folder_.write("tailed.yaml", tailed);
  const ProgramResult result = sweep({"--over", "threshold", "--values", "20%,21%,22%", "--simulate", "--draws", "8"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("20%.* [0-9]+ to [1-7](\\.[0-9]+)? "));
  EXPECT_THAT(result.out,
              ContainsRegex("The best threshold is 2[012]%: .*The draws of lengths cannot distinguish 2[012]%"));
}

TEST_F(SweepCommand, AValueWithoutAPlanIsALine) {
  const ProgramResult result = sweep({"--over", "mini-batches", "--values", "2,1000"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("\n +1000 +- .*no plan"));
  EXPECT_THAT(
      result.out,
      HasSubstr("\nNo plan at:\n1000: 1000 optimizer steps an epoch need as many samples, and there are 256\n"));
}

TEST_F(SweepCommand, OfNodesItFindsPlans) {
  const ProgramResult result = run_program(
      {"sweep", job_, "--over", "nodes", "--values", "1,2", "--chains", "1", "--iterations", "500", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json points = json::parse(result.out)["points"];
  ASSERT_EQ(points.size(), 2U);
  for (const json& point : points) EXPECT_GE(point["plan"]["tasks"].size(), 4U);
  EXPECT_GT(points[1]["samples_per_second"].get<double>(), points[0]["samples_per_second"].get<double>());
}

TEST_F(SweepCommand, MistakesSayWhatIsAccepted) {
  const auto fails = [&](const std::vector<std::string>& more, const std::string& message) {
    const ProgramResult result = sweep(more);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(message));
  };
  fails({}, "--over is required; accepted: --over threshold|");
  fails({"--over", "lenght"}, "length");
  fails({"--over", "batch", "--values", "2.5"}, "`2.5` is no value of batch; accepted: a whole number from 1");
  fails({"--over", "batch", "--cap", "keep"}, "--cap needs --over length");
  fails({"--over", "length", "--cap", "none"}, "`none` is not a cap; accepted: keep, scale, or tokens");
  fails({"--over", "nodes"}, "--over nodes and --plan cannot be combined");
  fails({"--over", "bandwidth"}, "the cluster has one node");
  fails({"--over", "batch", "-o", "curve.pdf"}, "accepted: .svg, .json, .csv");
}

}  // namespace
}  // namespace dovetail::cli
