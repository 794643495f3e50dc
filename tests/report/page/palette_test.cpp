#include "report/page/palette.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "report/color_difference.h"

namespace dovetail::report {
namespace {

using timeline::BarKind;

/// Relative luminance as defined by WCAG 2.
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

TEST(Palette, HasAColorPerPipelineAndDirection) {
  std::set<std::string> seen;
  for (const auto& colors : colors_of(eight_models_with_two_replicas())) {
    EXPECT_TRUE(seen.insert(hex(of(colors, BarKind::forward))).second);
    EXPECT_TRUE(seen.insert(hex(of(colors, BarKind::backward))).second);
    EXPECT_TRUE(seen.insert(hex(of(colors, BarKind::weight_gradient))).second);
    EXPECT_TRUE(seen.insert(hex(of(colors, BarKind::step))).second);
    EXPECT_EQ(of(colors, BarKind::input_gradient), of(colors, BarKind::backward));
  }
}

TEST(Palette, DistinguishesModelsWithAllCommonColorVision) {
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
    // A contrast that is visible without color.
    EXPECT_GT((luminance(of(colors, BarKind::forward)) + 0.05) / (luminance(of(colors, BarKind::backward)) + 0.05),
              2.0);
  }
}

TEST(Palette, ChoosesReadableLabels) {
  for (const auto& colors : colors_of(eight_models_with_two_replicas())) {
    for (const Color color : colors) {
      const double contrast = is_dark(color) ? 1.05 / (luminance(color) + 0.05) : (luminance(color) + 0.05) / 0.05;
      EXPECT_GE(contrast, 3.2) << hex(color);
    }
  }
}

TEST(Palette, DistinguishesModelsInATerminal) {
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

TEST(Palette, FindsTheNearestTerminalColor) {
  EXPECT_EQ(terminal_color({255, 255, 255}), 231);
  EXPECT_EQ(terminal_color({0, 0, 0}), 16);
  EXPECT_EQ(terminal_color({255, 0, 0}), 196);
  EXPECT_EQ(terminal_color({95, 135, 175}), 67);
  EXPECT_EQ(terminal_color({0x6E, 0x2B, 0x2E}), 52) << "a dark red, not a gray";
  EXPECT_EQ(terminal_color({18, 18, 18}), 233);
  EXPECT_EQ(terminal_color({238, 238, 238}), 255);
}

constexpr std::size_t idle_causes = 7;
constexpr std::size_t services = 4;
constexpr std::size_t roles = 4;
constexpr std::array stages{BarKind::prefill, BarKind::decode, BarKind::infer};

/// All colors that are adjacent on the page of an iteration: idle time and services, then generation and inference,
/// then forward and backward of each role.
std::vector<Ink> inks_of_an_iteration() {
  std::vector<Ink> inks;
  for (std::size_t cause = 0; cause < idle_causes; ++cause) inks.push_back(idle_ink(cause));
  for (std::size_t kind = 0; kind < services; ++kind) inks.push_back(service_ink(kind));
  for (const BarKind kind : stages) inks.push_back(*stage_ink(kind));
  for (std::size_t role = 0; role < roles; ++role) {
    inks.push_back(plain_ink(role));
    inks.push_back(plain_ink(role + 8));
  }
  return inks;
}

/// A difference of 2 is just noticeable side by side.
constexpr double min_distance = 12.5;

TEST(Inks, DistinguishAllKindsOfBarsOnBothBackgrounds) {
  const std::vector<Ink> inks = inks_of_an_iteration();
  for (std::size_t a = 0; a < idle_causes + services + stages.size(); ++a) {
    for (std::size_t b = a + 1; b < inks.size(); ++b) {
      EXPECT_GT(min_difference(inks[a].light, inks[b].light), min_distance)
          << a << " and " << b << " on a light background";
      EXPECT_GT(min_difference(inks[a].dark, inks[b].dark), min_distance)
          << a << " and " << b << " on a dark background";
    }
  }
}

/// The color of a task's bars by its kind of work.
Ink task_ink(BarKind bar_kind) { return ink_of({{"task", 0, 0, timeline::Track::Kind::task}}, bar_kind, 0); }

TEST(Inks, SeparateGenerationInferenceAndTraining) {
  const std::vector<std::vector<BarKind>> stages_of_work{
      {BarKind::prefill, BarKind::decode}, {BarKind::infer}, {BarKind::forward, BarKind::backward}};
  for (std::size_t a = 0; a < stages_of_work.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      for (const BarKind one : stages_of_work[a])
        for (const BarKind other : stages_of_work[b]) {
          EXPECT_GT(min_difference(task_ink(one).light, task_ink(other).light), min_distance)
              << name_of(one) << " and " << name_of(other);
          EXPECT_GT(min_difference(task_ink(one).dark, task_ink(other).dark), min_distance)
              << name_of(one) << " and " << name_of(other);
        }
  EXPECT_FALSE(shade_of(BarKind::decode).has_value());
  EXPECT_FALSE(stage_ink(BarKind::backward).has_value());
}

TEST(Inks, LabelsOfStagesAreReadable) {
  for (const BarKind kind : stages)
    for (const Color color : {stage_ink(kind)->light, stage_ink(kind)->dark}) {
      const double contrast = is_dark(color) ? 1.05 / (luminance(color) + 0.05) : (luminance(color) + 0.05) / 0.05;
      EXPECT_GE(contrast, 3.2) << hex(color);
    }
}

TEST(Inks, ContrastWithTheBackground) {
  std::vector<Ink> inks = inks_of_an_iteration();
  inks.resize(idle_causes + services + stages.size());
  for (const Ink& ink : inks) {
    EXPECT_GT(min_difference(ink.light, {0xFF, 0xFF, 0xFF}), min_distance) << hex(ink.light);
    EXPECT_GT(min_difference(ink.dark, {0x14, 0x1A, 0x23}), min_distance) << hex(ink.dark);
  }
}

TEST(Inks, Repeat) {
  EXPECT_EQ(idle_ink(idle_causes).light, idle_ink(0).light);
  EXPECT_EQ(service_ink(services).dark, service_ink(0).dark);
}

}  // namespace

}  // namespace dovetail::report
