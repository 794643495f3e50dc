#include "trainers/roll/devices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace dovetail::trainers {
namespace {

std::vector<std::int64_t> run_of(std::int64_t first, std::int64_t end) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(end - first));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

TEST(DeviceNumbers, EqualPythonsResult) {
  const std::vector<std::pair<const char*, std::vector<std::int64_t>>> expressions{
      {"list(range(0,8))", run_of(0, 8)},
      {" list( range( 2 , 4 ) ) ", {2, 3}},
      {"range(3)", {0, 1, 2}},
      {"list(range(0, 16, 4))", {0, 4, 8, 12}},
      {"list(range(4, 0, -2))", {4, 2}},
      {"[0,1] + [6, 7,]", {0, 1, 6, 7}},
      {"list(range(0,2))+list(range(14,16))", {0, 1, 14, 15}},
      {"[1, 2] * 2", {1, 2, 1, 2}},
      {"2 * [3]", {3, 3}},
      {"list([4,5,12,13])", {4, 5, 12, 13}},
      {"list(range(2*8, 3*8-1))", run_of(16, 23)},
      {"[(1 + 2) * 3, --1]", {9, 1}},
      {"[]", {}},
      {"list()", {}},
  };
  for (const auto& [expression, numbers] : expressions) {
    const auto read = device_numbers(expression);
    ASSERT_TRUE(read.ok()) << expression << ": " << base::to_text(read.error());
    EXPECT_EQ(*read, numbers) << expression;
  }
}

TEST(DeviceNumbers, RejectOtherExpressions) {
  for (const char* const expression :
       {"",
        "8",
        "list(8)",
        "range()",
        "range(1,2,3,4)",
        "range(0,8,0)",
        "list(range(0,8)",
        "[0,1",
        "[0 1]",
        "[[0]]",
        "range(2) + range(2)",
        "range(2) * 2",
        "[1] - [1]",
        "[1] * [1]",
        "[i for i in range(8)]",
        "list(map(int, 'a'))",
        "open('f')",
        "[0] + 1",
        "list(range(0, 1000000000))",
        "[0] * 1000000",
        "[99999999999999999999]",
        "-[1]",
        "((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))"}) {
    const auto read = device_numbers(expression);
    ASSERT_FALSE(read.ok()) << expression;
    EXPECT_NE(read.error().message.find("accepted: lists of GPUs"), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace dovetail::trainers
