#include <fmt/format.h>

#include <cstddef>
#include <vector>

#include "answer/words/text.h"
#include "report/drawing/svg_parts.h"

namespace dovetail::report {
namespace {

using timeline::BarKind;
using timeline::Track;

constexpr double text_size = 12.5;
constexpr double row_height = 24;
constexpr double swatch = 14;
/// How much wider bold text is.
constexpr double bold_width = 1.15;
/// More tracks than this are counted, not listed.
constexpr std::size_t max_listed = 12;

/// Entries one after another, in as many rows as they need.
class LegendWriter {
 public:
  LegendWriter(const Picture& picture, double left, double right, double y)
      : picture_(picture), left_(left), right_(right), x_(left), y_(y) {}

  void add_tracks() {
    const std::vector<Track>& tracks = picture_.timeline.tracks;
    for (std::size_t track = 0; track < tracks.size() && track < max_listed; ++track) add_track(track);
    if (tracks.size() > max_listed) {
      const std::string_view what = tracks.front().kind == Track::Kind::pipeline ? "pipelines" : "tasks";
      add_text(fmt::format("and {} more {}", tracks.size() - max_listed, what), false);
    }
    for (const BarKind bar_kind : drawn_work(tracks.size())) add_swatch(bar_kind, -1, name_of(bar_kind));
  }

  void add_idle() {
    new_row();
    add_text(fmt::format("idle {}", percent(picture_.summary.idle_share)), true);
    for (int cause = 0; cause < timeline::bar_kinds; ++cause) {
      const auto bar_kind = static_cast<BarKind>(cause);
      if (!is_idle(bar_kind) || picture_.summary.share[index_of(bar_kind)] <= 0) continue;
      add_swatch(bar_kind, -1,
                 fmt::format("{} {}", name_of(bar_kind), percent(picture_.summary.share[index_of(bar_kind)])));
    }
  }

  double bottom() const { return y_ + row_height; }
  std::string take() { return std::move(svg_); }

 private:
  /// The work of a track that takes time.
  std::vector<BarKind> drawn_work(std::size_t track) const {
    std::vector<BarKind> drawn;
    for (int bar_kind = 0; bar_kind < timeline::bar_kinds; ++bar_kind)
      if (picture_.summary.drawn[track][static_cast<std::size_t>(bar_kind)])
        drawn.push_back(static_cast<BarKind>(bar_kind));
    return drawn;
  }

  void new_row() {
    if (x_ == left_) return;
    x_ = left_;
    y_ += row_height;
  }

  void add_track(std::size_t track) {
    const std::vector<BarKind> work = drawn_work(track);
    if (work.empty()) return;
    const std::string name = answer::shorten(answer::clean_text(picture_.timeline.tracks[track].name), 28, "\u2026");
    double width = bold_width * text_width(name, text_size) + 26;
    for (const BarKind bar_kind : work) width += swatch_width(name_of(bar_kind));
    if (x_ + width > right_) new_row();
    add_text(name, true);
    for (const BarKind bar_kind : work) add_swatch(bar_kind, static_cast<std::int32_t>(track), name_of(bar_kind));
    x_ += 18;
  }

  static double swatch_width(std::string_view text) { return swatch + 6 + text_width(text, text_size) + 10; }

  void add_text(std::string_view text, bool bold) {
    svg_ += text_element(x_, y_ + 11.5, text, {text_size, "#1f2937", "start", bold, false});
    x_ += (bold ? bold_width : 1) * text_width(text, text_size) + 12;
  }

  void add_swatch(BarKind bar_kind, std::int32_t track, std::string_view text) {
    if (x_ + swatch_width(text) > right_) new_row();
    const std::string border = is_idle(bar_kind) ? " stroke=\"#d1d5db\"" : "";
    svg_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2.5\" fill=\"{}\"{}/>\n", number(x_),
                        number(y_), number(swatch), number(swatch), fill_of(picture_, bar_kind, track), border);
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
  legend.add_tracks();
  legend.add_idle();
  y = legend.bottom();
  return legend.take();
}

}  // namespace dovetail::report
