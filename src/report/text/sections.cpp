#include "report/text/sections.h"

#include "report/text/table.h"

namespace dovetail::report {

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
