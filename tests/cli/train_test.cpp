// dovetail train: what is checked and planned before anything runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string example = repository_file("examples/train/tiny-sft");

ProgramResult train(const TemporaryFolder& folder, std::vector<std::string> more) {
  std::vector<std::string> arguments{"train", example, "-o", folder.file("run")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

TEST(Train, InputIsCheckedBeforeAnythingIsWritten) {
  const TemporaryFolder folder;
  const std::pair<std::vector<std::string>, std::string> refused[] = {
      {{"--fuse", "intra"}, "--fuse: dovetail fuses two trainings on several devices"},
      {{"--fuse", "inter"}, "--fuse: dovetail does not fuse generation with inference"},
      {{"--placement", "anywhere"}, "anywhere"},
      {{"--plan", folder.file("none.json")}, "cannot be read"},
      {{"--resume"}, "the folder does not exist"}};
  for (const auto& [options, message] : refused) {
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

TEST(Train, APlanOutsideIsRefusedAtItsKey) {
  const TemporaryFolder folder;
  const std::string plan = folder.write("plan.json",
                                        R"({"format": "dovetail/plan@1", "tasks": [
  {"task": "actor_train", "devices": "0", "layout": {"dp": 1, "recompute": "selective"}, "micro_batch": {"tokens": 4096}}]})");
  const ProgramResult result = train(folder, {"--plan", plan});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              StartsWith(plan + ":2:76: actor_train: `recompute` is the string `selective`, which dovetail"));
  const std::string wide = folder.write("wide.json",
                                        R"({"format": "dovetail/plan@1", "tasks": [
  {"task": "actor_train", "devices": "0-1", "layout": {"dp": 2}, "micro_batch": {"tokens": 4096}}]})");
  const ProgramResult too_wide = train(folder, {"--plan", wide});
  EXPECT_EQ(too_wide.exit_code, 2);
  EXPECT_THAT(too_wide.err, StartsWith(wide + ":2:3: actor_train: "));
}

TEST(Train, AJobWithoutTheSectionIsRefused) {
  const ProgramResult result = run_program({"train", repository_file("examples/jobs/ppo-7b.yaml")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, StartsWith(repository_file("examples/jobs/ppo-7b.yaml") + ":"));
}

}  // namespace
}  // namespace dovetail::cli
