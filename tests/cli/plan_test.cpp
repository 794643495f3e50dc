// dovetail plan: the prediction of a given plan.
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

TEST(Plan, SaysWhatEachStepTakes) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program({"plan", folder.write("job.yaml", small_job), "--plan", folder.write("plan.json", small_plan)});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("small: grpo on 8 devices, 256 samples an iteration\nplacement: co-located;"));
  EXPECT_THAT(result.out, ContainsRegex("\nactor_generate +0-7 +dp8 tp1 pp1 +[0-9.]+ m?s +[0-9.]+ m?s +[0-9.]+ GiB of [0-9.]+ GiB"));
  EXPECT_THAT(result.out, ContainsRegex("\nweights to actor_generate +0-7"));
  EXPECT_THAT(result.out,
              ContainsRegex("\niteration +[0-9.]+ s\nthroughput +[0-9.]+ samples/s, [0-9]+ tokens/s/GPU\ncost +[0-9.]+ GPU-hours, "));
}

TEST(Plan, JsonHasEveryStep) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program({"plan", folder.write("job.yaml", small_job), "--plan", folder.write("plan.json", small_plan), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["format"], "dovetail/estimate@1");
  EXPECT_TRUE(object["fits"].get<bool>());
  ASSERT_EQ(object["steps"].size(), 6U);  // four tasks, the rule, and new weights for the engine
  double sum = 0;
  for (const json& step : object["steps"]) sum += step["seconds"].get<double>();
  EXPECT_GE(object["iteration_seconds"].get<double>(), sum - 0.01);
}

TEST(Plan, MistakesHaveTheirPlace) {
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
  EXPECT_THAT(error_of(plan), ContainsRegex("plan.json:2:3: actor_generate: its layout dp4 tp1 pp1 is for 4 devices"));
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
  EXPECT_THAT(result.err, HasSubstr("unknown.yaml:4:17: there is no bundled model `qwen3-0.7b`; did you mean 'qwen3-0.6b'"));
}

TEST(Plan, NeedsAPlan) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program({"plan", folder.write("job.yaml", small_job)});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--plan is required"));
}

}  // namespace
}  // namespace dovetail::cli
