#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
  for (const int names : {1, 8, 9, 10, 30}) {
    const Legend legend = legend_of(named_bars(names));
    ASSERT_EQ(legend.of.size(), static_cast<std::size_t>(names));
    for (std::size_t bar = 0; bar < legend.of.size(); ++bar)
      EXPECT_EQ(category_of(legend, bar).idle, bar % 2 == 1) << names << " names";
  }
  EXPECT_EQ(legend_of(named_bars(8)).categories.size(), 8U);
  EXPECT_EQ(legend_of(named_bars(30)).categories.size(), 10U);
}

TEST(Legend, GroupsNamesThatDifferInNumbersOnly) {
  Timeline timeline = named_bars(3);
  timeline.names = {"layer 1", "idle", "layer 12"};
  const Legend legend = legend_of(timeline);
  EXPECT_THAT(names_of(legend), ElementsAre("layer …", "idle"));
  EXPECT_EQ(legend.of[0], legend.of[2]);
}

std::vector<std::string> names_of(const std::vector<StyleGroup>& groups) {
  std::vector<std::string> names;
  for (const StyleGroup& group : groups) names.push_back(group.full_name());
  return names;
}

/// The work of a PPO iteration, with the time of each look.
struct Ppo {
  std::vector<timeline::Track> tracks;
  std::vector<BarStyle> styles;

  Ppo() {
    for (const char* name : {"actor_generate", "reward_infer", "critic_infer", "actor_train", "critic_train"})
      tracks.push_back({name, static_cast<std::int32_t>(tracks.size()) % 2, 0, timeline::Track::Kind::task});
    styles = {
        {BarKind::prefill, 0, Ticks(5)},  {BarKind::decode, 0, Ticks(300)},  {BarKind::reallocation, 0, Ticks(40)},
        {BarKind::infer, 1, Ticks(20)},   {BarKind::hand_over, 1, Ticks(9)}, {BarKind::infer, 2, Ticks(20)},
        {BarKind::forward, 3, Ticks(30)}, {BarKind::backward, 3, Ticks(60)}, {BarKind::optimizer, 3, Ticks(7)},
        {BarKind::forward, 4, Ticks(30)}, {BarKind::backward, 4, Ticks(60)}, {BarKind::optimizer, 4, Ticks(7)},
        {BarKind::loading, 4, Ticks(8)},  {BarKind::hand_over, -1, Ticks(9)}};
  }
};

TEST(LookGroups, KeepEveryLookOnce) {
  Ppo ppo;
  for (const BarKind cause : {BarKind::tail, BarKind::dependency, BarKind::bubble, BarKind::launch, BarKind::awaiting})
    ppo.styles.push_back({cause, -1, Ticks(2)});
  for (std::size_t most = 2; most < 25; ++most) {
    const std::vector<StyleGroup> groups = group_styles(ppo.tracks, ppo.styles, most);
    EXPECT_LE(groups.size(), most);
    std::vector<std::size_t> found;
    Ticks time;
    for (const StyleGroup& group : groups) {
      found.insert(found.end(), group.styles.begin(), group.styles.end());
      time += group.time;
      for (const std::size_t style : group.styles) EXPECT_EQ(group.idle, is_idle(ppo.styles[style].bar_kind));
    }
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found.size(), ppo.styles.size());
    EXPECT_EQ(std::adjacent_find(found.begin(), found.end()), found.end());
    EXPECT_EQ(time, Ticks(605 + 10));
  }
}

TEST(LookGroups, JoinInferenceServicesAndThenOptimizers) {
  const Ppo ppo;
  EXPECT_THAT(
      names_of(group_styles(ppo.tracks, ppo.styles, 20)),
      ElementsAre("actor_generate prefill", "actor_generate decode", "inference", "actor_train forward",
                  "actor_train backward", "actor_train optimizer", "critic_train forward", "critic_train backward",
                  "critic_train optimizer", "actor_generate reallocation", "hand-over", "critic_train loading"));
  EXPECT_THAT(names_of(group_styles(ppo.tracks, ppo.styles)),
              ElementsAre("actor_generate prefill", "actor_generate decode", "inference", "actor_train forward",
                          "actor_train backward", "optimizer", "critic_train forward", "critic_train backward",
                          "moving weights", "hand-over"));
}

TEST(LookGroups, SummarizeTheLeastTime) {
  Ppo ppo;
  for (const BarKind cause : {BarKind::tail, BarKind::dependency, BarKind::bubble, BarKind::imbalance})
    ppo.styles.push_back({cause, -1, Ticks(cause == BarKind::tail ? 100 : 1)});
  const std::vector<StyleGroup> groups = group_styles(ppo.tracks, ppo.styles);
  EXPECT_THAT(names_of(groups), ElementsAre("generation", "inference", "actor_train forward, backward", "optimizer",
                                            "critic_train forward, backward", "moving weights", "hand-over",
                                            "long tail", "dependency", "other idle time"));
  EXPECT_EQ(groups.back().about, "bubble, imbalance");
}

TEST(LookGroups, JoinReplicasOfAModel) {
  std::vector<timeline::Track> tracks;
  std::vector<BarStyle> styles;
  for (std::int32_t replica = 0; replica < 8; ++replica) {
    tracks.push_back({"critic/" + std::to_string(replica), 0, replica});
    styles.push_back({BarKind::forward, replica, Ticks(1)});
    styles.push_back({BarKind::backward, replica, Ticks(2)});
  }
  EXPECT_THAT(names_of(group_styles(tracks, styles)), ElementsAre("critic forward", "critic backward"));
}

TEST(LookGroups, ExplainTheirNames) {
  for (int kind = 0; kind < timeline::bar_kinds; ++kind) {
    const auto bar_kind = static_cast<BarKind>(kind);
    const bool needs_none = bar_kind == BarKind::work || bar_kind == BarKind::idle;
    EXPECT_EQ(explanation_of(bar_kind).empty(), needs_none) << name_of(bar_kind);
  }
  Timeline timeline = test::small_timeline();
  EXPECT_EQ(term_sentences(timeline), "");
  timeline.bars[0].bar_kind = BarKind::hand_over;
  EXPECT_EQ(term_sentences(timeline),
            " Hand-over: the trainer's software distributes data to tasks or collects their results.");
}

TEST(Legend, HasEveryCategoryInOneEntry) {
  for (const int names : {1, 8, 30}) {
    const Legend legend = legend_of(named_bars(names));
    std::size_t categories = 0;
    for (const StyleGroup& entry : legend.entries) categories += entry.styles.size();
    EXPECT_EQ(categories, legend.categories.size());
    EXPECT_LE(legend.entries.size(), max_legend_entries);
  }
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
