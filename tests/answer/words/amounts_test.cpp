#include "answer/words/amounts.h"

#include <gtest/gtest.h>

namespace dovetail::answer {
namespace {

TEST(Gibibytes, NothingThatIsThereLooksLikeNothing) {
  EXPECT_EQ(gibibytes(0), "0.00 GiB");
  EXPECT_EQ(gibibytes(std::int64_t{78} << 30), "78.00 GiB");
  EXPECT_EQ(gibibytes(-(std::int64_t{3} << 29)), "-1.50 GiB");
  EXPECT_EQ(gibibytes(std::int64_t{3} << 20), "3.00 MiB");
  EXPECT_EQ(gibibytes(-(std::int64_t{1} << 20)), "-1.00 MiB");
  EXPECT_EQ(gibibytes(1000), "1000 bytes");
}

}  // namespace
}  // namespace dovetail::answer
