#include "report/palette.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace dovetail::report {
namespace {

using timeline::BarKind;

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

/// What each kind of vision sees of linear RGB, at full severity (Machado, Oliveira, Fernandes 2009).
constexpr std::array<Matrix, 4> visions{
    {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
     {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
     {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
     {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}}}};
constexpr Matrix rgb_to_xyz{{{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}}};

Vector multiply(const Matrix& matrix, const Vector& vector) {
  Vector product{};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t i = 0; i < 3; ++i) product[row] += matrix[row][i] * vector[i];
  }
  return product;
}

double linear(std::uint8_t channel) {
  const double value = channel / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

/// CIELAB coordinates of what is seen of a colour.
Vector lab(Color color, const Matrix& vision) {
  Vector seen = multiply(vision, {linear(color.red), linear(color.green), linear(color.blue)});
  for (double& channel : seen) channel = std::clamp(channel, 0.0, 1.0);
  Vector root = multiply(rgb_to_xyz, seen);
  constexpr Vector white{0.95047, 1, 1.08883};
  for (std::size_t i = 0; i < 3; ++i) {
    const double ratio = root[i] / white[i];
    root[i] = ratio > 0.008856 ? std::cbrt(ratio) : 7.787 * ratio + 16.0 / 116;
  }
  return {116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])};
}

/// How far apart two colours are for those who tell them apart least (CIE 1976; about 2 is just noticed).
double least_difference(Color a, Color b) {
  double least = 1000;
  for (const Matrix& vision : visions) {
    const Vector seen_a = lab(a, vision);
    const Vector seen_b = lab(b, vision);
    least = std::min(least, std::hypot(seen_a[0] - seen_b[0], seen_a[1] - seen_b[1], seen_a[2] - seen_b[2]));
  }
  return least;
}

/// Relative luminance as WCAG 2 defines it.
double luminance(Color color) { return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue); }

Color of(const std::array<Color, work_kinds>& colors, BarKind kind) { return colors[static_cast<std::size_t>(kind)]; }

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
      EXPECT_GT(least_difference(of(colors[a], BarKind::forward), of(colors[b], BarKind::forward)), 11) << a / 2 << " and " << b / 2;
      EXPECT_GT(least_difference(of(colors[a], BarKind::backward), of(colors[b], BarKind::backward)), 17) << a / 2 << " and " << b / 2;
    }
  }
}

TEST(Palette, DrawsForwardLightAndBackwardDark) {
  for (const auto& colors : colors_of(eight_models_with_two_replicas())) {
    EXPECT_GT(luminance(of(colors, BarKind::forward)), luminance(of(colors, BarKind::weight_gradient)));
    EXPECT_GT(luminance(of(colors, BarKind::weight_gradient)), luminance(of(colors, BarKind::backward)));
    EXPECT_GT(luminance(of(colors, BarKind::backward)), luminance(of(colors, BarKind::step)));
    // A factor that is seen without colours too.
    EXPECT_GT((luminance(of(colors, BarKind::forward)) + 0.05) / (luminance(of(colors, BarKind::backward)) + 0.05), 2.0);
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
