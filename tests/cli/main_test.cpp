// The program as a whole: help, version, and errors in the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class EveryCommand : public testing::TestWithParam<const char*> {};

TEST_P(EveryCommand, HasAnExampleInItsHelp) {
  const ProgramResult result = run_program({GetParam(), "--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("Usage: dovetail "), HasSubstr("Example:\n  "),
                                HasSubstr(std::string("dovetail ") + GetParam())));
  EXPECT_THAT(result.err, IsEmpty());
}

TEST_P(EveryCommand, HelpFitsInAHundredColumns) {
  std::istringstream lines(run_program({GetParam(), "--help"}).out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST_P(EveryCommand, IsInTheHelpOfTheProgram) {
  EXPECT_THAT(run_program({"--help"}).out, HasSubstr(std::string("\n  ") + GetParam() + " "));
}

TEST_P(EveryCommand, RefusesAnUnknownOption) {
  const ProgramResult result = run_program({GetParam(), "--hepl"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "dovetail: unknown option '--hepl'; did you mean '--help'?\nsee dovetail " +
                            std::string(GetParam()) + " --help\n");
  EXPECT_THAT(result.out, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Commands, EveryCommand,
                         testing::Values("schedule", "compare", "check", "diff", "bounds", "convert", "show", "report",
                                         "problem", "fuse-layouts", "import", "export", "plan", "fit", "explain",
                                         "simulate", "profile", "train", "sweep", "what-if", "forecast", "calibrate",
                                         "measured", "instances", "completion"));

TEST(Program, VersionNamesDependencies) {
  const ProgramResult result = run_program({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* part :
       {"dovetail ", "compiler: ", "build type: ", "fmt: ", "yaml-cpp: ", "nlohmann-json: ", "MPI: ", "libtorch: "}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
}

TEST(Program, WithoutACommandPrintsItsHelpAndFails) {
  const ProgramResult result = run_program({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("Usage: dovetail"));
}

TEST(Program, NamesTheNearestCommand) {
  const ProgramResult result = run_program({"shcedule", "exp5"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(
      result.err,
      AllOf(HasSubstr(
                "dovetail: unknown command 'shcedule'; did you mean 'schedule'? The commands are schedule, compare, "),
            HasSubstr("\nsee dovetail --help\n")));
}

TEST(Program, RejectsASurplusArgument) {
  const ProgramResult result = run_program({"bounds", "exp5", "exp6"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "dovetail: unexpected argument 'exp6'\nsee dovetail bounds --help\n");
}

TEST(Program, NamesTheMissingArgument) {
  const ProgramResult result = run_program({"bounds"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "dovetail: PROBLEM is required\nsee dovetail bounds --help\n");
}

TEST(Program, KeepsItsExitCodeIfStderrIsClosed) {
  for (const char* nowhere : {"2>/dev/full", "2>&-"}) {
    const std::string command = std::string("exec '" DOVETAIL_BINARY "' schedule nope ") + nowhere;
    EXPECT_EQ(run_other({"sh", "-c", command}).exit_code, 2) << nowhere;
  }
}

TEST(Program, FailsIfStandardOutputIsFull) {
  const ProgramResult result = run_other({"sh", "-c", "exec '" DOVETAIL_BINARY "' instances >/dev/full"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "dovetail: standard output: No space left on device\n");
}

TEST(Program, LeavesNoFileAtTheSizeLimit) {
  const TemporaryFolder folder;
  const std::string script = "ulimit -f 1; cd '" + folder.file("") +
                             "' && exec '" DOVETAIL_BINARY "' schedule exp5 --solver greedy -o out.json";
  const ProgramResult result = run_other({"bash", "-c", script});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("out.json: cannot be written: File too large"));
  EXPECT_EQ(folder.size(), 0U);
}

TEST(Program, RejectsArgumentsWithNewlines) {
  for (const std::string argument : {"a\nb", "a\tb", "\r"}) {
    const ProgramResult result = run_program({"schedule", argument, "--solver", "greedy"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("an argument must not contain newlines or tabs: '"));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  }
}

TEST(Program, OnlyTheFirstProcessReportsErrors) {
  const std::vector<std::string> wrong{"schedule", "exp5", "--mpi", "--bogus"};
  for (const std::string variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    const ProgramResult first = run_program(wrong, {.environment = {variable + "=0"}});
    EXPECT_EQ(first.exit_code, 2);
    EXPECT_THAT(first.err, HasSubstr("unknown option '--bogus'"));
    const ProgramResult second = run_program(wrong, {.environment = {variable + "=1"}});
    EXPECT_EQ(second.exit_code, 2);
    EXPECT_EQ(second.err, "");
  }
  // Without --mpi, every process reports its own errors.
  EXPECT_THAT(run_program({"schedule", "--bogus"}, {.environment = {"PMI_RANK=1"}}).err,
              HasSubstr("unknown option '--bogus'"));
}

TEST(ProblemArgument, NamesTheNearestInstances) {
  const ProgramResult result = run_program({"bounds", "exp55"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(
      result.err,
      "dovetail: 'exp55' is neither a file nor a bundled instance; did you mean 'exp5'? see dovetail instances\n");
  EXPECT_EQ(run_program({"bounds", "exp12"}).err,
            "dovetail: 'exp12' is neither a file nor a bundled instance; did you mean 'exp1', 'exp2' or 'exp10'? "
            "see dovetail instances\n");
  EXPECT_EQ(run_program({"bounds", "nowhere.yaml"}).err,
            "dovetail: 'nowhere.yaml' is neither a file nor a bundled instance; see dovetail instances\n");
}

TEST(ProblemArgument, MayBeStandardInput) {
  const ProgramResult result = run_program({"bounds", "-"}, {.input = small_problem});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("<stdin>: no schedule is shorter than 9 ticks\n"));
}

TEST(ProblemArgument, ErrorsStartWithTheirLocation) {
  const TemporaryFolder folder;
  std::string content = small_problem;
  content.replace(content.find("forward: 1"), 10, "forward: x");
  const std::string path = folder.write("wrong.yaml", content);
  const ProgramResult result = run_program({"bounds", path});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::StartsWith(path + ":8:14: "));
  EXPECT_THAT(result.out, IsEmpty());
}

TEST(ProblemArgument, FileTakesPrecedenceOverAnInstance) {
  const TemporaryFolder folder;
  folder.write("exp5", small_problem);
  const ProgramResult result =
      run_other({"sh", "-c", "cd \"$1\" && exec '" DOVETAIL_BINARY "' bounds exp5", "sh", folder.file("")});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("no schedule is shorter than 9 ticks"));
  EXPECT_EQ(result.err, "dovetail: note: 'exp5' is a file here; the bundled instance with this name is ignored\n");
}

TEST(ProblemArgument, RejectsAFolder) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program({"bounds", folder.file("")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, Not(IsEmpty()));
}

TEST(Program, NamesTheOptionWithoutItsValue) {
  const ProgramResult result = run_program({"schedule", "exp5", "--solver"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "dovetail: --solver needs a value\nsee dovetail schedule --help\n");
}

TEST(ProblemArgument, RejectsASchedule) {
  const std::string schedule =
      run_program({"schedule", "-", "--solver", "1f1b", "-o", "-"}, {.input = small_problem}).out;
  const ProgramResult result = run_program({"bounds", "-"}, {.input = schedule});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(
      result.err,
      "<stdin>: this is a schedule, not a problem; dovetail check - compares it with the bounds of its problem\n");
}

}  // namespace
}  // namespace dovetail::cli
