#include "base/csv.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dovetail::base {
namespace {

std::vector<std::vector<std::string>> texts_of(std::string_view content) {
  const auto rows = parse_csv(content, "f.csv");
  EXPECT_TRUE(rows.ok()) << (rows.ok() ? "" : to_text(rows.error()));
  std::vector<std::vector<std::string>> texts;
  if (!rows.ok()) return texts;
  for (const CsvRow& row : *rows) {
    texts.emplace_back();
    for (const CsvCell& cell : row) texts.back().push_back(cell.text);
  }
  return texts;
}

using Texts = std::vector<std::vector<std::string>>;

TEST(Csv, SplitsRowsAndCells) {
  EXPECT_EQ(texts_of("a,b\nc,d\n"), (Texts{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(texts_of("a,b\r\nc,d"), (Texts{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(texts_of("a\rb\r"), (Texts{{"a"}, {"b"}}));
  EXPECT_EQ(texts_of(",a,,b,"), (Texts{{"", "a", "", "b", ""}}));
  EXPECT_EQ(texts_of(""), Texts{});
}

TEST(Csv, TrimsBlanks) { EXPECT_EQ(texts_of("  a b\t, \" c \" ,  \n"), (Texts{{"a b", "c", ""}})); }

TEST(Csv, ReadsQuotes) {
  EXPECT_EQ(texts_of("\"a,b\",\"say \"\"hi\"\"\"\n\"two\nlines\",\"\""),
            (Texts{{"a,b", "say \"hi\""}, {"two\nlines", ""}}));
  EXPECT_EQ(texts_of("a\"b"), (Texts{{"a\"b"}})) << "a quote within a bare cell is a character like others";
}

TEST(Csv, KeepsBlankLinesExceptAtTheEnd) { EXPECT_EQ(texts_of("\na\n  \nb\n\n\r\n"), (Texts{{}, {"a"}, {}, {"b"}})); }

TEST(Csv, TablesHaveNoBlankRows) {
  const auto rows = parse_csv_table("\n\na,b\n  \nc,d\n\n", "f.csv");
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0][0].text, "a");
  EXPECT_EQ((*rows)[1][0].line, 5);
  for (const char* empty : {"", "\n \n", "\xEF\xBB\xBF"})
    EXPECT_TRUE(parse_csv_table(empty, "f.csv")->empty()) << empty;
}

TEST(Csv, SkipsTheByteOrderMark) {
  EXPECT_EQ(texts_of("\xEF\xBB\xBF"
                     "a,b"),
            (Texts{{"a", "b"}}));
}

TEST(Csv, ReportsPlaces) {
  const auto rows = parse_csv("a, bc,\" d\"\n\r\n\"x\ny\",z", "f.csv");
  ASSERT_TRUE(rows.ok());
  const auto expect_place = [](const CsvCell& cell, int line, int column) {
    EXPECT_EQ(cell.line, line) << cell.text;
    EXPECT_EQ(cell.column, column) << cell.text;
  };
  expect_place((*rows)[0][0], 1, 1);
  expect_place((*rows)[0][1], 1, 4);
  expect_place((*rows)[0][2], 1, 9);
  expect_place((*rows)[2][0], 3, 2);
  expect_place((*rows)[2][1], 4, 4);
  EXPECT_EQ(to_text(error_at((*rows)[2][1], "f.csv", "wrong")), "f.csv:4:4: wrong");
}

TEST(Csv, RejectsBrokenQuotes) {
  EXPECT_EQ(to_text(parse_csv("a,\"b\nc", "f.csv").error()),
            "f.csv:1:3: unterminated quote; a cell that begins with \" must end with \"");
  EXPECT_EQ(to_text(parse_csv("\"a\" b,c", "f.csv").error()),
            "f.csv:1:5: unexpected text after the closing quote; accepted: a comma or the end of the line");
}

TEST(Csv, RejectsInvalidText) {
  EXPECT_EQ(to_text(parse_csv("a,b\nc,\xFF", "f.csv").error()),
            "f.csv:2:3: byte 0xFF is not UTF-8; accepted: UTF-8 text");
  EXPECT_EQ(to_text(parse_csv("\x7F"
                              "ELF",
                              "f.csv")
                        .error()),
            "f.csv:1:1: control character 0x7F; accepted: text, tab and line ends");
}

TEST(Csv, DetectsTooLargeIndices) {
  EXPECT_TRUE(is_too_large_index("2147483648"));
  EXPECT_TRUE(is_too_large_index(std::string(400, '9')));
  for (const char* text : {"", "0", "2147483647", "-2147483648", "2147483648x", "1e99"})
    EXPECT_FALSE(is_too_large_index(text)) << text;
}

TEST(Csv, ParsesIndices) {
  EXPECT_EQ(parse_index("0"), 0);
  EXPECT_EQ(parse_index("007"), 7);
  EXPECT_EQ(parse_index("2147483647"), 2147483647);
  for (const char* text : {"", "-1", "+1", "2147483648", "1.0", "1 ", " 1", "x"})
    EXPECT_EQ(parse_index(text), std::nullopt) << text;
}

}  // namespace
}  // namespace dovetail::base
