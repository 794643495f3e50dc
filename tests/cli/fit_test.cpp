// dovetail fit: whether a plan fits, and what sets the limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/job_files.h"
#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

/// The small job on GPUs of so much memory.
std::string job_with_memory(const std::string& memory) {
  std::string job = small_job;
  const std::string gpu = "gpu: H100";
  job.replace(job.find(gpu), gpu.size(),
              "gpu: {name: small, memory: " + memory + ", bandwidth: 1TB/s, bf16: 100TFLOP/s}");
  return job;
}

TEST(Fit, NamesTheTaskThatSetsTheLimit) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program({"fit", folder.write("job.yaml", small_job), "--plan", folder.write("plan.json", small_plan)});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              ContainsRegex("\nactor_generate +0 +[0-9.]+ GiB +[0-9.]+ GiB +[0-9.]+ GiB +[0-9.]+ GiB +yes\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nactor_[a-z]+ sets the limit, on device 0:\npart"));
}

TEST(Fit, WhatDoesNotFitIsInfeasibleAndSaysWhatIsMissing) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program(
      {"fit", folder.write("job.yaml", job_with_memory("8GiB")), "--plan", folder.write("plan.json", small_plan)});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.out, HasSubstr("  NO\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nshort by [0-9.]+ GiB\n"));
  const ProgramResult planned = run_program(
      {"plan", folder.write("job.yaml", job_with_memory("8GiB")), "--plan", folder.write("plan.json", small_plan)});
  EXPECT_THAT(planned.out, HasSubstr("*: does not fit"));
}

TEST(Fit, WhatLeavesLessThanTheMarginIsTight) {
  const TemporaryFolder folder;
  const std::string plan = folder.write("plan.json", small_plan);
  const std::string job = folder.write("job.yaml", std::string(small_job) + "limits: {margin: 90%}\n");
  const ProgramResult result = run_program({"fit", job, "--plan", plan});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Tight. The plan fits, but some device keeps less than the required margin of "
                                    "90.0% of usable memory (the job's limit)."));
  EXPECT_THAT(result.out, HasSubstr("  tight\n"));
  const json object = json::parse(run_program({"fit", job, "--plan", plan, "--json"}).out);
  EXPECT_TRUE(object["fits"].get<bool>());
  EXPECT_EQ(object["verdict"], "tight");
  EXPECT_EQ(object["efficiency_reason"]["reason"], "fitted");
  EXPECT_THAT(run_program({"plan", job, "--plan", plan}).out,
              HasSubstr("~: tight, keeps less than the required margin of"));
  EXPECT_THAT(run_program({"explain", job, "--plan", plan, "--iterations", "1000"}).out,
              HasSubstr(" per iteration; tight, "));
}

TEST(Fit, JsonPartsAddUp) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program(
      {"fit", folder.write("job.yaml", small_job), "--plan", folder.write("plan.json", small_plan), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["format"], "dovetail/fit@2");
  ASSERT_EQ(object["tasks"].size(), 4U);
  for (const json& task : object["tasks"]) {
    std::int64_t sum = 0;
    for (const json& part : task["parts"]) sum += part["bytes"].get<std::int64_t>();
    EXPECT_EQ(task["bytes"], sum);
  }
}

TEST(Fit, TellsOfHostMemory) {
  const TemporaryFolder folder;
  std::string job = small_job;
  job.replace(job.find("price: 2"), 8, "host_memory: 1GB");
  const ProgramResult result =
      run_program({"fit", folder.write("job.yaml", job), "--plan", folder.write("plan.json", small_plan)});
  EXPECT_EQ(result.exit_code, 3) << result.out;
  EXPECT_THAT(result.out, HasSubstr("a node has 0.93 GiB of host memory, but offloading needs "));
}

/// A job in which lengths vary.
std::string varied_job(const std::string& cluster) {
  std::string job = small_job;
  job.replace(job.find("response_length: 512"), 20, "response_length: {p50: 200, p90: 500, cap: 1024}");
  return job.replace(job.find("nodes: 1, gpus_per_node: 8, gpu: H100"), 37, cluster);
}

TEST(Fit, OfAJobItFindsThePlansTheLengthsAndTheSmallestCluster) {
  const TemporaryFolder folder;
  const std::string job = folder.write("job.yaml", varied_job("nodes: 2, gpus_per_node: 8, gpu: H100"));
  const ProgramResult result = run_program({"fit", job, "--chains", "2", "--iterations", "1000"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("\nfastest +[a-z-]+ +[0-9.]+ s "));
  EXPECT_THAT(result.out, ContainsRegex("\nlargest margin +[a-z-]+ +[0-9.]+ s "));
  EXPECT_THAT(result.out, ContainsRegex("\nas in the job +1.00 .* yes\n"));
  EXPECT_THAT(result.out, ContainsRegex("\n1024 tokens +[0-9.]+ .* yes\n"));
  EXPECT_THAT(result.out, HasSubstr("fits: 1 node of 1 H100-80; "));
}

TEST(Fit, OfAJobThatFitsNowhereItNamesTheClusterThatWouldDo) {
  const TemporaryFolder folder;
  const std::string gpu = "gpu: {name: small, memory: 8GiB, bandwidth: 1TB/s, bf16: 100TFLOP/s}";
  const std::string job = folder.write("job.yaml", varied_job("nodes: 1, gpus_per_node: 1, host_memory: 1GB, " + gpu));
  const ProgramResult result = run_program({"fit", job, "--chains", "2", "--iterations", "1000"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nno plan fits"));
  EXPECT_THAT(result.out, ContainsRegex("GiB (more|in [a-z_]+:)"));
  EXPECT_THAT(result.out, ContainsRegex("that fits: [2-9] nodes of 1 small; "));
  const json object = json::parse(run_program({"fit", job, "--json", "--chains", "2", "--iterations", "1000"}).out);
  EXPECT_FALSE(object["fits"].get<bool>());
  EXPECT_GT(object["smallest_cluster"]["nodes"].get<int>(), 1);
  EXPECT_FALSE(object.contains("fastest"));
}

TEST(Fit, OfAPlanItShowsHowLengthsMayGrow) {
  const TemporaryFolder folder;
  const std::string job = folder.write("job.yaml", varied_job("nodes: 1, gpus_per_node: 8, gpu: H100"));
  const ProgramResult result = run_program({"fit", job, "--plan", folder.write("plan.json", small_plan), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json lengths = json::parse(result.out)["lengths"];
  ASSERT_GE(lengths.size(), 4U);
  EXPECT_FALSE(lengths.front().contains("length"));
  EXPECT_EQ(lengths.back()["length"], 1024);
  EXPECT_LT(lengths.back()["margin_bytes"].get<std::int64_t>(), std::int64_t{80} << 30);
}

}  // namespace
}  // namespace dovetail::cli
