#include "report/iteration/iteration_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "report/xml_check.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using simulate::Activity;
using testing::HasSubstr;
using testing::Not;

/// Two devices decode, one scores and waits.
simulate::Trace small_trace() {
  simulate::Trace trace{Ticks(4000), {}};
  trace.lanes.push_back({{0, 1, 5}, {{Ticks(0), Ticks(4000), Activity::decode, 0, 12, Ticks(500)}}, {{Ticks(0), 100}, {Ticks(1500), 300}}});
  trace.lanes.push_back(
      {{2}, {{Ticks(0), Ticks(2500), Activity::dependency, 0, 0, {}}, {Ticks(2500), Ticks(4000), Activity::score, 1, 3, {}}}, {}});
  return trace;
}

IterationPicture picture_of(const simulate::Trace& trace) { return {trace, {"generate", "score <&\"it\">"}, {0, 1}, "a <title>"}; }

TEST(DeviceRanges, PutsNeighboursTogether) {
  EXPECT_EQ(device_ranges({3}), "3");
  EXPECT_EQ(device_ranges({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

TEST(IterationPicture, NamesWhatIsDoneAndWhatIsWaitedFor) {
  const simulate::Trace trace = small_trace();
  const IterationPicture picture = picture_of(trace);
  EXPECT_EQ(describe(picture, trace.lanes[0].spans[0]), "decode of generate");
  EXPECT_EQ(describe(picture, trace.lanes[1].spans[0]), "dependency on generate");
  EXPECT_EQ(describe(picture, {Ticks(0), Ticks(1), Activity::hand_over, -1, 0, {}}), "hand-over");
  EXPECT_NE(color_of(picture, trace.lanes[0].spans[0]), color_of(picture, trace.lanes[1].spans[1]));
}

TEST(IterationSvg, IsWellFormedAndSaysItsNames) {
  const simulate::Trace trace = small_trace();
  const std::string svg = render_iteration_svg(picture_of(trace));
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr("a &lt;title&gt;"));
  EXPECT_THAT(svg, HasSubstr("decode of generate"));
  EXPECT_THAT(svg, HasSubstr("0-1,5"));
  EXPECT_THAT(svg, HasSubstr("memory in use of 0-1,5"));
}

TEST(IterationPicture, HasRowsOfLinksToHostMemoryBehindTheDevices) {
  simulate::Trace trace = small_trace();
  trace.host_links.push_back({{0, 1}, {{Ticks(1000), Ticks(2000), Activity::loading, 1, 0, {}}}, {}});
  const IterationPicture picture = picture_of(trace);
  const std::vector<PictureRow> rows = rows_of(picture);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].name, "devices 0-1,5");
  EXPECT_EQ(rows[1].name, "device 2");
  EXPECT_EQ(rows[2].name, "host links 0-1");
  EXPECT_THAT(render_iteration_svg(picture), HasSubstr("host links 0-1"));
  EXPECT_THAT(render_iteration_trace(picture), HasSubstr(R"("ph":"X","pid":3,"tid":5,"ts":1,"dur":1,"cat":"loading")"));
}

TEST(IterationSvg, WithoutMemoryThereIsNoCurve) {
  simulate::Trace trace = small_trace();
  trace.lanes[0].memory.clear();
  EXPECT_THAT(render_iteration_svg(picture_of(trace)), Not(HasSubstr("memory in use")));
}

TEST(IterationSvg, SomeRowsAreNamedWhereThereIsNoRoomForAll) {
  simulate::Trace trace = small_trace();
  const simulate::Lane lane = trace.lanes[1];
  for (int device = 10; device < 310; ++device) trace.lanes.emplace_back(lane).devices = {device};
  const std::string svg = render_iteration_svg(picture_of(trace));
  const std::regex name("<text x=\"[0-9.]+\" y=\"([0-9.]+)\"[^>]*text-anchor=\"end\">devices? [0-9,-]+</text>");
  std::vector<double> baselines;
  for (std::sregex_iterator found(svg.begin(), svg.end(), name), end; found != end; ++found) baselines.push_back(std::stod((*found)[1]));
  ASSERT_GT(baselines.size(), 10U);
  EXPECT_LT(baselines.size(), trace.lanes.size());
  for (std::size_t index = 1; index < baselines.size(); ++index) EXPECT_GE(baselines[index] - baselines[index - 1], 9 - 0.1);
}

TEST(IterationTrace, IsJsonWithASliceASpan) {
  const simulate::Trace trace = small_trace();
  const std::string text = render_iteration_trace(picture_of(trace));
  const nlohmann::json about = nlohmann::json::parse(text).at("otherData");
  EXPECT_EQ(about.at("title"), "a <title>");
  EXPECT_EQ(about.at("repeats"), "true");
  EXPECT_THAT(text, HasSubstr(R"("ph":"X","pid":1,"tid":1,"ts":0,"dur":4,"cat":"decode","name":"decode of generate")"));
  EXPECT_THAT(text, HasSubstr(R"("ph":"X","pid":2,"tid":4,"ts":0,"dur":2.5,"cat":"idle","name":"dependency on generate")"));
  EXPECT_THAT(text, HasSubstr(R"("ts":1.5,"name":"memory in use","args":{"bytes":300})"));
}

}  // namespace
}  // namespace dovetail::report
