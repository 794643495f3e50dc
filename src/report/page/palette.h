// Colors of pictures, pages and terminals. The hues of models are distinguishable with all common types of color
// vision.
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

/// A color for light backgrounds and its counterpart for dark ones.
struct Ink {
  Color light;
  Color dark;
};

/// Returns the color `percent` of the way from `from` to `to`.
Color mix(Color from, Color to, int percent);
/// Formats a color: "#1f77b4".
std::string hex(Color color);
/// Returns the number of the nearest color of 256-color terminals: of the 6 x 6 x 6 cube or, for near-grays, of the
/// gray ramp if that is nearer.
int terminal_color(Color color);
/// Whether white text reads better than black on `background`.
bool is_dark(Color background);

/// Number of shades of each track: one per kind of op.
inline constexpr std::size_t shades = timeline::op_bar_kinds.size();

/// Returns the shade of a kind of training work within its track's colors. nullopt for other work and for idle time.
std::optional<std::size_t> shade_of(timeline::BarKind bar_kind);

/// Returns the color of generation (light for prefill, dark for decode, between them for recomputed prefill) or of
/// inference. Their two hues differ from each other and from the first four models' hues. nullopt for other bar kinds.
std::optional<Ink> stage_ink(timeline::BarKind bar_kind);

/// Returns the colors of each track by shade: forward light, backward and input gradient dark, weight gradient between
/// them, step darkest. Replicas of a model are shades of its hue. Hues repeat after eight models. A track without a
/// model has the colors of the first model.
std::vector<std::array<Color, shades>> colors_of(const std::vector<timeline::Track>& tracks);

/// Returns `color` for light backgrounds. For dark backgrounds, lightens it if is_dark(color), otherwise darkens it
/// slightly.
Ink ink_of(Color color);

/// Returns the color of a bar; `track` is an index of `tracks`, or -1. Generation and inference have one hue each.
/// Training has its track's colors: light for forward passes, dark for backward passes, darkest for the optimizer. Work
/// that belongs to no model, and movement of data, have separate colors. The color of idle time depends on its
/// cause.
Ink ink_of(const std::vector<timeline::Track>& tracks, timeline::BarKind bar_kind, std::int32_t track);

/// Returns the index of a cause among the idle colors. Some causes share a color.
std::size_t cause_of(timeline::BarKind idle);

/// Returns a muted color for a cause of idle time. There are seven; indices wrap around.
Ink idle_ink(std::size_t cause);

/// Returns a color for work that serves models, such as moving weights. There are four; indices wrap around.
Ink service_ink(std::size_t kind);

/// Returns a color for work that belongs to no model, such as the names of a trace, and for curves. The first eight are
/// the dark shades of the models' hues, the next eight the light ones. Indices wrap around after sixteen.
Ink plain_ink(std::size_t index);

}  // namespace dovetail::report
