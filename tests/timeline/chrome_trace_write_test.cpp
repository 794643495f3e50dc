#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/example_timelines.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::timeline {
namespace {

using nlohmann::json;
using testing::ElementsAre;

std::vector<json> events_of(const json& trace, const std::string& phase) {
  std::vector<json> events;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase) events.push_back(event);
  }
  return events;
}

TEST(ChromeTraceWrite, IsATraceEventObject) {
  const json trace = json::parse(render_chrome_trace(test::small_timeline()));
  EXPECT_EQ(trace.at("displayTimeUnit"), "ms");
  EXPECT_EQ(trace.at("otherData"),
            json({{"generator", "dovetail"}, {"title", "small"}, {"time_unit", "tick"}, {"makespan", "10"}}));
  EXPECT_EQ(json::parse(render_chrome_trace({})).at("traceEvents").size(), 0U);
}

TEST(ChromeTraceWrite, NamesProcessesAndThreads) {
  const json trace = json::parse(render_chrome_trace(test::small_timeline()));
  std::vector<std::string> names;
  for (const json& event : events_of(trace, "M")) {
    names.push_back(std::to_string(event.at("pid").get<int>()) + "." + std::to_string(event.at("tid").get<int>()) +
                    " " + event.at("name").get<std::string>() + " " + event.at("args").begin()->dump());
  }
  EXPECT_THAT(names,
              ElementsAre("1.1 process_name \"device 0\"", "1.1 process_sort_index 0", "1.1 thread_name \"work\"",
                          "1.1 thread_sort_index 0", "1.2 thread_name \"idle\"", "1.2 thread_sort_index 1",
                          "2.3 process_name \"device 1\"", "2.3 process_sort_index 1", "2.3 thread_name \"work\"",
                          "2.3 thread_sort_index 0", "2.4 thread_name \"idle\"", "2.4 thread_sort_index 1"));
}

TEST(ChromeTraceWrite, HasASliceForEveryBar) {
  const auto slices = events_of(json::parse(render_chrome_trace(test::small_timeline())), "X");
  ASSERT_EQ(slices.size(), 10U);
  EXPECT_EQ(slices[0], json::parse(R"({"ph":"X","pid":1,"tid":1,"ts":0,"dur":2,"cat":"forward","name":"F7 actor",
      "args":{"pipeline":"actor","model":0,"replica":0,"stage":0,"microbatch":7,"kind":"F","start":0,"end":2}})"));
  EXPECT_EQ(slices[1], json::parse(R"({"ph":"X","pid":1,"tid":2,"ts":2,"dur":4,"cat":"idle","name":"dependency",
      "args":{"cause":"dependency","awaits":"B7 of actor, stage 1","awaits_on":"device 1","start":2,"end":6}})"));
  EXPECT_EQ(slices[9], json::parse(R"({"ph":"X","pid":2,"tid":4,"ts":9,"dur":1,"cat":"idle","name":"drain",
      "args":{"cause":"drain","start":9,"end":10}})"));
}

TEST(ChromeTraceWrite, SortsTheSlicesOfAThreadByTime) {
  const auto slices = events_of(json::parse(render_chrome_trace(test::large_timeline(5, 60))), "X");
  std::map<int, double> ends;  // by thread
  for (const json& slice : slices) {
    double& end = ends[slice.at("tid").get<int>()];
    EXPECT_GE(slice.at("ts").get<double>(), end);
    end = slice.at("ts").get<double>() + slice.at("dur").get<double>();
  }
  EXPECT_EQ(ends.size(), 10U);
}

TEST(ChromeTraceWrite, CountsActivationDownToNothing) {
  const auto counters = events_of(json::parse(render_chrome_trace(test::small_timeline())), "C");
  ASSERT_EQ(counters.size(), 6U);
  EXPECT_EQ(counters[0],
            json::parse(R"({"ph":"C","pid":1,"tid":1,"ts":0,"name":"activation held","args":{"held":1.64}})"));
  std::map<int, double> last;
  for (const json& counter : counters) last[counter.at("pid").get<int>()] = counter.at("args").at("held").get<double>();
  EXPECT_THAT(last, ElementsAre(testing::Pair(1, 0.0), testing::Pair(2, 0.0)));
}

/// Returns start and end of the slice of the thread that is running at `time`.
std::pair<double, double> slice_at(const std::vector<json>& slices, const json& thread, double time) {
  for (const json& slice : slices) {
    const double start = slice.at("ts").get<double>();
    const double end = start + slice.at("dur").get<double>();
    if (slice.at("tid") == thread && start <= time && time < end) return {start, end};
  }
  ADD_FAILURE() << "no slice of thread " << thread << " runs at " << time;
  return {0, 0};
}

TEST(ChromeTraceWrite, PairsArrowsWithinSlices) {
  const json trace = json::parse(render_chrome_trace(test::small_timeline()));
  const auto slices = events_of(trace, "X");
  const auto starts = events_of(trace, "s");
  const auto ends = events_of(trace, "f");
  ASSERT_EQ(starts.size(), 2U);
  ASSERT_EQ(ends.size(), 2U);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    EXPECT_EQ(starts[i].at("id"), ends[i].at("id"));
    EXPECT_EQ(starts[i].at("name"), ends[i].at("name"));
    EXPECT_EQ(starts[i].at("cat"), ends[i].at("cat"));
    EXPECT_EQ(ends[i].at("bp"), "e");
    EXPECT_LE(starts[i].at("ts"), ends[i].at("ts"));
  }
  EXPECT_EQ(slice_at(slices, starts[0].at("tid"), starts[0].at("ts").get<double>()), std::pair(0.0, 2.0));
  EXPECT_EQ(slice_at(slices, ends[0].at("tid"), ends[0].at("ts").get<double>()), std::pair(2.0, 4.0));
  EXPECT_EQ(starts[0].at("name"), "activation");
  EXPECT_EQ(slice_at(slices, starts[1].at("tid"), starts[1].at("ts").get<double>()), std::pair(4.0, 6.0));
  EXPECT_EQ(slice_at(slices, ends[1].at("tid"), ends[1].at("ts").get<double>()), std::pair(7.0, 10.0));
  EXPECT_EQ(starts[1].at("name"), "gradient");
}

TEST(ChromeTraceWrite, LeavesOutArrowsThatHaveNoSliceToBindTo) {
  Timeline timeline = test::small_timeline();
  bars_of(timeline, 1)[2].end = bars_of(timeline, 1)[2].begin;
  EXPECT_EQ(events_of(json::parse(render_chrome_trace(timeline)), "s").size(), 1U);
}

TEST(ChromeTraceWrite, WritesNamedUnitsAsExactMicroseconds) {
  Timeline timeline = test::small_timeline();
  timeline.time_unit = base::TimeUnit::ms;
  bars_of(timeline, 0)[0].end = base::Ticks(1'234'567);
  const std::string text = render_chrome_trace(timeline);
  EXPECT_THAT(text, testing::HasSubstr(R"("ts":0,"dur":1234.567,)"));
  EXPECT_THAT(text, testing::HasSubstr(R"("start":0,"end":1.234567})"));
  EXPECT_THAT(text, testing::HasSubstr(R"("ph":"s","pid":1,"tid":1,"ts":1234.566,)"))
      << "the last nanosecond of the slice";
}

TEST(ChromeTraceWrite, DescribesWorkOfTasks) {
  Timeline timeline;
  timeline.title = "iteration";
  timeline.time_unit = base::TimeUnit::ns;
  timeline.end = base::Ticks(5000);
  timeline.beginning = Beginning::repeats;
  timeline.tracks = {{"gen", 2, 0, Track::Kind::task}};
  Bar decode{base::Ticks(0), base::Ticks(4000), BarKind::decode, 0};
  decode.sequences = 12;
  decode.launch = base::Ticks(500);
  add_lane(timeline, "devices 0-1", {decode, {base::Ticks(4000), base::Ticks(5000), BarKind::dependency, 0}});
  timeline.counters = {{"memory in use", "bytes", 0, {{base::Ticks(1500), base::Memory(300)}}}};
  const json trace = json::parse(render_chrome_trace(timeline));
  EXPECT_EQ(events_of(trace, "X")[0],
            json::parse(R"({"ph":"X","pid":1,"tid":1,"ts":0,"dur":4,"cat":"decode","name":"decode of gen",
      "args":{"task":"gen","model":2,"sequences":12,"launch":500,"start":0,"end":4000}})"));
  EXPECT_EQ(events_of(trace, "X")[1],
            json::parse(R"({"ph":"X","pid":1,"tid":2,"ts":4,"dur":1,"cat":"idle","name":"dependency on gen",
      "args":{"cause":"dependency","start":4000,"end":5000}})"));
  EXPECT_EQ(events_of(trace, "C")[0].at("args"), json({{"bytes", 300}}));
  EXPECT_EQ(trace.at("otherData"), json({{"generator", "dovetail"},
                                         {"title", "iteration"},
                                         {"time_unit", "ns"},
                                         {"end", "5000"},
                                         {"repeats", "true"}}));
}

/// Returns times and titles, whatever the lane.
std::vector<std::string> texts_of(const Timeline& timeline) {
  std::vector<std::string> words;
  for (const Bar& bar : timeline.bars)
    words.push_back(full_title(timeline, bar) + " " + std::to_string(bar.begin.count()) + "-" +
                    std::to_string(bar.end.count()));
  return words;
}

TEST(ChromeTraceWrite, RoundTrips) {
  Timeline written = test::large_timeline(4, 30);
  written.time_unit = base::TimeUnit::ns;
  const auto read = parse_chrome_trace(render_chrome_trace(written), "t.json");
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(texts_of(*read), texts_of(written));
  EXPECT_EQ(read->end, written.end);
  EXPECT_EQ(read->beginning, Beginning::fixed);
  ASSERT_EQ(read->lanes.size(), written.lanes.size());
  for (std::size_t lane = 0; lane < written.lanes.size(); ++lane) {
    EXPECT_EQ(read->lanes[lane].name, written.lanes[lane].name);
    EXPECT_EQ(drawn_counters(*read)[lane]->steps, drawn_counters(written)[lane]->steps);
  }
}

TEST(ChromeTraceWrite, EscapesNames) {
  const json trace = json::parse(render_chrome_trace(test::hostile_timeline()));
  EXPECT_EQ(events_of(trace, "M")[0].at("args").at("name"), "device <0>\t\\\"");
  EXPECT_EQ(events_of(trace, "X")[0].at("args").at("pipeline"), "</text><a&b>\"'\\\n\x1b[2J");
}

}  // namespace
}  // namespace dovetail::timeline
