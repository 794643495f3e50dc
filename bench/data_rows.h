// Measured rows of bench/data/*.csv. The files are ours: any fault in them ends the program.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/enum_names.h"

namespace dovetail::bench {

/// A row whose cells are found by the name of their column. Every function ends the program if the column is missing or
/// the cell has another kind of value.
class DataRow {
 public:
  DataRow(std::string path, std::map<std::string, base::CsvCell, std::less<>> cells)
      : path_(std::move(path)), cells_(std::move(cells)) {}

  const std::string& text(std::string_view column) const { return cell(column).text; }
  bool has(std::string_view column) const { return !text(column).empty(); }
  double number(std::string_view column) const;
  int integer(std::string_view column) const;
  /// Returns integers that are separated by spaces.
  std::vector<int> integers(std::string_view column) const;
  /// Whether the cell is "yes", not "no".
  bool flag(std::string_view column) const;
  template <class Enum>
  Enum named(std::string_view column) const {
    const auto value = base::enum_named<Enum>(text(column));
    if (!value) fail(column, "unknown name");
    return *value;
  }

  /// Prints a message with the place of the cell and ends the program.
  [[noreturn]] void fail(std::string_view column, const std::string& message) const;

 private:
  const base::CsvCell& cell(std::string_view column) const;

  std::string path_;
  std::map<std::string, base::CsvCell, std::less<>> cells_;
};

/// Reads the file of that name in bench/data.
std::vector<DataRow> read_data(const std::string& name);

}  // namespace dovetail::bench
