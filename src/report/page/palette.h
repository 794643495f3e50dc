// Colours of pictures and terminals: one hue a model, told apart with every common colour vision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

/// How many shades a track has: one for each kind of op.
inline constexpr std::size_t shades = timeline::op_bar_kinds.size();

/// Which of the colours of its track a bar kind has; nothing for idle time, and where it serves the track, as moving
/// weights does.
std::optional<std::size_t> shade_of(timeline::BarKind bar_kind);

/// Colours of each track by shade, which are those of its ops: forward light, backward and input gradient dark, weight
/// gradient between, step darkest. Replicas of a model are shades of its hue; hues repeat after eight models. A track
/// without a model has those of the first.
std::vector<std::array<Color, shades>> colors_of(const std::vector<timeline::Track>& tracks);

}  // namespace dovetail::report
