#include "report/page/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace dovetail::report {
namespace {

constexpr Color white{255, 255, 255};
constexpr Color black{0, 0, 0};

/// A model's colours.
struct Hue {
  Color light;
  Color dark;
};

/// Chosen by a search for colours that are far apart in CIELAB as people with normal, protan, deutan and tritan vision
/// see them; palette_test measures it.
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

Color shade_of(Color light, Color dark, pipeline::Shade shade) {
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

/// The last replica is at 100 percent: its light shade lighter and its dark shade darker than those of the first.
std::array<Color, shades> shades_of(const Hue& hue, int replica_percent) {
  const Color light = mix(hue.light, white, replica_percent * 45 / 100);
  const Color dark = mix(hue.dark, black, replica_percent * 30 / 100);
  std::array<Color, shades> colors;
  for (std::size_t kind = 0; kind < shades; ++kind)
    colors[kind] = shade_of(light, dark, pipeline::op_table[kind].shade);
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

  const int grey_step = std::clamp(((color.red + color.green + color.blue) / 3 - 3) / 10, 0, 23);
  const auto grey_level = static_cast<std::uint8_t>(8 + 10 * grey_step);
  const Color grey{grey_level, grey_level, grey_level};
  // A dark hue may lie nearer to a grey than to the coarse cube, but has to stay a hue.
  const auto [least, most] = std::minmax({color.red, color.green, color.blue});
  const bool is_grey = most - least < 48 && distance(color, grey) < distance(color, in_cube);
  return is_grey ? 232 + grey_step : 16 + 36 * red + 6 * green + blue;
}

bool is_dark(Color background) {
  return 299 * background.red + 587 * background.green + 114 * background.blue < 140'000;
}

std::optional<std::size_t> shade_of(timeline::BarKind bar_kind) {
  using timeline::BarKind;
  const auto shade_of_op = [](BarKind op) { return index_of(op) - index_of(timeline::op_bar_kinds.front()); };
  if (is_op(bar_kind)) return shade_of_op(bar_kind);
  switch (bar_kind) {
    case BarKind::prefill:
    case BarKind::infer:
      return shade_of_op(BarKind::forward);
    case BarKind::decode:
      return shade_of_op(BarKind::backward);
    case BarKind::recompute:
      return shade_of_op(BarKind::weight_gradient);
    case BarKind::optimizer:
      return shade_of_op(BarKind::step);
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

}  // namespace dovetail::report
