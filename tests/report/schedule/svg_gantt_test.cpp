#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "report/drawing/svg_parts.h"
#include "report/schedule/gantt.h"
#include "report/xml_check.h"
#include "support/count.h"
#include "support/example_timelines.h"

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

TEST(Svg, ShowsTheCostsOfTheSchedule) {
  const std::string svg = render_svg(test::small_timeline());
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr(">small</text>"));
  EXPECT_THAT(svg, HasSubstr("makespan 10 ticks"));
  EXPECT_THAT(svg, HasSubstr("bubbles 40.0%"));
  EXPECT_THAT(svg, HasSubstr("peak activation 2.5 on device 1"));
  EXPECT_THAT(svg, HasSubstr("peak 2.5 on device 1 at 6"));
  EXPECT_THAT(svg, HasSubstr(">device 0</text>"));
}

TEST(Svg, HasALegendOfColorsAndIdleTime) {
  const std::string svg = render_svg(test::small_timeline());
  for (const char* text :
       {">actor</text>", ">critic</text>", ">forward</text>", ">backward</text>", ">idle 40.0%</text>",
        ">warm-up 10.0%</text>", ">dependency 20.0%</text>", ">transfer 5.0%</text>", ">drain 5.0%</text>"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
  EXPECT_THAT(svg, Not(HasSubstr("delay")));
  EXPECT_THAT(svg, Not(HasSubstr("weight gradient")));
}

TEST(Svg, DescribesBarsOnHover) {
  const std::string svg = render_svg(test::small_timeline());
  EXPECT_THAT(svg, HasSubstr("<title>F7 of actor, stage 1: 2 to 4 ticks</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>dependency: 2 to 6 ticks; awaits B7 of actor, stage 1 on device 1</title>"));
  EXPECT_EQ(count(svg, "</title></rect>"), 10U) << "one per bar";
}

TEST(Svg, LabelsBarsWithMicrobatches) {
  timeline::Timeline timeline = test::small_timeline();
  bars_of(timeline, 1)[4].microbatch = 123;
  const std::string svg = render_svg(timeline);
  EXPECT_EQ(count(svg, ">123</text>"), 1U);
  EXPECT_EQ(count(svg, ">7</text>"), 6U) << "in four bars, and on two axes";
}

TEST(Svg, EscapesNames) {
  const std::string svg = render_svg(test::hostile_timeline());
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("<a&b>")));
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(svg, HasSubstr("r\xC3\xA9ward"));
}

TEST(Svg, DrawsEveryKindOfWork) {
  timeline::Timeline timeline = test::small_timeline();
  bars_of(timeline, 1)[2].bar_kind = timeline::BarKind::input_gradient;
  bars_of(timeline, 1)[3].bar_kind = timeline::BarKind::weight_gradient;
  bars_of(timeline, 1)[4].bar_kind = timeline::BarKind::step;
  bars_of(timeline, 0)[2].bar_kind = timeline::BarKind::delay;
  const std::string svg = render_svg(timeline);
  EXPECT_EQ(find_xml_fault(svg), "");
  for (const char* text : {">input gradient</text>", ">weight gradient</text>", ">step</text>", ">delay 5.0%</text>"})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_THAT(svg, HasSubstr("fill=\"url(#dovetail-weight-1)\""));
  EXPECT_THAT(svg, HasSubstr("<pattern id=\"dovetail-weight-1\""));
  EXPECT_THAT(svg, HasSubstr("<pattern id=\"dovetail-delay\""));
}

/// Checks that every number matched by the first group of `pattern` is in [least, most].
void expect_within(const std::string& svg, const std::string& pattern, double least, double most) {
  const std::regex expression(pattern);
  std::size_t found = 0;
  for (auto match = std::sregex_iterator(svg.begin(), svg.end(), expression); match != std::sregex_iterator();
       ++match, ++found) {
    const double value = std::stod((*match)[1]);
    EXPECT_GE(value, least) << match->str();
    EXPECT_LE(value, most) << match->str();
  }
  EXPECT_GT(found, 0U);
}

TEST(Svg, StaysWithinItsPage) {
  for (const std::size_t lanes : {1U, 3U, 16U}) {
    const std::string svg = render_svg(test::large_timeline(lanes, 40));
    const double height = std::stod(svg.substr(svg.find("height=\"") + 8));
    expect_within(svg, " x=\"(-?[0-9.]+)\"", 0, 1400);
    expect_within(svg, " y=\"(-?[0-9.]+)\"", 0, height);
    expect_within(svg, " cy=\"(-?[0-9.]+)\"", 0, height);
    expect_within(svg, " width=\"([0-9.]+)\"", 0, 1400);
  }
}

TEST(Svg, KeepsAMillionOpsSmall) {
  const std::string svg = render_svg(test::large_timeline(256, 4096));
  EXPECT_LT(svg.size(), 4'000'000U);
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr("1048576 ops on 256 devices"));
  EXPECT_THAT(svg, Not(HasSubstr("</title></rect>"))) << "too many for hover texts";
  EXPECT_THAT(svg, HasSubstr(">device 0</text>"));
}

TEST(Svg, DrawsManyBarsAsPaths) {
  const std::string few = render_svg(test::large_timeline(4, 100));
  const std::string many = render_svg(test::large_timeline(16, 400));
  EXPECT_THAT(few, HasSubstr("</title></rect>"));
  EXPECT_THAT(many, Not(HasSubstr("</title></rect>")));
  EXPECT_EQ(find_xml_fault(many), "");
  EXPECT_LT(many.size(), 400'000U);
}

TEST(Svg, AcceptsMinimalTimelines) {
  EXPECT_EQ(find_xml_fault(render_svg({})), "");
  timeline::Timeline idle;
  idle.lanes.resize(3);
  EXPECT_EQ(find_xml_fault(render_svg(idle)), "");
  timeline::Timeline no_memory = test::small_timeline();
  no_memory.counters.clear();
  const std::string svg = render_svg(no_memory);
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("Activation")));
}

TEST(Svg, SkipsBarsWithoutLength) {
  timeline::Timeline timeline = test::small_timeline();
  timeline::Bar step = bars_of(timeline, 1)[4];
  step.bar_kind = timeline::BarKind::step;
  step.begin = step.end;
  timeline.bars.insert(timeline.bars.end() - 1, step);
  ++timeline.lanes[1].bars;
  const std::string svg = render_svg(timeline);
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_EQ(count(svg, "</title></rect>"), 10U);
  EXPECT_THAT(svg, Not(HasSubstr(">step</text>")));
}

TEST(Svg, LabelsTimesInTheirUnit) {
  timeline::Timeline timeline = test::small_timeline();
  timeline.time_unit = base::TimeUnit::us;
  for (timeline::Bar& bar : timeline.bars) {
    bar.begin = bar.begin * 250;
    bar.end = bar.end * 250;
  }
  timeline.end = timeline.end * 250;
  const std::string svg = render_svg(timeline);
  EXPECT_THAT(svg, HasSubstr("makespan 2.5 us"));
  EXPECT_THAT(svg, HasSubstr(">0.4</text>"));
  EXPECT_THAT(svg, HasSubstr(">us</text>"));
}

/// Tasks on two devices, one of which waits, and a link to host memory.
timeline::Timeline small_iteration() {
  using timeline::BarKind;
  constexpr auto task = timeline::Track::Kind::task;
  timeline::Timeline timeline;
  timeline.title = "a <title>";
  timeline.lane_noun = "row";
  timeline.time_unit = base::TimeUnit::ns;
  timeline.beginning = timeline::Beginning::repeats;
  timeline.end = base::Ticks(4'000'000'000);
  timeline.tracks = {{"generate", 0, 0, task}, {"score <&\"it\">", 1, 0, task}};
  const auto at = [](std::int64_t tenths) { return base::Ticks(tenths * 100'000'000); };
  add_lane(timeline, "devices 0-1,5", {{at(0), at(38), BarKind::decode, 0}, {at(38), at(40), BarKind::hand_over}});
  add_lane(timeline, "device 2", {{at(0), at(25), BarKind::dependency, 0}, {at(25), at(40), BarKind::infer, 1}});
  add_lane(timeline, "host links 0-1", {{at(10), at(20), BarKind::loading, 1}});
  timeline.counters = {
      {"memory in use", "bytes", 0, {{at(0), base::Memory(1LL << 30)}, {at(15), base::Memory(64LL << 30)}}}};
  return timeline;
}

TEST(Svg, DrawsIterationsOfTasks) {
  const std::string svg = render_svg(small_iteration());
  EXPECT_EQ(find_xml_fault(svg), "");
  for (const char* text :
       {"a &lt;title&gt;", "end 4.0 s", "peak memory in use 64.00 GiB on devices 0-1,5", ">generate</text>",
        ">decode</text>", ">hand-over</text>", ">host links 0-1</text>", ">dependency 15.6%</text>",
        "<title>dependency on generate: 0 to 2.5 s</title>",
        "<title>loading of score &lt;&amp;&quot;it&quot;&gt;: 1 to 2 s", ">Memory in use</text>", ">40.00 GiB</text>"})
    EXPECT_THAT(svg, HasSubstr(text));
}

TEST(Svg, ExplainsHandOver) {
  EXPECT_THAT(render_svg(small_iteration()), HasSubstr(">Hand-over: the trainer's software distributes data"));
  EXPECT_THAT(render_svg(test::small_timeline()), Not(HasSubstr("Hand-over")));
}

TEST(Svg, ColorsGenerationInferenceAndTrainingDifferently) {
  timeline::Timeline timeline = small_iteration();
  timeline.tracks[1].model = 0;
  bars_of(timeline, 0)[1].bar_kind = timeline::BarKind::backward;
  bars_of(timeline, 0)[1].track = 0;
  const std::string svg = render_svg(timeline);
  for (const timeline::BarKind kind : {timeline::BarKind::decode, timeline::BarKind::infer})
    EXPECT_THAT(svg, HasSubstr("fill=\"" + hex(stage_ink(kind)->light) + "\""));
  EXPECT_THAT(svg, HasSubstr("fill=\"#1f62a8\"")) << "backward of the first model";
}

TEST(Svg, HasAtMostTenLegendEntries) {
  timeline::Timeline timeline = test::small_timeline();
  timeline.tracks.clear();
  for (int model = 0; model < 12; ++model) {
    timeline.tracks.push_back({"model" + std::to_string(model), model, 0});
    bars_of(timeline, 0)[0].track = 0;
  }
  std::vector<timeline::Bar> more;
  for (int model = 0; model < 12; ++model) {
    timeline::Bar bar = bars_of(timeline, 0)[0];
    bar.begin = base::Ticks(model);
    bar.end = base::Ticks(model + 1);
    bar.track = model;
    bar.bar_kind = model % 2 == 0 ? timeline::BarKind::forward : timeline::BarKind::backward;
    more.push_back(bar);
  }
  add_lane(timeline, "device 2", more);
  const std::string svg = render_svg(timeline);
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr(">other work</text>"));
  EXPECT_THAT(svg, HasSubstr(">other idle time "));
}

TEST(Svg, OmitsRowNamesThatDoNotFit) {
  timeline::Timeline timeline = small_iteration();
  for (int device = 10; device < 310; ++device)
    add_lane(timeline, "device " + std::to_string(device),
             {{base::Ticks(0), timeline.end, timeline::BarKind::tail, 0}});
  const std::string svg = render_svg(timeline);
  const std::regex name("<text x=\"[0-9.]+\" y=\"([0-9.]+)\"[^>]*text-anchor=\"end\">devices? [0-9,-]+</text>");
  std::vector<double> baselines;
  for (std::sregex_iterator found(svg.begin(), svg.end(), name), end; found != end; ++found)
    baselines.push_back(std::stod((*found)[1]));
  ASSERT_GT(baselines.size(), 10U);
  EXPECT_LT(baselines.size(), timeline.lanes.size());
  for (std::size_t index = 1; index < baselines.size(); ++index)
    EXPECT_GE(baselines[index] - baselines[index - 1], 9 - 0.1);
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
