#include "base/fields.h"

#include <gtest/gtest.h>

#include <string>

namespace dovetail::base {
namespace {

/// Returns the text of the error of `read` for the value of `x`.
template <class Read>
std::string error_of(const std::string& yaml, Read read) {
  const Document document = parse_yaml(yaml, "f.yaml").value();
  const auto result = read(document.root());
  return result.ok() ? "no error" : to_text(result.error());
}

double number_in(const std::string& text) {
  const Document document = parse_yaml("x: " + text, "f.yaml").value();
  return read_number(*document.root().find("x"), "`x`", -2, 1e6).value();
}

TEST(RequireFormat, IsCheckedBeforeOtherErrors) {
  const auto read = [](const Node& root) { return require_format(root, "a job", "dovetail/job@1"); };
  EXPECT_EQ(error_of("format: dovetail/job@1\nwrong: 1", read), "no error");
  EXPECT_EQ(error_of("wrong: 1\nformat: dovetail/job@2", read),
            "f.yaml:2:9: `format` is the string `dovetail/job@2`; accepted: `dovetail/job@1`");
  EXPECT_EQ(error_of("wrong: 1", read), "f.yaml:1:1: a job needs the key `format`; accepted: `format: dovetail/job@1`");
  EXPECT_EQ(error_of("[1]", read),
            "f.yaml:1:1: a job must be a map, not a list; accepted: a map with the key `format`");
}

TEST(ReadNumber, RoundsToTheNearestDouble) {
  EXPECT_EQ(number_in("0.1"), 0.1);
  EXPECT_EQ(number_in("+1.5e3"), 1500);
  EXPECT_EQ(number_in("-2"), -2);
  EXPECT_EQ(number_in("1000000"), 1e6);
}

TEST(ReadNumber, RejectsInvalidAndOutOfRangeValues) {
  const auto read = [](const Node& root) { return read_number(*root.find("x"), "`x`", 0, 1); };
  EXPECT_EQ(error_of("x: 1.5", read), "f.yaml:1:4: `x` must be a number from 0 to 1, not 1.5");
  EXPECT_EQ(error_of("x: -0.5", read), "f.yaml:1:4: `x` must be a number from 0 to 1, not -0.5");
  EXPECT_EQ(error_of("x: '1'", read), "f.yaml:1:4: `x` must be a number from 0 to 1, not the string `1`");
  EXPECT_EQ(error_of("x: 1e999", read), "f.yaml:1:4: `x` must be a number from 0 to 1, not 1e999");
}

TEST(Names, MustBePrintable) {
  const auto read = [](const Node& root) { return find_name(root, "x"); };
  EXPECT_EQ(error_of("x: modèle", read), "no error");
  EXPECT_EQ(error_of("y: 1", read), "no error");
  EXPECT_EQ(error_of("x: ''", read),
            "f.yaml:1:4: `x` is the string ``; accepted: a non-empty string without control characters");
  EXPECT_EQ(error_of("x: 3", read), "f.yaml:1:4: `x` is 3; accepted: a non-empty string without control characters");
  EXPECT_NE(error_of("x: \"a\\nb\"", read), "no error");
}

}  // namespace
}  // namespace dovetail::base
