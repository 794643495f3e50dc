#include "report/page/page_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/assert.h"
#include "base/json_object.h"
#include "base/utf8.h"

namespace dovetail::report {
namespace {

using base::json_string;
using base::JsonObject;

/// The items of `list` as a JSON array, each made by `write`.
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

std::string_view name_of(Field::Kind kind) {
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

/// What every section starts with.
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

std::string to_json(const ChartLane& lane) {
  JsonObject object;
  object.add("name", json_string(lane.name));
  object.add("bars", std::to_string(lane.bars));
  if (lane.joined) object.add("joined", "true");
  return object.text();
}

std::string to_json(const Field& field, std::size_t bars) {
  DOVETAIL_ASSERT(field.values.size() == bars);
  JsonObject object;
  object.add("name", json_string(field.name));
  object.add("kind", json_string(name_of(field.kind)));
  if (field.kind == Field::Kind::text)
    object.add("texts", array_of(field.texts, [](const std::string& text) { return json_string(text); }));
  object.add("values", numbers(field.values));
  return object.text();
}

std::string to_json(const Curve& curve) {
  JsonObject object;
  object.add("lane", std::to_string(curve.lane));
  object.add("time", array_of(curve.steps, [](const auto& step) { return step.first.count(); }));
  object.add("value", array_of(curve.steps, [](const auto& step) { return step.second; }));
  if (curve.capacity) object.add("capacity", fmt::format("{}", *curve.capacity));
  return object.text();
}

/// [bar] the time since the bar before on its lane ended.
std::vector<std::int64_t> gaps_of(const Chart& chart) {
  std::vector<std::int64_t> gaps;
  gaps.reserve(chart.bars.size());
  for (const ChartLane& lane : chart.lanes) {
    base::Ticks now;
    DOVETAIL_ASSERT(gaps.size() + lane.bars <= chart.bars.size());
    for (const std::size_t last = gaps.size() + lane.bars; gaps.size() < last;) {
      const ChartBar& bar = chart.bars[gaps.size()];
      DOVETAIL_ASSERT(now <= bar.begin && bar.begin <= bar.end);
      gaps.push_back((bar.begin - now).count());
      now = bar.end;
    }
  }
  DOVETAIL_ASSERT(gaps.size() == chart.bars.size());
  return gaps;
}

std::string to_json(const Chart& chart) {
  JsonObject object = section("gantt", chart.title, chart.note);
  object.add("lane_noun", json_string(chart.lane_noun));
  object.add("time_unit", json_string(base::name_of(chart.time_unit)));
  object.add("end", std::to_string(chart.end.count()));
  object.add("categories", array_of(chart.categories, [](const Category& category) { return to_json(category); }));
  object.add("lanes", array_of(chart.lanes, [](const ChartLane& lane) { return to_json(lane); }));
  object.add("gap", numbers(gaps_of(chart)));
  const auto column = [&](auto value) { return array_of(chart.bars, value); };
  const auto any = [&](auto has) { return std::any_of(chart.bars.begin(), chart.bars.end(), has); };
  object.add("length", column([](const ChartBar& bar) { return (bar.end - bar.begin).count(); }));
  object.add("category", column([](const ChartBar& bar) { return bar.category; }));
  if (any([](const ChartBar& bar) { return bar.awaits >= 0; }))
    object.add("awaits", column([](const ChartBar& bar) { return bar.awaits; }));
  if (any([](const ChartBar& bar) { return bar.partner >= 0; }))
    object.add("partner", column([](const ChartBar& bar) { return bar.partner; }));
  object.add("fields", array_of(chart.fields, [&](const Field& field) { return to_json(field, chart.bars.size()); }));
  JsonObject arrows;
  arrows.add("from", array_of(chart.arrows, [](const ChartArrow& arrow) { return arrow.from; }));
  arrows.add("to", array_of(chart.arrows, [](const ChartArrow& arrow) { return arrow.to; }));
  object.add("arrows", arrows.text());
  JsonObject curves;
  curves.add("name", json_string(chart.curve_name));
  curves.add("unit", json_string(chart.curve_unit));
  curves.add("curves", array_of(chart.curves, [](const Curve& curve) { return to_json(curve); }));
  object.add("curves", curves.text());
  return object.text();
}

std::string to_json(const Breakdown& breakdown) {
  JsonObject object = section("breakdown", breakdown.title, breakdown.note);
  object.add("time_unit", json_string(base::name_of(breakdown.time_unit)));
  object.add("parts", array_of(breakdown.parts, [](const Breakdown::Part& part) {
               JsonObject member;
               member.add("name", json_string(part.name));
               add_ink(member, part.ink);
               member.add("idle", truth(part.idle));
               return member.text();
             }));
  object.add("rows", array_of(breakdown.rows, [&](const Breakdown::Row& row) {
               DOVETAIL_ASSERT(row.amounts.size() == breakdown.parts.size());
               JsonObject member;
               member.add("name", json_string(row.name));
               member.add("amounts", array_of(row.amounts, [](base::Ticks amount) { return amount.count(); }));
               if (row.whole) member.add("whole", std::to_string(row.whole->count()));
               return member.text();
             }));
  return object.text();
}

std::string to_json(const Table& table) {
  JsonObject object = section("table", table.title, table.note);
  object.add("columns", array_of(table.columns, [](const Table::Column& column) {
               JsonObject member;
               member.add("name", json_string(column.name));
               member.add("number", truth(column.number));
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

}  // namespace dovetail::report
