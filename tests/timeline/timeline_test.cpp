#include "timeline/timeline.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace dovetail::timeline {
namespace {

TEST(BarKind, HasANameOfItsOwnForEveryKind) {
  std::set<std::string> names;
  for (int kind = 0; kind < bar_kinds; ++kind) names.emplace(name_of(static_cast<BarKind>(kind)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(bar_kinds));
  EXPECT_EQ(name_of(BarKind::input_gradient), "input gradient");
  EXPECT_EQ(name_of(BarKind::warm_up), "warm-up");
}

TEST(BarKind, IsWorkOrIdle) {
  EXPECT_FALSE(is_idle(BarKind::forward));
  EXPECT_FALSE(is_idle(BarKind::step));
  EXPECT_TRUE(is_idle(BarKind::warm_up));
  EXPECT_TRUE(is_idle(BarKind::drain));
}

TEST(Counter, PeaksAtTheFirstOfItsLargestValues) {
  using base::Memory;
  using base::Ticks;
  const Counter counter{"held", {{Ticks(0), Memory(1)}, {Ticks(3), Memory(7)}, {Ticks(5), Memory(2)}, {Ticks(9), Memory(7)}}};
  EXPECT_EQ(peak_of(counter), std::pair(Ticks(3), Memory(7)));
}

}  // namespace
}  // namespace dovetail::timeline
