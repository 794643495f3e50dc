#include "report/inks.h"

#include <array>
#include <vector>

namespace dovetail::report {
namespace {

constexpr Color white{255, 255, 255};
constexpr Color black{0, 0, 0};
constexpr std::size_t hues = 8;

constexpr std::array<Ink, 7> idle_inks{{
    {{0xDD, 0xE2, 0xEA}, {0x2B, 0x35, 0x44}},  // pale grey
    {{0x9F, 0xAC, 0xBE}, {0x5C, 0x6B, 0x80}},  // slate
    {{0xD9, 0xBE, 0x6A}, {0x86, 0x71, 0x2C}},  // sand
    {{0xE3, 0x9A, 0x8B}, {0x94, 0x4A, 0x3C}},  // rose
    {{0xC3, 0xCC, 0xD8}, {0x3D, 0x4A, 0x5C}},  // grey
    {{0x8F, 0xC3, 0xB4}, {0x3B, 0x74, 0x65}},  // sea
    {{0xC2, 0xA8, 0xD6}, {0x6C, 0x50, 0x82}},  // lilac
}};

}  // namespace

Ink ink_of(Color color) { return {color, is_dark(color) ? mix(color, white, 22) : mix(color, black, 8)}; }

Ink idle_ink(std::size_t cause) { return idle_inks[cause % idle_inks.size()]; }

Ink plain_ink(std::size_t index) {
  timeline::Track track;
  track.model = static_cast<std::int32_t>(index % hues);
  const std::array<Color, work_kinds> colors = colors_of({track}).front();
  const auto kind = index % (2 * hues) < hues ? timeline::BarKind::backward : timeline::BarKind::forward;
  return ink_of(colors[static_cast<std::size_t>(kind)]);
}

}  // namespace dovetail::report
