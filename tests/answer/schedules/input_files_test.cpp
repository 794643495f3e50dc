#include "answer/schedules/input_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answer/schedules/schedule.h"
#include "pipeline/problem/instances.h"

namespace dovetail::answer {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* tiny =
    "format: dovetail/pipeline-problem@1\ntime_unit: tick\ndevices: 2\nmodels:\n"
    "  - {name: m, microbatches: 2, devices: [0, 1], forward: 1, backward: 2, activation: 1}\n";

/// A schedule of the problem by a construction, in Dovetail's format.
std::string schedule_of(const Input& problem) {
  const auto answer = answer_to(ScheduleRequest{.problem = problem, .solver = "gpipe"}, {});
  return answer.ok() ? pipeline::schedule_to_json(answer->solved->schedule) : to_text(answer.error());
}

TEST(ReadProblem, PrefersTheTextOfTheRequest) {
  const auto named = read_problem({"exp5", tiny}, {});
  ASSERT_TRUE(named.ok()) << to_text(named.error());
  EXPECT_EQ(named->name, "exp5");
  EXPECT_EQ(named->problem.devices, 2);
  EXPECT_FALSE(is_instance({"exp5", tiny}));
}

TEST(ReadProblem, ReadsInstancesByName) {
  const auto named = read_problem({"exp5"}, {});
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->problem, pipeline::find_instance("exp5")->problem);
  EXPECT_TRUE(is_instance({"exp5"}));
  EXPECT_THAT(read_problem({"exp50"}, {}).error().message,
              HasSubstr("'exp50' is neither a file nor a bundled instance; did you mean 'exp0', 'exp5'"));
}

TEST(ReadProblem, RejectsASchedule) {
  EXPECT_THAT(read_problem({"s.json", schedule_of({"exp2"})}, {}).error().message,
              HasSubstr("this is a schedule, not a problem"));
}

TEST(LoadSchedule, RejectsAScheduleOfAnotherProblem) {
  const auto text = read_schedule_text({"s.json", schedule_of({"t.yaml", tiny})});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->format, ScheduleFormat::json);
  const auto own = read_problem({"t.yaml", tiny}, {});
  EXPECT_TRUE(load_schedule_of(*own, *text, {}).ok());
  const auto other = read_problem({"exp2"}, {});
  EXPECT_THAT(load_schedule_of(*other, *text, {}).error().message,
              HasSubstr("the problem of this schedule differs from exp2: "));
}

TEST(LoadSchedule, ReportsTheNotesOfTheFile) {
  std::vector<std::string> notes;
  Callbacks callbacks;
  callbacks.on_note = [&notes](std::string_view note) { notes.emplace_back(note); };
  const Input csv{"m.csv", "0F0,0F1,0B0,0B1\n"};
  const auto loaded = load_valid_schedule(csv, std::nullopt, std::nullopt, callbacks);
  ASSERT_TRUE(loaded.ok()) << to_text(loaded.error());
  EXPECT_EQ(loaded->format, ScheduleFormat::csv);
  EXPECT_EQ(notes, loaded->file.notes);
  EXPECT_FALSE(notes.empty());
}

TEST(LoadSchedule, RejectsStandardInputTwice) {
  const ScheduleText text{{"-"}, "0F0,0B0\n", ScheduleFormat::csv};
  EXPECT_THAT(load_valid_schedule(text, Input{"-"}, {}).error().message,
              HasSubstr("cannot both be read from standard input"));
}

TEST(FormatToRead, ListsReadableFormats) {
  EXPECT_EQ(*format_to_read(std::nullopt), std::nullopt);
  EXPECT_EQ(*format_to_read("csv-comms"), ScheduleFormat::csv);
  EXPECT_EQ(format_to_read("svg").error().message,
            "svg files can be written, but not read; accepted: json, trace, csv");
  EXPECT_EQ(format_to_read("jsn").error().message,
            "'jsn' is not a schedule format; did you mean 'json'? Accepted: json, trace, csv");
}

TEST(FormatOfContent, DetectsByTheFirstCharacter) {
  EXPECT_EQ(format_of_content(" \n{"), ScheduleFormat::json);
  EXPECT_EQ(format_of_content("\xEF\xBB\xBF[["), ScheduleFormat::trace);
  EXPECT_EQ(format_of_content(",0F0"), ScheduleFormat::csv);
  EXPECT_EQ(format_of_content("format: x"), std::nullopt);
  EXPECT_EQ(format_of_content(""), std::nullopt);
}

TEST(NamedFormat, IsTheKeyOfTheDocument) {
  EXPECT_EQ(named_format("# dovetail/plan@1\nname: x\nformat: dovetail/job@1\n"), "dovetail/job");
  EXPECT_EQ(named_format("{\"format\": \"dovetail/plan@1\"}"), "dovetail/plan");
  EXPECT_THAT(named_format("format: other/job@1\n"), IsEmpty());
  EXPECT_THAT(named_format("[1, 2]"), IsEmpty());
}

TEST(DescribeOtherContent, RecognizesOtherFiles) {
  EXPECT_THAT(*describe_other_content(tiny, "t.yaml"),
              HasSubstr("this is a problem, not a schedule; create a schedule with: dovetail schedule t.yaml"));
  EXPECT_THAT(*describe_other_content("<svg/>", "t.svg"), HasSubstr("this is an SVG picture"));
  EXPECT_EQ(describe_other_content("hello", "t"), std::nullopt);
}

}  // namespace
}  // namespace dovetail::answer
