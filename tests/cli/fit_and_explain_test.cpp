// dovetail fit: whether a plan fits, and what limits it.
// dovetail explain: why a plan is slow or does not fit.
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

/// The small job on GPUs with this memory.
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
  EXPECT_THAT(result.out,
              ContainsRegex("\nactor_[a-z]+ sets the limit, on device 0:\npart +memory +share of usable\n"));
}

TEST(Fit, PlanThatDoesNotFitReportsMissingMemory) {
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

TEST(Fit, PlanBelowTheMarginIsTight) {
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
              HasSubstr("~: tight, keeps less than the required margin of 90.0% of usable memory (the job's limit)\n"));
  EXPECT_THAT(run_program({"explain", job, "--plan", plan, "--iterations", "1000"}).out,
              HasSubstr(" s per iteration; tight, "));
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

TEST(Fit, ReportsHostMemory) {
  const TemporaryFolder folder;
  std::string job = small_job;
  job.replace(job.find("price: 2"), 8, "host_memory: 1GB");
  const ProgramResult result =
      run_program({"fit", folder.write("job.yaml", job), "--plan", folder.write("plan.json", small_plan)});
  EXPECT_EQ(result.exit_code, 3) << result.out;
  EXPECT_THAT(result.out, HasSubstr("\na node has 0.93 GiB of host memory, but offloading needs "));
}

/// Job with varying lengths.
std::string varied_job(const std::string& cluster) {
  std::string job = small_job;
  job.replace(job.find("response_length: 512"), 20, "response_length: {p50: 200, p90: 500, cap: 1024}");
  return job.replace(job.find("nodes: 1, gpus_per_node: 8, gpu: H100"), 37, cluster);
}

TEST(Fit, JobReportsPlansLengthsAndSmallestCluster) {
  const TemporaryFolder folder;
  const std::string job = folder.write("job.yaml", varied_job("nodes: 2, gpus_per_node: 8, gpu: H100"));
  const ProgramResult result = run_program({"fit", job, "--chains", "2", "--iterations", "1000"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("\nfastest +[a-z-]+ +[0-9.]+ s "));
  EXPECT_THAT(result.out, ContainsRegex("\nlargest margin +[a-z-]+ +[0-9.]+ s "));
  EXPECT_THAT(result.out, ContainsRegex("\nas in the job +1.00 .* yes\n"));
  EXPECT_THAT(result.out, ContainsRegex("\n1024 tokens +[0-9.]+ .* yes\n"));
  EXPECT_THAT(result.out,
              HasSubstr("\nSmallest cluster of this kind with a plan that keeps the margin: 1 node of 1 H100-80; "));
}

TEST(Fit, JobThatDoesNotFitNamesASufficientCluster) {
  const TemporaryFolder folder;
  const std::string gpu = "gpu: {name: small, memory: 8GiB, bandwidth: 1TB/s, bf16: 100TFLOP/s}";
  const std::string job = folder.write("job.yaml", varied_job("nodes: 1, gpus_per_node: 1, host_memory: 1GB, " + gpu));
  const ProgramResult result = run_program({"fit", job, "--chains", "2", "--iterations", "1000"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nno plan fits"));
  EXPECT_THAT(result.out, ContainsRegex("GiB (more|in [a-z_]+:)"));
  EXPECT_THAT(
      result.out,
      ContainsRegex("\nSmallest cluster of this kind with a plan that keeps the margin: [2-9] nodes of 1 small; "));
  const json object = json::parse(run_program({"fit", job, "--json", "--chains", "2", "--iterations", "1000"}).out);
  EXPECT_FALSE(object["fits"].get<bool>());
  EXPECT_GT(object["smallest_cluster"]["nodes"].get<int>(), 1);
  EXPECT_FALSE(object.contains("fastest"));
}

TEST(Fit, PlanReportsHowLengthsMayGrow) {
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

using testing::Not;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

/// Output of the command for a plan of a job, after a short search.
ProgramResult explain(const std::string& job, const std::string& plan, const std::string& more = "--json") {
  const TemporaryFolder folder;
  return run_program({"explain", folder.write("job.yaml", job), "--plan", folder.write("plan.json", plan), "--chains",
                      "2", "--iterations", "1000", more});
}

TEST(Explain, NamesChangesThatGain) {
  const ProgramResult result = explain(small_job, small_plan, "--threads=1");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(
      result.out,
      ContainsRegex("\nthis plan +[0-9.]+ s per iteration; fits, [0-9.]+ GiB free on device 0 in actor_[a-z]+\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nbest plan +[0-9.]+ s per iteration"));
  EXPECT_THAT(result.out, ContainsRegex("\nSingle changes that make the plan faster:\n"));
  EXPECT_THAT(
      result.out,
      ContainsRegex("actor_infer on [0-9]-[0-9] of node 0 while reference_infer is on [0-9]-[0-9] of node 0: "));
  EXPECT_THAT(result.out, ContainsRegex("\nhand-over +[0-9.]+ s +[0-9.]+ s"));
  EXPECT_THAT(result.out, HasSubstr("\nBest plan:\ntask"));
}

TEST(Explain, NamesTheSecondsOfARule) {
  const std::string timed = replaced(small_job, "reward: rule", "reward: rule, reward_seconds: 0.02");
  EXPECT_THAT(
      explain(timed, small_plan, "--threads=1").out,
      HasSubstr("\nreward_rule takes 5.1 s without using a device; any part that no task overlaps is idle time.\n"));
  EXPECT_THAT(explain(small_job, small_plan, "--threads=1").out, Not(HasSubstr("without using a device")));
}

TEST(Explain, BothTablesShowFusion) {
  const std::string job = replaced(replaced(small_job, "{name: grpo, reward: rule}", "ppo"), "{actor: qwen3-0.6b}",
                                   "{actor: qwen3-0.6b, reward: qwen3-0.6b}") +
                          "fixed: {fusion: {intra_stage: false}}\n";
  std::string fused = R"({"format": "dovetail/plan@1", "tasks": [
  {"task": "actor_generate", "devices": "0-7", "layout": {"dp": 8}, "engine": {"memory_utilization": 0.5}},
)";
  for (const char* task : {"reward_infer", "reference_infer", "critic_infer", "actor_train", "critic_train"})
    fused += std::string(R"(  {"task": ")") + task +
             R"(", "devices": "0-7", "layout": {"dp": 8}, "micro_batch": {"sequences": 4}},)" + "\n";
  fused.replace(fused.rfind(','), 1, "");
  fused += R"(], "fusion": {"intra_stage": {"tasks": ["actor_train", "critic_train"]}}})";
  const ProgramResult result = explain(job, fused, "--threads=1");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("\nhidden by fusion +[-+0-9.]+ m?s +- "));
  EXPECT_THAT(result.out, ContainsRegex("\nactor_train +[0-9.]+ m?s +[0-9.]+ m?s .* fused here\n"));
  EXPECT_THAT(result.out, ContainsRegex("\ncritic_train +fused +[0-9.]+ m?s .* fused here\n"));
  const json comparison = json::parse(explain(job, fused).out)["comparison"];
  for (const json& step : comparison["steps"])
    EXPECT_EQ(step.contains("fused"), step["step"] == "actor_train" || step["step"] == "critic_train") << step["step"];
}

TEST(Explain, JsonAddsUp) {
  const ProgramResult result = explain(small_job, small_plan);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["format"], "dovetail/explain@2");
  EXPECT_TRUE(object["fits"].get<bool>());
  const double iteration = object["iteration_seconds"].get<double>();
  ASSERT_FALSE(object["changes"].empty());
  for (const json& change : object["changes"])
    EXPECT_NEAR(change["iteration_seconds"].get<double>() + change["gain_seconds"].get<double>(), iteration, 0.002);
  double here = 0;
  for (const json& use : object["comparison"]["uses"]) here += use["seconds"]["here"].get<double>();
  EXPECT_NEAR(here, iteration, 0.02);
}

TEST(Explain, IsIndependentOfThreads) {
  EXPECT_EQ(explain(small_job, small_plan, "--threads=1").out, explain(small_job, small_plan, "--threads=3").out);
}

TEST(Explain, NamesChangesThatMakeAPlanFit) {
  const std::string job =
      replaced(small_job, "gpu: H100", "gpu: {name: small, memory: 16GiB, bandwidth: 1TB/s, bf16: 100TFLOP/s}");
  const std::string plan = replaced(small_plan, "\"memory_utilization\": 0.5", "\"memory_utilization\": 0.9");
  const ProgramResult text = explain(job, plan, "--threads=1");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, ContainsRegex("\nthis plan +does NOT fit: actor_[a-z]+ is short by [0-9.]+ GiB on device 0 "));
  EXPECT_THAT(text.out, ContainsRegex("\nIn actor_[a-z]+, device 0 holds [0-9.]+ GiB of "));
  EXPECT_THAT(text.out, Not(HasSubstr("make the plan faster")));
  const json object = json::parse(explain(job, plan).out);
  EXPECT_FALSE(object["fits"].get<bool>());
  EXPECT_GT(object["limit"]["missing_bytes"].get<std::int64_t>(), 0);
  EXPECT_TRUE(!object["changes"].empty() || object.contains("repair"));
}

TEST(Explain, IsInfeasibleIfNothingFits) {
  const std::string job =
      replaced(small_job, "gpu: H100", "gpu: {name: small, memory: 1GiB, bandwidth: 1TB/s, bf16: 100TFLOP/s}");
  const ProgramResult result = explain(job, small_plan, "--threads=1");
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nbest plan       none: "));
}

TEST(Explain, NeedsAPlan) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program({"explain", folder.write("job.yaml", small_job)});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("explain needs a plan; give --plan FILE"));
}

TEST(Explain, ErrorsHaveTheirLocation) {
  const ProgramResult result = explain(small_job, replaced(small_plan, "\"dp\": 8", "\"dp\": 4"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, ContainsRegex("plan.json:2:3: actor_generate: its layout dp4 tp1 pp1 uses 4 devices"));
}

}  // namespace

}  // namespace dovetail::cli
