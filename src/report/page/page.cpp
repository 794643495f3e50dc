#include "report/page/page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "answer/text/text.h"
#include "base/assert.h"

namespace dovetail::report {
namespace {

/// Returns a row per page with a column for each figure name of any page.
Table metric_table(const std::vector<Page>& pages) {
  Table table;
  table.title = "Side by side";
  table.columns = {{"file", Align::left}};
  for (const Page& page : pages) {
    for (const Figure& figure : page.figures) {
      const auto same = [&](const answer::Column& column) { return column.header == figure.name; };
      if (std::none_of(table.columns.begin() + 1, table.columns.end(), same)) table.columns.push_back({figure.name});
    }
  }
  for (const Page& page : pages) {
    std::vector<std::string> row{page.title};
    for (std::size_t column = 1; column < table.columns.size(); ++column) {
      const auto same = [&](const Figure& figure) { return figure.name == table.columns[column].header; };
      const auto found = std::find_if(page.figures.begin(), page.figures.end(), same);
      row.push_back(found == page.figures.end() ? "" : found->value);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Page join_pages(std::vector<Page> pages) {
  DOVETAIL_ASSERT(!pages.empty());
  Page joined;
  joined.title = fmt::format("{} and {} more", pages.front().title, pages.size() - 1);
  joined.subtitle = fmt::format("{} in one report.", answer::counted(static_cast<std::int64_t>(pages.size()), "file"));
  joined.sections.push_back(metric_table(pages));
  for (Page& page : pages) {
    for (Section& section : page.sections) {
      std::visit([&](auto& content) { content.title = fmt::format("{}: {}", page.title, content.title); }, section);
      joined.sections.push_back(std::move(section));
    }
  }
  return joined;
}

}  // namespace dovetail::report
