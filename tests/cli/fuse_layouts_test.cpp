#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string actor = "actor,dp=2,pp=8,tp=8,forward=5,backward=10,activation=1.95,microbatches=32";
const std::string critic = "critic,dp=4,pp=4,tp=8,forward=4,backward=8,activation=2,microbatches=16";

TEST(FuseLayouts, MakesASchedulableProblem) {
  const ProgramResult result = run_program({"fuse-layouts", "--model", actor, "--model", critic});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("format: dovetail/pipeline-problem@1\n"));
  EXPECT_THAT(result.err, IsEmpty());
  const ProgramResult greedy = run_program({"schedule", "-", "--solver", "greedy", "--json"}, {.input = result.out});
  EXPECT_EQ(json::parse(greedy.out)["makespan"], 741);  // exp0
}

TEST(FuseLayouts, JsonIncludesNotes) {
  const ProgramResult result = run_program({"fuse-layouts", "--model", actor, "--model", critic, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["format"], "dovetail/fused-layouts@1");
  EXPECT_EQ(object["merged_stages"], 1);
  EXPECT_EQ(object["copies"], json({1, 2}));
  EXPECT_EQ(object["groups"], 2);
  EXPECT_EQ(object["warnings"], json::array());
  EXPECT_EQ(object["problem"]["devices"], 8);
}

TEST(FuseLayouts, WritesReadableYamlAndJson) {
  const TemporaryFolder folder;
  for (const char* name : {"problem.yaml", "problem.json"}) {
    const std::string path = folder.file(name);
    const ProgramResult result = run_program({"fuse-layouts", "--model", actor, "--model", critic, "-o", path});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_EQ(result.err,
              "dovetail: note: 1 pipeline of actor and 2 pipelines of critic are fused on 8 devices of 8 GPUs each\n"
              "dovetail: note: 2 fused groups like this run in parallel, each with the same schedule\nwritten: " +
                  path + "\n");
    EXPECT_EQ(json::parse(run_program({"schedule", path, "--solver", "greedy", "--json"}).out)["makespan"],
              741);  // exp0
  }
  EXPECT_EQ(json::parse(content_of(folder.file("problem.json")))["format"], "dovetail/pipeline-problem@1");
}

TEST(FuseLayouts, JsonOnStandardOutputLeavesTheFileAProblem) {
  const TemporaryFolder folder;
  const std::string path = folder.file("problem.yaml");
  const ProgramResult result = run_program({"fuse-layouts", "--model", actor, "--model", critic, "--json", "-o", path});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["format"], "dovetail/fused-layouts@1");
  EXPECT_THAT(content_of(path), HasSubstr("format: dovetail/pipeline-problem@1\n"));
}

TEST(FuseLayouts, WarnsAboutMicroBatchesOfDifferentSize) {
  const std::string more = "critic,dp=4,pp=4,tp=8,forward=4,backward=8,activation=2,microbatches=32";
  const ProgramResult result = run_program({"fuse-layouts", "--model", actor, "--model", more});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, StartsWith("dovetail: warning: "));
  EXPECT_THAT(result.out, HasSubstr("# warning: "));
}

TEST(FuseLayouts, NamesTheFailedCondition) {
  const std::string wrong = "critic,dp=4,pp=4,tp=4,forward=4,backward=8,activation=2,microbatches=16";
  const ProgramResult result = run_program({"fuse-layouts", "--model", actor, "--model", wrong});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, StartsWith("dovetail: "));
  EXPECT_THAT(result.out, IsEmpty());
}

struct WrongModel {
  std::string model;
  std::string message;
};
class WrongModels : public testing::TestWithParam<WrongModel> {};

TEST_P(WrongModels, AreRejectedWithAnExample) {
  const ProgramResult result = run_program({"fuse-layouts", "--model", GetParam().model, "--model", critic});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "dovetail: --model " + GetParam().message + "; example: --model " + actor + "\n");
  EXPECT_THAT(result.out, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Models, WrongModels,
    testing::Values(WrongModel{"dp=2", "dp=2: it must start with the model's name"},
                    WrongModel{"a,x", "a: 'x' must be KEY=VALUE"}, WrongModel{"a,dp=2,dp=2", "a: duplicate key 'dp'"},
                    WrongModel{"a,dp=0", "a: dp must be an integer from 1 to 65536, got '0'"},
                    WrongModel{"a,pd=2",
                               "a: unknown key 'pd'; did you mean 'dp'? Accepted: dp, pp, tp, microbatches, forward, "
                               "backward, activation"},
                    WrongModel{"a,dp=1,pp=1", "a: 'tp' is missing"},
                    WrongModel{
                        "a,dp=1,pp=4,tp=1,microbatches=1,forward=1/2,backward=1,activation=1",
                        "a: forward has 2 values for 4 stages; give one for all stages, or one per stage ('5/5/6/6')"},
                    WrongModel{"a,dp=1,pp=1,tp=1,microbatches=1,forward=x,backward=1,activation=1",
                               "a: forward 'x' is not a number; accepted: a number from 0 to 1000000000000000 tick"}));

TEST(FuseLayouts, NeedsTwoModelsAndAUnit) {
  const ProgramResult one = run_program({"fuse-layouts", "--model", actor});
  EXPECT_EQ(one.exit_code, 2);
  EXPECT_THAT(one.err, StartsWith("dovetail: --model must be given exactly twice, got 1; example: "));
  const ProgramResult unit = run_program({"fuse-layouts", "--model", actor, "--model", critic, "--time-unit", "hour"});
  EXPECT_EQ(unit.exit_code, 2);
  EXPECT_EQ(unit.err, "dovetail: --time-unit must be tick, s, ms, us or ns, got 'hour'\n");
}

}  // namespace
}  // namespace dovetail::cli
