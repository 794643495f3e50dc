#include <fmt/format.h>

#include <cstddef>

#include "report/drawing/svg_parts.h"
#include "report/words/text.h"

namespace dovetail::report {
namespace {

using timeline::BarKind;

constexpr double text_size = 12.5;
constexpr double row_height = 24;
constexpr double swatch = 14;
/// More pipelines than this are counted, not listed.
constexpr std::size_t most_listed = 12;

/// Entries one after another, in as many rows as they need.
class LegendWriter {
 public:
  LegendWriter(const Picture& picture, double left, double right, double y)
      : picture_(picture), left_(left), right_(right), x_(left), y_(y) {}

  void add_pipelines() {
    const std::size_t all = picture_.timeline.tracks.size();
    for (std::size_t track = 0; track < all && track < most_listed; ++track) add_pipeline(track);
    if (all > most_listed) add_text(fmt::format("and {} more pipelines", all - most_listed), false);
  }

  void add_idle() {
    new_row();
    add_text(fmt::format("idle {}", percent(picture_.summary.idle_share)), true);
    for (const BarKind kind : idle_kinds) {
      if (!has(kind)) continue;
      const std::string text = fmt::format("{} {}", name_of(kind), percent(picture_.summary.share[static_cast<std::size_t>(kind)]));
      add_swatch(kind, -1, text);
    }
  }

  double bottom() const { return y_ + row_height; }
  std::string take() { return std::move(svg_); }

 private:
  bool has(BarKind kind) const { return picture_.summary.share[static_cast<std::size_t>(kind)] > 0; }

  void new_row() {
    if (x_ == left_) return;
    x_ = left_;
    y_ += row_height;
  }

  void add_pipeline(std::size_t track) {
    const std::string name = shorten(clean_text(picture_.timeline.tracks[track].name), 28, "\u2026");
    double width = text_width(name, text_size) + 26;
    for (std::size_t kind = 0; kind < work_kinds; ++kind) {
      if (picture_.summary.drawn[track][kind]) width += swatch_width(name_of(static_cast<BarKind>(kind)));
    }
    if (x_ + width > right_) new_row();
    add_text(name, true);
    for (std::size_t kind = 0; kind < work_kinds; ++kind) {
      const auto bar_kind = static_cast<BarKind>(kind);
      if (picture_.summary.drawn[track][kind]) add_swatch(bar_kind, static_cast<std::int32_t>(track), name_of(bar_kind));
    }
    x_ += 18;
  }

  static double swatch_width(std::string_view text) { return swatch + 6 + text_width(text, text_size) + 10; }

  void add_text(std::string_view text, bool bold) {
    svg_ += text_element(x_, y_ + 11.5, text, {text_size, "#1f2937", "start", bold, false});
    x_ += text_width(text, text_size) + 12;
  }

  void add_swatch(BarKind kind, std::int32_t track, std::string_view text) {
    if (x_ + swatch_width(text) > right_) new_row();
    const std::string border = is_idle(kind) ? " stroke=\"#d1d5db\"" : "";
    svg_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2.5\" fill=\"{}\"{}/>\n", number(x_), number(y_),
                        number(swatch), number(swatch), fill_of(picture_, kind, track), border);
    svg_ += text_element(x_ + swatch + 6, y_ + 11.5, text, {text_size, "#4b5563", "start", false, false});
    x_ += swatch_width(text);
  }

  const Picture& picture_;
  double left_;
  double right_;
  double x_;
  double y_;
  std::string svg_;
};

}  // namespace

std::string svg_legend(const Picture& picture, double left, double right, double& y) {
  LegendWriter legend(picture, left, right, y);
  legend.add_pipelines();
  legend.add_idle();
  y = legend.bottom();
  return legend.take();
}

}  // namespace dovetail::report
