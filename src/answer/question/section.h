// Human-readable content of an answer: texts and tables in reading order. The command line prints it; report pages
// display it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dovetail::answer {

/// Lines of text, each ending with a line feed.
struct Text {
  std::string lines;
};

enum class Align { left, right };

/// Column of a table. Right-aligned cells are numbers; pages sort them as such.
struct Column {
  std::string header;
  Align align = Align::right;
};

/// Table of text cells. REQUIRES: every row has a cell for each column.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  ///< [row][column]
  std::string title = {};                ///< section title on a page; in a terminal the preceding text introduces the
                                         ///< table
  std::string note = {};                 ///< one sentence on how to read the table; may be empty
  std::vector<std::size_t> marked = {};  ///< rows to highlight
  std::vector<std::int32_t> bars = {};   ///< [row] index of the linked bar in the page's chart, -1: none; may be empty
};

using Section = std::variant<Text, Table>;

/// Sequence of sections. Adjacent texts are merged.
class Sections {
 public:
  Sections() = default;
  Sections(std::string lines);
  Sections(const char* lines) : Sections(std::string(lines)) {}
  Sections(Table table);

  Sections& operator+=(const Sections& more);
  const std::vector<Section>& all() const { return all_; }
  bool empty() const { return all_.empty(); }

 private:
  std::vector<Section> all_;
};

inline Sections operator+(Sections first, const Sections& second) { return std::move(first += second); }

}  // namespace dovetail::answer
