#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "report/page/chart_sections.h"
#include "support/example_timelines.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using testing::ElementsAre;
using timeline::Bar;
using timeline::BarKind;
using timeline::Timeline;

std::vector<std::string> names_of(const Legend& legend) {
  std::vector<std::string> names;
  for (const Category& category : legend.categories) names.push_back(category.name);
  return names;
}

const Category& category_of(const Legend& legend, std::size_t bar) {
  return legend.categories.at(static_cast<std::size_t>(legend.of.at(bar)));
}

TEST(Legend, HasOnlyCategoriesInUse) {
  const Timeline timeline = test::small_timeline();
  const Legend legend = legend_of(timeline);
  EXPECT_THAT(names_of(legend), ElementsAre("actor forward", "actor backward", "critic forward", "critic backward",
                                            "warm-up", "dependency", "transfer", "drain"));
  ASSERT_EQ(legend.of.size(), timeline.bars.size());
  EXPECT_EQ(category_of(legend, 0).bar_title, "F{micro-batch} actor");
  EXPECT_EQ(category_of(legend, 0).bar_label, "{micro-batch}");
  EXPECT_FALSE(category_of(legend, 0).idle);
  EXPECT_TRUE(category_of(legend, 1).idle);
  EXPECT_EQ(category_of(legend, 1).bar_label, "");
}

TEST(Legend, EscapesBracesInNames) {
  Timeline timeline = test::small_timeline();
  timeline.tracks[0].name = "a{stage}";
  EXPECT_EQ(category_of(legend_of(timeline), 0).bar_title, "F{micro-batch} a(stage}");
}

TEST(Legend, OrdersTaskWorkThenOtherWorkThenIdleTime) {
  Timeline timeline;
  timeline.tracks = {{"gen", 0, 0, timeline::Track::Kind::task}, {"train", -1, 0, timeline::Track::Kind::task}};
  add_lane(timeline, "device 0",
           {{Ticks(0), Ticks(1), BarKind::hand_over},
            {Ticks(1), Ticks(2), BarKind::dependency, 0},
            {Ticks(2), Ticks(3), BarKind::dependency, 1},
            {Ticks(3), Ticks(4), BarKind::optimizer, 1},
            {Ticks(4), Ticks(5), BarKind::decode, 0}});
  const Legend legend = legend_of(timeline);
  EXPECT_THAT(names_of(legend), ElementsAre("gen decode", "train optimizer", "hand-over", "dependency"));
  EXPECT_EQ(legend.of[1], legend.of[2]) << "regardless of the awaited bar";
  EXPECT_EQ(category_of(legend, 4).bar_title, "decode of {task}");
  EXPECT_EQ(category_of(legend, 4).bar_label, "gen decode");
  EXPECT_EQ(category_of(legend, 3).bar_label, "{micro-batch}");
}

/// A lane with a bar of each name, alternately work and idle time, each longer than the next.
Timeline named_bars(int names) {
  Timeline timeline;
  std::vector<Bar> bars;
  for (int name = 0; name < names; ++name) {
    timeline.names.push_back(std::string(static_cast<std::size_t>(name) + 1, 'x'));
    bars.push_back({timeline.end, timeline.end + Ticks(100 - name), name % 2 == 0 ? BarKind::work : BarKind::idle});
    bars.back().name = name;
    timeline.end += Ticks(100 - name);
  }
  add_lane(timeline, "device 0", bars);
  return timeline;
}

TEST(Legend, SeparatesIdleTimeFromWorkOfTheSameName) {
  for (const int names : {1, 14, 15, 16, 30}) {
    const Legend legend = legend_of(named_bars(names));
    ASSERT_EQ(legend.of.size(), static_cast<std::size_t>(names));
    for (std::size_t bar = 0; bar < legend.of.size(); ++bar)
      EXPECT_EQ(category_of(legend, bar).idle, bar % 2 == 1) << names << " names";
  }
  EXPECT_EQ(legend_of(named_bars(14)).categories.size(), 14U);
  EXPECT_EQ(legend_of(named_bars(30)).categories.size(), 16U);
}

TEST(Legend, GroupsNamesThatDifferInNumbersOnly) {
  Timeline timeline = named_bars(3);
  timeline.names = {"layer 1", "idle", "layer 12"};
  const Legend legend = legend_of(timeline);
  EXPECT_THAT(names_of(legend), ElementsAre("layer …", "idle"));
  EXPECT_EQ(legend.of[0], legend.of[2]);
}

TEST(Legend, GivesNamesUniqueColors) {
  Timeline timeline = test::small_timeline();
  timeline.names = {"a", "b"};
  std::vector<Bar> named{{Ticks(0), Ticks(5)}, {Ticks(5), Ticks(10)}};
  named[0].name = 0;
  named[1].name = 1;
  add_lane(timeline, "host", named);
  const Legend legend = legend_of(timeline);
  for (std::size_t one = 0; one < legend.categories.size(); ++one)
    for (std::size_t other = 0; other < one; ++other)
      EXPECT_NE(legend.categories[one].ink.light, legend.categories[other].ink.light)
          << legend.categories[one].name << " and " << legend.categories[other].name;
}

}  // namespace
}  // namespace dovetail::report
