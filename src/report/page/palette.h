// Colours of pictures and terminals: one hue a model, told apart with every common colour vision.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "report/page/summary.h"
#include "timeline/timeline.h"

namespace dovetail::report {

struct Color {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;

  friend bool operator==(const Color&, const Color&) = default;
};

/// `percent` of the way from `from` to `to`.
Color mix(Color from, Color to, int percent);
/// "#1f77b4".
std::string hex(Color color);
/// The nearest colour of the 6 x 6 x 6 cube of 256-colour terminals, or of their grey ramp for what is nearly grey.
int terminal_color(Color color);
/// Whether white reads better than black on `background`.
bool is_dark(Color background);

/// Colours of each track by kind of work, with the shade of its traits: forward light, backward dark, ...
/// Replicas of a model are shades of its hue; hues repeat after eight models.
std::vector<std::array<Color, work_kinds>> colors_of(const std::vector<timeline::Track>& tracks);

}  // namespace dovetail::report
