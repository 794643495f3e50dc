// Text tables for terminals: aligned columns, no wrapping.
#pragma once

#include <string>
#include <vector>

#include "answer/question/section.h"

namespace dovetail::report {

using answer::Align;
using answer::Column;

/// A header, a rule and a line a row; columns two spaces apart, as wide as their widest cell (in terminal columns:
/// UTF-8 counts by code point). REQUIRES: every row has a cell for each column.
std::string render_table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows);

}  // namespace dovetail::report
