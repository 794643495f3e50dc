// Runs the completion scripts in the shells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// Completions that bash offers for the last of `command_line`.
std::string complete(const std::string& command_line) {
  const std::string script = "source <('" DOVETAIL_BINARY "' completion bash); COMP_WORDS=(" + command_line +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _dovetail; printf '%s\\n' \"${COMPREPLY[@]}\"";
  const ProgramResult result = run_other({"bash", "-c", script});
  EXPECT_THAT(result.err, IsEmpty());
  return result.out;
}

TEST(BashCompletion, CompletesCommands) {
  EXPECT_EQ(complete("dovetail sch"), "schedule\n");
  EXPECT_EQ(complete("dovetail co"), "compare\nconvert\ncompletion\n");
}

TEST(BashCompletion, CompletesOptionsOfTheCommand) {
  EXPECT_EQ(complete("dovetail compare --dr"), "--draws\n");
  EXPECT_EQ(complete("dovetail bounds --dr"), "\n");
}

TEST(BashCompletion, CompletesSolversInstancesAndFormats) {
  EXPECT_EQ(complete("dovetail schedule exp5 --solver gre"), "greedy\n");
  EXPECT_EQ(complete("dovetail schedule exp5 --solver = gre"), "greedy\n");
  EXPECT_EQ(complete("dovetail schedule scale6"), "scale64\n");
  EXPECT_EQ(complete("dovetail check x --problem exp1"), "exp1\nexp10\nexp11\n");
  EXPECT_EQ(complete("dovetail convert a b --to csv"), "csv\ncsv-comms\n");
  EXPECT_EQ(complete("dovetail show a --color al"), "always\n");
  EXPECT_EQ(complete("dovetail schedule exp5 --objective p"), "pareto\n");
  EXPECT_EQ(complete("dovetail compare exp5 --objective m"), "makespan\nmemory\n");
}

TEST(BashCompletion, CompletesFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.write("one.json", "");
  EXPECT_EQ(complete("dovetail check " + folder.file("on")), path + "\n");
  EXPECT_EQ(complete("dovetail schedule exp5 --json " + folder.file("on")), path + "\n");
  EXPECT_EQ(complete("dovetail schedule exp5 --from " + folder.file("on")), path + "\n");
  EXPECT_EQ(complete("dovetail diff " + folder.file("on")), path + "\n");
}

TEST(ZshCompletion, NamesCommandsOptionsSolversAndInstances) {
  const ProgramResult result = run_program({"completion", "zsh"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out,
              AllOf(testing::StartsWith("#compdef dovetail\n"), HasSubstr("'schedule:compute a schedule of a problem'"),
                    HasSubstr("'--draws["), HasSubstr(":SOLVER:(gpipe 1f1b "), HasSubstr("compadd -- exp0 exp1 "),
                    HasSubstr("(always never auto)")));
}

TEST(ZshCompletion, IsValidZsh) {
  if (run_other({"zsh", "-c", "true"}).exit_code != 0) GTEST_SKIP() << "zsh is not installed";
  const TemporaryFolder folder;
  const std::string path = folder.write("_dovetail", run_program({"completion", "zsh"}).out);
  const ProgramResult syntax = run_other({"zsh", "-n", path});
  EXPECT_EQ(syntax.exit_code, 0) << syntax.err;
}

TEST(Completion, RejectsUnknownShells) {
  const ProgramResult result = run_program({"completion", "fish"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "dovetail: no completion for shell 'fish'; use bash or zsh\n");
}

TEST(Instances, ListPublishedResults) {
  const ProgramResult text = run_program({"instances"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, testing::ContainsRegex("\nexp9 [^\n]* 16 +4096 +606 +613 +651 +711 +38.72\n"));
  EXPECT_THAT(text.out, testing::ContainsRegex("\nscale64 [^\n]* 64 +65536\n"));
  EXPECT_THAT(text.out, testing::ContainsRegex("\nuneven stages:\n"));
  EXPECT_THAT(text.out, testing::ContainsRegex("\nthree-models-2 [^\n]* 8 +3 +448\n"));
  const nlohmann::json object = nlohmann::json::parse(run_program({"instances", "--json"}).out);
  EXPECT_EQ(object["format"], "dovetail/instances@1");
  EXPECT_EQ(object["instances"].size(), 44U);
  EXPECT_EQ(object["instances"][0]["group"], "published");
  EXPECT_EQ(object["instances"][43]["group"], "capacity");
  EXPECT_EQ(object["instances"][9]["published"]["makespan"], 613);
  EXPECT_FALSE(object["instances"][12].contains("published"));
}

}  // namespace
}  // namespace dovetail::cli
