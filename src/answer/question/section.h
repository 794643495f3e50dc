// What an answer says, as data: texts and tables in the order in which they are read. The command line prints them,
// pages draw them, and programs that link Dovetail may do either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dovetail::answer {

/// Lines of text, each with its line feed.
struct Text {
  std::string lines;
};

enum class Align { left, right };

/// A column of a table. What stands to the right are numbers, which a page sorts as such.
struct Column {
  std::string header;
  Align align = Align::right;
};

/// Rows of texts. REQUIRES: every row has a cell for each column.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  ///< [row][column]
  std::string title = {};                ///< of a page's section; in a terminal the text before a table says what it is
  std::string note = {};                 ///< a sentence on how to read it; may be empty
  std::vector<std::size_t> marked = {};  ///< rows that stand out: the best
  std::vector<std::int32_t> bars = {};   ///< [row] a bar of a page's chart that the row leads to, or -1; may be empty
};

using Section = std::variant<Text, Table>;

/// Sections one behind the other; a text behind a text is one text.
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
