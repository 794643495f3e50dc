#include "base/input_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/csv.h"
#include "base/document.h"

namespace dovetail::base {
namespace {

constexpr InputKind kinds[] = {InputKind::json, InputKind::yaml, InputKind::csv, InputKind::lines};

TEST(InputSize, IsLimitedByKind) {
  for (const InputKind kind : kinds) {
    const std::size_t largest = max_input(kind);
    EXPECT_TRUE(check_input_size(kind, largest, "f").ok());
    EXPECT_EQ(check_input_size(kind, largest + 1, "f").error().failure, Failure::bad_input);
    EXPECT_LE(largest, max_input());
    EXPECT_TRUE(check_input_size(largest, "f").ok());
  }
  EXPECT_FALSE(check_input_size(max_input() + 1, "f").ok());
}

TEST(InputSize, IsSaidWithTheLimit) {
  EXPECT_EQ(to_text(check_input_size(InputKind::csv, 33'554'433, "t.csv").error()),
            "t.csv: the file is too large, 33554433 bytes; accepted: at most 32 MiB (33554432 bytes) of CSV");
}

TEST(InputSize, IsAskedByTheReaders) {
  const auto refuses = [](const auto& result) {
    return !result.ok() && result.error().message.starts_with("the file is too large") &&
           result.error().failure == Failure::bad_input;
  };
  const std::string blanks(max_input(InputKind::yaml) + 1, ' ');
  EXPECT_TRUE(refuses(parse_csv(blanks, "f")));
  EXPECT_TRUE(refuses(parse_yaml(blanks, "f")));
  EXPECT_FALSE(refuses(parse_json(blanks, "f"))) << "as long as that JSON may be";
  EXPECT_TRUE(refuses(parse_json(std::string(max_input(InputKind::json) + 1, ' '), "f")));
}

TEST(InputSize, OfALineOfYamlIsLimited) {
  const std::string longest = "- " + std::string(max_yaml_line - 2, 'a');
  EXPECT_TRUE(parse_yaml(longest + "\n" + longest, "f").ok());
  EXPECT_EQ(to_text(parse_yaml("- b\n" + longest + "a\n", "f").error()),
            "f:2:1: the line has 1048577 bytes; accepted: at most 1048576 in a line of YAML");
}

}  // namespace
}  // namespace dovetail::base
