#include "report/text/table.h"

#include <algorithm>
#include <cstddef>

#include "answer/text/text.h"
#include "base/assert.h"
#include "base/utf8.h"

namespace dovetail::report {
namespace {

void append_line(std::string& table, const std::vector<Column>& columns, const std::vector<std::size_t>& widths,
                 const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string padding(widths[i] - answer::count_code_points(cells[i]), ' ');
    if (i > 0) line += "  ";
    line += columns[i].align == Align::left ? cells[i] + padding : padding + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  table += line + '\n';
}

}  // namespace

std::string render_table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::string> headers;
  std::vector<std::size_t> widths;
  for (const Column& column : columns) {
    headers.push_back(column.header);
    widths.push_back(answer::count_code_points(column.header));
  }
  std::vector<std::vector<std::string>> shown;
  for (const auto& row : rows) {
    DOVETAIL_ASSERT(row.size() == columns.size());
    std::vector<std::string>& cells = shown.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      cells.push_back(base::visible(row[i]));
      widths[i] = std::max(widths[i], answer::count_code_points(cells[i]));
    }
  }
  std::vector<std::string> rule;
  for (const std::size_t width : widths) rule.emplace_back(width, '-');

  std::string table;
  append_line(table, columns, widths, headers);
  append_line(table, columns, widths, rule);
  for (const auto& row : shown) append_line(table, columns, widths, row);
  return table;
}

std::string text_of(const answer::Sections& sections) {
  std::string text;
  for (const answer::Section& section : sections.all()) {
    if (const auto* table = std::get_if<answer::Table>(&section))
      text += render_table(table->columns, table->rows);
    else
      text += std::get<answer::Text>(section).lines;
  }
  return text;
}

}  // namespace dovetail::report
