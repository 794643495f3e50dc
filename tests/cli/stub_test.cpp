// dovetail train --stub: a schedule replayed by ranks as threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string two_models_problem = repository_file("examples/two-models.yaml");

ProgramResult replay(const std::string& input, std::vector<std::string> more) {
  std::vector<std::string> arguments{"train", "--stub", input};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

TEST(Stub, AProblemAScheduleAndAJobAreReplayed) {
  const TemporaryFolder folder;
  const ProgramResult problem = replay(two_models_problem, {"--tick", "100us", "--plan-iterations", "10"});
  ASSERT_EQ(problem.exit_code, 0) << problem.err;
  EXPECT_THAT(problem.out, HasSubstr("two-models.yaml: 4 ranks as threads, 128 ops; 1 tick = 0.1 ms"));
  EXPECT_THAT(problem.out, HasSubstr("overlap of models"));
  EXPECT_THAT(problem.out, HasSubstr("executor share of the critical path: "));
  const std::string schedule = folder.file("schedule.json");
  ASSERT_EQ(run_program({"schedule", two_models_problem, "--solver", "list", "-o", schedule}).exit_code, 0);
  const ProgramResult read = replay(schedule, {"--tick", "100us"});
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_THAT(read.out, HasSubstr("4 ranks as threads, 128 ops"));
  const ProgramResult job =
      replay(repository_file("examples/jobs/ppo-7b.yaml"),
             {"--plan", repository_file("examples/jobs/ppo-7b.plan.yaml"), "--fuse", "none", "--tick", "1ms"});
  EXPECT_EQ(job.exit_code, 0) << job.err;
  EXPECT_THAT(job.out, HasSubstr("times the original durations"));
}

TEST(Stub, TheTimelineIsWritten) {
  const TemporaryFolder folder;
  for (const std::string name : {"both.html", "both.svg", "both.trace.json"}) {
    const std::string file = folder.file(name);
    const ProgramResult result = replay(two_models_problem, {"--tick", "50us", "--plan-iterations", "10", "-o", file});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_GT(std::filesystem::file_size(file), 1000U);
  }
}

TEST(Stub, WhatCannotBeReplayedIsRefused) {
  const TemporaryFolder folder;
  const std::string schedule = folder.file("schedule.json");
  ASSERT_EQ(run_program({"schedule", two_models_problem, "--solver", "list", "-o", schedule}).exit_code, 0);
  std::string text = content_of(schedule);
  const std::size_t op = text.find("[\"F\"");
  ASSERT_NE(op, std::string::npos);
  text.replace(op, 4, "[\"B\"");
  const std::string invalid = folder.write("invalid.json", text);
  const std::string input = two_models_problem;
  const std::pair<std::vector<std::string>, std::string> refused[] = {
      {{input, "--tick", "0s"}, "--tick: '0s' is no time; accepted: a positive number of seconds"},
      {{input, "--tick", "9e6s"}, "the schedule cannot be replayed at"},
      {{input, "--transport", "mail"}, "threads"},
      {{input, "--resume"}, "--resume is of a run, and --stub only waits; accepted: one of both"},
      {{input, "--plan", invalid}, "--plan applies to jobs only, but the input is a problem"},
      {{input, "-o", folder.file("out.pdf")}, "accepted: .trace.json, .svg, .html"},
      {{invalid}, "; it must pass dovetail check"},
      {{folder.file("none")}, "is neither a file nor a bundled instance"}};
  for (const auto& [arguments, message] : refused) {
    const ProgramResult result = replay(arguments.front(), {arguments.begin() + 1, arguments.end()});
    EXPECT_EQ(result.exit_code, 2) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
  const ProgramResult run = run_program({"train", input, "--tick", "1ms"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, StartsWith("dovetail: --tick is of a replay; accepted: with --stub"));
}

}  // namespace
}  // namespace dovetail::cli
