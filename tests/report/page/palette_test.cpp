#include "report/page/palette.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "report/color_difference.h"

namespace dovetail::report {
namespace {

using timeline::BarKind;

/// Relative luminance as WCAG 2 defines it.
double luminance(Color color) {
  return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
}

Color of(const std::array<Color, shades>& colors, BarKind bar_kind) { return colors[*shade_of(bar_kind)]; }

std::vector<timeline::Track> eight_models_with_two_replicas() {
  std::vector<timeline::Track> tracks;
  for (int model = 0; model < 8; ++model) {
    for (int replica = 0; replica < 2; ++replica) tracks.push_back({"", model, replica});
  }
  return tracks;
}

TEST(Palette, GivesEveryPipelineAndDirectionItsColour) {
  std::set<std::string> seen;
  for (const auto& colors : colors_of(eight_models_with_two_replicas())) {
    EXPECT_TRUE(seen.insert(hex(of(colors, BarKind::forward))).second);
    EXPECT_TRUE(seen.insert(hex(of(colors, BarKind::backward))).second);
    EXPECT_TRUE(seen.insert(hex(of(colors, BarKind::weight_gradient))).second);
    EXPECT_TRUE(seen.insert(hex(of(colors, BarKind::step))).second);
    EXPECT_EQ(of(colors, BarKind::input_gradient), of(colors, BarKind::backward));
  }
}

TEST(Palette, TellsModelsApartWithEveryCommonColourVision) {
  const auto colors = colors_of(eight_models_with_two_replicas());
  for (std::size_t a = 0; a < colors.size(); a += 2) {
    for (std::size_t b = 0; b < a; b += 2) {
      EXPECT_GT(min_difference(of(colors[a], BarKind::forward), of(colors[b], BarKind::forward)), 11)
          << a / 2 << " and " << b / 2;
      EXPECT_GT(min_difference(of(colors[a], BarKind::backward), of(colors[b], BarKind::backward)), 17)
          << a / 2 << " and " << b / 2;
    }
  }
}

TEST(Palette, DrawsForwardLightAndBackwardDark) {
  for (const auto& colors : colors_of(eight_models_with_two_replicas())) {
    EXPECT_GT(luminance(of(colors, BarKind::forward)), luminance(of(colors, BarKind::weight_gradient)));
    EXPECT_GT(luminance(of(colors, BarKind::weight_gradient)), luminance(of(colors, BarKind::backward)));
    EXPECT_GT(luminance(of(colors, BarKind::backward)), luminance(of(colors, BarKind::step)));
    // A factor that is seen without colours too.
    EXPECT_GT((luminance(of(colors, BarKind::forward)) + 0.05) / (luminance(of(colors, BarKind::backward)) + 0.05),
              2.0);
  }
}

TEST(Palette, ChoosesLabelsThatCanBeRead) {
  for (const auto& colors : colors_of(eight_models_with_two_replicas())) {
    for (const Color color : colors) {
      const double contrast = is_dark(color) ? 1.05 / (luminance(color) + 0.05) : (luminance(color) + 0.05) / 0.05;
      EXPECT_GE(contrast, 3.2) << hex(color);
    }
  }
}

TEST(Palette, KeepsModelsApartOnATerminal) {
  const auto colors = colors_of(eight_models_with_two_replicas());
  std::set<int> seen;
  for (std::size_t model = 0; model < colors.size(); model += 2) {
    EXPECT_TRUE(seen.insert(terminal_color(of(colors[model], BarKind::forward))).second) << model / 2;
    EXPECT_TRUE(seen.insert(terminal_color(of(colors[model], BarKind::backward))).second) << model / 2;
  }
}

TEST(Palette, RepeatsItsHuesForMoreModels) {
  const auto colors = colors_of({{"first", 0, 0}, {"ninth", 8, 0}});
  EXPECT_EQ(colors[0], colors[1]);
}

TEST(Palette, MixesAndPrints) {
  EXPECT_EQ(mix({0, 0, 0}, {255, 255, 255}, 0), (Color{0, 0, 0}));
  EXPECT_EQ(mix({0, 0, 0}, {255, 255, 255}, 100), (Color{255, 255, 255}));
  EXPECT_EQ(mix({0, 100, 200}, {100, 200, 0}, 50), (Color{50, 150, 100}));
  EXPECT_EQ(hex({1, 0xAB, 255}), "#01abff");
}

TEST(Palette, FindsTheNearestColourOfATerminal) {
  EXPECT_EQ(terminal_color({255, 255, 255}), 231);
  EXPECT_EQ(terminal_color({0, 0, 0}), 16);
  EXPECT_EQ(terminal_color({255, 0, 0}), 196);
  EXPECT_EQ(terminal_color({95, 135, 175}), 67);
  EXPECT_EQ(terminal_color({0x6E, 0x2B, 0x2E}), 52) << "a dark red, not a grey";
  EXPECT_EQ(terminal_color({18, 18, 18}), 233);
  EXPECT_EQ(terminal_color({238, 238, 238}), 255);
}

}  // namespace
}  // namespace dovetail::report
