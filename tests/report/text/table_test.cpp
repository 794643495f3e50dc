#include "report/text/table.h"

#include <gtest/gtest.h>

namespace dovetail::report {
namespace {

TEST(Table, AlignsItsColumns) {
  EXPECT_EQ(render_table({{"solver", Align::left}, {"makespan"}, {"note", Align::left}},
                         {{"gpipe", "7", "slow"}, {"list scheduling", "123", ""}}),
            "solver           makespan  note\n"
            "---------------  --------  ----\n"
            "gpipe                   7  slow\n"
            "list scheduling       123\n");
}

TEST(Table, CountsCodePointsNotBytes) {
  EXPECT_EQ(render_table({{"name", Align::left}, {"n"}},
                         {{"\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", "1"}, {"ab", "\xE2\x80\x93"}}),
            "name   n\n"
            "-----  -\n"
            "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9  1\n"
            "ab     \xE2\x80\x93\n");
}

TEST(Table, AcceptsNoRows) { EXPECT_EQ(render_table({{"a"}, {"bc"}}, {}), "a  bc\n-  --\n"); }

TEST(Table, HasNoTrailingSpaces) {
  const std::string table =
      render_table({{"a", Align::left}, {"b", Align::left}}, {{"long cell", ""}, {"", "other"}, {"", ""}});
  EXPECT_EQ(table.find(" \n"), std::string::npos) << table;
}

TEST(TableDeathTest, NeedsACellForEachColumn) { EXPECT_DEATH(render_table({{"a"}, {"b"}}, {{"1"}}), "row.size"); }

}  // namespace
}  // namespace dovetail::report
