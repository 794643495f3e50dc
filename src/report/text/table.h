// Renders answers as text for terminals, with aligned tables.
#pragma once

#include <string>
#include <vector>

#include "answer/question/section.h"

namespace dovetail::report {

using answer::Align;
using answer::Column;

/// Renders a header, a rule, and one line per row. Columns are two spaces apart and as wide as their widest cell,
/// counted in code points. Lines are not wrapped. REQUIRES: every row has a cell for each column.
std::string render_table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows);

/// Returns the sections of an answer: texts unchanged, tables from render_table.
std::string text_of(const answer::Sections& sections);

}  // namespace dovetail::report
