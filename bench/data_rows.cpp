#include "data_rows.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/file.h"

namespace dovetail::bench {
namespace {

[[noreturn]] void end_program(const base::Error& error) {
  fmt::print(stderr, "{}\n", base::to_text(error));
  std::exit(2);
}

template <class Value>
Value must(base::Result<Value> result) {
  if (!result.ok()) end_program(result.error());
  return std::move(*result);
}

template <class Number>
bool parses(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void DataRow::fail(std::string_view column, const std::string& message) const {
  end_program(base::error_at(cell(column), path_, fmt::format("{}: {}", column, message)));
}

const base::CsvCell& DataRow::cell(std::string_view column) const {
  const auto found = cells_.find(column);
  if (found == cells_.end())
    end_program({base::Failure::bad_input, path_, 1, 0, fmt::format("there is no column {}", column)});
  return found->second;
}

double DataRow::number(std::string_view column) const {
  double number = 0;
  if (!parses(text(column), number)) fail(column, "must be a number");
  return number;
}

int DataRow::integer(std::string_view column) const {
  int number = 0;
  if (!parses(text(column), number)) fail(column, "must be an integer");
  return number;
}

std::vector<int> DataRow::integers(std::string_view column) const {
  std::vector<int> numbers;
  std::istringstream fields(text(column));
  for (std::string word; fields >> word;) {
    numbers.push_back(0);
    if (!parses(word, numbers.back())) fail(column, "must be integers separated by spaces");
  }
  return numbers;
}

bool DataRow::flag(std::string_view column) const {
  const std::string& value = text(column);
  if (value != "yes" && value != "no") fail(column, "must be yes or no");
  return value == "yes";
}

std::vector<DataRow> read_data(const std::string& name) {
  const std::string path = std::string(DOVETAIL_BENCH_DATA) + "/" + name;
  const std::vector<base::CsvRow> table = must(base::parse_csv_table(must(base::read_file(path)), path));
  std::vector<DataRow> rows;
  for (std::size_t line = 1; line < table.size(); ++line) {
    if (table[line].size() != table.front().size())
      end_program(base::error_at(table[line].front(), path, fmt::format("must have {} cells", table.front().size())));
    std::map<std::string, base::CsvCell, std::less<>> cells;
    for (std::size_t column = 0; column < table.front().size(); ++column)
      cells.emplace(table.front()[column].text, table[line][column]);
    rows.emplace_back(path, std::move(cells));
  }
  return rows;
}

}  // namespace dovetail::bench
