#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* timings =
    "model,stage,op,seconds,activation_bytes\n"
    "actor,0,F,0.5,2000000000\n"
    "actor,0,F,0.25,2000000000\n"
    "actor,0,F,0.75,2000000000\n"
    "actor,0,B,1,2000000000\n"
    "actor,1,F,0.5,2000000000\n"
    "actor,1,B,1,2000000000\n"
    "critic,0,F,0.25,1000000000\n"
    "critic,0,B,0.5,1000000000\n"
    "critic,1,F,0.25,1000000000\n"
    "critic,1,B,0.5,1000000000\n";

const std::vector<std::string> from_timings{"problem", "--from",         "-",       "--microbatches",
                                            "actor=4", "--microbatches", "critic=2"};

TEST(Problem, PrintsABundledInstance) {
  const ProgramResult printed = run_program({"problem", "exp5"});
  ASSERT_EQ(printed.exit_code, 0);
  EXPECT_THAT(printed.out, StartsWith("format: dovetail/pipeline-problem@1\n"));
  const ProgramResult bounds = run_program({"bounds", "-"}, {.input = printed.out});
  EXPECT_THAT(bounds.out, HasSubstr("no schedule is shorter than 225 ticks"));
}

TEST(Problem, PrintsJsonThatReadsBack) {
  const ProgramResult printed = run_program({"problem", "exp5", "--json"});
  EXPECT_EQ(json::parse(printed.out)["format"], "dovetail/pipeline-problem@1");
  EXPECT_EQ(run_program({"problem", "-"}, {.input = printed.out}).out, run_program({"problem", "exp5"}).out);
}

TEST(Problem, ConvertsMeasuredTimes) {
  const ProgramResult result = run_program(from_timings, {.input = timings});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const ProgramResult as_json = run_program({"problem", "-", "--json"}, {.input = result.out});
  const json problem = json::parse(as_json.out);
  EXPECT_EQ(problem["models"][0]["name"], "actor");
  EXPECT_EQ(problem["models"][0]["microbatches"], 4);
  EXPECT_EQ(problem["models"][1]["devices"], json({1, 0}));
  EXPECT_THAT(result.err, AllOf(ContainsRegex("model +stage +op +rows +median [a-z]+ +min +max +range\n"),
                                ContainsRegex("actor +0 +F +3 [^\n]* 100.0%\n")));
}

TEST(Problem, PlacesStagesByTheMap) {
  std::vector<std::string> arguments = from_timings;
  arguments.insert(arguments.end(), {"--map", "critic=0,1", "--json"});
  const ProgramResult result = run_program(arguments, {.input = timings});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["models"][1]["devices"], json({0, 1}));
}

TEST(Problem, WritesAFile) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program({"problem", "exp5", "-o", folder.file("p.yaml")});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_EQ(content_of(folder.file("p.yaml")), run_program({"problem", "exp5"}).out);
}

struct WrongArguments {
  std::vector<std::string> arguments;
  const char* message;
};
class WrongProblems : public testing::TestWithParam<WrongArguments> {};

TEST_P(WrongProblems, AreRejected) {
  std::vector<std::string> arguments{"problem"};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  const ProgramResult result = run_program(arguments, {.input = timings});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, std::string("dovetail: ") + GetParam().message + "\n");
  EXPECT_THAT(result.out, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Arguments, WrongProblems,
    testing::Values(
        WrongArguments{{}, "give either PROBLEM or --from TIMINGS.csv"},
        WrongArguments{{"exp5", "--from", "-"}, "give either PROBLEM or --from TIMINGS.csv"},
        WrongArguments{{"exp5", "--map", "actor=0"}, "--microbatches and --map need --from TIMINGS.csv"},
        WrongArguments{{"--from", "-", "--microbatches", "64"},
                       "--microbatches '64' must start with a model and '=', such as actor=64"},
        WrongArguments{{"--from", "-", "--microbatches", "actor=0"},
                       "--microbatches 'actor=0' must have a positive integer, such as actor=64"},
        WrongArguments{{"--from", "-", "--microbatches", "actor=1", "--microbatches", "actor=2"},
                       "--microbatches is given twice for model 'actor'"},
        WrongArguments{
            {"--from", "-", "--map", "actor=0,x"},
            "--map 'actor=0,x': 'x' is not a device number; expected actor=0,1,2,3 (the device of each stage)"}));

TEST(Problem, RejectsANumberThatIsTooLarge) {
  const ProgramResult result =
      run_program({"problem", "--from", "timings.csv", "--microbatches", "actor=99999999999999"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              testing::HasSubstr("--microbatches 'actor=99999999999999' is too large; the maximum is 2147483647"));
}

}  // namespace
}  // namespace dovetail::cli
