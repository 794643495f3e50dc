#include "pipeline/formats/schedule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "base/file.h"
#include "pipeline/problem/problem_file.h"
#include "pipeline/schedule/validate.h"

namespace dovetail::pipeline {
namespace {

using base::FilePlace;
using testing::ElementsAre;

constexpr const char* problem_text =
    R"({"format": "dovetail/pipeline-problem@1", "time_unit": "UNIT", "devices": 2, "models": [
 {"name": "a", "microbatches": 1, "devices": [0, 1], "forward": 1, "backward": 2, "activation": 1.5}]})";
constexpr const char* columns_text = R"("columns": ["op", "model", "replica", "stage", "microbatch", "start", "end"])";
constexpr const char* devices_text =
    R"("devices": [[["F", 0, 0, 0, 0, 0, 1], ["B", 0, 0, 0, 0, 4, 6]], [["F", 0, 0, 1, 0, 1, 2], ["B", 0, 0, 1, 0, 2, 4]]])";

std::string with_unit(const std::string& unit) {
  std::string text = problem_text;
  return text.replace(text.find("UNIT"), 4, unit);
}

/// Returns a schedule file. The members under test are on line 4.
std::string file_text(const std::string& members, const std::string& unit = "tick") {
  std::string text = "{\"format\": \"dovetail/schedule@1\", \"time_unit\": \"" + unit + "\",\n \"problem\": ";
  text += with_unit(unit);
  text += ",\n";
  return text + members + "}";
}

std::string error_of(const std::string& content) {
  const auto file = parse_schedule(content, "s.json");
  return file.ok() ? "no error" : base::to_text(file.error());
}
std::string members_error(const std::string& members) { return error_of(file_text(members)); }
std::string claim_error(const std::string& claim) {
  return members_error(claim + ", " + columns_text + ", " + devices_text);
}
/// Returns the error of a row in column 15 of line 5.
std::string row_error(const std::string& row, const std::string& unit = "tick") {
  return error_of(file_text(std::string(columns_text) + ",\n \"devices\": [[" + row + "], []]", unit));
}

TEST(ParseSchedule, ReadsOpsAndPositions) {
  const ScheduleFile file =
      parse_schedule(file_text(std::string(columns_text) + ",\n" + devices_text), "s.json").value();
  EXPECT_EQ(file.schedule.problem, parse_problem(with_unit("tick"), "p.json").value());
  ASSERT_EQ(file.schedule.devices.size(), 2U);
  const ScheduledOp backward{{OpKind::B, ModelId(0), ReplicaId(0), StageId(1), MicrobatchId(0)}, Ticks(2), Ticks(4)};
  EXPECT_EQ(file.schedule.devices[1][1], backward);
  EXPECT_EQ(file.schedule.devices[0].size(), 2U);
  EXPECT_EQ(file.places[1][1].line, 5);
  EXPECT_EQ(file.places[1][1].column, 91);
  EXPECT_EQ(file.schedule.claims, Claims());
  EXPECT_TRUE(file.notes.empty());
}

TEST(ParseSchedule, ReadsAllClaims) {
  const Claims claims =
      parse_schedule(
          file_text(R"("makespan": 6, "peak_activation": 1.5, "bounds": {"makespan": 5, "peak_activation": 0.5},
    "optimal": {"makespan": false, "peak_activation": true}, "stopped_by": "time",
    "solver": {"name": "portfolio", "seed": 18446744073709551615, "chains": 4, "iterations": 0}, )" +
                    std::string(columns_text) + "," + devices_text),
          "s.json")
          ->schedule.claims;
  EXPECT_EQ(claims.makespan, Ticks(6));
  EXPECT_EQ(claims.peak_activation, Memory(1'500'000));
  EXPECT_EQ(claims.bound_makespan, Ticks(5));
  EXPECT_EQ(claims.bound_peak_activation, Memory(500'000));
  EXPECT_EQ(claims.optimal_makespan, false);
  EXPECT_EQ(claims.optimal_peak_activation, true);
  EXPECT_EQ(claims.stopped_by, StoppedBy::time);
  EXPECT_EQ(claims.solver, (SolverRecord{"portfolio", 18446744073709551615ULL, 4, 0}));
}

TEST(ParseSchedule, ReadsRowsByTheirColumns) {
  const std::string members =
      R"("columns": ["end", "start", "microbatch", "stage", "replica", "model", "op"], "devices": [[[6, 5, 4, 3, 2, 1, "W"]], []])";
  const ScheduledOp expected{{OpKind::W, ModelId(1), ReplicaId(2), StageId(3), MicrobatchId(4)}, Ticks(5), Ticks(6)};
  EXPECT_EQ(parse_schedule(file_text(members), "s.json")->schedule.devices[0][0], expected);
}

TEST(ParseSchedule, ReadsOpsMissingInTheProblem) {
  EXPECT_EQ(row_error(R"(["S", 9, 2147483647, 7, 6, 5, 5])"), "no error") << "the validator reports it";
}

TEST(ParseSchedule, TimesAreExactDecimalsOfTheUnit) {
  const std::string members = std::string(columns_text) + R"(, "devices": [[["F", 0, 0, 0, 0, 0.5, 1.000001]], []])";
  const ScheduleFile file = parse_schedule(file_text(members, "ms"), "s.json").value();
  EXPECT_EQ(file.schedule.devices[0][0].start, Ticks(500'000));
  EXPECT_EQ(file.schedule.devices[0][0].end, Ticks(1'000'001));
  EXPECT_EQ(row_error(R"(["F", 0, 0, 0, 0, 0, 1.0000005])", "ms"),
            "s.json:5:36: `end`: 1.0000005 has digits finer than one ns; accepted: at most 6 decimals");
}

TEST(ParseSchedule, NamesAMistakeInTheHead) {
  EXPECT_EQ(error_of("[]"),
            "s.json:1:1: the schedule must be a map, not a list; accepted: a map with the key `format`");
  EXPECT_EQ(error_of("{}"), "s.json:1:1: the schedule needs the key `format`; accepted: `format: dovetail/schedule@1`");
  EXPECT_EQ(error_of(R"({"format": "dovetail/pipeline-problem@1"})"),
            "s.json:1:12: `format` is the string `dovetail/pipeline-problem@1`; accepted: `dovetail/schedule@1`");
  EXPECT_EQ(error_of(R"({"format": "dovetail/schedule@1"})"), "s.json:1:1: the schedule needs the key `problem`");
  EXPECT_EQ(
      error_of("format: dovetail/schedule@1"),
      "s.json:1:2: not valid JSON: syntax error while parsing value - invalid literal; accepted: JSON (RFC 8259)");
  EXPECT_EQ(members_error(R"("makespam": 3)"),
            "s.json:4:1: unknown key `makespam` in the schedule; did you mean `makespan`? accepted: format, time_unit, "
            "problem, makespan, "
            "peak_activation, bounds, optimal, solver, stopped_by, columns, devices");
  std::string other_unit = file_text(columns_text);
  other_unit.replace(other_unit.find("tick"), 4, "ms");
  EXPECT_EQ(error_of(other_unit),
            "s.json:1:48: `time_unit` of the schedule is the string `ms`; accepted: `tick` (as in its problem)");
  std::string no_unit = file_text(columns_text);
  no_unit.replace(no_unit.find(", \"time_unit\": \"tick\""), 21, "");
  EXPECT_EQ(error_of(no_unit), "s.json:1:1: the schedule needs the key `time_unit`");
  std::string broken_problem = file_text(columns_text);
  broken_problem.replace(broken_problem.find("\"forward\": 1"), 12, "\"forward\": 0");
  EXPECT_EQ(error_of(broken_problem),
            "s.json:3:65: `forward` of model `a`: 0 is too short; accepted: at least one tick");
}

TEST(ParseSchedule, NamesAMistakeInTheClaims) {
  EXPECT_EQ(claim_error(R"("makespan": 1.5)"),
            "s.json:4:13: `makespan`: 1.5 is not an integer number of ticks; accepted: an integer, or a time_unit of "
            "s, ms, us or ns");
  EXPECT_EQ(claim_error(R"("makespan": "6")"),
            "s.json:4:13: `makespan` is the string `6`; accepted: a number (unit: tick)");
  EXPECT_EQ(claim_error(R"("peak_activation": null)"), "s.json:4:20: `peak_activation` is null; accepted: a number");
  EXPECT_EQ(claim_error(R"("peak_activation": 1e-7)"),
            "s.json:4:20: `peak_activation`: 1e-7 has more than six decimals; accepted: at most six");
  EXPECT_EQ(claim_error(R"("bounds": {"peak": 1})"),
            "s.json:4:12: unknown key `peak` in `bounds`; accepted: makespan, peak_activation");
  EXPECT_EQ(
      claim_error(R"("bounds": {"makespan": -1})"),
      "s.json:4:24: `makespan` of `bounds`: -1 is negative; accepted: a number from 0 to 4000000000000000000 tick");
  EXPECT_EQ(claim_error(R"("optimal": {"makespan": 1})"),
            "s.json:4:25: `makespan` of `optimal` is 1; accepted: true or false");
  EXPECT_EQ(claim_error(R"("optimal": true)"),
            "s.json:4:12: `optimal` must be a map, not true; accepted keys: makespan, peak_activation");
  EXPECT_EQ(claim_error(R"("solver": {})"), "s.json:4:11: `solver` needs the key `name`");
  EXPECT_EQ(claim_error(R"("solver": {"name": ""})"),
            "s.json:4:20: `name` of `solver` is the string ``; accepted: a non-empty string");
  EXPECT_EQ(claim_error(R"("solver": {"name": "x", "seed": -1})"),
            "s.json:4:33: `seed` is -1; accepted: an integer from 0 to 18446744073709551615");
  EXPECT_EQ(claim_error(R"("solver": {"name": "x", "chains": 0})"),
            "s.json:4:35: `chains` must be an integer from 1 to 9223372036854775807, not 0");
  EXPECT_EQ(claim_error(R"("stopped_by": "luck")"),
            "s.json:4:15: `stopped_by` is the string `luck`; accepted: bound, iterations, time, interrupt");
}

TEST(ParseSchedule, NamesAMistakeInTheColumns) {
  const auto columns_error = [](const std::string& columns) {
    return members_error("\"columns\": " + columns + ", " + devices_text);
  };
  const std::string accepted =
      "; accepted: `op`, `model`, `replica`, `stage`, `microbatch`, `start`, `end`, each once, in any order";
  EXPECT_EQ(members_error(devices_text), "s.json:1:1: the schedule needs the key `columns`");
  EXPECT_EQ(columns_error("[\"op\"]"), "s.json:4:12: `columns` is a list of 1" + accepted);
  EXPECT_EQ(columns_error("7"), "s.json:4:12: `columns` is 7" + accepted);
  EXPECT_EQ(columns_error(R"(["op", "op", "model", "replica", "stage", "microbatch", "start"])"),
            "s.json:4:19: `op` appears twice in `columns`" + accepted);
  EXPECT_EQ(columns_error(R"(["op", "model", "replica", "stage", "micro-batch", "start", "end"])"),
            "s.json:4:48: a column is the string `micro-batch`" + accepted);
}

TEST(ParseSchedule, NamesAMistakeInTheDevices) {
  const auto devices_error = [](const std::string& devices) {
    return members_error(std::string(columns_text) + ",\n\"devices\": " + devices);
  };
  EXPECT_EQ(members_error(columns_text), "s.json:1:1: the schedule needs the key `devices`");
  EXPECT_EQ(devices_error("[[]]"),
            "s.json:5:12: `devices` of the schedule is a list of 1; accepted: a list of 2 lists of ops, one per device "
            "of the problem");
  EXPECT_EQ(
      devices_error("2"),
      "s.json:5:12: `devices` of the schedule is 2; accepted: a list of 2 lists of ops, one per device of the problem");
  EXPECT_EQ(devices_error("[[], 3]"), "s.json:5:17: device 1 of the schedule is 3; accepted: a list of ops");
}

TEST(ParseSchedule, NamesAMistakeInARow) {
  EXPECT_EQ(row_error("7"), "s.json:5:15: an op is 7; accepted: a list of 7 values, one per column");
  EXPECT_EQ(row_error("[\"F\"]"), "s.json:5:15: an op is a list of 1; accepted: a list of 7 values, one per column");
  EXPECT_EQ(row_error(R"(["X", 0, 0, 0, 0, 0, 1])"), "s.json:5:16: `op` is the string `X`; accepted: F, B, I, W, S");
  EXPECT_EQ(row_error(R"([0, 0, 0, 0, 0, 0, 1])"), "s.json:5:16: `op` is 0; accepted: F, B, I, W, S");
  EXPECT_EQ(row_error(R"(["F", -1, 0, 0, 0, 0, 1])"),
            "s.json:5:21: `model` must be an integer from 0 to 2147483647, not -1");
  EXPECT_EQ(row_error(R"(["F", 0, 0, 2147483648, 0, 0, 1])"),
            "s.json:5:27: `stage` must be an integer from 0 to 2147483647, not 2147483648");
  EXPECT_EQ(row_error(R"(["F", 0, 0, 0, 0, -1, 1])"),
            "s.json:5:33: `start`: -1 is negative; accepted: a number from 0 to 4000000000000000000 tick");
  EXPECT_EQ(row_error(R"(["F", 0, 0, 0, 0, 0, 1.5])"),
            "s.json:5:36: `end`: 1.5 is not an integer number of ticks; accepted: an integer, or a time_unit of s, "
            "ms, us or ns");
  EXPECT_EQ(row_error(R"(["F", 0, 0, 0, 0, 2, 1])"),
            "s.json:5:36: `end` 1 is before `start` 2; accepted: `start` or later");
}

TEST(ScheduleToJson, IsCompactAndInTheOrderOfTheFormat) {
  Schedule schedule = parse_schedule(file_text(std::string(columns_text) + "," + devices_text), "s.json")->schedule;
  schedule.claims = {.makespan = Ticks(6),
                     .peak_activation = Memory(1'500'000),
                     .bound_makespan = Ticks(6),
                     .bound_peak_activation = std::nullopt,
                     .optimal_makespan = true,
                     .optimal_peak_activation = false,
                     .solver = SolverRecord{"portfolio", 1, 4, 120'000},
                     .stopped_by = StoppedBy::bound};
  EXPECT_EQ(schedule_to_json(schedule), R"({"format": "dovetail/schedule@1", "time_unit": "tick",
 "problem": {
   "format": "dovetail/pipeline-problem@1",
   "time_unit": "tick",
   "devices": 2,
   "models": [
     {"name": "a", "microbatches": 1, "devices": [0, 1], "forward": 1, "backward": 2, "activation": 1.5}
   ]
 },
 "makespan": 6, "peak_activation": 1.5, "bounds": {"makespan": 6}, "optimal": {"makespan": true, "peak_activation": false}, "solver": {"name": "portfolio", "seed": 1, "chains": 4, "iterations": 120000}, "stopped_by": "bound",
 "columns": ["op", "model", "replica", "stage", "microbatch", "start", "end"],
 "devices": [
  [["F", 0, 0, 0, 0, 0, 1], ["B", 0, 0, 0, 0, 4, 6]],
  [["F", 0, 0, 1, 0, 1, 2], ["B", 0, 0, 1, 0, 2, 4]]
 ]}
)");
}

/// Returns the first block of that language in docs/formats.md.
std::string documented(const std::string& language) {
  const std::string text = base::read_file(DOVETAIL_SOURCE_DIR "/docs/formats.md").value();
  const std::string fence = "```" + language + "\n";
  const std::size_t begin = text.find(fence) + fence.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

TEST(Documentation, ShowsAValidScheduleOfItsProblem) {
  const Problem problem = parse_problem(documented("yaml"), "formats.md").value();
  EXPECT_EQ(problem_to_yaml(problem), documented("yaml"));
  const Schedule schedule = parse_schedule(documented("json"), "formats.md")->schedule;
  EXPECT_EQ(schedule.problem, problem);
  EXPECT_EQ(schedule_to_json(schedule), documented("json"));
  const auto violation = validate(schedule);
  EXPECT_FALSE(violation.has_value()) << violation->message;
}

TEST(PlaceOf, IsRowDeviceOrClaim) {
  const std::string head = "\"makespan\": 6,\n \"peak_activation\": 1.5,\n" + std::string(columns_text) + ",\n";
  const auto shown = [&](const std::string& devices, const std::string& claims_and_columns) {
    const ScheduleFile file =
        parse_schedule(file_text(claims_and_columns + "\"devices\": " + devices), "s.json").value();
    const auto violation = validate(file.schedule);
    if (!violation) return std::string("nothing");
    const FilePlace place = place_of(file, *violation);
    return std::string(name_of(violation->rule)) + " " + std::to_string(place.line) + ":" +
           std::to_string(place.column);
  };
  const std::string first = R"([["F", 0, 0, 0, 0, 0, 1], ["B", 0, 0, 0, 0, 4, 6]])";
  const std::string second = R"([["F", 0, 0, 1, 0, 1, 2], ["B", 0, 0, 1, 0, 2, 4]])";
  const std::string sound = "[" + first + ",\n" + second + "]";
  EXPECT_EQ(shown(sound, head), "nothing");
  EXPECT_EQ(shown("[" + first + ",\n" + R"([["F", 0, 0, 1, 0, 1, 2], ["B", 0, 0, 1, 0, 2, 5]]])", head),
            "wrong duration 8:27");
  EXPECT_EQ(shown("[" + first + ",\n  []]", head), "missing op 8:3");
  EXPECT_EQ(shown(sound, "\"makespan\": 7,\n" + std::string(columns_text) + ",\n"), "false makespan 4:13");
  EXPECT_EQ(shown(sound, "\"makespan\": 6,\n \"peak_activation\": 2,\n" + std::string(columns_text) + ",\n"),
            "false peak activation 5:21");
}

TEST(PlaceOf, IsListOfDevicesIfTheirNumberIsWrong) {
  ScheduleFile file = parse_schedule(file_text(std::string(columns_text) + ",\n" + devices_text), "s.json").value();
  file.schedule.problem.devices = 3;
  EXPECT_EQ(place_of(file, *validate(file.schedule)), (FilePlace{5, 12}));
  // A device that is not in the file.
  EXPECT_EQ(place_of(file, {.rule = Rule::missing_op, .message = "", .device = 2, .row = std::nullopt}),
            (FilePlace{5, 12}));
}

TEST(ScheduleFile, ReadsTimesAndPeaksUpToTheMaximumSum) {
  const Problem problem = parse_problem(R"({"format": "dovetail/pipeline-problem@1", "devices": 3, "models": [
 {"name": "a", "microbatches": 1, "devices": [0, 1, 2], "forward": 1, "backward": 2, "activation": 1000000000000, "transfer": 1e15},
 {"name": "b", "microbatches": 3, "devices": [0, 1, 2], "forward": 1, "backward": 2, "activation": 1000000000000}]})",
                                        "p.json")
                              .value();
  Schedule schedule{.problem = problem, .devices = {{}, {}, {}}, .claims = {}};
  const OpLabel last{OpKind::B, ModelId(0), ReplicaId(0), StageId(0), MicrobatchId(0)};
  schedule.devices[0].push_back({last, Ticks(4'000'000'000'000'007), Ticks(4'000'000'000'000'009)});
  schedule.claims.makespan = Ticks(4'000'000'000'000'009);
  schedule.claims.peak_activation = Memory(4'000'000'000'000'000'000);
  schedule.claims.bound_makespan = schedule.claims.makespan;
  schedule.claims.bound_peak_activation = schedule.claims.peak_activation;
  const auto again = parse_schedule(schedule_to_json(schedule), "s.json");
  ASSERT_TRUE(again.ok()) << base::to_text(again.error());
  EXPECT_EQ(again->schedule, schedule);
  EXPECT_EQ(row_error(R"(["F", 0, 0, 0, 0, 0, 4000000000000000001])"),
            "s.json:5:36: `end`: 4000000000000000001 exceeds the maximum time of 4000000000000000000 tick");
}

RC_GTEST_PROP(ScheduleFile, RoundTrips, ()) {
  const auto at_most = [](std::int64_t most) { return *rc::gen::inRange<std::int64_t>(0, most + 1); };
  const auto coin = [] { return *rc::gen::arbitrary<bool>(); };
  const std::string unit = *rc::gen::element<std::string>("tick", "s", "ms", "us", "ns");
  Schedule schedule{.problem = parse_problem(with_unit(unit), "p.json").value(), .devices = {{}, {}}, .claims = {}};
  for (auto& device : schedule.devices) {
    for (std::int64_t i = at_most(5); i > 0; --i) {
      const Ticks start(at_most(2'000'000'000));
      const auto index = [&] { return static_cast<std::int32_t>(at_most(3)); };
      device.push_back({{*rc::gen::element(OpKind::F, OpKind::B, OpKind::I, OpKind::W, OpKind::S), ModelId(index()),
                         ReplicaId(index()), StageId(index()), MicrobatchId(index())},
                        start,
                        start + Ticks(at_most(2'000'000'000))});
    }
  }
  Claims& claims = schedule.claims;
  if (coin()) claims.makespan = Ticks(at_most(99));
  if (coin()) claims.peak_activation = Memory(at_most(99));
  if (coin()) claims.bound_makespan = Ticks(at_most(99));
  if (coin()) claims.bound_peak_activation = Memory(at_most(99));
  if (coin()) claims.optimal_makespan = coin();
  if (coin()) claims.optimal_peak_activation = coin();
  if (coin()) claims.solver = SolverRecord{"a \"b\"", *rc::gen::arbitrary<std::uint64_t>(), 1 + at_most(9), at_most(9)};
  if (coin())
    claims.stopped_by =
        *rc::gen::element(StoppedBy::bound, StoppedBy::iterations, StoppedBy::time, StoppedBy::interrupt);
  RC_ASSERT(parse_schedule(schedule_to_json(schedule), "s.json")->schedule == schedule);
}

}  // namespace
}  // namespace dovetail::pipeline
