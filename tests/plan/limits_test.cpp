#include "plan/limits.h"

#include <gtest/gtest.h>

#include <string>

namespace dovetail::plan {
namespace {

MinMargin margin_of(const std::string& text) {
  const base::Document document = base::parse_yaml_or_json("margin: " + text, "limits.yaml").value();
  return read_limits(document.root()).value().margin.value();
}

TEST(ReadLimits, TakesSharesAndAmounts) {
  EXPECT_EQ(margin_of("5%"), (MinMargin{0.05, 0}));
  EXPECT_EQ(margin_of("2.5%"), (MinMargin{0.025, 0}));
  EXPECT_EQ(margin_of("4GiB"), (MinMargin{0, std::int64_t{4} << 30}));
  EXPECT_EQ(margin_of("0"), (MinMargin{0, 0}));
  EXPECT_EQ(margin_of("0%"), (MinMargin{0, 0}));
  EXPECT_EQ(margin_of("3000000000"), (MinMargin{0, 3'000'000'000}));
}

TEST(MinMargin, IsOfWhatIsUsable) {
  EXPECT_EQ((MinMargin{0.05, 0}.of(80'000)), 4'000);
  EXPECT_EQ((MinMargin{0, 700}.of(80'000)), 700);
}

}  // namespace
}  // namespace dovetail::plan
