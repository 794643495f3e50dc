#include "report/drawing/curve_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "report/xml_check.h"
#include "support/count.h"

namespace dovetail::report {
namespace {

using test::count;
using testing::HasSubstr;
using testing::Not;

CurvePicture example() {
  CurvePicture picture;
  picture.title = "job <a> & b";
  picture.facts = "fastest: 2x";
  picture.x_name = "lengths";
  picture.logarithmic = true;
  picture.places = {{1, "1x"}, {2, "2x"}, {4, "4x", true}};
  picture.outlined_name = "does not fit";
  CurvePicture::Panel time{"iteration (s)", {}};
  time.lines.push_back(
      {"simulated", {10.0, 12.0, 20.0}, {CurvePicture::Range{9, 11}, CurvePicture::Range{11, 13}, std::nullopt}});
  time.lines.push_back({"analytical", {10.5, std::nullopt, 19.0}});
  time.levels.push_back({"no migration", 15});
  time.marks.push_back({0, 1, "best: 2x"});
  CurvePicture::Panel memory{"peak memory (GiB)", {{"needed", {30.0, 40.0, 90.0}}}};
  picture.panels = {time, memory};
  return picture;
}

/// Returns the values of `attribute` of all circles that are points, in drawing order.
std::vector<double> points(const std::string& svg, const std::string& attribute) {
  std::vector<double> values;
  const std::regex circle("<circle cx=\"([0-9.]+)\" cy=\"([0-9.]+)\"[^>]*><title>");
  for (std::sregex_iterator found(svg.begin(), svg.end(), circle), end; found != end; ++found)
    values.push_back(std::stod((*found)[attribute == "cx" ? 1 : 2]));
  return values;
}

TEST(CurveSvg, IsWellFormedAndEscapesNames) {
  const std::string svg = render_curve_svg(example());
  EXPECT_EQ(find_xml_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr(">job &lt;a&gt; &amp; b</text>"));
  EXPECT_THAT(svg, HasSubstr(">iteration (s)"));
  EXPECT_THAT(svg, HasSubstr(">peak memory (GiB)"));
  EXPECT_THAT(svg, HasSubstr(">no migration: 15</text>"));
  EXPECT_THAT(svg, HasSubstr(">best: 2x</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>needed, 4x: 90</title>"));
}

TEST(CurveSvg, HasAPointPerValueAndNoPointInAGap) {
  const std::string svg = render_curve_svg(example());
  EXPECT_EQ(points(svg, "cx").size(), 3U + 2U + 3U);
  EXPECT_THAT(svg, Not(HasSubstr("analytical, 2x")));
}

TEST(CurveSvg, PlacesPointsToScale) {
  CurvePicture picture = example();
  const std::vector<double> x = points(render_curve_svg(picture), "cx");
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.2);  // 1, 2, 4 on a logarithmic axis
  picture.logarithmic = false;
  const std::vector<double> linear = points(render_curve_svg(picture), "cx");
  EXPECT_NEAR(2 * (linear[1] - linear[0]), linear[2] - linear[1], 0.3);
  const std::vector<double> y = points(render_curve_svg(picture), "cy");
  EXPECT_NEAR((y[0] - y[1]) * 4, y[1] - y[2], 0.5);  // 10, 12, 20, downward
}

TEST(CurveSvg, DrawsRingsForPlansThatDoNotFit) {
  CurvePicture picture = example();
  const std::string svg = render_curve_svg(picture);
  // Rings of both lines and of memory, ring of the legend, background of the page, and the style's rule for it.
  EXPECT_EQ(count(svg, "fill=\"#ffffff\""), 6U);
  EXPECT_THAT(svg, HasSubstr(">does not fit</text>"));
  picture.places[2].is_outlined = false;
  EXPECT_THAT(render_curve_svg(picture), Not(HasSubstr("does not fit")));
}

TEST(CurveSvg, HasALegendPerPanelWithSeveralLines) {
  CurvePicture picture = example();
  picture.panels[1].lines.push_back({"usable", {80.0, 80.0, 80.0}});
  const std::string svg = render_curve_svg(picture);
  const auto place = [&svg](const std::string& text) { return svg.find(">" + text + "</text>"); };
  for (const std::string name : {"simulated", "analytical", "needed", "usable"})
    EXPECT_EQ(count(svg, ">" + name + "</text>"), 1U) << name;
  // Each entry is in its own panel, in the colors of that panel's lines.
  EXPECT_LT(place("iteration (s)"), place("simulated"));
  EXPECT_LT(place("simulated"), place("analytical"));
  EXPECT_LT(place("analytical"), place("peak memory (GiB)"));
  EXPECT_LT(place("peak memory (GiB)"), place("needed"));
  EXPECT_LT(place("needed"), place("usable"));
  EXPECT_THAT(render_curve_svg(example()), Not(HasSubstr(">needed</text>"))) << "the panel's name is enough";
}

TEST(CurveSvg, HasAStyleForDarkBackgrounds) {
  const std::string svg = render_curve_svg(example());
  const std::size_t style_end = svg.find("</style>");
  ASSERT_NE(style_end, std::string::npos);
  EXPECT_THAT(svg, HasSubstr("<style>@media (prefers-color-scheme:dark){"));
  const std::regex color("(fill|stroke)=\"(#[0-9a-f]{6})\"");
  const std::string drawn = svg.substr(style_end);
  for (std::sregex_iterator found(drawn.begin(), drawn.end(), color), end; found != end; ++found)
    EXPECT_THAT(svg.substr(0, style_end), HasSubstr("[" + found->str() + "]{")) << found->str();
}

TEST(CurveSvg, AcceptsOnePlace) {
  CurvePicture picture = example();
  picture.places.resize(1);
  picture.panels.resize(1);
  picture.panels[0].lines = {{"analytical", {10.0}}};
  picture.panels[0].marks.clear();
  EXPECT_EQ(find_xml_fault(render_curve_svg(picture)), "");
  EXPECT_EQ(points(render_curve_svg(picture), "cx").size(), 1U);
}

}  // namespace
}  // namespace dovetail::report
