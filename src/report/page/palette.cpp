#include "report/page/palette.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <vector>

namespace dovetail::report {
namespace {

constexpr Color white{255, 255, 255};
constexpr Color black{0, 0, 0};

/// Shades of a model.
struct Hue {
  Color light;
  Color dark;
};

/// Found by a search for colors that are far apart in CIELAB for normal, protan, deutan and tritan vision. palette_test
/// checks this.
constexpr std::array<Hue, 8> hues{{
    {{0x9E, 0xC9, 0xEE}, {0x1F, 0x62, 0xA8}},  // blue
    {{0xFD, 0xCB, 0x8A}, {0xD9, 0x6C, 0x06}},  // orange
    {{0xA6, 0xF2, 0xEA}, {0x0E, 0x95, 0x8F}},  // teal
    {{0xCB, 0xA0, 0xF5}, {0x98, 0x4C, 0xE4}},  // violet
    {{0xF3, 0x9A, 0x98}, {0x6E, 0x2B, 0x2E}},  // rose and maroon
    {{0xB4, 0xBB, 0x55}, {0x52, 0x5E, 0x16}},  // olive
    {{0xA6, 0xAE, 0xC2}, {0x28, 0x38, 0x50}},  // slate
    {{0xEF, 0xEC, 0xC8}, {0x8B, 0x8A, 0x60}},  // sand
}};

Color shade_between(Color light, Color dark, pipeline::Shade shade) {
  switch (shade) {
    case pipeline::Shade::light:
      return light;
    case pipeline::Shade::dark:
      return dark;
    case pipeline::Shade::between:
      return mix(light, dark, 30);
    case pipeline::Shade::darkest:
      break;
  }
  return mix(dark, black, 55);
}

/// Returns the shades of a replica. At 100 percent (the last replica), the light shade is lightest and the dark shade
/// darkest.
std::array<Color, shades> shades_of(const Hue& hue, int replica_percent) {
  const Color light = mix(hue.light, white, replica_percent * 45 / 100);
  const Color dark = mix(hue.dark, black, replica_percent * 30 / 100);
  std::array<Color, shades> colors;
  for (std::size_t kind = 0; kind < shades; ++kind)
    colors[kind] = shade_between(light, dark, pipeline::op_table[kind].shade);
  return colors;
}

int nearest_level(const std::array<int, 6>& levels, int value) {
  int nearest = 0;
  for (int i = 1; i < 6; ++i) {
    if (std::abs(levels[static_cast<std::size_t>(i)] - value) <
        std::abs(levels[static_cast<std::size_t>(nearest)] - value))
      nearest = i;
  }
  return nearest;
}

int distance(Color a, Color b) {
  const int red = a.red - b.red;
  const int green = a.green - b.green;
  const int blue = a.blue - b.blue;
  return red * red + green * green + blue * blue;
}

using timeline::BarKind;

/// These colors and the next ones were found by a search like the one above: they are far apart in CIELAB, for all
/// common types of color vision, from each other and from the first four models. palette_test checks this.
constexpr std::array<Ink, 7> idle_inks{{
    {{0xCB, 0xCD, 0xBC}, {0x56, 0x5B, 0x5C}},  // gray
    {{0xB6, 0x91, 0x80}, {0x5B, 0x34, 0x30}},  // brown
    {{0xF1, 0xDF, 0xB6}, {0x7E, 0x5A, 0x07}},  // sand
    {{0xF1, 0xA0, 0x81}, {0x90, 0x38, 0x2A}},  // rose
    {{0x7F, 0xA1, 0x5D}, {0x19, 0x44, 0x08}},  // green
    {{0x6B, 0xC2, 0xC4}, {0x31, 0x75, 0x4C}},  // sea
    {{0x9A, 0x92, 0xC7}, {0x58, 0x3B, 0x62}},  // lilac
}};

constexpr std::array<Ink, 4> service_inks{{
    {{0x46, 0x4A, 0x52}, {0x9A, 0x82, 0x7A}},  // graphite
    {{0x6D, 0x6D, 0x9C}, {0x62, 0x77, 0x91}},  // slate
    {{0x32, 0x58, 0x3F}, {0x84, 0x9B, 0x65}},  // moss
    {{0x7D, 0x74, 0x53}, {0xD6, 0xC4, 0xA1}},  // khaki
}};

/// Generation is green and inference crimson. Found by a search like the one above.
constexpr Ink prefill_ink{{0xC1, 0xF9, 0x61}, {0xD6, 0xFE, 0x6E}};
constexpr Ink decode_ink{{0x71, 0xBC, 0x3D}, {0x4D, 0x9F, 0x22}};
constexpr Ink inference_ink{{0xC4, 0x07, 0x6D}, {0xD2, 0x05, 0x86}};

std::size_t service_of(BarKind bar_kind) {
  if (bar_kind == BarKind::reallocation) return 0;
  if (bar_kind == BarKind::migration) return 1;
  return bar_kind == BarKind::loading ? 2 : 3;
}

}  // namespace

Color mix(Color from, Color to, int percent) {
  const auto channel = [percent](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>((a * (100 - percent) + b * percent + 50) / 100);
  };
  return {channel(from.red, to.red), channel(from.green, to.green), channel(from.blue, to.blue)};
}

std::string hex(Color color) { return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue); }

int terminal_color(Color color) {
  constexpr std::array<int, 6> levels{0, 95, 135, 175, 215, 255};
  const int red = nearest_level(levels, color.red);
  const int green = nearest_level(levels, color.green);
  const int blue = nearest_level(levels, color.blue);
  const auto level = [&](int index) { return static_cast<std::uint8_t>(levels[static_cast<std::size_t>(index)]); };
  const Color in_cube{level(red), level(green), level(blue)};

  const int gray_step = std::clamp(((color.red + color.green + color.blue) / 3 - 3) / 10, 0, 23);
  const auto gray_level = static_cast<std::uint8_t>(8 + 10 * gray_step);
  const Color gray{gray_level, gray_level, gray_level};
  // A dark hue may be nearer to a gray than to any color of the coarse cube, but it must not turn gray.
  const auto [least, most] = std::minmax({color.red, color.green, color.blue});
  const bool is_gray = most - least < 48 && distance(color, gray) < distance(color, in_cube);
  return is_gray ? 232 + gray_step : 16 + 36 * red + 6 * green + blue;
}

bool is_dark(Color background) {
  return 299 * background.red + 587 * background.green + 114 * background.blue < 140'000;
}

std::optional<std::size_t> shade_of(timeline::BarKind bar_kind) {
  using timeline::BarKind;
  const auto shade_of_op = [](BarKind op) { return index_of(op) - index_of(timeline::op_bar_kinds.front()); };
  if (is_op(bar_kind)) return shade_of_op(bar_kind);
  return bar_kind == BarKind::optimizer ? std::optional(shade_of_op(BarKind::step)) : std::nullopt;
}

std::optional<Ink> stage_ink(timeline::BarKind bar_kind) {
  switch (bar_kind) {
    case BarKind::prefill:
      return prefill_ink;
    case BarKind::decode:
      return decode_ink;
    case BarKind::recompute:
      return Ink{mix(prefill_ink.light, decode_ink.light, 50), mix(prefill_ink.dark, decode_ink.dark, 50)};
    case BarKind::infer:
      return inference_ink;
    default:
      return std::nullopt;
  }
}

std::vector<std::array<Color, shades>> colors_of(const std::vector<timeline::Track>& tracks) {
  std::vector<std::int32_t> last_replica;  // [model]
  for (const timeline::Track& track : tracks) {
    const auto model = static_cast<std::size_t>(std::max(track.model, 0));
    if (model >= last_replica.size()) last_replica.resize(model + 1, 0);
    last_replica[model] = std::max(last_replica[model], track.replica);
  }
  std::vector<std::array<Color, shades>> colors;
  for (const timeline::Track& track : tracks) {
    const auto model = static_cast<std::size_t>(std::max(track.model, 0));
    const int most = std::max(last_replica[model], 1);
    colors.push_back(shades_of(hues[model % hues.size()], track.replica * 100 / most));
  }
  return colors;
}

Ink ink_of(Color color) { return {color, is_dark(color) ? mix(color, white, 22) : mix(color, black, 8)}; }

std::size_t cause_of(BarKind idle) {
  switch (idle) {
    case BarKind::dependency:
      return 1;
    case BarKind::transfer:
      return 2;
    case BarKind::delay:
    case BarKind::awaiting:
      return 3;
    case BarKind::bubble:
    case BarKind::drain:
      return 4;
    case BarKind::imbalance:
      return 5;
    case BarKind::launch:
      return 6;
    default:
      return 0;
  }
}

Ink ink_of(const std::vector<timeline::Track>& tracks, BarKind bar_kind, std::int32_t track) {
  if (is_idle(bar_kind)) return idle_ink(cause_of(bar_kind));
  if (const std::optional<Ink> ink = stage_ink(bar_kind)) return *ink;
  const std::optional<std::size_t> shade = shade_of(bar_kind);
  const bool has_hue = track >= 0 && tracks[static_cast<std::size_t>(track)].model >= 0;
  if (!shade || !has_hue) return service_ink(service_of(bar_kind));
  return ink_of(colors_of(tracks)[static_cast<std::size_t>(track)][*shade]);
}

Ink idle_ink(std::size_t cause) { return idle_inks[cause % idle_inks.size()]; }

Ink service_ink(std::size_t kind) { return service_inks[kind % service_inks.size()]; }

Ink plain_ink(std::size_t index) {
  timeline::Track track;
  track.model = static_cast<std::int32_t>(index % hues.size());
  const std::array<Color, shades> colors = colors_of({track}).front();
  const auto bar_kind =
      index % (2 * hues.size()) < hues.size() ? timeline::BarKind::backward : timeline::BarKind::forward;
  return ink_of(colors[*shade_of(bar_kind)]);
}

}  // namespace dovetail::report
