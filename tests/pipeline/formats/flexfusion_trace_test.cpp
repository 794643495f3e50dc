#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/formats/schedule_file.h"
#include "pipeline/published_traces.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::pipeline {
namespace {

using base::FilePlace;
using testing::HasSubstr;

/// One model of one stage and one micro-batch that holds 1.5.
const Problem& one_stage_problem() {
  static const Problem problem =
      parse_trace("[0, 0, 0, 0, 2, 1.5], [0, 0, 1, 2, 3, 0]\n", "trace", nullptr)->schedule.problem;
  return problem;
}

TEST(FlexFusionTrace, PublishedTracesAreValid) {
  ASSERT_EQ(published_traces().size(), 17U);
  for (const PublishedTrace& trace : published_traces()) {
    SCOPED_TRACE(trace.instance + (trace.optimized ? " optimized" : ""));
    const Instance& instance = *find_instance(trace.instance);
    const auto file = parse_trace(read_trace(trace), "trace", &instance.problem);
    ASSERT_TRUE(file.ok()) << to_text(file.error());
    const auto violation = validate(file->schedule, tolerance);
    ASSERT_FALSE(violation) << violation->message;
    EXPECT_FALSE(file->activation_mismatch);
    EXPECT_TRUE(file->notes.empty());
    const Evaluation evaluation = evaluate(file->schedule).evaluation;
    EXPECT_EQ(evaluation.makespan, instance.published->makespan);
    EXPECT_EQ(file->schedule.claims.makespan, instance.published->makespan);
    EXPECT_EQ(evaluation.peak_activation,
              trace.optimized ? *instance.published->peak_activation_optimized : instance.published->peak_activation);
  }
}

TEST(FlexFusionTrace, InfersProblemsOfPublishedTraces) {
  for (const PublishedTrace& trace : published_traces()) {
    const Instance& instance = *find_instance(trace.instance);
    const auto file = parse_trace(read_trace(trace), "trace", nullptr);
    ASSERT_TRUE(file.ok()) << to_text(file.error());
    EXPECT_EQ(file->schedule.problem, instance.problem) << trace.instance;
    EXPECT_THAT(file->notes, testing::ElementsAre("the problem was inferred from the trace: it is " + instance.name +
                                                  ", " + instance.summary));
    EXPECT_FALSE(validate(file->schedule, tolerance));
    EXPECT_FALSE(file->activation_mismatch);
  }
}

TEST(FlexFusionTrace, DocumentedExampleIsValid) {
  const auto documentation = base::read_file(std::string(DOVETAIL_SOURCE_DIR) + "/docs/formats.md");
  ASSERT_TRUE(documentation.ok());
  const std::size_t begin = documentation->find("```text\n", documentation->find("## FlexFusion traces")) + 8;
  const std::string example = documentation->substr(begin, documentation->find("```", begin) - begin);
  const auto file = parse_trace(example, "formats.md", nullptr);
  ASSERT_TRUE(file.ok()) << to_text(file.error());
  EXPECT_FALSE(validate(file->schedule, tolerance));
  EXPECT_FALSE(file->activation_mismatch);
  EXPECT_EQ(file->schedule.claims.makespan, Ticks(18));
  auto schedule = file->schedule;
  schedule.claims.bound_makespan = Ticks(18);
  EXPECT_EQ(*schedule_to_trace(schedule), example);
}

/// A trace split into the units that tests damage: cells of each device line, and the summary.
struct TraceText {
  std::vector<std::vector<std::string>> devices;
  std::string summary;

  explicit TraceText(const std::string& text) {
    const std::size_t blank = text.find("\n\n");
    summary = text.substr(blank);
    devices.emplace_back();
    for (std::size_t i = 0; i < blank; ++i) {
      if (text[i] == '\n') devices.emplace_back();
      if (text[i] != '[') continue;
      const std::size_t end = text.find(']', i);
      devices.back().push_back(text.substr(i, end + 1 - i));
    }
  }

  std::string text() const {
    std::string all;
    for (std::size_t device = 0; device < devices.size(); ++device) {
      if (device > 0) all += '\n';
      for (const std::string& cell : devices[device]) all += cell + ", ";
    }
    return all + summary;
  }
};

std::vector<std::string> fields_of(const std::string& cell) {
  std::vector<std::string> fields(1);
  for (const char c : cell.substr(1, cell.size() - 2)) {
    if (c == ',')
      fields.emplace_back();
    else if (c != ' ')
      fields.back() += c;
  }
  return fields;
}

/// Adds to the start and the end of a cell.
std::string retimed(const std::string& cell, int start_change, int end_change) {
  const std::vector<std::string> fields = fields_of(cell);
  return "[" + fields[0] + ", " + fields[1] + ", " + fields[2] + ", " +
         std::to_string(std::stoi(fields[3]) + start_change) + ", " +
         std::to_string(std::stoi(fields[4]) + end_change) + ", " + fields[5] + "]";
}

struct Damage {
  std::string name;
  std::function<void(TraceText&)> apply;
  std::vector<Rule> rules;  ///< any of these may be the first broken rule
};

/// The seven kinds of damage that the published checker was tested with.
std::vector<Damage> damages() {
  return {
      {"shift",
       [](TraceText& trace) {
         // Every published start is as early as its order allows, so one tick earlier breaks something.
         std::string& cell = trace.devices[2][10];
         cell = retimed(cell, -1, -1);
       },
       {Rule::overlap, Rule::precedence}},
      {"longer op",
       [](TraceText& trace) {
         std::string& cell = trace.devices[3].back();
         cell = retimed(cell, 0, 1);
       },
       {Rule::wrong_duration}},
      {"drop", [](TraceText& trace) { trace.devices[1].erase(trace.devices[1].begin() + 5); }, {Rule::missing_op}},
      {"duplicate",
       [](TraceText& trace) { trace.devices[1].insert(trace.devices[1].begin() + 6, trace.devices[1][5]); },
       {Rule::duplicate_op}},
      {"swapped devices",
       [](TraceText& trace) { std::swap(trace.devices[0], trace.devices[1]); },
       {Rule::wrong_device}},
      {"broken precedence",
       [](TraceText& trace) {
         // The first op of a device that waits for another device starts immediately.
         for (auto& device : trace.devices)
           if (fields_of(device.front())[3] != "0") {
             const int start = std::stoi(fields_of(device.front())[3]);
             device.front() = retimed(device.front(), -start, -start);
             return;
           }
       },
       {Rule::precedence}},
      {"false peak",
       [](TraceText& trace) {
         const std::size_t peak = trace.summary.find("Peak memory usage: ", trace.summary.find("Ours:")) + 19;
         trace.summary.replace(peak, trace.summary.find('\n', peak) - peak, "12.340000");
       },
       {Rule::false_peak}},
  };
}

TEST(FlexFusionTrace, SevenKindsOfDamageAreFound) {
  for (const char* name : {"exp0", "exp2", "exp4", "exp8", "exp11"}) {
    const std::string text = read_trace({name, false});
    for (const Damage& damage : damages()) {
      SCOPED_TRACE(std::string(name) + ": " + damage.name);
      TraceText trace(text);
      damage.apply(trace);
      ASSERT_NE(trace.text(), TraceText(text).text());
      const auto file = parse_trace(trace.text(), "trace", &find_instance(name)->problem);
      ASSERT_TRUE(file.ok()) << to_text(file.error());
      const auto violation = validate(file->schedule, tolerance);
      ASSERT_TRUE(violation);
      EXPECT_THAT(damage.rules, testing::Contains(violation->rule))
          << name_of(violation->rule) << ": " << violation->message;
    }
  }
}

TEST(FlexFusionTrace, AFalseActivationIsFoundIfNothingElseIsWrong) {
  std::string text = read_trace({"exp2", false});
  const std::string cell = "[0, 1, 1, 10, 15, 3.900000]";
  ASSERT_NE(text.find(cell), std::string::npos);
  text.replace(text.find(cell), cell.size(), "[0, 1, 1, 10, 15, 3.900101]");
  const auto file = parse_trace(text, "exp2.txt", &find_instance("exp2")->problem);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(validate(file->schedule, tolerance));
  ASSERT_TRUE(file->activation_mismatch);
  EXPECT_EQ(file->activation_mismatch->failure, base::Failure::invalid);
  EXPECT_EQ(
      to_text(*file->activation_mismatch),
      "exp2.txt:2:29: false activation: the file claims 3.900101 after F1 of 33B stage 1; the actual value is 3.9");
}

TEST(FlexFusionTrace, AnActivationWithinTheToleranceIsAccepted) {
  std::string text = read_trace({"exp2", false});
  const std::string cell = "[0, 1, 1, 10, 15, 3.900000]";
  text.replace(text.find(cell), cell.size(), "[0, 1, 1, 10, 15, 3.900100]");
  EXPECT_FALSE(parse_trace(text, "exp2.txt", &find_instance("exp2")->problem)->activation_mismatch);
}

TEST(FlexFusionTrace, OpsHavePositions) {
  const auto file = parse_trace(
      "[0, 0, 0, 0, 1, 1.0], [0, 0, 3, 5, 7, 0.0], \n  [0, 0, 1, 1, 2, 1.0],[0, 0, 2, 2, 4, -0.000001]", "t", nullptr);
  ASSERT_TRUE(file.ok()) << to_text(file.error());
  ASSERT_EQ(file->places.size(), 2U);
  EXPECT_EQ(file->places[0][1].line, 1);
  EXPECT_EQ(file->places[0][1].column, 23);
  EXPECT_EQ(file->places[1][0].line, 2);
  EXPECT_EQ(file->places[1][0].column, 3);
  const ScheduledOp expected{{OpKind::B, ModelId(0), ReplicaId(0), StageId(1), MicrobatchId(0)}, Ticks(2), Ticks(4)};
  EXPECT_EQ(file->schedule.devices[1][1], expected);
  EXPECT_THAT(file->notes,
              testing::ElementsAre(
                  "the problem was inferred from the trace: model0 with 1 replica of 2 stages x 1 micro-batch"));
}

TEST(FlexFusionTrace, CellsOfALineMayBeInAnyOrder) {
  const std::string ordered = "[0, 0, 0, 0, 2, 1.5], [0, 1, 0, 2, 4, 3], [0, 0, 1, 4, 5, 1.5], [0, 1, 1, 5, 6, 0]\n";
  const std::string shuffled = "[0, 1, 1, 5, 6, 0], [0, 1, 0, 2, 4, 3], [0, 0, 0, 0, 2, 1.5], [0, 0, 1, 4, 5, 1.5]\n";
  const auto expected = parse_trace(ordered, "ordered", nullptr);
  const auto file = parse_trace(shuffled, "shuffled", nullptr);
  ASSERT_TRUE(expected.ok() && file.ok());
  EXPECT_EQ(file->schedule.problem, expected->schedule.problem);
  EXPECT_FALSE(file->activation_mismatch);
  EXPECT_FALSE(validate(file->schedule, tolerance));
  EXPECT_EQ(file->places[0][0].column, 1);
  EXPECT_EQ(file->schedule.devices[0][0].start, Ticks(5));

  const auto written = schedule_to_trace(file->schedule);
  ASSERT_TRUE(written.ok());
  const auto again = parse_trace(*written, "written", nullptr);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->schedule.devices, expected->schedule.devices);
}

TEST(FlexFusionTrace, ActivationOfUnorderedCellsIsCheckedByTime) {
  const auto by_place = parse_trace("[0, 0, 1, 2, 3, 1.5], [0, 0, 0, 0, 2, 0]\n", "by-place", &one_stage_problem());
  ASSERT_TRUE(by_place.ok());
  ASSERT_TRUE(by_place->activation_mismatch);
  EXPECT_EQ(to_text(*by_place->activation_mismatch),
            "by-place:1:23: false activation: the file claims 0 after F0 of model0 stage 0; the actual value is 1.5");
  const auto by_time = parse_trace("[0, 0, 1, 2, 3, 0], [0, 0, 0, 0, 2, 1.5]\n", "by-time", &one_stage_problem());
  ASSERT_TRUE(by_time.ok());
  EXPECT_FALSE(by_time->activation_mismatch);
}

std::string error_of(std::string_view text, const Problem* problem = nullptr) {
  const auto file = parse_trace(text, "t", problem);
  return file.ok() ? "no error" : to_text(file.error());
}

TEST(FlexFusionTrace, MalformedTextIsRejectedWithPosition) {
  EXPECT_EQ(error_of(""),
            "t:1:1: the file does not begin with a device line; accepted: a line of [model, microbatch, stage, start, "
            "end, activation] cells for each device");
  EXPECT_EQ(error_of("0F0"), "t:1:1: this is not a cell; accepted: [model, microbatch, stage, start, end, activation]");
  EXPECT_EQ(error_of("[0, x, 0, 0, 1, 1.0]"), "t:1:5: microbatch is 'x'; it must be an integer of at least 0");
  EXPECT_EQ(error_of("[-1, 0, 0, 0, 1, 1.0]"), "t:1:2: model is '-1'; it must be an integer of at least 0");
  EXPECT_EQ(error_of("[0, 0, 99999999999, 0, 1, 1.0]"),
            "t:1:8: stage '99999999999' is too large; it must be at most 2147483647");
  EXPECT_EQ(error_of("[0, 0, 0, -1, 1, 1.0]"),
            "t:1:11: start '-1' is negative; accepted: a number from 0 to 4000000000000000000 tick");
  EXPECT_EQ(error_of("[0, 0, 0, 0.5, 1, 1.0]"),
            "t:1:11: start '0.5' is not an integer number of ticks; times in another unit need --problem");
  EXPECT_EQ(error_of("[0, 0, 0, 3, 1, 1.0]"), "t:1:14: end is before start; accepted: start or later");
  EXPECT_EQ(error_of("[0, 0, 0, 0, 1, 1.0000001]"),
            "t:1:17: activation '1.0000001' has more than six decimals; accepted: at most six");
  EXPECT_EQ(error_of("[0, 0, 0, 0, 1]"),
            "t:1:15: missing ',' after end; a cell is [model, microbatch, stage, start, end, activation]");
  EXPECT_EQ(error_of("[0, 0, 0, 0, 1, 1.0, 7]"),
            "t:1:20: missing ']' after activation; a cell is [model, microbatch, stage, start, end, activation]");
  EXPECT_EQ(error_of("[0, 0, 0, 0, 1"),
            "t:1:15: missing ',' after end; a cell is [model, microbatch, stage, start, end, activation]");
  EXPECT_EQ(error_of("[0, 0, 0, 0, 1, 1.0] [0, 0, 1, 1, 2, 0.0]"),
            "t:1:22: unexpected text after a cell; accepted: a comma or the end of the line");
  const std::string line = "[0, 0, 0, 0, 1, 1.0], [0, 0, 1, 1, 2, 0.0]\n";
  EXPECT_EQ(error_of(line + "\n" + line), "t:3:1: a device line after a blank line; all device lines must come first");
  EXPECT_EQ(error_of(line + "\nOurs:\n  what"),
            "t:4:3: this is not 'name: value'; only summary lines may follow the device lines");
  EXPECT_EQ(error_of(line + "\nOurs:\nE2E time usage: soon"),
            "t:4:17: E2E time usage 'soon' is not a number; accepted: a number from 0 to 4000000000000000000 tick");
  EXPECT_EQ(error_of(line + "\nOurs:\nPeak memory usage: much"),
            "t:4:20: Peak memory usage 'much' is not a number; accepted: a number from 0 to 4000000000000");
  EXPECT_EQ(
      error_of(line + "\nOurs:\nPeak: 1"),
      "t:4:1: 'Peak' is unknown; accepted: E2E time usage, Peak memory usage, Utilization, Bubble rate, Time usage");
}

TEST(FlexFusionTrace, CellsOutsideTheProblemAreRejectedWithPosition) {
  Problem problem = find_instance("exp2")->problem;
  std::string lines;
  for (int device = 1; device < 8; ++device) lines += "\n[0, 0, 0, 0, 5, 1.95]";
  EXPECT_EQ(
      error_of("[3, 0, 0, 0, 5, 1.95]" + lines, &problem),
      "t:1:2: model 3 does not exist; a trace calls each pipeline a model, and the problem has 3, numbered from 0");
  EXPECT_EQ(error_of("[2, 0, 8, 0, 5, 1.95]" + lines, &problem),
            "t:1:8: 13B/1 has no stage 8; 0 to 3 are its forwards, 4 to 7 its backwards");
  EXPECT_EQ(error_of("[0, 0, 0, 0, 5, 1.95]", &problem),
            "t:1:1: the trace has 1 device lines; the problem has 8 devices and needs a line for each");
  problem.models[0].minibatches = 2;
  EXPECT_EQ(error_of("[0, 0, 0, 0, 5, 1.95]", &problem),
            "t: model 33B has optimizer steps, which a trace cannot express; use a problem without them");
}

TEST(FlexFusionTrace, UnknownMicrobatchIsLeftToTheValidator) {
  TraceText trace(read_trace({"exp2", false}));
  trace.devices[0][0].replace(4, 1, "99");
  const auto file = parse_trace(trace.text(), "t", &find_instance("exp2")->problem);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(validate(file->schedule, tolerance)->rule, Rule::unknown_op);
}

TEST(FlexFusionTrace, FailedInferenceAsksForTheProblem) {
  const std::string advice = "; specify the problem with --problem";
  EXPECT_EQ(error_of("[0, 0, 0, 0, 1, 1.0], [0, 1, 0, 1, 3, 2.0], [0, 0, 1, 3, 4, 1.0], [0, 1, 1, 4, 5, 0.0]"),
            "t:1:23: this op lasts 2, but others of model 0 stage 0 last 1: the durations cannot be inferred" + advice);
  EXPECT_EQ(
      error_of("[0, 0, 0, 0, 1, 1.0], [0, 1, 0, 1, 2, 3.0], [0, 0, 1, 3, 4, 1.0], [0, 1, 1, 4, 5, 0.0]"),
      "t:1:23: forwards of stage 0 and backwards of stage 1 of model 0 change the activation by 1 to 2; accepted: the "
      "same change by all of them, so that the activation can be inferred" +
          advice);
  EXPECT_EQ(error_of("[0, 0, 0, 0, 1, 1.0]"),
            "t:1:8: model 0 has 1 stages; the number must be even, because backwards count as stages too" + advice);
  EXPECT_EQ(error_of("[1, 0, 0, 0, 1, 1.0], [1, 0, 1, 1, 2, 0.0]"),
            "t:1:2: there is a model 1 but no model 0" + advice);
  EXPECT_EQ(error_of("[7, 0, 0, 0, 1, 1.0]"),
            "t:1:2: there is a model 7, but the trace has only 1 ops, and models count from 0" + advice);
  EXPECT_EQ(error_of("[0, 9, 0, 0, 1, 1.0], [0, 9, 1, 1, 2, 0.0]"),
            "t:1:5: model 0 has ops of micro-batch 9 but none of micro-batch 0" + advice);
  EXPECT_EQ(error_of("[0, 0, 0, 0, 1, 1.0], [0, 1, 0, 1, 2, 2.0], [0, 2, 0, 2, 3, 3.0], [0, 0, 3, 3, 4, 2.0]"),
            "t:1:74: model 0 has ops of stage 3 but none of stage 1" + advice);
  EXPECT_EQ(
      error_of("[0, 0, 0, 0, 0, 1.0], [0, 0, 1, 1, 2, 0.0]"),
      "t:1:1: no problem can be inferred: model model0 has an op that is shorter than one tick or too long" + advice);
}

TEST(FlexFusionTrace, InvalidTextIsRejectedWithPosition) {
  EXPECT_EQ(error_of("[0, 0, 0, 0, 1, 1.0]\n[\xFE"), "t:2:2: byte 0xFE is not UTF-8; accepted: UTF-8 text");
}

/// Returns the error of the trace of exp2 with `from` replaced by `to` on a line, read without a problem.
std::string damaged_error(std::size_t device, std::size_t row, const std::string& from, const std::string& to) {
  TraceText trace(read_trace({"exp2", false}));
  std::string& cell = trace.devices[device][row];
  EXPECT_TRUE(cell.starts_with(from)) << cell;
  cell.replace(0, from.size(), to);
  return error_of(trace.text());
}

TEST(FlexFusionTrace, WithoutAProblemTheOddOpIsReported) {
  const TraceText trace(read_trace({"exp2", false}));
  const std::vector<std::string> fields = fields_of(trace.devices[2][0]);
  const std::string from =
      "[" + fields[0] + ", " + fields[1] + ", " + fields[2] + ", " + fields[3] + ", " + fields[4] + ",";
  const std::string times = ", " + fields[3] + ", " + fields[4] + ",";
  const std::string model = "model " + fields[0];
  EXPECT_THAT(damaged_error(2, 0, from, "[" + fields[0] + ", 999, " + fields[2] + times),
              testing::StartsWith("t:3:5: " + model + " has ops of micro-batch 999 but none of micro-batch "));
  EXPECT_THAT(damaged_error(2, 0, from, "[" + fields[0] + ", " + fields[1] + ", 99" + times),
              testing::StartsWith("t:3:8: " + model + " has ops of stage 99 but none of stage "));
  EXPECT_THAT(damaged_error(2, 0, from, "[3, " + fields[1] + ", " + fields[2] + times), testing::StartsWith("t:3:"));
  // The first op of its stage in the file is the odd one.
  EXPECT_THAT(damaged_error(2, 0, from, "[" + fields[0] + ", " + fields[1] + ", " + fields[2] + ", 0, 77,"),
              testing::StartsWith("t:3:1: this op lasts 77, but others of " + model));
}

TEST(FlexFusionTrace, WithoutAProblemANumberJustBeyondTheOthersIsReported) {
  std::string line;
  for (int device = 0; device < 4; ++device) {
    for (int microbatch = 0; microbatch < 3; ++microbatch) {
      const int named = device == 2 && microbatch == 1 ? 3 : microbatch;
      for (const int stage : {device, 7 - device})
        line += "[0, " + std::to_string(stage < 4 ? named : microbatch) + ", " + std::to_string(stage) + ", 0, 1, " +
                (stage < 4 ? "1.0], " : "0.0], ");
    }
    line += "\n";
  }
  EXPECT_EQ(error_of(line),
            "t:3:49: micro-batch 3 of model 0 has fewer ops (1) than others (up to 8), so the problem cannot be "
            "inferred; specify the problem with --problem");
}

TEST(FlexFusionTrace, WithoutAProblemARepeatedLineIsADuplicate) {
  TraceText trace(read_trace({"exp2", false}));
  trace.devices.insert(trace.devices.begin() + 3, trace.devices[2]);
  EXPECT_THAT(error_of(trace.text()), testing::StartsWith("t:4:1: duplicate op: model "));
  EXPECT_THAT(error_of(trace.text()), testing::EndsWith("is already on line 3, column 1"));
}

TEST(FlexFusionTrace, ViolationsWithoutARowHavePositions) {
  const Problem& problem = find_instance("exp2")->problem;
  const auto place = [&](const TraceText& trace) {
    const auto file = parse_trace(trace.text(), "t", &problem);
    return place_of(*file, *validate(file->schedule, tolerance));
  };
  TraceText dropped(read_trace({"exp2", false}));
  dropped.devices[1].erase(dropped.devices[1].begin() + 5);
  EXPECT_EQ(place(dropped), (FilePlace{2, 1}));
  TraceText claimed(read_trace({"exp2", false}));
  const std::size_t ours = claimed.summary.find("Ours:");
  const std::size_t makespan = claimed.summary.find("usage: ", ours) + 7;
  claimed.summary.insert(makespan, "9");
  const std::string before = claimed.text().substr(0, claimed.text().size() - claimed.summary.size() + makespan);
  EXPECT_EQ(place(claimed), (FilePlace{1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')), 17}));
}

TEST(FlexFusionTraceWrite, RoundTrip) {
  for (const PublishedTrace& trace : published_traces()) {
    SCOPED_TRACE(trace.instance);
    const Problem& problem = find_instance(trace.instance)->problem;
    auto file = parse_trace(read_trace(trace), "t", &problem);
    ASSERT_TRUE(file.ok());
    const auto text = schedule_to_trace(file->schedule);
    ASSERT_TRUE(text.ok());
    const auto again = parse_trace(*text, "t", &problem);
    ASSERT_TRUE(again.ok()) << to_text(again.error());
    EXPECT_EQ(again->schedule.devices, file->schedule.devices);
    EXPECT_FALSE(again->activation_mismatch);
    EXPECT_FALSE(validate(again->schedule)) << "activations are exact when written";
  }
}

TEST(FlexFusionTraceWrite, WritesTheSummary) {
  auto file = parse_trace(read_trace({"exp2", false}), "t", &find_instance("exp2")->problem);
  const std::string ours =
      "\nOurs:\nE2E time usage: 225\nPeak memory usage: 15.600000\nUtilization: 74.67%\nBubble rate: 25.33%\n";
  EXPECT_TRUE(schedule_to_trace(file->schedule)->ends_with("0.000000]\n" + ours));
  file->schedule.claims.bound_makespan = Ticks(225);
  file->schedule.claims.bound_peak_activation = Memory(15'600'000);
  EXPECT_THAT(
      *schedule_to_trace(file->schedule),
      HasSubstr("0.000000]\n\nTheoretically best:\nE2E time usage: 225\nPeak memory usage: 15.600000\n" + ours));
}

TEST(FlexFusionTraceWrite, TimesAreDecimalsOfTheUnit) {
  Problem problem = find_instance("exp2")->problem;
  problem.time_unit = TimeUnit::us;
  auto file = parse_trace(read_trace({"exp2", false}), "t", &problem);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->schedule.devices[0][0].end, Ticks(5'000));
  for (auto& device : file->schedule.devices)
    for (ScheduledOp& op : device) {
      op.start = Ticks(op.start.count() / 10);
      op.end = Ticks(op.end.count() / 10);
    }
  file->schedule.claims = {};
  for (Model& model : file->schedule.problem.models)
    for (std::size_t stage = 0; stage < model.forward.size(); ++stage) {
      model.forward[stage] = Ticks(model.forward[stage].count() * 100);
      model.backward[stage] = Ticks(model.backward[stage].count() * 100);
    }
  ASSERT_FALSE(validate(file->schedule));
  const auto text = schedule_to_trace(file->schedule);
  EXPECT_THAT(*text, HasSubstr("[0, 0, 0, 0, 0.5, 1.950000]"));
  EXPECT_THAT(*text, HasSubstr("E2E time usage: 22.5\n"));
  EXPECT_EQ(parse_trace(*text, "t", &file->schedule.problem)->schedule.devices, file->schedule.devices);
}

/// A model with one stage on each of the devices given, one micro-batch, all times one tick.
Problem one_microbatch(std::vector<DeviceId> devices, int device_count) {
  const std::size_t stages = devices.size();
  Model model;
  model.name = "m";
  model.replicas = {std::move(devices)};
  model.forward.assign(stages, Ticks(1));
  model.backward.assign(stages, Ticks(1));
  model.activation.assign(stages, Memory(1));
  model.transfer_forward.resize(stages - 1);
  model.transfer_backward.resize(stages - 1);
  model.step.resize(stages);
  Problem problem;
  problem.devices = device_count;
  problem.resident.resize(static_cast<std::size_t>(device_count));
  problem.models = {model};
  return problem;
}

std::string write_error(const Problem& problem, BackwardForm form) {
  const OpGraph graph = lower(problem, form).graph;
  Order order;
  order.devices.resize(static_cast<std::size_t>(problem.devices));
  for (const OpId op : topological_order(graph)) order.devices[graph.device[op.index()].index()].push_back(op);
  const auto text = schedule_to_trace(to_schedule(problem, graph, *evaluate(graph, order)));
  return text.ok() ? "no error" : to_text(text.error());
}

TEST(FlexFusionTraceWrite, InexpressibleSchedulesAreRejected) {
  const std::string before = "a FlexFusion trace cannot express this schedule: ";
  const std::string after = "; use a dovetail/schedule@1 file";
  const Problem plain = one_microbatch({DeviceId(0), DeviceId(1)}, 2);
  EXPECT_EQ(write_error(plain, BackwardForm::whole), "no error");
  EXPECT_EQ(write_error(one_microbatch({DeviceId(0), DeviceId(0)}, 1), BackwardForm::whole),
            before + "model m has several stages on one device" + after);
  EXPECT_EQ(write_error(one_microbatch({DeviceId(0)}, 2), BackwardForm::whole), before + "device 1 has no ops" + after);
  Problem with_steps = plain;
  with_steps.models[0].step.assign(2, Ticks(1));
  EXPECT_EQ(write_error(with_steps, BackwardForm::whole), before + "model m has optimizer steps" + after);
  Problem split = plain;
  split.models[0].weight_gradient.assign(2, Ticks(1));
  split.models[0].weight_activation.assign(2, Memory(0));
  EXPECT_EQ(write_error(split, BackwardForm::split), before + "I0 of m stage 0 is half of a split backward" + after);
  EXPECT_EQ(write_error(split, BackwardForm::whole), "no error");
}

}  // namespace

}  // namespace dovetail::pipeline
