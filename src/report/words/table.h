// Text tables for terminals: aligned columns, no wrapping.
#pragma once

#include <string>
#include <vector>

namespace dovetail::report {

enum class Align { left, right };

struct Column {
  std::string header;
  Align align = Align::right;
};

/// A header, a rule and a line a row; columns two spaces apart, as wide as their widest cell (in terminal columns: UTF-8 counts by
/// code point). REQUIRES: every row has a cell for each column.
std::string render_table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows);

}  // namespace dovetail::report
