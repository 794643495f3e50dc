// Options of `dovetail schedule`: objectives, deadlines, starts, robustness and fronts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/schedule_files.h"
#include "support/effort.h"

namespace dovetail::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

json report_of(const ProgramResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out);
}

TEST(ScheduleObjective, MemoryObjectiveMinimizesThePeak) {
  const json report =
      report_of(run_program({"schedule", "exp2", "--objective", "memory", "--iterations", "200", "--json"}));
  EXPECT_EQ(report["objective"], "memory");
  EXPECT_EQ(report["peak_activation"], 2);
  EXPECT_EQ(report["optimal"]["peak_activation"], true);
  EXPECT_GE(report["bounds"]["makespan_at_peak"], report["bounds"]["makespan"]);
  EXPECT_FALSE(report["bounds"].contains("peak_activation_at_deadline"));
  const ProgramResult text = run_program({"schedule", "exp2", "--objective", "memory", "--iterations", "200"});
  EXPECT_THAT(text.out, HasSubstr("\nlower bound on the makespan at this peak: " +
                                  report["bounds"]["makespan_at_peak"].dump() + " ticks\n"));
  EXPECT_EQ(report_of(run_program({"schedule", "exp2", "--solver", "greedy", "--json"}))["objective"], "makespan");
}

TEST(ScheduleDeadline, MinimizesThePeakUntilTheDeadline) {
  const json report =
      report_of(run_program({"schedule", "exp2", "--deadline", "400", "--iterations", "200", "--json"}));
  EXPECT_EQ(report["deadline"], 400);
  EXPECT_EQ(report["meets_deadline"], true);
  EXPECT_LE(report["makespan"], 400);
  EXPECT_LE(report["peak_activation"], 15.6);  // of serial 1F1B, which takes 309
  const json& bound = report["bounds"]["peak_activation_at_deadline"];
  EXPECT_LE(bound, report["peak_activation"]);
  EXPECT_FALSE(report["bounds"].contains("makespan_at_peak"));
  EXPECT_THAT(run_program({"schedule", "exp2", "--deadline", "400", "--iterations", "200"}).out,
              HasSubstr("\nlower bound on the peak for a makespan of at most 400 ticks: " + bound.dump() + "\n"));
}

TEST(ScheduleDeadline, IsInTheUnitOfTheProblem) {
  std::string milliseconds = small_problem;
  milliseconds.replace(milliseconds.find("tick"), 4, "ms");
  const ProgramResult result =
      run_program({"schedule", "-", "--deadline", "9.5", "--iterations", "10", "--json"}, {.input = milliseconds});
  EXPECT_EQ(report_of(result)["deadline"], 9.5);
  const ProgramResult fine = run_program({"schedule", "-", "--deadline", "9.5"}, {.input = small_problem});
  EXPECT_EQ(fine.exit_code, 2);
  EXPECT_THAT(fine.err, StartsWith("dovetail: --deadline: '9.5' "));
}

TEST(ScheduleDeadline, BelowTheBoundSkipsTheSearch) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program({"schedule", "exp2", "--deadline", "224", "-o", folder.file("s.json"), "--json"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.err,
            "dovetail: no schedule meets the deadline of 224 ticks: the lower bound on the makespan is 225\n");
  EXPECT_EQ(folder.size(), 0U);
  const json report = json::parse(result.out);
  EXPECT_EQ(report["impossible"], true);
  EXPECT_EQ(report["meets_deadline"], false);
  EXPECT_EQ(report["fits"], true);
}

TEST(ScheduleDeadline, MissedDeadlineWritesNothing) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program({"schedule", "exp2", "--deadline", "300", "--solver", "1f1b", "-o", folder.file("s.json"), "--json"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.err,
            "dovetail: no schedule found by 1f1b meets the deadline of 300 ticks; the shortest takes 309 (lower "
            "bound 225)\n");
  EXPECT_EQ(folder.size(), 0U);
  EXPECT_GT(json::parse(result.out)["bounds"]["peak_activation_at_deadline"], 0);
}

TEST(ScheduleRobust, ReportsTheWeights) {
  const ProgramResult result = run_program({"schedule", "exp2", "--robust", "30", "--iterations", "100"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(
      result.out,
      testing::ContainsRegex("\ndurations varied by up to 5%: makespan [0-9.]+ .median., [0-9.]+ .95th percentile.\n"));
  const json report = report_of(run_program({"schedule", "exp2", "--robust", "30", "--iterations", "100", "--json"}));
  EXPECT_EQ(report["robust"], 30);
  EXPECT_GE(report["varied"]["percentile_95"], report["varied"]["median"]);
  EXPECT_THAT(run_program({"schedule", "exp2", "--robust", "0", "--solver", "greedy"}).out,
              Not(HasSubstr("durations varied")));
}

TEST(ScheduleCapacity, ReportsTheSmallestSufficientCapacity) {
  const ProgramResult even = run_program({"schedule", "exp2", "--memory-cap", "1.5", "--json"});
  EXPECT_EQ(even.exit_code, 3);
  EXPECT_THAT(even.err, HasSubstr("\nminimum capacity for a schedule to fit: 2 on every device\n"));
  EXPECT_EQ(json::parse(even.out)["smallest_capacity"], json(std::vector<int>(8, 2)));
  // That capacity is sufficient.
  EXPECT_EQ(
      run_program({"schedule", "exp2", "--memory-cap", "2", "--solver", "search", "--iterations", "10"}).exit_code, 0);
}

TEST(ScheduleCapacity, ReportsCapacityByDevice) {
  std::string uneven = small_problem;
  uneven.replace(uneven.find("activation: 1.5"), 15, "activation: [1.5, 2.5]");
  uneven.insert(uneven.find("models:"), "memory: {resident: [0, 0.5]}\n");
  const ProgramResult result = run_program({"schedule", "-", "--memory-cap", "1"}, {.input = uneven});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("minimum capacity for a schedule to fit: 3 on the device that needs the most\n"),
                    testing::ContainsRegex("\ndevice +minimum capacity\n[- ]+\n +0 +1.5\n +1 +3\n")));
  EXPECT_EQ(run_program({"schedule", "-", "--memory-cap", "3"}, {.input = uneven}).exit_code, 0);
  EXPECT_EQ(run_program({"schedule", "-", "--memory-cap", "2.9"}, {.input = uneven}).exit_code, 3);
}

TEST(ScheduleCapacity, IsReportedIfASolverFailed) {
  const ProgramResult result = run_program({"schedule", "exp5", "--solver", "greedy", "--memory-cap", "20"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("\nminimum capacity for a schedule to fit: 1.95 on every device\n"));
}

class ScheduleFrom : public WithScheduleFiles {};

TEST_F(ScheduleFrom, IsNeverWorseThanItsStart) {
  const std::string start = schedule("exp2", "list", "list.json");
  const json before = json::parse(content_of(start));
  for (const char* solver : {"auto", "annealing"}) {
    const json report = report_of(run_program(
        {"schedule", "exp2", "--solver", solver, "--iterations", "1", "--chains", "1", "--from", start, "--json"}));
    EXPECT_LE(report["makespan"], before["makespan"]) << solver;
    const bool as_long = report["makespan"] == before["makespan"];
    EXPECT_TRUE(!as_long || report["peak_activation"] <= before["peak_activation"]) << solver;
  }
}

TEST_F(ScheduleFrom, TakesATrace) {
  const std::string trace = repository_file("tests/data/flexfusion/trace_exp2.txt");
  const json report =
      report_of(run_program({"schedule", "exp2", "--iterations", "1", "--chains", "1", "--from", trace, "--json"}));
  EXPECT_EQ(report["makespan"], 225);
  EXPECT_LE(report["peak_activation"], 15.6);
}

TEST_F(ScheduleFrom, MayStartFromAnInfeasibleSchedule) {
  const std::string start = schedule("exp2", "gpipe", "gpipe.json");
  const ProgramResult result = run_program({"schedule", "exp2", "--iterations", "10", "--memory-cap", "10", "--from",
                                            start, "--json", "--solver", test::sanitized ? "search" : "auto"});
  EXPECT_LE(report_of(result)["peak_activation"], 10);
}

TEST_F(ScheduleFrom, NamesDifferencesBetweenProblems) {
  const std::string start = schedule("exp1", "1f1b", "exp1.json");
  const ProgramResult result = run_program({"schedule", "exp2", "--from", start});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            start +
                ": the problem of this schedule differs from exp2: the number of micro-batches of model 33B is 16 in " +
                start + " and 8 in exp2\n");
}

TEST_F(ScheduleFrom, RejectsInvalidSchedules) {
  const std::string start = schedule("exp2", "1f1b", "late.json");
  std::string text = content_of(start);
  const std::string first = "[\"F\", 0, 0, 0, 1, 5, 10]";
  ASSERT_NE(text.find(first), std::string::npos);
  text.replace(text.find(first), first.size(), "[\"F\", 0, 0, 0, 1, 4, 9]");
  const ProgramResult result = run_program({"schedule", "exp2", "--from", folder.write("late.json", text)});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr(": overlap: "));
}

TEST_F(ScheduleFrom, RejectsUnsupportedStarts) {
  const std::string start = schedule("exp2", "1f1b", "s.json");
  EXPECT_EQ(run_program({"schedule", "exp2", "--from", start, "--solver", "greedy"}).err,
            "dovetail: --from needs a solver that searches; 'greedy' constructs its schedule by rule\n");
  EXPECT_EQ(run_program({"schedule", "-", "--from", "-"}).err,
            "dovetail: the problem and the starting schedule cannot both be read from standard input\n");
  EXPECT_EQ(run_program({"schedule", "exp2", "--from", "exp2"}).exit_code, 2);
  EXPECT_EQ(run_program({"schedule", "exp2", "--from", folder.file("missing.json")}).exit_code, 1);
  EXPECT_EQ(run_program({"schedule", "exp2", "--from", folder.write("text.json", "{]")}).exit_code, 2);
}

/// Front of a small problem; the tests do not depend on its size.
ProgramResult front(std::vector<std::string> options) {
  constexpr std::string_view problem = R"(format: dovetail/pipeline-problem@1
time_unit: tick
devices: 2
models:
  - {name: large, microbatches: 8, devices: [0, 1], forward: 2, backward: 4, activation: 2}
  - {name: small, microbatches: 8, devices: [1, 0], forward: 1, backward: 2, activation: 1}
)";
  options.insert(options.begin(), {"schedule", "-", "--objective", "pareto"});
  return run_program(options, {.input = std::string(problem)});
}

TEST(SchedulePareto, PrintsTheFrontWithBoundsAndConstructions) {
  const ProgramResult result = front({"--iterations", "100"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr(", from shortest makespan to lowest peak activation found\n"),
            HasSubstr("\nsolver: pareto, seed 1, 4 chains x 100 iterations"),
            testing::ContainsRegex("\n# +makespan +bound +peak +bound +makespan change +peak change +optimal\n"),
            testing::ContainsRegex("\nconstruction +makespan +peak +dominated by\n"),
            testing::ContainsRegex("\n1f1b +[0-9]+ ")));
}

TEST(SchedulePareto, JsonHasEveryPointWithItsBounds) {
  const json report = report_of(front({"--iterations", "100", "--json"}));
  EXPECT_EQ(report["format"], "dovetail/pareto-report@1");
  const json& points = report["front"];
  ASSERT_GT(points.size(), 2U);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_LE(points[i]["bounds"]["makespan"], points[i]["makespan"]);
    EXPECT_LE(points[i]["bounds"]["peak_activation"], points[i]["peak_activation"]);
    EXPECT_EQ(points[i]["optimal"]["makespan"], points[i]["bounds"]["makespan"] == points[i]["makespan"]);
    if (i == 0) continue;
    EXPECT_LT(points[i - 1]["makespan"], points[i]["makespan"]);
    EXPECT_GT(points[i - 1]["peak_activation"], points[i]["peak_activation"]);
  }
  EXPECT_EQ(points.back()["peak_activation"], 2);
}

TEST(SchedulePareto, WritesCompleteReproducibleSchedules) {
  const TemporaryFolder folder;
  for (const std::string threads : {"1", "2"})
    ASSERT_EQ(front({"--iterations", "100", "--threads", threads, "-o", folder.file(threads + ".json")}).exit_code, 0);
  const std::string content = content_of(folder.file("1.json"));
  EXPECT_EQ(content, content_of(folder.file("2.json")));
  const json written = json::parse(content);
  EXPECT_EQ(written["format"], "dovetail/pareto@1");
  for (const json& point : written["front"]) {
    const ProgramResult check = run_program({"check", "-"}, {.input = point["schedule"].dump()});
    EXPECT_EQ(check.exit_code, 0) << check.err;
    EXPECT_EQ(point["schedule"]["makespan"], point["makespan"]);
    EXPECT_EQ(point["schedule"]["peak_activation"], point["peak_activation"]);
  }
  EXPECT_THAT(run_program({"check", folder.file("1.json")}).err,
              HasSubstr("this is a Pareto front of several schedules; write one of them with: "));
}

TEST(SchedulePareto, DrawsThePicture) {
  const TemporaryFolder folder;
  const std::string path = folder.file("front.svg");
  ASSERT_EQ(front({"--iterations", "100", "-o", path}).exit_code, 0);
  EXPECT_THAT(content_of(path), AllOf(StartsWith("<svg"), HasSubstr(">serial 1f1b</text>"),
                                      HasSubstr(": makespan against peak activation")));
}

TEST(SchedulePareto, PicksOneSchedule) {
  const TemporaryFolder folder;
  const std::string path = folder.file("second.json");
  const json report = report_of(front({"--iterations", "100", "--json", "--pick", "2", "-o", path}));
  EXPECT_EQ(report["written"], json({path}));
  const json schedule = json::parse(content_of(path));
  EXPECT_EQ(schedule["format"], "dovetail/schedule@1");
  EXPECT_EQ(schedule["makespan"], report["front"][1]["makespan"]);
  EXPECT_EQ(schedule["solver"]["name"], "pareto");
}

TEST(SchedulePareto, JsonOnStandardOutputHoldsTheFront) {
  const json whole = report_of(front({"--iterations", "100", "--json", "-o", "-"}));
  EXPECT_EQ(whole["written"], json::array());
  EXPECT_EQ(whole["output"]["format"], "dovetail/pareto@1");
  EXPECT_EQ(whole["output"]["front"].size(), whole["front"].size());
  const json picked = report_of(front({"--iterations", "100", "--json", "--pick", "1", "-o", "-"}));
  EXPECT_EQ(picked["output"]["makespan"], picked["front"][0]["makespan"]);
}

TEST(SchedulePareto, PrintsTheFrontBeforeRejectingThePick) {
  const TemporaryFolder folder;
  const std::string path = folder.file("none.json");
  const ProgramResult beyond = front({"--iterations", "100", "--json", "--pick", "900", "-o", path});
  EXPECT_EQ(beyond.exit_code, 2);
  EXPECT_THAT(beyond.err,
              testing::ContainsRegex("dovetail: the front has [0-9]+ schedules; --pick must be from 1 to [0-9]+\n"));
  const json report = json::parse(beyond.out);
  EXPECT_GT(report["front"].size(), 2U);
  EXPECT_EQ(report["written"], json::array());
  EXPECT_THAT(front({"--iterations", "100", "--pick", "900", "-o", path}).out,
              HasSubstr(", from shortest makespan to lowest "));
  EXPECT_EQ(folder.size(), 0U);
}

TEST(SchedulePareto, TimeLimitCoversAllWork) {
  // The constructions alone exceed the limit. At least one of them completes.
  const json report =
      report_of(run_program({"schedule", "exp2", "--objective", "pareto", "--time-limit", "1us", "--json"}));
  EXPECT_GE(report["front"].size(), 1U);
  EXPECT_EQ(report["peak_bound"][0]["makespan"], 225);
}

TEST(SchedulePareto, InterruptedReturnsTheFrontSoFar) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program({"schedule", "exp9", "--objective", "pareto", "--iterations", "1000000000",
                                            "-o", folder.file("f.json"), "--json"},
                                           {.interrupt_after = std::chrono::milliseconds(500)});
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(json::parse(result.out)["stopped_by"], "interrupt");
  EXPECT_FALSE(content_of(folder.file("f.json")).empty());
}

TEST(SchedulePareto, RespectsTheCapacity) {
  const json report = report_of(front({"--iterations", "100", "--memory-cap", "4", "--json"}));
  for (const json& point : report["front"]) EXPECT_LE(point["peak_activation"], 4);
  EXPECT_EQ(front({"--iterations", "100", "--memory-cap", "1"}).exit_code, 3);
}

struct WrongCombination {
  std::vector<std::string> options;
  const char* message;
};
class WrongCombinations : public testing::TestWithParam<WrongCombination> {};

TEST_P(WrongCombinations, AreRejectedBeforeAnyWork) {
  std::vector<std::string> command{"schedule", "exp2"};
  command.insert(command.end(), GetParam().options.begin(), GetParam().options.end());
  const ProgramResult result = run_program(command);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, StartsWith(std::string("dovetail: ") + GetParam().message));
  EXPECT_THAT(result.out, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Options, WrongCombinations,
    testing::Values(
        WrongCombination{{"--objective", "speed"}, "--objective: must be makespan, memory or pareto, got 'speed'\n"},
        WrongCombination{{"--objective"}, "--objective needs a value\n"},
        WrongCombination{{"--robust", "101"}, "--robust: must be an integer from 0 to 100, got '101'\n"},
        WrongCombination{{"--robust", "5%"}, "--robust: must be an integer from 0 to 100, got '5%'\n"},
        WrongCombination{{"--deadline", "soon"}, "--deadline: 'soon' is not a number"},
        WrongCombination{{"--deadline=-1"}, "--deadline: '-1' is negative"},
        WrongCombination{{"--pick", "0"}, "--pick: must be an integer from 1 to 1000, got '0'\n"},
        WrongCombination{{"--pick", "1"}, "--pick needs --objective pareto: it selects a schedule of the front\n"},
        WrongCombination{{"--objective", "pareto", "--pick", "3"},
                         "--pick needs -o FILE: it selects the schedule to write\n"},
        WrongCombination{{"--objective", "pareto", "--robust", "5"},
                         "--objective pareto and --robust cannot be combined: "},
        WrongCombination{{"--objective", "pareto", "--deadline", "500"},
                         "--objective pareto and --deadline cannot be combined: "},
        WrongCombination{{"--objective", "pareto", "--solver", "greedy"}, "--objective pareto uses several solvers; "},
        WrongCombination{{"--objective", "pareto", "-o", "front.csv"},
                         "a front can be written as json or svg, not as csv; "},
        WrongCombination{{"--objective", "pareto", "-o", "front.pdf"}, "cannot tell the format of 'front.pdf'; "},
        WrongCombination{{"--objective", "pareto", "--format", "svg"}, "--format needs -o FILE\n"}));

}  // namespace
}  // namespace dovetail::cli
