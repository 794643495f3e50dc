#include "report/schedule/pareto_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "report/xml_check.h"
#include "support/count.h"

namespace dovetail::report {
namespace {

using base::Memory;
using base::Ticks;
using test::count;
using testing::HasSubstr;
using testing::Not;

TradePoint at(std::int64_t makespan, std::int64_t millionths) { return {Ticks(makespan), Memory(millionths)}; }

ParetoPicture example() {
  ParetoPicture picture;
  picture.title = "two & three";
  picture.front = {{at(100, 9'000'000), false}, {at(150, 4'500'000), true}, {at(900, 1'000'000), false}};
  picture.others = {{"1f1b", at(400, 8'000'000), true}, {"<greedy>", at(120, 12'000'000), false}};
  picture.bound = {at(98, 5'000'000), at(130, 1'000'000)};
  return picture;
}

TEST(ParetoSvg, StatesTheRangeOfTheFront) {
  const std::string svg = render_pareto_svg(example());
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr(">two &amp; three</text>"));
  EXPECT_THAT(svg,
              HasSubstr("3 schedules: from makespan 100 at peak activation 9 to makespan 900 at peak activation 1"));
  EXPECT_THAT(svg, HasSubstr(">100 \u00B7 9</text>"));
  EXPECT_THAT(svg, HasSubstr("makespan (ticks, logarithmic)"));
  EXPECT_THAT(svg, HasSubstr("peak activation (in the problem's unit, logarithmic)"));
}

TEST(ParetoSvg, DistinguishesProvenPoints) {
  const std::string svg = render_pareto_svg(example());
  EXPECT_THAT(svg, HasSubstr("<title>2: makespan 150, peak activation 4.5, proven</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>1: makespan 100, peak activation 9</title>"));
}

TEST(ParetoSvg, NamesAndEscapesConstructions) {
  const std::string svg = render_pareto_svg(example());
  EXPECT_THAT(svg, HasSubstr(">1f1b</text>"));
  EXPECT_THAT(svg, HasSubstr(">&lt;greedy&gt;</text>"));
  EXPECT_THAT(svg, HasSubstr(">baseline</text>"));
  ParetoPicture plain = example();
  plain.others[0].emphasized = false;
  EXPECT_THAT(render_pareto_svg(plain), Not(HasSubstr(">baseline</text>")));
}

TEST(ParetoSvg, WritesTimesInTheirUnit) {
  ParetoPicture picture = example();
  picture.time_unit = base::TimeUnit::ms;
  for (FrontPoint& point : picture.front) point.at.makespan = Ticks(point.at.makespan.count() * 500'000);
  for (NamedPoint& point : picture.others) point.at.makespan = Ticks(point.at.makespan.count() * 500'000);
  for (TradePoint& point : picture.bound) point.makespan = Ticks(point.makespan.count() * 500'000);
  const std::string svg = render_pareto_svg(picture);
  EXPECT_THAT(svg, HasSubstr("makespan (ms, logarithmic)"));
  EXPECT_THAT(svg, HasSubstr(">100</text>"));
  EXPECT_THAT(svg, HasSubstr("from makespan 50 at"));
}

TEST(ParetoSvg, DrawsASinglePoint) {
  ParetoPicture picture;
  picture.title = "one";
  picture.front = {{at(5, 0), true}};
  picture.bound = {at(5, 0)};
  const std::string svg = render_pareto_svg(picture);
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr("1 schedule: makespan 5 at peak activation 0</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(ParetoSvg, OmitsLabelsThatDoNotFit) {
  ParetoPicture picture = example();
  for (int i = 0; i < 60; ++i) picture.others.push_back({"crowd", at(400, 8'000'000), false});
  const std::string svg = render_pareto_svg(picture);
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_LT(count(svg, ">crowd</text>"), 12U);
  EXPECT_EQ(count(svg, "crowd: makespan"), 60U);
}

}  // namespace
}  // namespace dovetail::report
