#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/schedule_files.h"

namespace dovetail::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Diff : public WithScheduleFiles {};

TEST_F(Diff, ReportsWhereEachScheduleIsBetter) {
  const ProgramResult result =
      run_program({"diff", schedule("exp5", "1f1b", "a.json"), schedule("exp5", "greedy", "b.json")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("/a.json (1f1b)\n"), HasSubstr("/b.json (greedy)\n"),
                                testing::ContainsRegex("\nmakespan +315 +225 +-90 +-28.6%\n"),
                                testing::ContainsRegex("\npeak activation +15.6 +23.6 +\\+8 +\\+51.3%\n"),
                                testing::ContainsRegex("\n[0-9]+ of 256 ops changed position on their device\n"),
                                HasSubstr("\nfirst difference on device "),
                                HasSubstr("\nin favor of A: 8 less peak activation; lower peak on devices "),
                                HasSubstr("\nin favor of B: 90 ticks shorter")));
  EXPECT_THAT(
      result.out,
      testing::ContainsRegex(
          "\ndevice +busy +peak A +peak B +idle A +idle B +warm-up +dependency +transfer +delay +drain +moved\n"));
  EXPECT_THAT(result.out, HasSubstr("\nlargest moves (micro-batches numbered in order of time):\n"));
}

TEST_F(Diff, JsonIsOneObjectWithExactNumbers) {
  const ProgramResult result =
      run_program({"diff", schedule("exp5", "1f1b", "a.json"), schedule("exp5", "greedy", "b.json"), "--json"});
  const json object = json::parse(result.out);
  EXPECT_EQ(object["format"], "dovetail/diff@1");
  EXPECT_EQ(object["change"], json({{"makespan", -90}, {"peak_activation", 8}}));
  EXPECT_EQ(object["equal"], false);
  EXPECT_EQ(object["a"]["made_by"], "1f1b");
  EXPECT_EQ(object["devices"].size(), 8U);
  EXPECT_EQ(object["devices"][0]["matched"], 32);
  EXPECT_EQ(object["devices"][0]["a"]["peak_activation"], 15.6);
  std::int64_t moved = 0;
  for (const json& device : object["devices"]) moved += device["moved"].get<std::int64_t>();
  EXPECT_EQ(object["moves"].size(), std::min<std::int64_t>(100, moved));
}

TEST_F(Diff, ReportsEqualSchedules) {
  const std::string path = schedule("exp5", "greedy", "a.json");
  const ProgramResult result = run_program({"diff", path, path});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("\nthe schedules are equal; micro-batch numbers were not compared\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("in favor of")));
  EXPECT_EQ(json::parse(run_program({"diff", path, path, "--json"}).out)["parting"], nullptr);
}

TEST_F(Diff, ReadsEveryFormat) {
  const std::string trace = repository_file("tests/data/flexfusion/trace_exp2.txt");
  const std::string own = schedule("exp2", "greedy", "b.json");
  // The trace does not contain its problem. The other file does, in either order.
  for (const auto& [a, b] : {std::pair(trace, own), std::pair(own, trace), std::pair(trace, trace)}) {
    const ProgramResult result = run_program({"diff", a, b});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_EQ(run_program({"diff", trace, own, "--problem", "exp2"}).exit_code, 0);
  const std::string problem = folder.write("p.yaml", small_problem);
  const std::string csv = folder.file("c.csv");
  ASSERT_EQ(run_program({"schedule", problem, "--solver", "1f1b", "-o", csv}).exit_code, 0);
  const ProgramResult order = run_program({"diff", csv, schedule(problem, "gpipe", "g.json")});
  EXPECT_EQ(order.exit_code, 0) << order.err;
  EXPECT_THAT(order.out, testing::ContainsRegex("\npeak activation +3 +3 +0\n"));
}

TEST_F(Diff, UsesTheProblemOfEitherFile) {
  std::string milliseconds = small_problem;
  milliseconds.replace(milliseconds.find("tick"), 4, "ms");
  const std::string problem = folder.write("p.yaml", milliseconds);
  const std::string trace = schedule(problem, "1f1b", "a.txt");
  const std::string own = schedule(problem, "gpipe", "b.json");
  // Without its problem, a trace is in ticks.
  const ProgramResult result = run_program({"diff", trace, "-"}, {.input = content_of(own)});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nB: <stdin> (gpipe)\n"));
}

TEST_F(Diff, ReadsEachFileOnce) {
  const std::string a = schedule("exp5", "1f1b", "a.json");
  const std::string b = schedule("exp5", "greedy", "b.json");
  const std::string command =
      "mkfifo \"$2.a\" \"$2.b\"; cat \"$1\" >\"$2.a\" & cat \"$2\" >\"$2.b\" & "
      "exec timeout 60 '" DOVETAIL_BINARY "' diff \"$2.a\" \"$2.b\"";
  const ProgramResult piped = run_other({"sh", "-c", command, "sh", a, b});
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_THAT(piped.out, HasSubstr("\nin favor of B: 90 ticks shorter"));
}

TEST_F(Diff, DrawsBothOnRequest) {
  const std::string a = schedule("exp5", "1f1b", "a.json");
  const std::string b = schedule("exp5", "greedy", "b.json");
  const ProgramResult drawn =
      run_program({"diff", a, b, "--gantt", "always", "--color", "never"}, {.environment = {"COLUMNS=100"}});
  EXPECT_THAT(drawn.out,
              AllOf(HasSubstr("\nmakespan 315 ticks, bubbles "), HasSubstr("\nmakespan 225 ticks, bubbles ")));
  std::size_t widest = 0;
  std::istringstream lines(drawn.out);
  for (std::string line; std::getline(lines, line) && line.find("A: ") != 0;) widest = std::max(widest, line.size());
  EXPECT_LE(widest, 100U);
  EXPECT_THAT(run_program({"diff", a, b}).out, Not(HasSubstr("bubbles 4")));
}

TEST_F(Diff, NamesDifferencesBetweenProblems) {
  const std::string a = schedule("exp1", "1f1b", "a.json");
  const std::string b = schedule("exp2", "1f1b", "b.json");
  const ProgramResult result = run_program({"diff", a, b});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, b + ": the problem of this schedule differs from " + a +
                            ": the number of micro-batches of model 33B is 8 in " + b + " and 16 in " + a + "\n");
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_EQ(run_program({"diff", a, a, "--problem", "exp2"}).exit_code, 2);
}

TEST_F(Diff, RejectsUnreadableInput) {
  const std::string a = schedule("exp5", "1f1b", "a.json");
  EXPECT_EQ(run_program({"diff", a}).err, "dovetail: B is required\nsee dovetail diff --help\n");
  EXPECT_EQ(run_program({"diff", a, a, a}).exit_code, 2);
  EXPECT_EQ(run_program({"diff", "-", "-"}).err,
            "dovetail: standard input can provide only one of A, B and the problem\n");
  EXPECT_EQ(run_program({"diff", "-", a, "--problem", "-"}).exit_code, 2);
  EXPECT_EQ(run_program({"diff", a, folder.file("missing.json")}).exit_code, 1);
  EXPECT_EQ(run_program({"diff", a, "exp5"}).exit_code, 2);
  EXPECT_EQ(run_program({"diff", a, folder.write("empty.json", "")}).exit_code, 2);
  EXPECT_EQ(run_program({"diff", a, a, "--format", "svg"}).exit_code, 2);
  EXPECT_EQ(run_program({"diff", a, a, "--gantt", "maybe"}).err,
            "dovetail: --gantt: must be always, never or auto, got 'maybe'\nsee dovetail diff --help\n");
  std::string broken = content_of(a);
  const std::string first = "[\"F\", 0, 0, 0, 1, 5, 10]";
  ASSERT_NE(broken.find(first), std::string::npos);
  broken.replace(broken.find(first), first.size(), "[\"F\", 0, 0, 0, 1, 4, 9]");
  EXPECT_EQ(run_program({"diff", a, "-"}, {.input = broken}).exit_code, 1);
}

}  // namespace
}  // namespace dovetail::cli
