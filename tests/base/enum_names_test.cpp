#include "base/enum_names.h"

#include <gtest/gtest.h>

namespace dovetail::base {
namespace {

const std::vector<std::string_view> names{"schedule", "check", "csv", "svg", "exp1", "exp10"};

std::string_view nearest_name(std::string_view name, const std::vector<std::string_view>& candidates = names) {
  const auto nearest = nearest_names(name, candidates, 1);
  return nearest.empty() ? std::string_view() : nearest.front();
}

TEST(NearestNames, FindsMisspellings) {
  EXPECT_EQ(nearest_name("schedul"), "schedule");
  EXPECT_EQ(nearest_name("shcedule"), "schedule");
  EXPECT_EQ(nearest_name("chekc"), "check");
  EXPECT_EQ(nearest_name("exp100"), "exp10");
}

TEST(NearestNames, PrefersTheFirstOfTies) { EXPECT_EQ(nearest_name("exp"), "exp1"); }

TEST(NearestNames, CountsSwappedLettersAsOneEdit) { EXPECT_EQ(nearest_name("cvs"), "csv"); }

TEST(NearestNames, IgnoresDistantNames) {
  EXPECT_EQ(nearest_name("greedy"), "");
  EXPECT_EQ(nearest_name(""), "");
  EXPECT_EQ(nearest_name(std::string(1000, 'x')), "");
  EXPECT_EQ(nearest_name("schedule", {}), "");
}

TEST(NearestNames, SortsByDistance) {
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(nearest_names("exp10", {"exp1", "exp0", "exp10", "gpipe"}, 9), (Names{"exp10", "exp1", "exp0"}));
  EXPECT_EQ(nearest_names("exp12", {"exp0", "exp1", "exp2", "exp10", "exp11"}, 3), (Names{"exp1", "exp2", "exp10"}));
}

TEST(DidYouMean, FormatsSuggestions) {
  EXPECT_EQ(did_you_mean("sv", names), "; did you mean 'csv'?");
  EXPECT_EQ(did_you_mean("greedy", names), "");
  EXPECT_EQ(did_you_mean("exp12", {"exp1", "exp2"}), "; did you mean 'exp1'?");
  EXPECT_EQ(did_you_mean("exp12", {"exp1", "exp2"}, 2), "; did you mean 'exp1' or 'exp2'?");
  EXPECT_EQ(did_you_mean("exp12", {"exp1", "exp2", "exp10"}, 3), "; did you mean 'exp1', 'exp2' or 'exp10'?");
}

}  // namespace
}  // namespace dovetail::base
