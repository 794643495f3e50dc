#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_program.h"
#include "support/effort.h"

namespace dovetail::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(Schedule, ReportsMakespanAndPeakWithBounds) {
  const ProgramResult result = run_program({"schedule", "exp5", "--solver", "greedy"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("exp5: 8 devices, 2 models, 2 pipelines, 256 ops\nsolver: greedy\n"),
                                testing::ContainsRegex("makespan +225 ticks +bound 225 +optimal\n"),
                                testing::ContainsRegex("peak activation +23.6 +bound [0-9.]+ +gap [0-9.]+%\n"),
                                testing::ContainsRegex("bubbles +25.3%\n")));
  EXPECT_THAT(result.err, IsEmpty());
}

TEST(Schedule, JsonIsOneObjectWithExactNumbers) {
  const ProgramResult result = run_program({"schedule", "exp5", "--solver", "greedy", "--json"});
  ASSERT_EQ(result.exit_code, 0);
  const json object = json::parse(result.out);
  EXPECT_EQ(object["format"], "dovetail/schedule-report@1");
  EXPECT_EQ(object["problem"], "exp5");
  EXPECT_EQ(object["solver"], json({{"name", "greedy"}}));
  EXPECT_EQ(object["makespan"], 225);
  EXPECT_EQ(object["peak_activation"], 23.6);
  EXPECT_EQ(object["bounds"]["makespan"], 225);
  EXPECT_EQ(object["optimal"], json({{"makespan", true}, {"peak_activation", false}}));
  EXPECT_EQ(object["fits"], true);
  EXPECT_EQ(object["written"], json::array());
  EXPECT_TRUE(object["timing"]["seconds"].is_number());
  EXPECT_THAT(result.out, HasSubstr("\"peak_activation\": 23.6,"));
}

TEST(Schedule, ReadsAProblemFromStandardInputAndWritesToStandardOutput) {
  const ProgramResult result =
      run_program({"schedule", "-", "--solver", "greedy", "-o", "-"}, {.input = small_problem});
  ASSERT_EQ(result.exit_code, 0);
  const json schedule = json::parse(result.out);
  EXPECT_EQ(schedule["format"], "dovetail/schedule@1");
  EXPECT_EQ(schedule["makespan"], 9);
  EXPECT_THAT(result.err, HasSubstr("makespan"));
}

struct Written {
  const char* name;
  const char* start;
};
class ScheduleFiles : public testing::TestWithParam<Written> {};

TEST_P(ScheduleFiles, AreWrittenInTheFormatOfTheirExtension) {
  const TemporaryFolder folder;
  const std::string path = folder.file(GetParam().name);
  const ProgramResult result =
      run_program({"schedule", "-", "--solver", "greedy", "-o", path}, {.input = small_problem});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("written: " + path + "\n"));
  EXPECT_THAT(content_of(path), StartsWith(GetParam().start));
}

INSTANTIATE_TEST_SUITE_P(Formats, ScheduleFiles,
                         testing::Values(Written{"s.json", "{\"format\": \"dovetail/schedule@1\""},
                                         Written{"s.chrome.json", "{"}, Written{"s.trace.json", "{"},
                                         Written{"s.svg", "<svg"}, Written{"s.csv", "0F0,"},
                                         Written{"s.txt", "[0, 0, 0, 0, 1, 1.5"}));

TEST(Schedule, AcceptsAFormatName) {
  const TemporaryFolder folder;
  const std::string path = folder.file("picture.xml");
  EXPECT_EQ(
      run_program({"schedule", "-", "--solver", "greedy", "-o", path, "--format", "svg"}, {.input = small_problem})
          .exit_code,
      0);
  EXPECT_THAT(content_of(path), HasSubstr("<svg"));
}

TEST(Schedule, JsonOnStandardOutputHoldsTheFile) {
  const auto answer_of = [](const std::string& format) {
    const ProgramResult result = run_program(
        {"schedule", "-", "--solver", "greedy", "--json", "-o", "-", "--format", format}, {.input = small_problem});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, IsEmpty());
    return nlohmann::json::parse(result.out);
  };
  const nlohmann::json answer = answer_of("json");
  EXPECT_EQ(answer["format"], "dovetail/schedule-report@1");
  EXPECT_EQ(answer["written"], nlohmann::json::array());
  EXPECT_EQ(answer["output"]["format"], "dovetail/schedule@1");
  EXPECT_EQ(answer["output"]["makespan"], answer["makespan"]);
  EXPECT_THAT(answer_of("svg")["output"].get<std::string>(), StartsWith("<svg"));
  EXPECT_THAT(answer_of("csv")["output"].get<std::string>(), StartsWith("0F0,"));
}

TEST(Schedule, RejectsUnwritableOutputsEarly) {
  const ProgramResult extension = run_program({"schedule", "exp5", "-o", "plan.pdf"});
  EXPECT_EQ(extension.exit_code, 2);
  EXPECT_EQ(extension.err,
            "dovetail: cannot tell the format of 'plan.pdf'; use .json, .chrome.json, .svg, .csv or .txt, a folder "
            "with a trailing slash for programs, or give the format with --format (convert: --to): "
            "json|trace|chrome|svg|csv|csv-comms|programs\n");
  const ProgramResult format = run_program({"schedule", "exp5", "-o", "x", "--format", "cvs"});
  EXPECT_EQ(format.exit_code, 2);
  EXPECT_EQ(format.err,
            "dovetail: 'cvs' is not a schedule format; did you mean 'csv'? Accepted: json, trace, chrome, svg, csv, "
            "csv-comms, programs\n");
  const ProgramResult folder = run_program({"schedule", "exp5", "-o", "no-such-folder/plan.json"});
  EXPECT_EQ(folder.exit_code, 1);
  EXPECT_EQ(folder.err, "no-such-folder/plan.json: the folder 'no-such-folder' does not exist\n");
  const TemporaryFolder there;
  const ProgramResult picture = run_program({"schedule", "exp5", "--format", "svg", "-o", there.file("")});
  EXPECT_EQ(picture.exit_code, 1);
  EXPECT_THAT(picture.err, HasSubstr("Is a directory"));
  EXPECT_EQ(picture.out, "");
  const ProgramResult alone = run_program({"schedule", "exp5", "--format", "svg"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_EQ(alone.err, "dovetail: --format needs -o FILE\n");
}

TEST(Schedule, NamesTheSolversIfOneIsUnknown) {
  const ProgramResult result = run_program({"schedule", "exp5", "--solver", "gredy"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              StartsWith("dovetail: there is no solver 'gredy'; did you mean 'greedy'? The solvers are gpipe, 1f1b, "));
}

TEST(Schedule, ExplainsWhyASolverIsNotApplicable) {
  const ProgramResult result = run_program({"schedule", "exp5", "--solver", "zb-h1", "--json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, StartsWith("dovetail: solver 'zb-h1' is not applicable to this problem: "));
  EXPECT_THAT(result.out, IsEmpty());
}

struct WrongValue {
  const char* option;
  const char* value;
  const char* message;
};
class WrongValues : public testing::TestWithParam<WrongValue> {};

TEST_P(WrongValues, AreRejectedWithAcceptedValues) {
  const ProgramResult result =
      run_program({"schedule", "exp5", std::string(GetParam().option) + "=" + GetParam().value});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, std::string("dovetail: ") + GetParam().option + ": " + GetParam().message +
                            "\nsee dovetail schedule --help\n");
  EXPECT_THAT(result.out, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Options, WrongValues,
    testing::Values(
        WrongValue{"--chains", "0", "must be an integer from 1 to 4096, got '0'"},
        WrongValue{"--chains", "two", "must be an integer from 1 to 4096, got 'two'"},
        WrongValue{"--iterations", "1e6", "must be an integer from 1 to 1000000000000, got '1e6'"},
        WrongValue{"--threads", "-1", "must be an integer from 1 to 1024, got '-1'"},
        WrongValue{"--seed", "-3", "must be an integer from 0 to 18446744073709551615, got '-3'"},
        WrongValue{
            "--time-limit", "soon",
            "'soon' is not a duration; accepted: more than 0 and at most 1e7 seconds, such as 30, 500ms, 2m or 1h"},
        WrongValue{"--time-limit", "0",
                   "'0' is not a duration; accepted: more than 0 and at most 1e7 seconds, such as 30, 500ms, 2m or 1h"},
        WrongValue{"--memory-cap", "much", "'much' is not a number; accepted: a number from 0 to 1000000000000"},
        WrongValue{"--memory-cap", "-1", "'-1' is negative; accepted: a number from 0 to 1000000000000"}));

TEST(Schedule, ExceededCapacityWritesNothing) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program(
      {"schedule", "exp5", "--solver", "greedy", "--memory-cap", "20", "-o", folder.file("s.json"), "--json"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(folder.size(), 0U);
  EXPECT_THAT(result.err, AllOf(StartsWith("dovetail: no schedule found by greedy fits in memory; the closest one:\n"),
                                testing::ContainsRegex("device +peak memory +capacity +excess\n"),
                                testing::ContainsRegex("3 +23.6 +20 +3.6\n")));
  const json object = json::parse(result.out);
  EXPECT_EQ(object["fits"], false);
  EXPECT_EQ(object["excess"][1], json({{"device", 3}, {"held", 23.6}, {"capacity", 20}, {"excess", 3.6}}));
}

TEST(Schedule, ShowsFreeMemoryByDevice) {
  const ProgramResult result = run_program({"schedule", "exp5", "--solver", "1f1b", "--memory-cap", "20"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out,
              AllOf(testing::ContainsRegex("device +resident +peak activation +peak memory +capacity +free\n"),
                    testing::ContainsRegex("\n +0 +0 +15.6 +15.6 +20 +4.4\n")));
}

TEST(Schedule, ReportsADifferentLayout) {
  EXPECT_THAT(run_program({"schedule", "exp5", "--solver", "1f1b+"}).out, HasSubstr("\ndifferent layout: "));
}

TEST(Schedule, IsIndependentOfThreads) {
  const TemporaryFolder folder;
  for (const char* threads : {"1", "3"}) {
    const ProgramResult result = run_program({"schedule", "exp2", "--solver", "annealing", "--iterations", "2000",
                                              "--threads", threads, "-o", folder.file(std::string(threads) + ".json")});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_THAT(content_of(folder.file("1.json")), Not(IsEmpty()));
  EXPECT_EQ(content_of(folder.file("1.json")), content_of(folder.file("3.json")));
}

TEST(Schedule, InterruptedWritesTheBestSoFar) {
  const TemporaryFolder folder;
  const std::string path = folder.file("s.json");
  const ProgramResult result =
      run_program({"schedule", "exp9", "--solver", "annealing", "--iterations", "1000000000", "-o", path, "--json"},
                  {.interrupt_after = std::chrono::milliseconds(400)});
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(json::parse(result.out)["stopped_by"], "interrupt");
  EXPECT_EQ(json::parse(content_of(path))["stopped_by"], "interrupt");
  EXPECT_EQ(run_program({"check", path}).exit_code, 0);
}

TEST(Schedule, NamesStandardOutputAsDestination) {
  const ProgramResult result =
      run_program({"schedule", "-", "--solver", "greedy", "-o", "-", "--format", "json"}, {.input = small_problem});
  EXPECT_THAT(result.err, AllOf(HasSubstr("written: <stdout>\n"), Not(HasSubstr("<stdin>\nwritten"))));
}

TEST(Schedule, WritesToPipesByTheirPath) {
  const ProgramResult stdout_pipe =
      run_other({"bash", "-c",
                 "'" DOVETAIL_BINARY "' schedule exp5 --solver greedy --format json -o /dev/stdout 2>/dev/null | cat"});
  EXPECT_EQ(json::parse(stdout_pipe.out)["makespan"], 225) << stdout_pipe.err;
  const ProgramResult numbered = run_other(
      {"bash", "-c",
       "'" DOVETAIL_BINARY "' schedule exp5 --solver greedy --format json -o /dev/fd/3 3>&1 >/dev/null | cat"});
  EXPECT_EQ(json::parse(numbered.out)["makespan"], 225) << numbered.err;
}

TEST(Schedule, CountsTheRowsOfASplitBackward) {
  const std::string split = std::string(small_problem) + "    weight_gradient: 1\n";
  EXPECT_THAT(run_program({"schedule", "-", "--solver", "zb-h1"}, {.input = split}).out,
              HasSubstr("<stdin>: 2 devices, 1 model, 1 pipeline, 12 ops\n"));
  EXPECT_THAT(run_program({"schedule", "-", "--solver", "1f1b"}, {.input = split}).out, HasSubstr(", 8 ops\n"));
}

TEST(Schedule, OversizedMicroBatchSkipsTheSearch) {
  const ProgramResult result = run_program({"schedule", "scale256", "--memory-cap", "1.5", "--json"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, AllOf(StartsWith("dovetail: no schedule fits in memory: resident memory plus a single "
                                           "micro-batch exceeds the capacity:\n"),
                                testing::ContainsRegex("\n +0 +1.64 +1.5 +0.14\n")));
  const json object = json::parse(result.out);
  EXPECT_EQ(object["impossible"], true);
  EXPECT_EQ(object["excess"].size(), 256U);
}

TEST(Schedule, NamesTheRequestedSolverIfNothingFits) {
  const ProgramResult result = run_program({"schedule", "exp5", "--memory-cap", "1.96", "--iterations", "10",
                                            "--solver", test::sanitized ? "search" : "auto"});
  // One micro-batch at a time needs 1.95.
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string two = std::string(small_problem) +
                          "  - name: critic\n    microbatches: 1\n    devices: [1, 0]\n    forward: 1\n"
                          "    backward: 2\n    activation: 1.5\n";
  const ProgramResult fits = run_program({"schedule", "-", "--solver", "gpipe", "--memory-cap", "2"}, {.input = two});
  EXPECT_EQ(fits.exit_code, 3);
  EXPECT_THAT(fits.err, StartsWith("dovetail: no schedule found by gpipe fits in memory"));
}

using testing::ContainsRegex;

json row_of(const json& comparison, const std::string& solver) {
  for (const json& row : comparison["rows"]) {
    if (row["solver"] == solver) return row;
  }
  return nullptr;
}

TEST(Compare, ReportsSpeedupsOverSerial1f1b) {
  const ProgramResult result = run_program({"compare", "exp1", "--solver", "1f1b", "--solver", "greedy", "--solver",
                                            "1f1b+", "--solver", "chimera", "--draws", "50", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json comparison = json::parse(result.out);
  EXPECT_EQ(comparison["format"], "dovetail/compare@1");
  EXPECT_EQ(comparison["bounds"]["makespan"], 372);
  EXPECT_EQ(comparison["baseline"], json({{"solver", "1f1b"}, {"makespan", 477}}));
  EXPECT_EQ(comparison["draws"], 50);
  EXPECT_EQ(comparison["objective"], "makespan");
  EXPECT_FALSE(comparison.contains("robust"));
  ASSERT_EQ(comparison["rows"].size(), 3U);
  EXPECT_EQ(row_of(comparison, "1f1b")["makespan"], 477);
  EXPECT_EQ(row_of(comparison, "1f1b")["speed_up"], 1);
  const json greedy = row_of(comparison, "greedy");
  EXPECT_EQ(greedy["makespan"], 425);
  EXPECT_EQ(greedy["peak_activation"], 33.3);
  EXPECT_NEAR(greedy["speed_up"], 477.0 / 425.0, 1e-6);
  EXPECT_NEAR(greedy["gap"], 53.0 / 372.0, 1e-6);
  ASSERT_EQ(greedy["varied"].size(), 2U);
  EXPECT_EQ(greedy["varied"][0]["by"], 0.05);
  EXPECT_EQ(greedy["varied"][1]["by"], 0.1);
  EXPECT_LE(greedy["varied"][1]["median"], greedy["varied"][1]["percentile_95"]);
  EXPECT_TRUE(row_of(comparison, "1f1b+").contains("other_layout"));
  ASSERT_EQ(comparison["not_applicable"].size(), 1U);
  EXPECT_EQ(comparison["not_applicable"][0]["solver"], "chimera");
  EXPECT_TRUE(comparison["timing"]["seconds"]["greedy"].is_number());
}

TEST(Compare, ReportsTheRequestedObjective) {
  const ProgramResult result = run_program({"compare", "exp2", "--solver", "auto", "--iterations", "50", "--draws", "1",
                                            "--objective", "memory", "--robust", "10", "--json"});
  const json comparison = json::parse(result.out);
  EXPECT_EQ(comparison["objective"], "memory");
  EXPECT_EQ(comparison["robust"], 10);
}

TEST(Compare, PrintsATableWithItsRemarks) {
  const ProgramResult result = run_program({"compare", "exp1", "--solver", "greedy", "--solver", "1f1b+", "--solver",
                                            "chimera", "--draws", "20", "--memory-cap", "20"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(ContainsRegex("solver +makespan +gap +speedup +peak +bubbles +.*5% median +95th"),
                                ContainsRegex("greedy +425 +14.2% +1.12x +33.3 +20.9% .* does not fit \\(by 13.3\\)\n"),
                                ContainsRegex("1f1b\\+ \\* +450 "), HasSubstr("\n* 1f1b+: different layout, "),
                                HasSubstr("\nsolver 'chimera' is not applicable to this problem: "),
                                HasSubstr("\nbounds: makespan 372 ticks, peak activation "),
                                HasSubstr("\nspeedup: relative to 1f1b (477 ticks)\n")));
}

TEST(Compare, RunsAllRegisteredSolversByDefault) {
  const ProgramResult result =
      run_program({"compare", "-", "--draws", "5", "--iterations", "200", "--json"}, {.input = small_problem});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json comparison = json::parse(result.out);
  for (const char* solver : {"gpipe", "1f1b", "greedy", "list", "annealing"})
    EXPECT_FALSE(row_of(comparison, solver).is_null()) << solver;
  for (const json& row : comparison["rows"]) {
    if (!row.contains("other_layout")) {
      EXPECT_GE(row["makespan"], comparison["bounds"]["makespan"]);
    }
  }
}

TEST(Compare, DrawsAreReproducible) {
  const std::vector<std::string> arguments{"compare", "exp5", "--solver", "greedy", "--draws", "50", "--json"};
  json first = json::parse(run_program(arguments).out);
  json second = json::parse(run_program(arguments).out);
  first.erase("timing");
  second.erase("timing");
  EXPECT_EQ(first, second);
}

TEST(Compare, RefusesAnUnknownSolverAndNoDraws) {
  EXPECT_EQ(run_program({"compare", "exp5", "--solver", "fastest"}).exit_code, 2);
  const ProgramResult result = run_program({"compare", "exp5", "--draws", "0"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "dovetail: --draws: must be an integer from 1 to 1000000, got '0'\nsee dovetail compare --help\n");
}

TEST(Compare, FailsIfNoSolverIsApplicable) {
  const ProgramResult result = run_program({"compare", "exp5", "--solver", "zb-v", "--solver", "zb-h1"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("dovetail: no solver is applicable:\n  solver 'zb-v' is not applicable"),
                                HasSubstr("\n  solver 'zb-h1' is not applicable")));
  EXPECT_EQ(result.out, "");
}

TEST(Compare, RunsASolverOnceAndRejectsItWithAll) {
  const ProgramResult twice =
      run_program({"compare", "exp5", "--solver", "greedy", "--solver", "greedy", "--draws", "5", "--json"});
  EXPECT_EQ(json::parse(twice.out)["rows"].size(), 1U);
  EXPECT_EQ(run_program({"compare", "exp5", "--solver", "greedy", "--all"}).exit_code, 2);
}

TEST(Compare, RoundsVariedMakespansForPeople) {
  std::string problem = small_problem;
  problem.replace(problem.find("time_unit: tick"), 15, "time_unit: ms");
  const ProgramResult result = run_program({"compare", "-", "--solver", "1f1b", "--draws", "20"}, {.input = problem});
  EXPECT_THAT(result.out, testing::Not(ContainsRegex("[0-9][.][0-9][0-9][0-9][0-9]")));
  EXPECT_THAT(result.out, ContainsRegex("[0-9][.][0-9][0-9][0-9] "));
}

}  // namespace

}  // namespace dovetail::cli
