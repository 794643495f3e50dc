#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "answer/text/text.h"
#include "base/assert.h"
#include "base/utf8.h"
#include "report/page/chart_sections.h"
#include "report/page/page.h"
#include "timeline/timeline.h"

namespace dovetail::report {
namespace {

using timeline::Bar;
using timeline::Timeline;
using timeline::Track;

/// Returns the task of a bar, or -1. For bars of pipelines, the title already names the task.
std::int64_t task_of(const Timeline& timeline, const Bar& bar) {
  return bar.track >= 0 && timeline.tracks[static_cast<std::size_t>(bar.track)].kind == Track::Kind::task ? bar.track
                                                                                                          : -1;
}

std::int64_t category_of(const Timeline& timeline, const Bar& bar) {
  return bar.category >= 0 && !timeline.categories[static_cast<std::size_t>(bar.category)].empty() ? bar.category : -1;
}

std::vector<std::string> track_names(const Timeline& timeline) {
  std::vector<std::string> names;
  for (const Track& track : timeline.tracks) names.push_back(track.name);
  return names;
}

// A property of bars shown on the page, in addition to their times.
struct Field {
  enum class Kind : std::uint8_t { number, time, text };
  std::string_view name;
  Kind kind;
  /// Returns a number, ticks, or an index into `texts`; -1 if the bar has no value.
  std::int64_t (*value)(const timeline::Timeline& timeline, const timeline::Bar& bar);
  /// for Kind::text: texts that `value` indexes.
  std::vector<std::string> (*texts)(const timeline::Timeline& timeline) = nullptr;
};

/// Returns all fields in display order.
const std::array<Field, 7>& bar_fields() {
  using enum Field::Kind;
  static constexpr std::array<Field, 7> fields{{
      {"task", text, task_of, track_names},
      {"sequences", number, [](const Timeline&, const Bar& bar) { return bar.sequences; }},
      {"micro-batch", number, [](const Timeline&, const Bar& bar) { return std::int64_t{bar.microbatch}; }},
      {"stage", number, [](const Timeline&, const Bar& bar) { return std::int64_t{bar.stage}; }},
      {"waits for launches", time,
       [](const Timeline&, const Bar& bar) { return bar.launch > base::Ticks() ? bar.launch.count() : -1; }},
      {"name", text, [](const Timeline&, const Bar& bar) { return std::int64_t{bar.name}; },
       [](const Timeline& timeline) { return timeline.names; }},
      {"category", text, category_of, [](const Timeline& timeline) { return timeline.categories; }},
  }};
  return fields;
}

using base::json_string;
using base::JsonObject;

/// Writes the elements of `list` as a JSON array, each converted by `write`.
template <class List, class Write>
std::string array_of(const List& list, const Write& write) {
  fmt::memory_buffer text;
  text.push_back('[');
  for (const auto& item : list) {
    if (text.size() > 1) text.push_back(',');
    fmt::format_to(std::back_inserter(text), "{}", write(item));
  }
  text.push_back(']');
  return fmt::to_string(text);
}

template <class List>
std::string numbers(const List& list) {
  return array_of(list, [](const auto& number) { return number; });
}

std::string_view truth(bool value) { return value ? "true" : "false"; }

std::string_view kind_name(Field::Kind kind) {
  switch (kind) {
    case Field::Kind::number:
      return "number";
    case Field::Kind::time:
      return "time";
    case Field::Kind::text:
      return "text";
  }
  DOVETAIL_ASSERT(false);
}

void add_ink(JsonObject& object, const Ink& ink) {
  object.add("color", json_string(hex(ink.light)));
  object.add("dark", json_string(hex(ink.dark)));
}

/// Returns an object with the members common to all sections.
JsonObject section(std::string_view kind, const std::string& title, const std::string& note) {
  JsonObject object;
  object.add("kind", json_string(kind));
  object.add("title", json_string(title));
  object.add("note", json_string(note));
  return object;
}

std::string to_json(const Category& category) {
  JsonObject object;
  object.add("name", json_string(category.name));
  object.add("title", json_string(category.bar_title));
  object.add("label", json_string(category.bar_label));
  add_ink(object, category.ink);
  object.add("idle", truth(category.idle));
  return object.text();
}

/// The explanation of an entry is omitted if it has none.
std::string to_json(const StyleGroup& entry) {
  JsonObject object;
  object.add("name", json_string(entry.full_name()));
  if (!entry.about.empty()) object.add("about", json_string(entry.about));
  object.add("idle", truth(entry.idle));
  object.add("categories", numbers(entry.styles));
  return object.text();
}

std::string to_json(const timeline::Lane& lane) {
  JsonObject object;
  object.add("name", json_string(lane.name));
  object.add("bars", std::to_string(lane.bars));
  if (lane.joined) object.add("joined", "true");
  return object.text();
}

/// Writes the fields that at least one bar has.
std::string fields_json(const timeline::Timeline& timeline) {
  std::vector<std::string> written;
  for (const Field& field : bar_fields()) {
    const auto has = [&](const timeline::Bar& bar) { return field.value(timeline, bar) >= 0; };
    if (std::none_of(timeline.bars.begin(), timeline.bars.end(), has)) continue;
    JsonObject object;
    object.add("name", json_string(field.name));
    object.add("kind", json_string(kind_name(field.kind)));
    if (field.texts)
      object.add("texts", array_of(field.texts(timeline), [](const std::string& text) { return json_string(text); }));
    object.add("values", array_of(timeline.bars, [&](const timeline::Bar& bar) { return field.value(timeline, bar); }));
    written.push_back(object.text());
  }
  return array_of(written, [](const std::string& field) { return field; });
}

std::string to_json(const timeline::Counter& counter) {
  JsonObject object;
  object.add("lane", std::to_string(counter.lane));
  object.add("time", array_of(counter.steps, [](const auto& step) { return step.first.count(); }));
  object.add("value", array_of(counter.steps, [&](const auto& step) { return amount_of(counter, step.second); }));
  if (counter.capacity) object.add("capacity", fmt::format("{}", amount_of(counter, *counter.capacity)));
  return object.text();
}

/// Writes the drawn counters. Empty if all of them are always 0.
std::string curves_json(const timeline::Timeline& timeline) {
  std::vector<const timeline::Counter*> drawn = drawn_counters(timeline);
  std::erase(drawn, nullptr);
  const auto counts = [](const timeline::Counter* counter) { return peak_of(*counter).second > base::Memory(); };
  if (std::none_of(drawn.begin(), drawn.end(), counts)) drawn.clear();
  JsonObject curves;
  curves.add("name", json_string(timeline.counters.empty() ? "" : timeline.counters.front().name));
  curves.add("unit", json_string(timeline.counters.empty() ? "" : timeline.counters.front().unit));
  curves.add("curves", array_of(drawn, [](const timeline::Counter* counter) { return to_json(*counter); }));
  return curves.text();
}

/// [bar] time since the previous bar of its lane ended.
std::vector<std::int64_t> gaps_of(const timeline::Timeline& timeline) {
  std::vector<std::int64_t> gaps;
  gaps.reserve(timeline.bars.size());
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    base::Ticks now;
    for (const timeline::Bar& bar : bars_of(timeline, lane)) {
      DOVETAIL_ASSERT(now <= bar.begin && bar.begin <= bar.end);
      gaps.push_back((bar.begin - now).count());
      now = bar.end;
    }
  }
  DOVETAIL_ASSERT(gaps.size() == timeline.bars.size());
  return gaps;
}

std::string to_json(const Chart& chart) {
  const timeline::Timeline& timeline = chart.timeline;
  const Legend legend = legend_of(timeline);
  JsonObject object = section("gantt", chart.title, chart.note);
  object.add("lane_noun", json_string(timeline.lane_noun));
  object.add("time_unit", json_string(base::name_of(timeline.time_unit)));
  object.add("end", std::to_string(timeline.end.count()));
  object.add("categories", array_of(legend.categories, [](const Category& category) { return to_json(category); }));
  object.add("legend", array_of(legend.entries, [](const StyleGroup& entry) { return to_json(entry); }));
  object.add("lanes", array_of(timeline.lanes, [](const timeline::Lane& lane) { return to_json(lane); }));
  object.add("gap", numbers(gaps_of(timeline)));
  const auto column = [&](auto value) { return array_of(timeline.bars, value); };
  const auto any = [&](auto has) { return std::any_of(timeline.bars.begin(), timeline.bars.end(), has); };
  object.add("length", column([](const timeline::Bar& bar) { return (bar.end - bar.begin).count(); }));
  object.add("category", numbers(legend.of));
  if (any([](const timeline::Bar& bar) { return bar.awaits >= 0; }))
    object.add("awaits", column([](const timeline::Bar& bar) { return bar.awaits; }));
  if (any([](const timeline::Bar& bar) { return bar.partner >= 0; }))
    object.add("partner", column([](const timeline::Bar& bar) { return bar.partner; }));
  object.add("fields", fields_json(timeline));
  JsonObject arrows;
  arrows.add("from", array_of(timeline.arrows, [](const timeline::Arrow& arrow) { return arrow.from; }));
  arrows.add("to", array_of(timeline.arrows, [](const timeline::Arrow& arrow) { return arrow.to; }));
  object.add("arrows", arrows.text());
  object.add("curves", curves_json(timeline));
  return object.text();
}

std::string to_json(const Breakdown& breakdown) {
  JsonObject object = section("breakdown", breakdown.title, breakdown.note);
  object.add("time_unit", json_string(base::name_of(breakdown.time_unit)));
  object.add("parts", array_of(breakdown.segments, [](const Breakdown::Segment& segment) {
               JsonObject member;
               member.add("name", json_string(segment.name));
               add_ink(member, segment.ink);
               member.add("idle", truth(segment.idle));
               return member.text();
             }));
  object.add("rows", array_of(breakdown.rows, [&](const Breakdown::Row& row) {
               DOVETAIL_ASSERT(row.amounts.size() == breakdown.segments.size());
               JsonObject member;
               member.add("name", json_string(row.name));
               member.add("amounts", array_of(row.amounts, [](base::Ticks amount) { return amount.count(); }));
               if (row.full_length) member.add("whole", std::to_string(row.full_length->count()));
               return member.text();
             }));
  return object.text();
}

std::string to_json(const Table& table) {
  JsonObject object = section("table", table.title, table.note);
  object.add("columns", array_of(table.columns, [](const answer::Column& column) {
               JsonObject member;
               member.add("name", json_string(column.header));
               member.add("number", truth(column.align == Align::right));
               return member.text();
             }));
  object.add("rows", array_of(table.rows, [&](const std::vector<std::string>& row) {
               DOVETAIL_ASSERT(row.size() == table.columns.size());
               return array_of(row, [](const std::string& cell) { return json_string(cell); });
             }));
  object.add("marked", numbers(table.marked));
  if (!table.bars.empty()) {
    DOVETAIL_ASSERT(table.bars.size() == table.rows.size());
    object.add("bars", numbers(table.bars));
  }
  return object.text();
}

std::string to_json(const LineChart& chart) {
  JsonObject object = section("curves", chart.title, chart.note);
  object.add("x", json_string(chart.x_name));
  object.add("y", json_string(chart.y_name));
  object.add("series", array_of(chart.series, [](const LineChart::Series& series) {
               JsonObject member;
               member.add("name", json_string(series.name));
               add_ink(member, series.ink);
               member.add("x", array_of(series.points, [](const auto& point) { return point.first; }));
               member.add("y", array_of(series.points, [](const auto& point) { return point.second; }));
               return member.text();
             }));
  object.add("marks", array_of(chart.marks, [](const LineChart::Mark& mark) {
               JsonObject member;
               member.add("series", std::to_string(mark.series));
               member.add("point", std::to_string(mark.point));
               member.add("text", json_string(mark.text));
               return member.text();
             }));
  return object.text();
}

std::string to_json(const Figure& figure) {
  JsonObject object;
  object.add("name", json_string(figure.name));
  object.add("value", json_string(figure.value));
  object.add("note", json_string(figure.note));
  return object.text();
}

/// Escapes '<', so that nothing can end the script element or open a comment. In JSON, '<' occurs only in strings.
std::string without_tags(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char character : json) {
    if (character == '<') {
      safe += "\\u003c";
    } else {
      safe += character;
    }
  }
  return safe;
}

/// Replaces each @WORD@ of the template, in order.
class Filler {
 public:
  explicit Filler(std::string_view rest) : rest_(rest) {}

  void fill(std::string_view word, std::string_view text) {
    const std::size_t place = rest_.find(word);
    DOVETAIL_ASSERT(place != std::string_view::npos);
    html_.append(rest_.substr(0, place)).append(text);
    rest_.remove_prefix(place + word.size());
  }

  std::string finish() && { return std::move(html_.append(rest_)); }

 private:
  std::string_view rest_;
  std::string html_;
};

}  // namespace

std::string page_to_json(const Page& page) {
  JsonObject object;
  object.add("format", json_string(page_format));
  object.add("title", json_string(page.title));
  object.add("subtitle", json_string(page.subtitle));
  object.add("figures", array_of(page.figures, [](const Figure& figure) { return to_json(figure); }));
  object.add("sections", array_of(page.sections, [](const Section& one) {
               return std::visit([](const auto& content) { return to_json(content); }, one);
             }));
  return object.text();
}

std::string render_html(const Page& page) {
  Filler filler(html_template());
  filler.fill("@TITLE@", answer::escape_xml(page.title));
  filler.fill("@STYLE@", html_style());
  filler.fill("@DATA@", without_tags(page_to_json(page)));
  filler.fill("@SCRIPT@", html_script());
  return std::move(filler).finish();
}

}  // namespace dovetail::report
