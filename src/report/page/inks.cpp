#include "report/page/inks.h"

#include <array>
#include <optional>
#include <vector>

namespace dovetail::report {
namespace {

using timeline::BarKind;

constexpr Color white{255, 255, 255};
constexpr Color black{0, 0, 0};
constexpr std::size_t hues = 8;

/// Found with those below by a search for colours that are far apart in CIELAB, from each other and from the first four
/// models', for every common colour vision; inks_test measures it.
constexpr std::array<Ink, 7> idle_inks{{
    {{0xCB, 0xCD, 0xBC}, {0x56, 0x5B, 0x5C}},  // grey
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

std::size_t service_of(BarKind bar_kind) {
  if (bar_kind == BarKind::reallocation) return 0;
  if (bar_kind == BarKind::migration) return 1;
  return bar_kind == BarKind::loading ? 2 : 3;
}

}  // namespace

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
  const std::optional<std::size_t> shade = shade_of(bar_kind);
  const bool has_hue = track >= 0 && tracks[static_cast<std::size_t>(track)].model >= 0;
  if (!shade || !has_hue) return service_ink(service_of(bar_kind));
  return ink_of(colors_of(tracks)[static_cast<std::size_t>(track)][*shade]);
}

Ink idle_ink(std::size_t cause) { return idle_inks[cause % idle_inks.size()]; }

Ink service_ink(std::size_t kind) { return service_inks[kind % service_inks.size()]; }

Ink plain_ink(std::size_t index) {
  timeline::Track track;
  track.model = static_cast<std::int32_t>(index % hues);
  const std::array<Color, shades> colors = colors_of({track}).front();
  const auto bar_kind = index % (2 * hues) < hues ? timeline::BarKind::backward : timeline::BarKind::forward;
  return ink_of(colors[*shade_of(bar_kind)]);
}

}  // namespace dovetail::report
