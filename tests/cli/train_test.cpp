// dovetail train: checks and planning before a run, and replays with --stub.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string example = repository_file("examples/train/tiny-grpo");

ProgramResult train(const TemporaryFolder& folder, std::vector<std::string> more) {
  std::vector<std::string> arguments{"train", example, "-o", folder.file("run")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

TEST(Train, ChecksInputBeforeWriting) {
  const TemporaryFolder folder;
  const std::pair<std::vector<std::string>, std::string> rejected[] = {
      {{"--fuse", "intra"}, "--fuse: dovetail fuses two trainings only on several devices"},
      {{"--fuse", "inter"}, "--fuse: dovetail does not fuse generation with inference"},
      {{"--placement", "anywhere"}, "anywhere"},
      {{"--plan", folder.file("none.json")}, "cannot be read"},
      {{"--resume"}, "the folder does not exist"}};
  for (const auto& [options, message] : rejected) {
    const ProgramResult result = train(folder, options);
    EXPECT_NE(result.exit_code, 0) << options.front();
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(folder.file("run"))) << options.front();
  }
  EXPECT_THAT(run_program({"train", "-"}).err, HasSubstr("the job must be a file"));
  const std::string script = folder.write("run.sh", "python3 -m verl.trainer.main_ppo trainer.nnodes=1\n");
  for (const char* const command : {"train", "profile"}) {
    const ProgramResult result = run_program({command, script});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("run.sh: this is the configuration of another trainer; give a job file with a"));
  }
  folder.write("file", "");
  EXPECT_THAT(run_program({"train", example, "-o", folder.file("file")}).err, HasSubstr("not a folder"));
}

TEST(Train, RejectsAnUnsupportedPlanAtItsKey) {
  const TemporaryFolder folder;
  const std::string plan = folder.write("plan.json",
                                        R"({"format": "dovetail/plan@1", "tasks": [
  {"task": "actor_train", "devices": "0", "layout": {"dp": 1, "recompute": "selective"}, "micro_batch": {"tokens": 4096}},
  {"task": "actor_infer", "devices": "0", "layout": {}, "micro_batch": {"tokens": 4096}},
  {"task": "actor_generate", "devices": "0", "layout": {}, "engine": {"cuda_graphs": false, "own_weights": false}}]})");
  const ProgramResult result = train(folder, {"--plan", plan});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              StartsWith(plan + ":2:76: actor_train: `recompute` is the string `selective`, which dovetail"));
  const std::string wide = folder.write("wide.json",
                                        R"({"format": "dovetail/plan@1", "tasks": [
  {"task": "actor_train", "devices": "0-1", "layout": {"dp": 2}, "micro_batch": {"tokens": 4096}},
  {"task": "actor_infer", "devices": "0", "layout": {}, "micro_batch": {"tokens": 4096}},
  {"task": "actor_generate", "devices": "0", "layout": {}, "engine": {"cuda_graphs": false, "own_weights": false}}]})");
  const ProgramResult too_wide = train(folder, {"--plan", wide});
  EXPECT_EQ(too_wide.exit_code, 2);
  EXPECT_THAT(too_wide.err, StartsWith(wide + ":2:3: actor_train: "));
}

TEST(Train, RejectsAJobWithoutTheTrainSection) {
  const ProgramResult result = run_program({"train", repository_file("examples/jobs/ppo-7b.yaml")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, StartsWith(repository_file("examples/jobs/ppo-7b.yaml") + ":"));
}

const std::string two_models_problem = repository_file("examples/two-models.yaml");

ProgramResult replay(const std::string& input, std::vector<std::string> more) {
  std::vector<std::string> arguments{"train", "--stub", input};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

TEST(Stub, ReplaysAProblemAScheduleAndAJob) {
  const TemporaryFolder folder;
  const ProgramResult problem = replay(two_models_problem, {"--tick", "100us", "--plan-iterations", "10"});
  ASSERT_EQ(problem.exit_code, 0) << problem.err;
  EXPECT_THAT(problem.out, HasSubstr("two-models.yaml: 4 ranks as threads, 128 ops; 1 tick = 0.1 ms\n"));
  EXPECT_THAT(problem.out, HasSubstr("\noverlap of models "));
  EXPECT_THAT(problem.out, HasSubstr("\nexecutor overhead on the critical path: "));
  const std::string schedule = folder.file("schedule.json");
  ASSERT_EQ(run_program({"schedule", two_models_problem, "--solver", "list", "-o", schedule}).exit_code, 0);
  const ProgramResult read = replay(schedule, {"--tick", "100us"});
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_THAT(read.out, HasSubstr("4 ranks as threads, 128 ops"));
  const ProgramResult job =
      replay(repository_file("examples/jobs/ppo-7b.yaml"),
             {"--plan", repository_file("examples/jobs/ppo-7b.plan.yaml"), "--fuse", "none", "--tick", "1ms"});
  EXPECT_EQ(job.exit_code, 0) << job.err;
  EXPECT_THAT(job.out, HasSubstr(" times the original durations\n"));
}

TEST(Stub, WritesTheTimeline) {
  const TemporaryFolder folder;
  for (const std::string name : {"both.html", "both.svg", "both.trace.json"}) {
    const std::string file = folder.file(name);
    const ProgramResult result = replay(two_models_problem, {"--tick", "50us", "--plan-iterations", "10", "-o", file});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_GT(std::filesystem::file_size(file), 1000U);
  }
}

TEST(Stub, RejectsInputsThatCannotBeReplayed) {
  const TemporaryFolder folder;
  const std::string schedule = folder.file("schedule.json");
  ASSERT_EQ(run_program({"schedule", two_models_problem, "--solver", "list", "-o", schedule}).exit_code, 0);
  std::string text = content_of(schedule);
  const std::size_t op = text.find("[\"F\"");
  ASSERT_NE(op, std::string::npos);
  text.replace(op, 4, "[\"B\"");
  const std::string invalid = folder.write("invalid.json", text);
  const std::string input = two_models_problem;
  const std::pair<std::vector<std::string>, std::string> rejected[] = {
      {{input, "--tick", "0s"},
       "--tick: '0s' is not a duration; accepted: more than 0 and at most 1e7 seconds, such as 30, 500ms, 2m or 1h"},
      {{input, "--tick", "9e6s"}, "the schedule cannot be replayed at 9e+15 ns per tick: "},
      {{input, "--transport", "mail"}, "threads"},
      {{input, "--resume"}, "--resume and --stub cannot be combined"},
      {{input, "--plan", invalid}, "--plan applies to jobs only, but the input is a problem"},
      {{input, "-o", folder.file("out.pdf")}, "use .trace.json, .svg or .html"},
      {{invalid}, "--stub needs a schedule that dovetail check accepts"},
      {{folder.file("none")}, "is neither a file nor a bundled instance"}};
  for (const auto& [arguments, message] : rejected) {
    const ProgramResult result = replay(arguments.front(), {arguments.begin() + 1, arguments.end()});
    EXPECT_EQ(result.exit_code, 2) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
  const ProgramResult run = run_program({"train", input, "--tick", "1ms"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, StartsWith("dovetail: --tick needs --stub"));
}

}  // namespace

}  // namespace dovetail::cli
