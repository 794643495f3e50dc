#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "answer/text/text.h"
#include "base/assert.h"
#include "report/page/chart_sections.h"
#include "report/page/palette.h"
#include "report/page/summary.h"
#include "report/schedule/gantt.h"

namespace dovetail::report {
namespace {

using timeline::Bar;
using timeline::BarKind;
using timeline::Timeline;

/// Letters of models. w and s are reserved for weight gradients and steps.
constexpr std::string_view letters = "abcdefghijklmnopqrtuvxyz";
constexpr std::size_t widest_lane_name = 12;
/// Maximum length of a legend entry, so that it fits into 40 columns with its letters or swatches.
constexpr std::size_t max_legend_name = 18;

/// Column widths of a line.
struct Columns {
  std::size_t name;  ///< including the space after it
  std::size_t chart;
  std::size_t peak;  ///< including the space before it; 0 if it does not fit
};

class GanttWriter {
 public:
  GanttWriter(const Timeline& timeline, const TerminalStyle& style)
      : timeline_(timeline), style_(style), summary_(summarize(timeline)), colors_(colors_of(timeline.tracks)) {
    DOVETAIL_ASSERT(style.columns >= min_gantt_columns);
    choose_lanes();
    choose_columns();
  }

  std::string write() {
    add_line(clean(timeline_.title));
    add_line(fmt::format(
        "makespan {} {}, bubbles {}, peak activation {}", base::format_time(timeline_.end, timeline_.time_unit),
        plural_of(timeline_.time_unit), percent(summary_.idle_share),
        base::format_memory(summary_.peaks.empty() ? base::Memory() : summary_.peaks[summary_.fullest_lane])));
    for (const std::size_t lane : lanes_) add_lane(lane);
    add_axis();
    if (lanes_.size() < timeline_.lanes.size()) {
      add_line(
          fmt::format("({} of {} shown)", lanes_.size(),
                      answer::counted(static_cast<std::int64_t>(timeline_.lanes.size()), clean(timeline_.lane_noun))));
    }
    add_legend();
    return std::move(text_);
  }

 private:
  /// An unbreakable entry of the legend and its width on screen.
  struct Entry {
    std::string text;
    std::size_t width;
  };

  std::size_t width() const { return static_cast<std::size_t>(style_.columns); }
  std::string clean(std::string_view text) const {
    return style_.color ? answer::clean_text(text) : answer::ascii_text(text);
  }
  std::string fit(std::string_view text, std::size_t columns) const {
    return style_.color ? answer::shorten(text, columns, "\u2026") : answer::shorten(text, columns, "..");
  }
  /// Adds a line of plain text, truncated to the width.
  void add_line(std::string_view line) {
    if (!line.empty()) text_ += fit(line, width()) + '\n';
  }

  void choose_lanes() {
    const std::size_t all = timeline_.lanes.size();
    const std::size_t shown = style_.rows > 0 ? std::min(all, static_cast<std::size_t>(style_.rows)) : all;
    for (std::size_t i = 0; i < shown; ++i) lanes_.push_back(i * all / shown);
  }

  void choose_columns() {
    columns_ = {base::name_of(timeline_.time_unit).size(), 0, 0};
    for (const std::size_t lane : lanes_) {
      columns_.name = std::max(columns_.name, answer::count_code_points(clean(timeline_.lanes[lane].name)));
      if (summary_.has_memory)
        columns_.peak = std::max(columns_.peak, base::format_memory(summary_.peaks[lane]).size());
    }
    columns_.name = std::min(columns_.name, widest_lane_name);
    if (columns_.peak > 0) columns_.peak = std::max(columns_.peak, std::string_view("peak").size()) + 1;
    if (columns_.name + 1 + columns_.peak + 40 > width()) columns_.peak = 0;
    columns_.chart = width() - columns_.name - 1 - columns_.peak;
    if (style_.scale_end <= timeline_.end) return;
    const double share = static_cast<double>(timeline_.end.count()) / static_cast<double>(style_.scale_end.count());
    columns_.chart =
        std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(share * static_cast<double>(columns_.chart))));
  }

  void add_lane(std::size_t index) {
    const std::span<const Bar> bars = bars_of(timeline_, index);
    const std::string name = fit(clean(timeline_.lanes[index].name), columns_.name);
    text_ += name + std::string(columns_.name - answer::count_code_points(name) + 1, ' ');
    const std::vector<std::int32_t> shown =
        dominant_bars(bars, 0, bars.size(), 0, static_cast<double>(timeline_.end.count()), columns_.chart);
    if (style_.color) {
      add_colored_cells(bars, shown);
    } else {
      for (const std::int32_t bar : shown) text_ += bar < 0 ? ' ' : plain_cell(bars[static_cast<std::size_t>(bar)]);
    }
    if (columns_.peak > 0) text_ += fmt::format("{:>{}}", base::format_memory(summary_.peaks[index]), columns_.peak);
    text_ += '\n';
  }

  /// Each pipeline has its letter if there are enough of them; otherwise each model does.
  std::size_t letter_index(std::size_t track) const {
    return timeline_.tracks.size() <= letters.size() ? track : static_cast<std::size_t>(timeline_.tracks[track].model);
  }

  /// Ops that send their output have the letter of their pipeline. Other ops have the letter of their kind.
  static bool has_own_letter(const pipeline::OpTraits& traits) { return traits.output == pipeline::OutputTo::nowhere; }
  static char to_lower(char letter) { return static_cast<char>(letter - 'A' + 'a'); }

  char plain_cell(const Bar& bar) const {
    if (is_idle(bar.bar_kind)) return '.';
    const pipeline::OpTraits& traits = traits_of(bar.bar_kind);
    if (has_own_letter(traits)) return to_lower(traits.letter);
    const char letter = letters[letter_index(static_cast<std::size_t>(bar.track)) % letters.size()];
    return traits.phase == pipeline::OpPhase::forward ? letter : static_cast<char>(letter - 'a' + 'A');
  }

  /// Draws each bar as one background color, with its micro-batch number if the longest number of its pipeline fits.
  void add_colored_cells(std::span<const Bar> bars, const std::vector<std::int32_t>& shown) {
    for (std::size_t begin = 0; begin < shown.size();) {
      std::size_t end = begin;
      while (end < shown.size() && shown[end] == shown[begin]) ++end;
      if (shown[begin] < 0) {
        text_ += "\x1b[0m";
        text_.append(end - begin, ' ');
      } else {
        const Bar& bar = bars[static_cast<std::size_t>(shown[begin])];
        const Bar* next = end < shown.size() && shown[end] >= 0 ? &bars[static_cast<std::size_t>(shown[end])] : nullptr;
        add_colored_bar(bar, end - begin,
                        next != nullptr && next->bar_kind == bar.bar_kind && next->track == bar.track);
      }
      begin = end;
    }
    text_ += "\x1b[0m";
  }

  /// Draws one bar. With `edge`, the last cell marks the boundary to another bar of the same color.
  void add_colored_bar(const Bar& bar, std::size_t cells, bool edge) {
    if (is_idle(bar.bar_kind)) {
      text_ += "\x1b[0;2m";
      for (std::size_t i = 0; i < cells; ++i) text_ += idle_cell(bar.bar_kind);
      return;
    }
    const auto track = static_cast<std::size_t>(bar.track);
    const double share =
        static_cast<double>((bar.end - bar.begin).count()) / static_cast<double>(timeline_.end.count());
    const double true_cells = share * static_cast<double>(columns_.chart) + 0.01;
    text_ += color_code(track, bar.bar_kind);
    std::size_t rest = cells;
    if (static_cast<double>(summary_.label_digits[track]) <= true_cells) {
      const std::string label = std::to_string(bar.microbatch);
      if (label.size() <= cells) {
        text_ += label;
        rest -= label.size();
      }
    }
    if (rest > 0 && edge && true_cells > 1.5) {
      text_.append(rest - 1, ' ');
      text_ += fmt::format("\x1b[38;5;{}m\u2595", terminal_color(edge_color(track, bar.bar_kind)));
    } else {
      text_.append(rest, ' ');
    }
  }

  Color edge_color(std::size_t track, BarKind bar_kind) const {
    const Color background = colors_[track][*shade_of(bar_kind)];
    return is_dark(background) ? mix(background, {255, 255, 255}, 55) : mix(background, {0, 0, 0}, 45);
  }

  static std::string_view idle_cell(BarKind cause) {
    switch (cause) {
      case BarKind::dependency:
        return "\u00B7";
      case BarKind::transfer:
        return "\u203A";
      case BarKind::delay:
        return "\u2219";
      default:
        return " ";
    }
  }

  std::string color_code(std::size_t track, BarKind bar_kind) const {
    const Color background = colors_[track][*shade_of(bar_kind)];
    return fmt::format("\x1b[0;{};48;5;{}m", is_dark(background) ? "97" : "30", terminal_color(background));
  }

  /// Draws "|0      |100     |200": each label begins at its time.
  void add_axis() {
    const auto end = static_cast<double>(timeline_.end.count());
    const std::size_t label_width = base::format_time(timeline_.end, timeline_.time_unit).size() + 3;
    const std::size_t labels = std::max<std::size_t>(1, columns_.chart / label_width);
    const std::int64_t step = round_step(end / static_cast<double>(labels));
    std::string axis(columns_.chart, ' ');
    for (std::int64_t time = 0; time < timeline_.end.count(); time += step) {
      const auto cell = static_cast<std::size_t>(static_cast<double>(columns_.chart) * static_cast<double>(time) / end);
      const std::string label = fmt::format("|{}", base::format_time(base::Ticks(time), timeline_.time_unit));
      if (cell + label.size() <= axis.size()) axis.replace(cell, label.size(), label);
    }
    std::string line = fmt::format("{:<{}} {}", base::name_of(timeline_.time_unit), columns_.name, axis);
    if (columns_.peak > 0) line += fmt::format("{:>{}}", "peak", columns_.peak);
    line.erase(line.find_last_not_of(' ') + 1);
    text_ += line + '\n';
  }

  bool has(BarKind bar_kind) const { return summary_.share[index_of(bar_kind)] > 0; }

  void add_legend() {
    std::vector<Entry> ops;
    if (!style_.color) {
      for (const pipeline::OpTraits& traits : pipeline::op_table) {
        if (!has_own_letter(traits) || !has(timeline::bar_kind_of(traits.kind))) continue;
        std::string text = fmt::format("{} {}", to_lower(traits.letter), traits.full_name);
        ops.push_back({text, text.size()});
      }
    }
    const auto causes =
        static_cast<std::size_t>(std::count_if(timeline::schedule_causes.begin(), timeline::schedule_causes.end(),
                                               [this](BarKind cause) { return has(cause); }));
    std::vector<Entry> entries;
    for (std::size_t track = 0; track < timeline_.tracks.size(); ++track) add_track_entry(entries, track);
    if (const std::size_t most = max_legend_entries - ops.size() - causes; entries.size() > most) {
      std::string text = fmt::format("other pipelines: {}", entries.size() - (most - 1));
      entries.resize(most - 1);
      entries.push_back({text, text.size()});
    }
    entries.insert(entries.end(), ops.begin(), ops.end());
    add_wrapped(entries);
    entries.clear();
    for (const BarKind cause : timeline::schedule_causes) {
      if (!has(cause)) continue;
      std::string text = fmt::format("{} {}", name_of(cause), percent(summary_.share[index_of(cause)]));
      const std::string_view cell = idle_cell(cause);
      if (style_.color && cell != " ") text = fmt::format("{} {}", cell, text);
      const std::size_t entry_width = answer::count_code_points(text);
      entries.push_back({std::move(text), entry_width});
    }
    if (entries.empty()) return;
    const std::string_view heading = style_.color ? "idle: " : ". idle: ";
    entries.front().text = fmt::format("{}{}", heading, entries.front().text);
    entries.front().width += heading.size();
    add_wrapped(entries);
  }

  void add_track_entry(std::vector<Entry>& entries, std::size_t track) const {
    if (letter_index(track) != track && timeline_.tracks[track].replica > 0) return;
    const std::string name = fit(clean(timeline_.tracks[track].name), max_legend_name);
    if (!style_.color) {
      const char letter = letters[letter_index(track) % letters.size()];
      const std::string text =
          fmt::format("{}/{} {} forward/backward", letter, static_cast<char>(letter - 'a' + 'A'), name);
      entries.push_back({text, text.size()});
      return;
    }
    std::string text;
    std::size_t swatches = 0;
    for (const BarKind op : timeline::op_bar_kinds) {
      if (!summary_.drawn[track][index_of(op)]) continue;
      text += fmt::format("{} {} ", color_code(track, op), letter_of(op));
      ++swatches;
    }
    entries.push_back({text + "\x1b[0m " + name, 3 * swatches + 1 + answer::count_code_points(name)});
  }

  void add_wrapped(const std::vector<Entry>& entries) {
    std::size_t used = 0;
    for (const Entry& entry : entries) {
      const std::size_t gap = used > 0 ? 2 : 0;
      if (used > 0 && used + gap + entry.width > width()) {
        text_ += '\n';
        used = 0;
      } else if (used > 0) {
        text_ += "  ";
        used += gap;
      }
      text_ += entry.text;
      used += entry.width;
    }
    if (used > 0) text_ += '\n';
  }

  const Timeline& timeline_;
  const TerminalStyle& style_;
  Summary summary_;
  std::vector<std::array<Color, shades>> colors_;
  std::vector<std::size_t> lanes_;
  Columns columns_{};
  std::string text_;
};

}  // namespace

std::string render_terminal_gantt(const Timeline& timeline, const TerminalStyle& style) {
  return GanttWriter(timeline, style).write();
}

}  // namespace dovetail::report
