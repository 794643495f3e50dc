#include "records/run_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dovetail::records {
namespace {

using testing::ElementsAre;

FigureTable table(const std::string& rows) { return parse_figures(rows, "rows").value(); }

/// "actor_generate 0 2": a bar's name, beginning and end in ms.
std::vector<std::string> bars_in(const timeline::Timeline& timeline) {
  std::vector<std::string> bars;
  for (const timeline::Bar& bar : timeline.bars) {
    const auto ms = [](base::Ticks time) { return std::to_string(time.count() / 1'000'000); };
    bars.push_back(title_of(timeline, bar) + " " + ms(bar.begin) + " " + ms(bar.end));
  }
  return bars;
}

TEST(RunTimeline, HasTheTasksOfEachIterationAndWhatIsBesideThem) {
  const timeline::Timeline timeline = run_timeline(
      table("{\"iteration\": 1, \"reward\": 1, \"timing\": {\"actor_generate_seconds\": 0.002, "
            "\"actor_train_seconds\": 0.003, \"seconds\": 0.006, \"mfu\": 1}}\n"
            "{\"iteration\": 2, \"timing\": {\"actor_generate_seconds\": 0.001, \"actor_train_seconds\": 0.001, "
            "\"seconds\": 0.002}}\n"),
      table("{\"iteration\": 0, \"reward\": 1, \"timing\": {\"evaluate_seconds\": 0.01}}\n"
            "{\"iteration\": 2, \"timing\": {\"evaluate_seconds\": 0.005}}\n"));
  EXPECT_THAT(bars_in(timeline),
              ElementsAre("evaluation 0 10", "actor_generate 10 12", "actor_train 12 15", "other 15 16",
                          "actor_generate 16 17", "actor_train 17 18", "evaluation 18 23"));
  EXPECT_EQ(timeline.end.count(), 23'000'000);
  ASSERT_EQ(timeline.lanes.size(), 1U);
  EXPECT_EQ(timeline.lanes[0].bars, 7U);
}

TEST(RunTimeline, OfRowsWithoutTimesIsEmpty) {
  EXPECT_THAT(bars_in(run_timeline(table("{\"iteration\": 1, \"reward\": 1}\n"), {})), ElementsAre());
  // A time of no number, or none at all, has no bar.
  EXPECT_THAT(
      bars_in(run_timeline(table("{\"iteration\": 1, \"timing\": {\"a_seconds\": null, \"seconds\": 0}}\n"), {})),
      ElementsAre());
}

}  // namespace
}  // namespace dovetail::records
