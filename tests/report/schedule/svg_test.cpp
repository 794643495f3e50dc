#include "report/schedule/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "report/drawing/svg_parts.h"
#include "report/example_timelines.h"
#include "report/xml_check.h"
#include "support/count.h"

namespace dovetail::report {
namespace {

using test::count;
using testing::HasSubstr;
using testing::Not;

TEST(XmlCheck, FindsFaults) {
  EXPECT_EQ(find_xml_fault("<a b=\"1\"><c/>text &amp; more</a>\n"), "");
  EXPECT_THAT(find_xml_fault("<a><b></a>"), HasSubstr("closed but not open"));
  EXPECT_THAT(find_xml_fault("<a>&nbsp;</a>"), HasSubstr("entity"));
  EXPECT_THAT(find_xml_fault("<a b=\"<\"/>"), HasSubstr("'<'"));
  EXPECT_THAT(find_xml_fault("<a b=\"1\" b=\"2\"/>"), HasSubstr("twice"));
  EXPECT_THAT(find_xml_fault("<a>"), HasSubstr("not closed"));
  EXPECT_THAT(find_xml_fault("<a/><b/>"), HasSubstr("one root"));
  EXPECT_THAT(find_xml_fault("<a>\x1b</a>"), HasSubstr("control"));
}

TEST(Svg, SaysWhatTheScheduleCosts) {
  const std::string svg = render_svg(small_timeline());
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr(">small</text>"));
  EXPECT_THAT(svg, HasSubstr("makespan 10 ticks"));
  EXPECT_THAT(svg, HasSubstr("bubbles 40.0%"));
  EXPECT_THAT(svg, HasSubstr("peak activation 2.5 on device 1"));
  EXPECT_THAT(svg, HasSubstr("peak 2.5 on device 1 at 6"));
  EXPECT_THAT(svg, HasSubstr(">device 0</text>"));
}

TEST(Svg, ExplainsColoursAndIdleTime) {
  const std::string svg = render_svg(small_timeline());
  for (const char* text : {">actor</text>", ">critic</text>", ">forward</text>", ">backward</text>", ">idle 40.0%</text>",
                           ">warm-up 10.0%</text>", ">dependency 20.0%</text>", ">transfer 5.0%</text>", ">drain 5.0%</text>"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
  EXPECT_THAT(svg, Not(HasSubstr("delay")));
  EXPECT_THAT(svg, Not(HasSubstr("weight gradient")));
}

TEST(Svg, TellsEachBarOnHovering) {
  const std::string svg = render_svg(small_timeline());
  EXPECT_THAT(svg, HasSubstr("<title>F7 of actor, stage 1: 2 to 4 ticks</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>dependency: 2 to 6 ticks; awaits B7 of actor, stage 1 on device 1</title>"));
  EXPECT_EQ(count(svg, "</title></rect>"), 10U) << "one a bar";
}

TEST(Svg, WritesMicrobatchesIntoTheBars) {
  timeline::Timeline timeline = small_timeline();
  timeline.lanes[1].bars[4].microbatch = 123;
  const std::string svg = render_svg(timeline);
  EXPECT_EQ(count(svg, ">123</text>"), 1U);
  EXPECT_EQ(count(svg, ">7</text>"), 6U) << "in four bars, and on two axes";
}

TEST(Svg, EscapesNames) {
  const std::string svg = render_svg(hostile_timeline());
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("<a&b>")));
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(svg, HasSubstr("r\xC3\xA9ward"));
}

TEST(Svg, DrawsEveryKindOfWork) {
  timeline::Timeline timeline = small_timeline();
  timeline.lanes[1].bars[2].kind = timeline::BarKind::input_gradient;
  timeline.lanes[1].bars[3].kind = timeline::BarKind::weight_gradient;
  timeline.lanes[1].bars[4].kind = timeline::BarKind::step;
  timeline.lanes[0].bars[2].kind = timeline::BarKind::delay;
  const std::string svg = render_svg(timeline);
  EXPECT_EQ(find_xml_fault(svg), "");
  for (const char* text : {">input gradient</text>", ">weight gradient</text>", ">step</text>", ">delay 5.0%</text>"})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_THAT(svg, HasSubstr("fill=\"url(#dovetail-weight-1)\""));
  EXPECT_THAT(svg, HasSubstr("<pattern id=\"dovetail-weight-1\""));
  EXPECT_THAT(svg, HasSubstr("<pattern id=\"dovetail-delay\""));
}

/// Whether every number of `pattern`'s first group lies in [least, most].
void expect_within(const std::string& svg, const std::string& pattern, double least, double most) {
  const std::regex expression(pattern);
  std::size_t found = 0;
  for (auto match = std::sregex_iterator(svg.begin(), svg.end(), expression); match != std::sregex_iterator(); ++match, ++found) {
    const double value = std::stod((*match)[1]);
    EXPECT_GE(value, least) << match->str();
    EXPECT_LE(value, most) << match->str();
  }
  EXPECT_GT(found, 0U);
}

TEST(Svg, StaysWithinItsPage) {
  for (const std::size_t lanes : {1U, 3U, 16U}) {
    const std::string svg = render_svg(large_timeline(lanes, 40));
    const double height = std::stod(svg.substr(svg.find("height=\"") + 8));
    expect_within(svg, " x=\"(-?[0-9.]+)\"", 0, 1400);
    expect_within(svg, " y=\"(-?[0-9.]+)\"", 0, height);
    expect_within(svg, " cy=\"(-?[0-9.]+)\"", 0, height);
    expect_within(svg, " width=\"([0-9.]+)\"", 0, 1400);
  }
}

TEST(Svg, KeepsAMillionOpsSmall) {
  const std::string svg = render_svg(large_timeline(256, 4096));
  EXPECT_LT(svg.size(), 4'000'000U);
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr("1048576 ops on 256 devices"));
  EXPECT_THAT(svg, Not(HasSubstr("</title></rect>"))) << "too many to hover over";
  EXPECT_THAT(svg, HasSubstr(">device 0</text>"));
}

TEST(Svg, DrawsManyBarsAsPaths) {
  const std::string few = render_svg(large_timeline(4, 100));
  const std::string many = render_svg(large_timeline(16, 400));
  EXPECT_THAT(few, HasSubstr("</title></rect>"));
  EXPECT_THAT(many, Not(HasSubstr("</title></rect>")));
  EXPECT_EQ(find_xml_fault(many), "");
  EXPECT_LT(many.size(), 400'000U);
}

TEST(Svg, NeedsNothing) {
  EXPECT_EQ(find_xml_fault(render_svg({})), "");
  timeline::Timeline idle;
  idle.lanes.resize(3);
  EXPECT_EQ(find_xml_fault(render_svg(idle)), "");
  timeline::Timeline no_memory = small_timeline();
  for (auto& lane : no_memory.lanes) lane.memory = {};
  const std::string svg = render_svg(no_memory);
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("Activation")));
}

TEST(Svg, SkipsBarsWithoutLength) {
  timeline::Timeline timeline = small_timeline();
  timeline::Bar step = timeline.lanes[1].bars[4];
  step.kind = timeline::BarKind::step;
  step.start = step.end;
  timeline.lanes[1].bars.insert(timeline.lanes[1].bars.begin() + 5, step);
  const std::string svg = render_svg(timeline);
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_EQ(count(svg, "</title></rect>"), 10U);
  EXPECT_THAT(svg, Not(HasSubstr(">step</text>")));
}

TEST(Svg, LabelsTimesInTheirUnit) {
  timeline::Timeline timeline = small_timeline();
  timeline.time_unit = base::TimeUnit::us;
  for (auto& lane : timeline.lanes) {
    for (auto& bar : lane.bars) {
      bar.start = bar.start * 250;
      bar.end = bar.end * 250;
    }
  }
  timeline.end = timeline.end * 250;
  const std::string svg = render_svg(timeline);
  EXPECT_THAT(svg, HasSubstr("makespan 2.5 us"));
  EXPECT_THAT(svg, HasSubstr(">0.4</text>"));
  EXPECT_THAT(svg, HasSubstr(">us</text>"));
}

TEST(Svg, WritesNumbersShort) {
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(12), "12");
  EXPECT_EQ(number(0.5), ".5");
  EXPECT_EQ(number(-0.5), "-.5");
  EXPECT_EQ(number(12.34), "12.3");
  EXPECT_EQ(number(12.96), "13");
  EXPECT_EQ(number(-3.25), "-3.2");
  EXPECT_EQ(number(0.04), "0");
}

}  // namespace
}  // namespace dovetail::report
