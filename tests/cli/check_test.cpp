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

std::string trace_of(const std::string& instance) {
  return repository_file("tests/data/flexfusion/trace_" + instance + ".txt");
}

/// A schedule of the small problem, as written by the program.
std::string small_schedule() {
  return run_program({"schedule", "-", "--solver", "1f1b", "-o", "-"}, {.input = small_problem}).out;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from << " is not in " << text;
  return place == std::string::npos ? text : text.replace(place, from.size(), to);
}

TEST(Check, ReportsATraceAndTheProblemThatItInferred) {
  const ProgramResult result = run_program({"check", trace_of("exp5")});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, StartsWith("dovetail: note: the problem was inferred"));
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("trace_exp5.txt: valid\nmakespan 225 ticks, bound 225, gap 0.0%\npeak activation 15.6, bound "),
            ContainsRegex("device +busy +bubbles +peak +warm-up +dependency +transfer +delay +drain\n"),
            ContainsRegex("\n +0 +168 +25.3% +15.6 "), HasSubstr("\nlongest idle stretches before an op:\n"),
            ContainsRegex(" of [^ ]+, stage [0-9]+ on device")));
}

TEST(Check, UsesTheGivenProblem) {
  const ProgramResult result = run_program({"check", trace_of("exp9"), "--problem", "exp9", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  const json object = json::parse(result.out);
  EXPECT_EQ(object["format"], "dovetail/check@1");
  EXPECT_EQ(object["valid"], true);
  EXPECT_EQ(object["makespan"], 613);
  EXPECT_EQ(object["peak_activation"], 43.64);
  EXPECT_EQ(object["bounds"]["makespan"], 606);
  EXPECT_EQ(object["devices"].size(), 16U);
}

TEST(Check, IdleTimeByCauseAddsUpToTheBubbles) {
  const json object = json::parse(run_program({"check", trace_of("exp4"), "--json"}).out);
  std::int64_t listed = 0;
  for (const json& stretch : object["idle"])
    listed += stretch["end"].get<std::int64_t>() - stretch["start"].get<std::int64_t>();
  std::int64_t summed = 0;
  for (const json& device : object["devices"]) {
    std::int64_t idle = 0;
    for (const auto& [cause, time] : device["idle"].items()) idle += time.get<std::int64_t>();
    EXPECT_EQ(idle + device["busy"].get<std::int64_t>(), object["makespan"].get<std::int64_t>());
    summed += idle;
  }
  EXPECT_GT(summed, 0);
  EXPECT_EQ(listed, summed);
}

TEST(Check, ShowsTheFirstViolationWithItsLocation) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("s.json", replaced(small_schedule(), R"(["F", 0, 0, 0, 1, 1, 2])", R"(["F", 0, 0, 0, 1, 0, 1])"));
  const ProgramResult result = run_program({"check", path, "--json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(StartsWith(path + ":"), ContainsRegex(":[0-9]+:[0-9]+: overlap: ")));
  const json object = json::parse(result.out);
  EXPECT_EQ(object["valid"], false);
  EXPECT_GT(object["violation"]["line"], 0);
  EXPECT_THAT(object["violation"]["message"], StartsWith("overlap: "));
}

TEST(Check, FalseClaimIsInvalid) {
  const ProgramResult result =
      run_program({"check", "-"}, {.input = replaced(small_schedule(), R"("makespan": 9)", R"("makespan": 8)")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(StartsWith("<stdin>"), HasSubstr("makespan")));
  EXPECT_THAT(result.out, IsEmpty());
}

TEST(Check, NamesFalseBounds) {
  const std::string claimed = replaced(small_schedule(), R"("bounds": {"makespan": 9)", R"("bounds": {"makespan": 10)");
  const ProgramResult result = run_program({"check", "-"}, {.input = claimed});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(
      result.out,
      AllOf(StartsWith("<stdin>: valid, but a claim in the file is false\n"),
            HasSubstr("\nfalse claim: bounds.makespan: 10 is above this schedule's 9\n"),
            HasSubstr(
                "\nfalse claim: optimal.makespan: true, but the schedule's 9 does not equal the file's bound 10\n")));
  const ProgramResult as_json = run_program({"check", "-", "--json"}, {.input = claimed});
  EXPECT_EQ(as_json.exit_code, 1);
  const json object = json::parse(as_json.out);
  EXPECT_EQ(object["valid"], true);
  EXPECT_EQ(object["claims"].size(), 2U);
  EXPECT_EQ(object["claims"][0]["key"], "bounds.makespan");
  EXPECT_EQ(object["claims"][0]["verdict"], "false");
}

TEST(Check, ConfirmsWhatEverySolverClaims) {
  const TemporaryFolder folder;
  for (const char* solver : {"1f1b", "greedy", "search", "auto"}) {
    const std::string path = folder.file("s.json");
    ASSERT_EQ(
        run_program({"schedule", "-", "--solver", solver, "--iterations", "100", "-o", path}, {.input = small_problem})
            .exit_code,
        0);
    const ProgramResult result = run_program({"check", path, "--json"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_FALSE(json::parse(result.out).contains("claims")) << solver;
  }
}

TEST(Check, ScheduleOfAnotherProblemIsInvalid) {
  const ProgramResult result = run_program({"check", "-", "--problem", "exp5"}, {.input = small_schedule()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, IsEmpty());
}

TEST(Check, TicksAndSecondsCannotBeCompared) {
  const TemporaryFolder folder;
  const std::string problem = folder.write("p.yaml", replaced(small_problem, "time_unit: tick", "time_unit: ms"));
  const ProgramResult result = run_program({"check", "-", "--problem", problem}, {.input = small_schedule()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(
      result.err,
      "<stdin>: the schedule's time_unit is tick, but the problem's is ms; ticks and seconds cannot be compared\n");
}

TEST(Check, ReadsCsvWithItsProblem) {
  const TemporaryFolder folder;
  const std::string problem = folder.write("p.yaml", small_problem);
  const std::string csv = run_program({"convert", "-", "-", "--to", "csv"}, {.input = small_schedule()}).out;
  const ProgramResult result = run_program({"check", "-", "--problem", problem}, {.input = csv});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("makespan 9 ticks, bound 9, gap 0.0%\n"));
}

TEST(Check, ReportsDetectedFormats) {
  const ProgramResult problem = run_program({"check", "-"}, {.input = small_problem});
  EXPECT_EQ(problem.exit_code, 2);
  EXPECT_EQ(problem.err, "<stdin>: this is a problem, not a schedule; create a schedule with: dovetail schedule -\n");
  const ProgramResult nothing = run_program({"check", "-"}, {.input = "hello"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_EQ(nothing.err,
            "<stdin>:1:1: not a schedule; it must start with a brace (JSON), a bracket (FlexFusion trace) or an action "
            "such as 0F0 (PyTorch CSV)\n");
  EXPECT_EQ(run_program({"check", "-", "--format", "zz"}).err,
            "dovetail: 'zz' is not a schedule format; accepted: json, trace, csv\n");
  const ProgramResult instance = run_program({"check", "exp5"});
  EXPECT_EQ(instance.exit_code, 2);
  EXPECT_EQ(
      instance.err,
      "dovetail: 'exp5' is a problem, not a schedule; create a schedule with: dovetail schedule exp5 -o exp5.json\n");
  const ProgramResult format = run_program({"check", trace_of("exp5"), "--format", "svg"});
  EXPECT_EQ(format.exit_code, 2);
  EXPECT_EQ(format.err, "dovetail: svg files can be written, but not read; accepted: json, trace, csv\n");
  const ProgramResult both = run_program({"check", "-", "--problem", "-"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_EQ(both.err, "dovetail: the schedule and the problem cannot both be read from standard input\n");
}

TEST(Check, MissingFileIsAnIoFailure) {
  const ProgramResult result = run_program({"check", "no-such-file.json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(StartsWith("no-such-file.json: "), HasSubstr("No such file or directory")));
}

TEST(Check, RejectsFormatsThatCannotBeRead) {
  const std::vector<std::pair<std::string, std::string>> formats{
      {"chrome", "a Chrome trace, not a schedule; accepted: json, trace, csv (dovetail report - displays the trace)"},
      {"svg", "an SVG picture, which cannot be read; accepted: json, trace, csv"}};
  for (const auto& [format, what] : formats) {
    const std::string written = run_program({"convert", "-", "-", "--to", format}, {.input = small_schedule()}).out;
    const ProgramResult result = run_program({"check", "-"}, {.input = written});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.err, "<stdin>: this is " + what + "\n");
  }
}

TEST(Check, SkipsAByteOrderMark) {
  const std::string mark = "\xEF\xBB\xBF";
  const std::string csv = run_program({"convert", "-", "-", "--to", "csv"}, {.input = small_schedule()}).out;
  for (const std::string& content : {small_schedule(), content_of(trace_of("exp5")), csv}) {
    const ProgramResult result = run_program({"check", "-"}, {.input = mark + content});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

TEST(Check, RefusesTwoByteOrderMarks) {
  const std::string marks = "\xEF\xBB\xBF\xEF\xBB\xBF";
  const std::string csv = run_program({"convert", "-", "-", "--to", "csv"}, {.input = small_schedule()}).out;
  for (const auto& [format, content] :
       {std::pair("json", small_schedule()), std::pair("trace", content_of(trace_of("exp5"))), std::pair("csv", csv)}) {
    EXPECT_EQ(run_program({"check", "-", "--format", format}, {.input = marks + content}).exit_code, 2) << format;
    EXPECT_EQ(run_program({"check", "-"}, {.input = marks + content}).exit_code, 2) << format;
  }
}

TEST(Check, FalseClaimHasItsLocation) {
  const ProgramResult result = run_program(
      {"check", "-", "--json"}, {.input = replaced(small_schedule(), R"("makespan": 9)", R"("makespan": 8)")});
  EXPECT_THAT(result.err, ContainsRegex("^<stdin>:[0-9]+:[0-9]+: "));
  EXPECT_GT(json::parse(result.out)["violation"]["line"], 0);
}

}  // namespace
}  // namespace dovetail::cli
