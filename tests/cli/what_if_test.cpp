// dovetail what-if: is fusion worth it, and what would other ways of working give.
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

ProgramResult what_if(const TemporaryFolder& folder, std::vector<std::string> more) {
  std::vector<std::string> arguments{"what-if", folder.write("job.yaml", small_job), "--plan",
                                     folder.write("plan.json", small_plan)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

TEST(WhatIf, AnswersBothQuestions) {
  const TemporaryFolder folder;
  const ProgramResult result = what_if(folder, {});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nFused training: no, grpo trains no second model"));
  EXPECT_THAT(result.out, HasSubstr("\nGeneration fused with inference: no, "));
  EXPECT_THAT(result.out, ContainsRegex("\n1F1B \\* +[0-9.]+ m?s "));
  EXPECT_THAT(result.out, ContainsRegex("\nno fusion \\* +8 +[0-9.]+ s "));
  EXPECT_THAT(result.out, ContainsRegex("\n1 step off policy +[0-9]+\\+[0-9]+ "));
  EXPECT_THAT(result.out, ContainsRegex("\npartial rollout, 90% finish +8 "));
}

TEST(WhatIf, TablesFitATerminal) {
  const TemporaryFolder folder;
  std::istringstream lines(what_if(folder, {}).out);
  for (std::string line; std::getline(lines, line);) {
    const bool in_table = line.find("---  ---") != std::string::npos;
    EXPECT_LE(in_table ? line.size() : 0U, 100U) << line;
  }
}

TEST(WhatIf, JsonHasThroughputBesideStaleness) {
  const TemporaryFolder folder;
  const ProgramResult result = what_if(folder, {"--json", "--draws", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["format"], "dovetail/what-if@1");
  EXPECT_FALSE(object["training"]["worth"].get<bool>());
  EXPECT_EQ(object["training"]["ways"].size(), 6U);
  std::size_t played = 0;
  for (const json& way : object["ways"]) {
    if (way.contains("why_not")) continue;
    ++played;
    EXPECT_NEAR(way["samples_per_second"].get<double>() * way["iteration_seconds"].get<double>(), 256, 1e-3);
    EXPECT_LE(way["staleness"]["mean"].get<double>(), way["staleness"]["most"].get<double>());
  }
  EXPECT_GE(played, 6U);
  EXPECT_FALSE(object["splits"].empty());
  // Those of other policies are of a job that is as far off policy.
  std::string off_policy = small_job;
  off_policy.replace(off_policy.find("workload: {"), 11, "workload: {steps_off_policy: 1, ");
  const json& split = object["splits"][0];
  const json planned = json::parse(run_program({"plan", folder.write("off_policy.yaml", off_policy), "--plan",
                                                folder.write("split.json", split["plan"].dump()), "--json"})
                                       .out);
  EXPECT_NEAR(planned["iteration_seconds"].get<double>(), split["closed_form_seconds"].get<double>(), 1e-3);
}

TEST(WhatIf, IsTheSameToTheByte) {
  const TemporaryFolder folder;
  EXPECT_EQ(what_if(folder, {"--json", "--threads", "1"}).out, what_if(folder, {"--json", "--threads", "2"}).out);
}

TEST(WhatIf, FindsAPlanWhereNoneIsGiven) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program(
      {"what-if", folder.write("job.yaml", small_job), "--chains", "2", "--iterations", "500", "--threads", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nIs fusion worth it?\n"));
}

TEST(WhatIf, MistakesAreSaid) {
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

}  // namespace
}  // namespace dovetail::cli
