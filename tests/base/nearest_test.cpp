#include "base/nearest.h"

#include <gtest/gtest.h>

namespace dovetail::base {
namespace {

const std::vector<std::string_view> names{"schedule", "check", "csv", "svg", "exp1", "exp10"};

TEST(NearestName, FindsASlipOfTheFingers) {
  EXPECT_EQ(nearest_name("schedul", names), "schedule");
  EXPECT_EQ(nearest_name("shcedule", names), "schedule");
  EXPECT_EQ(nearest_name("chekc", names), "check");
  EXPECT_EQ(nearest_name("exp100", names), "exp10");
}

TEST(NearestName, PrefersTheFirstOfEquallyNear) { EXPECT_EQ(nearest_name("exp", names), "exp1"); }

TEST(NearestName, CountsTwoExchangedLettersAsOneSlip) { EXPECT_EQ(nearest_name("cvs", names), "csv"); }

TEST(NearestName, LeavesWhatIsFarAway) {
  EXPECT_EQ(nearest_name("greedy", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(1000, 'x'), names), "");
  EXPECT_EQ(nearest_name("schedule", {}), "");
}

TEST(DidYouMean, IsTheEndOfASentenceOrNothing) {
  EXPECT_EQ(did_you_mean("sv", names), "; did you mean 'csv'?");
  EXPECT_EQ(did_you_mean("greedy", names), "");
}

}  // namespace
}  // namespace dovetail::base
