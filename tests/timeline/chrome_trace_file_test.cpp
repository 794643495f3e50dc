#include "timeline/chrome_trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dovetail::timeline {
namespace {

using base::Memory;
using base::Ticks;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Timeline parse(const std::string& events) {
  auto trace = parse_chrome_trace("[" + events + "]", "t.json");
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : base::to_text(trace.error()));
  return trace.ok() ? std::move(*trace) : Timeline();
}

std::string error_of(const std::string& content) {
  const auto trace = parse_chrome_trace(content, "t.json");
  return trace.ok() ? "no error" : base::to_text(trace.error());
}

/// Returns "name begin-end" for each slice of a lane.
std::vector<std::string> slices_of(const Timeline& trace, std::size_t lane) {
  std::vector<std::string> slices;
  for (const Bar& slice : bars_of(trace, lane)) {
    slices.push_back(trace.names[static_cast<std::size_t>(slice.name)] + " " + std::to_string(slice.begin.count()) +
                     "-" + std::to_string(slice.end.count()));
  }
  return slices;
}

TEST(ChromeTraceFile, ReadsCompleteEvents) {
  const Timeline trace = parse(R"({"ph":"X","pid":1,"tid":1,"ts":10.5,"dur":2,"name":"a","cat":"k"},
      {"ph":"X","pid":1,"tid":1,"ts":12.5,"dur":0.0004,"name":"b"}, {"ph":"X","pid":"p","tid":"t","ts":11,"dur":1,"name":"c"})");
  ASSERT_EQ(trace.lanes.size(), 2U);
  EXPECT_EQ(trace.lanes[0].name, "process 1");
  EXPECT_EQ(trace.lanes[1].name, "process p");
  EXPECT_THAT(slices_of(trace, 0), ElementsAre("a 0-2000", "b 2000-2000"));
  EXPECT_THAT(slices_of(trace, 1), ElementsAre("c 500-1500"));
  EXPECT_EQ(trace.end, Ticks(2000));
  EXPECT_EQ(trace.categories[static_cast<std::size_t>(trace.bars[0].category)], "k");
}

TEST(ChromeTraceFile, KeepsTheBeginningOfItsWriter) {
  const auto read = [](const std::string& about) {
    const auto trace = parse_chrome_trace(
        R"({"traceEvents":[{"ph":"X","pid":1,"tid":1,"ts":0,"dur":1,"name":"a"}],"otherData":)" + about + "}",
        "t.json");
    EXPECT_TRUE(trace.ok());
    return trace.ok() ? std::pair(trace->beginning, trace->time_unit)
                      : std::pair(Beginning::unknown, base::TimeUnit::tick);
  };
  using base::TimeUnit;
  EXPECT_EQ(read(R"({"generator":"dovetail","makespan":"7","time_unit":"ms"})"),
            std::pair(Beginning::fixed, TimeUnit::us));
  EXPECT_EQ(read(R"({"generator":"dovetail","repeats":"true","time_unit":"ns"})"),
            std::pair(Beginning::repeats, TimeUnit::ns));
  EXPECT_EQ(read(R"({"generator":"dovetail","repeats":"false"})"), std::pair(Beginning::unknown, TimeUnit::us));
  EXPECT_EQ(read(R"({"generator":"g","repeats":"true","makespan":"7","time_unit":"ns"})"),
            std::pair(Beginning::unknown, TimeUnit::us));
  EXPECT_EQ(read(R"({"generator":"dovetail","makespan":7})"), std::pair(Beginning::unknown, TimeUnit::us))
      << "texts only";
  EXPECT_EQ(read("[]").first, Beginning::unknown);
  EXPECT_EQ(parse(R"({"ph":"X","pid":1,"tid":1,"ts":0,"dur":1,"name":"a"})").beginning, Beginning::unknown);
}

TEST(ChromeTraceFile, PairsBeginningsWithEndsLikeBrackets) {
  const Timeline trace =
      parse(R"({"ph":"B","pid":1,"tid":1,"ts":0,"name":"outer"}, {"ph":"B","pid":1,"tid":1,"ts":1,"name":"inner"},
      {"ph":"E","pid":1,"tid":1,"ts":3}, {"ph":"E","pid":1,"tid":1,"ts":5})");
  ASSERT_EQ(trace.lanes.size(), 2U);
  EXPECT_THAT(slices_of(trace, 0), ElementsAre("outer 0-5000"));
  EXPECT_THAT(slices_of(trace, 1), ElementsAre("inner 1000-3000"));
  EXPECT_TRUE(trace.lanes[1].joined);
  EXPECT_EQ(trace.lanes[1].name, trace.lanes[0].name + " ▸ 1");
  EXPECT_TRUE(trace.notes.empty());
}

TEST(ChromeTraceFile, NotesUnpairedEvents) {
  const Timeline trace = parse(R"({"ph":"E","pid":1,"tid":1,"ts":0}, {"ph":"B","pid":1,"tid":1,"ts":1,"name":"open"},
      {"ph":"X","pid":2,"tid":1,"ts":2,"dur":8,"name":"x"})");
  EXPECT_THAT(slices_of(trace, 0), ElementsAre("open 1000-10000"));
  EXPECT_THAT(trace.notes, ElementsAre(HasSubstr("never end (1)"), HasSubstr("never began (1)")));
}

TEST(ChromeTraceFile, OverlappingSlicesGetSeparateLevels) {
  const Timeline trace = parse(
      R"({"ph":"X","pid":1,"tid":1,"ts":0,"dur":4,"name":"a"}, {"ph":"X","pid":1,"tid":1,"ts":2,"dur":4,"name":"b"},
      {"ph":"X","pid":1,"tid":1,"ts":4,"dur":4,"name":"c"}, {"ph":"X","pid":1,"tid":1,"ts":0,"dur":8,"name":"whole"})");
  ASSERT_EQ(trace.lanes.size(), 3U);
  EXPECT_THAT(slices_of(trace, 0), ElementsAre("whole 0-8000"));
  EXPECT_THAT(slices_of(trace, 1), ElementsAre("a 0-4000", "c 4000-8000"));
  EXPECT_THAT(slices_of(trace, 2), ElementsAre("b 2000-6000"));
}

TEST(ChromeTraceFile, NamesAndSortsByMetadata) {
  const Timeline trace = parse(
      R"({"ph":"X","pid":1,"tid":1,"ts":0,"dur":1,"name":"a"}, {"ph":"X","pid":2,"tid":1,"ts":0,"dur":1,"name":"b"},
      {"ph":"X","pid":2,"tid":2,"ts":0,"dur":1,"name":"c"}, {"ph":"M","pid":2,"tid":0,"name":"process_name","args":{"name":"GPU"}},
      {"ph":"M","pid":2,"tid":1,"name":"thread_name","args":{"name":"stream 7"}},
      {"ph":"M","pid":2,"name":"process_sort_index","args":{"sort_index":-1}})");
  ASSERT_EQ(trace.lanes.size(), 3U);
  EXPECT_EQ(trace.lanes[0].name, "GPU · stream 7");
  EXPECT_EQ(trace.lanes[1].name, "GPU · thread 2");
  EXPECT_EQ(trace.lanes[2].name, "process 1");
}

TEST(ChromeTraceFile, AThreadOfIdleTimeJoinsTheOther) {
  const Timeline trace = parse(
      R"({"ph":"X","pid":1,"tid":1,"ts":0,"dur":1,"name":"a"}, {"ph":"X","pid":1,"tid":1,"ts":3,"dur":1,"name":"b"},
      {"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"name":"drain","cat":"idle"})");
  ASSERT_EQ(trace.lanes.size(), 1U);
  EXPECT_THAT(slices_of(trace, 0), ElementsAre("a 0-1000", "drain 1000-3000", "b 3000-4000"));
  EXPECT_EQ(trace.bars[0].bar_kind, BarKind::work);
  EXPECT_EQ(trace.bars[1].bar_kind, BarKind::idle);
}

TEST(ChromeTraceFile, ReadsCounters) {
  const Timeline trace = parse(
      R"({"ph":"X","pid":1,"tid":1,"ts":5,"dur":1,"name":"a"}, {"ph":"C","pid":1,"ts":6,"name":"memory","args":{"held":2.5}},
      {"ph":"C","pid":1,"ts":4,"name":"memory","args":{"held":1}}, {"ph":"C","pid":1,"ts":6,"name":"memory","args":{"held":3}})");
  ASSERT_EQ(trace.counters.size(), 1U);
  EXPECT_EQ(trace.counters[0].name, "memory");
  EXPECT_EQ(trace.counters[0].unit, "");
  EXPECT_THAT(trace.counters[0].steps,
              ElementsAre(Pair(Ticks(0), Memory(1'000'000)), Pair(Ticks(2000), Memory(3'000'000))));
  const Timeline bytes = parse(R"({"ph":"X","pid":1,"tid":1,"ts":0,"dur":1,"name":"a"},
      {"ph":"C","pid":1,"ts":0,"name":"memory","args":{"bytes":8e10}}, {"ph":"C","pid":1,"ts":1,"name":"memory","args":{"bytes":1e300}})");
  EXPECT_EQ(bytes.counters.at(0).unit, "bytes");
  EXPECT_EQ(bytes.counters[0].steps.at(0).second, Memory(80'000'000'000));
  EXPECT_GT(bytes.counters[0].steps.at(1).second, Memory(8'000'000'000'000'000'000)) << "clamped to the maximum";
}

TEST(ChromeTraceFile, IgnoresUnknownEvents) {
  const auto trace = parse_chrome_trace(
      R"({"traceEvents":[{"ph":"i","s":"g"},{"ph":"s","id":1},{"ph":"X","pid":1,"tid":1,"ts":0,"dur":1,"name":"a"}],
      "displayTimeUnit":"ms","deviceProperties":[]})",
      "t.json");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->lanes.size(), 1U);
}

TEST(ChromeTraceFile, ReportsErrorsWithPosition) {
  EXPECT_THAT(error_of("[{\"ph\":\"X\",\"ts\":0,\"dur\":1},\n {\"ph\":\"X\",\"ts\":\"soon\",\"dur\":1}]"),
              HasSubstr("t.json:2:17: ts is the string"));
  EXPECT_THAT(error_of(R"([{"ph":"X","ts":0}])"), HasSubstr("t.json:1:2: "));
  EXPECT_THAT(error_of(R"([{"ph":"X","ts":0,"dur":-1}])"), HasSubstr("dur is negative"));
  EXPECT_THAT(error_of(R"([{"ts":0}])"), HasSubstr("ph"));
  EXPECT_THAT(error_of(R"([7])"), HasSubstr("t.json:1:2: an event is 7; accepted: an object"));
  EXPECT_THAT(error_of(R"({"traceEvents":{}})"), HasSubstr("accepted: a list of events"));
  EXPECT_THAT(error_of(R"([{"ph":"C","ts":0,"name":"m","args":{"x":"much"}}])"), HasSubstr("accepted: a number"));
  EXPECT_THAT(error_of(R"([{"ph":"C","ts":0,"name":"m","args":{"x":{"y":1}}}])"),
              HasSubstr("t.json:1:42: value `x` of the counter is a map"));
  EXPECT_THAT(error_of(R"([{"ph":"M","name":"thread_name","args":{"name":[]}}])"),
              HasSubstr("name is a list; accepted: a string or a number"));
  EXPECT_THAT(error_of("[]"), HasSubstr("the trace has no slices"));
  EXPECT_THAT(error_of("[{]"), HasSubstr("not valid JSON"));
}

TEST(ChromeTraceFile, RecognizesTraces) {
  EXPECT_TRUE(is_chrome_trace("\n [ {\"ph\""));
  EXPECT_TRUE(is_chrome_trace("{\"displayTimeUnit\":\"ms\", \"traceEvents\":["));
  EXPECT_FALSE(is_chrome_trace("[[1,2]]"));
  EXPECT_FALSE(is_chrome_trace("{\"format\": \"dovetail/schedule@1\"}"));
  EXPECT_FALSE(is_chrome_trace("  "));
}

}  // namespace
}  // namespace dovetail::timeline
