#include "answer/text/figures.h"

#include <gtest/gtest.h>

namespace dovetail::answer {
namespace {

TEST(Gibibytes, NeverPrintsZeroForNonZero) {
  EXPECT_EQ(gibibytes(0), "0.00 GiB");
  EXPECT_EQ(gibibytes(std::int64_t{78} << 30), "78.00 GiB");
  EXPECT_EQ(gibibytes(-(std::int64_t{3} << 29)), "-1.50 GiB");
  EXPECT_EQ(gibibytes(std::int64_t{3} << 20), "3.00 MiB");
  EXPECT_EQ(gibibytes(-(std::int64_t{1} << 20)), "-1.00 MiB");
  EXPECT_EQ(gibibytes(1000), "1000 bytes");
}

TEST(DifferenceText, IsRelative) {
  EXPECT_EQ(difference_text(1.05, 1), "+5.0%");
  EXPECT_EQ(difference_text(0.9, 1), "-10.0%");
  EXPECT_EQ(difference_text(1, 0), "");
}

}  // namespace
}  // namespace dovetail::answer
