// dovetail plan: predictions and rankings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
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

TEST(Plan, ReportsEveryActivity) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program({"plan", folder.write("job.yaml", small_job), "--plan", folder.write("plan.json", small_plan)});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("small: grpo on 8 devices, 256 samples per iteration\nplacement: co-located;"));
  EXPECT_THAT(
      result.out,
      ContainsRegex("\nactor_generate +0-7 +dp8 tp1 pp1 +[0-9.]+ m?s +[0-9.]+ m?s +[0-9.]+ GiB of [0-9.]+ GiB"));
  EXPECT_THAT(result.out, ContainsRegex("\nweights to actor_generate +0-7"));
  EXPECT_THAT(
      result.out,
      ContainsRegex(
          "\niteration +[0-9.]+ s\nthroughput +[0-9.]+ samples/s, [0-9]+ tokens/s/GPU\ncost +[0-9.]+ GPU-hours, "));
}

TEST(Plan, JsonHasEveryActivity) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program(
      {"plan", folder.write("job.yaml", small_job), "--plan", folder.write("plan.json", small_plan), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["format"], "dovetail/estimate@1");
  EXPECT_TRUE(object["fits"].get<bool>());
  ASSERT_EQ(object["steps"].size(), 6U);  // four tasks, the rule, and new weights for the engine
  double sum = 0;
  for (const json& step : object["steps"]) sum += step["seconds"].get<double>();
  EXPECT_GE(object["iteration_seconds"].get<double>(), sum - 0.01);
}

TEST(Plan, ErrorsHaveTheirLocation) {
  const TemporaryFolder folder;
  const std::string job = folder.write("job.yaml", small_job);
  const auto error_of = [&](const std::string& plan) {
    const ProgramResult result = run_program({"plan", job, "--plan", folder.write("plan.json", plan)});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  std::string plan = small_plan;
  plan.replace(plan.find("\"dp\": 8"), 7, "\"dp\": 4");
  EXPECT_THAT(error_of(plan), ContainsRegex("plan.json:2:3: actor_generate: its layout dp4 tp1 pp1 uses 4 devices"));
  plan = small_plan;
  plan.replace(plan.find("actor_infer"), 11, "actor_inffer");
  EXPECT_THAT(error_of(plan), HasSubstr("did you mean 'actor_infer'?"));
  plan = small_plan;
  plan.replace(plan.find("0-7"), 3, "0-8");
  EXPECT_THAT(error_of(plan), HasSubstr("not a mesh of the cluster's 8"));
  std::string unknown = small_job;
  unknown.replace(unknown.find("qwen3-0.6b"), 10, "qwen3-0.7b");
  const ProgramResult result =
      run_program({"plan", folder.write("unknown.yaml", unknown), "--plan", folder.write("plan.json", small_plan)});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              HasSubstr("unknown.yaml:4:17: unknown bundled model `qwen3-0.7b`; did you mean 'qwen3-0.6b'"));
}

TEST(Plan, RanksPlansAndWritesTheBest) {
  const TemporaryFolder folder;
  const std::string job = folder.write("job.yaml", small_job);
  const std::string best = folder.file("best.json");
  const ProgramResult result = run_program({"plan", job, "--iterations", "500", "--chains", "2", "-o", best});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("small: grpo on 8 devices, 256 samples per iteration\n"));
  EXPECT_THAT(result.out, ContainsRegex("\n +1 +[a-z-]+ +[0-9.]+ s "));
  EXPECT_THAT(result.out, ContainsRegex("co-located +[0-9.]+ s "));
  EXPECT_THAT(result.out, HasSubstr(" (analytical model)\n"));
  EXPECT_THAT(result.out, HasSubstr("\nFirst plan:\ntask"));
  const ProgramResult predicted = run_program({"plan", job, "--plan", best, "--json"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  const json ranking = json::parse(run_program({"plan", job, "--iterations", "500", "--chains", "2", "--json"}).out);
  EXPECT_EQ(ranking["plans"][0]["iteration_seconds"], json::parse(predicted.out)["iteration_seconds"]);
}

TEST(Plan, IsReproducibleForTheSameSeed) {
  const TemporaryFolder folder;
  const std::string job = folder.write("job.yaml", small_job);
  const auto plan_with = [&](const std::string& threads) {
    const std::string path = folder.file("plan" + threads + ".json");
    EXPECT_EQ(run_program({"plan", job, "--iterations", "2000", "--threads", threads, "-o", path}).exit_code, 0);
    return content_of(path);
  };
  EXPECT_EQ(plan_with("1"), plan_with("2"));
}

TEST(Plan, RejectsWrongOptions) {
  const TemporaryFolder folder;
  const std::string job = folder.write("job.yaml", small_job);
  const ProgramResult placement = run_program({"plan", job, "--placement", "co-locatd"});
  EXPECT_EQ(placement.exit_code, 2);
  EXPECT_THAT(placement.err, HasSubstr("there is no placement 'co-locatd'; did you mean 'co-located'?"));
  EXPECT_EQ(run_program({"plan", job, "--chains", "0"}).exit_code, 2);
  EXPECT_EQ(run_program({"plan", job, "--means", "some"}).exit_code, 2);
  EXPECT_THAT(run_program({"plan", job, "--pick", "2"}).err,
              HasSubstr("--pick needs -o or --export: it selects the plan that they write"));
}

TEST(Plan, WritesThePickedPlan) {
  const TemporaryFolder folder;
  const std::string job = folder.write("job.yaml", small_job);
  const std::string second = folder.file("second.json");
  const std::vector<std::string> search{"plan", job, "--iterations", "500", "--chains", "2", "-o", second, "--pick"};
  const auto picked = [&](const std::string& number) {
    std::vector<std::string> arguments = search;
    arguments.push_back(number);
    return run_program(arguments);
  };
  const ProgramResult beyond = picked("100");
  EXPECT_EQ(beyond.exit_code, 2);
  EXPECT_THAT(beyond.err,
              ContainsRegex("--pick must be from 1 to [0-9]+, the number of plans in the ranking; got 100"));
  EXPECT_FALSE(std::filesystem::exists(second));
  ASSERT_EQ(picked("2").exit_code, 0);
  const json ranking = json::parse(run_program({"plan", job, "--iterations", "500", "--chains", "2", "--json"}).out);
  const json predicted = json::parse(run_program({"plan", job, "--plan", second, "--json"}).out);
  EXPECT_EQ(ranking["plans"][1]["iteration_seconds"], predicted["iteration_seconds"]);
}

/// `small_job` with `from` replaced.
std::string job_with(const std::string& from, const std::string& to) {
  std::string job = small_job;
  return job.replace(job.find(from), from.size(), to);
}

TEST(Plan, ReportsAPlacementWithoutAPlan) {
  const TemporaryFolder folder;
  // No layout of 28 layers has 32 stages.
  const std::string job =
      folder.write("job.yaml", job_with("nodes: 1, gpus_per_node: 8", "nodes: 32, gpus_per_node: 1"));
  const ProgramResult alone = run_program({"plan", job, "--placement", "megatron"});
  EXPECT_EQ(alone.exit_code, 3);
  EXPECT_THAT(alone.out, HasSubstr("\nno plan found:\n\nmegatron: does not apply: actor_generate has no layout "
                                   "with tp1 pp32 on devices 0-31\n"));
  const ProgramResult both =
      run_program({"plan", job, "--placement", "megatron", "--placement", "co-located", "--json"});
  EXPECT_EQ(both.exit_code, 0);
  const json ranking = json::parse(both.out);
  EXPECT_EQ(ranking["plans"][0]["placement"], "co-located");
  ASSERT_EQ(ranking["absent"].size(), 1U);
  EXPECT_EQ(ranking["absent"][0]["placement"], "megatron");
}

TEST(Plan, TableShowsTheSecondsOfARule) {
  const TemporaryFolder folder;
  const std::string timed = folder.write("job.yaml", job_with("reward: rule", "reward: rule, reward_seconds: 0.02"));
  const ProgramResult result = run_program({"plan", timed, "--placement", "co-located"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex(" train +rule +samples/s"));
  EXPECT_THAT(result.out, ContainsRegex("\n +1 +co-located .* 5\\.1 s ")) << "256 samples";
  const json ranking = json::parse(run_program({"plan", timed, "--placement", "co-located", "--json"}).out);
  EXPECT_EQ(ranking["plans"][0]["phases"]["rule"], 5.12);
  const ProgramResult untimed =
      run_program({"plan", folder.write("untimed.yaml", small_job), "--placement", "co-located"});
  EXPECT_THAT(untimed.out, testing::Not(ContainsRegex(" train +rule ")));
}

TEST(Plan, DoesNotSimulateManySamples) {
  const TemporaryFolder folder;
  const std::string many = folder.write("job.yaml", job_with("prompts: 32", "prompts: 2097152"));
  const ProgramResult result = run_program({"plan", many, "--placement", "co-located"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("no plan was simulated: an iteration has too many samples\n"));
  const ProgramResult simulated = run_program({"simulate", many, "--plan", folder.write("plan.json", small_plan)});
  EXPECT_EQ(simulated.exit_code, 2);
  EXPECT_THAT(simulated.err, HasSubstr("job.yaml: an iteration has 16777216 samples, too many to simulate; "
                                       "accepted: at most 4194304"));
}

TEST(Plan, UnknownSoftwareHasItsLocation) {
  const TemporaryFolder folder;
  const auto error_of = [&](const std::string& software) {
    return run_program({"plan", folder.write("job.yaml", std::string(small_job) + "software:\n" + software)}).err;
  };
  EXPECT_THAT(error_of("  training: megatorn\n"),
              ContainsRegex("job.yaml:8:13: .*`megatorn`; did you mean 'megatron'"));
  EXPECT_THAT(error_of("  training: megatron\n  efficiency: h100/megatron-vlm\n"),
              ContainsRegex("job.yaml:9:15: .*did you mean 'h100/megatron-vllm'"));
  EXPECT_THAT(error_of("  efficiency: none.json\n"), HasSubstr("none.json: cannot be read"));
}

TEST(Plan, UnsupportedSettingsHaveTheirLocation) {
  const TemporaryFolder folder;
  const std::string job = std::string(small_job) + "software: {framework: any, training: verl-fsdp}\n";
  const ProgramResult result =
      run_program({"plan", folder.write("job.yaml", job + "fixed:\n  actor_train: {layout: {dp: 4, tp: 2}}\n")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              HasSubstr("job.yaml:9:37: actor_train: `tp` is 2, but verl-fsdp has no tensor parallelism; accepted: 1"));
  const std::vector<std::vector<std::string>> commands{
      {"plan"}, {"fit"}, {"simulate"}, {"sweep", "--over", "length"}, {"forecast", "--steps", "2", "--searches", "0"}};
  for (std::vector<std::string> command : commands) {
    command.insert(command.end(), {folder.write("job.yaml", job), "--plan", folder.write("plan.json", small_plan)});
    const ProgramResult given = run_program(command);
    EXPECT_EQ(given.exit_code, 0) << given.err;
    EXPECT_THAT(given.err, HasSubstr("the trainer cannot run this plan: actor_train: `zero` is ")) << command.front();
  }
}

TEST(Plan, ExplainsTheChoiceOfEfficiencies) {
  const TemporaryFolder folder;
  std::string job = small_job;
  job.replace(job.find("gpu: H100"), 9, "gpu: {name: mine, memory: 80GiB, bandwidth: 3TB/s, bf16: 900TFLOP/s}");
  const ProgramResult result =
      run_program({"plan", folder.write("job.yaml", job), "--plan", folder.write("plan.json", small_plan)});
  EXPECT_THAT(result.out, HasSubstr("assumed (no measurements of mine, a custom `gpu:`); expect errors of 25.0%"));
}

TEST(Plan, ReportsMissingMemoryIfNothingFits) {
  const TemporaryFolder folder;
  std::string job = small_job;
  job.replace(job.find("qwen3-0.6b"), 10, "llama-2-70b");
  job.replace(job.find("gpu: H100"), 9, "gpu: H100, host_memory: 64GB");  // too small for its optimizer
  const std::string path = folder.file("none.json");
  const ProgramResult result = run_program({"plan", folder.write("job.yaml", job), "-o", path});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err,
              ContainsRegex("job.yaml: actor_train alone does not fit on this cluster: even with .*GiB more than the"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace dovetail::cli
