#include "records/metric_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/temporary_folder.h"

namespace dovetail::records {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> names_in(const MetricTable& table) {
  std::vector<std::string> names;
  for (const MetricColumn& column : table.columns()) names.push_back(column.name);
  return names;
}

std::string error_of(const std::string& content) {
  const auto table = parse_metrics(content, "m");
  return table.ok() ? "" : to_text(table.error());
}

TEST(MetricTable, HasAColumnPerMetric) {
  const auto table = parse_metrics(
      "{\"iteration\": 1, \"reward\": 0.5, \"timing\": {\"seconds\": 2}}\n"
      "{\"iteration\": 3, \"reward\": null, \"kl\": -1e-3, \"timing\": {\"seconds\": 2.5}}\n",
      "m");
  ASSERT_TRUE(table.ok()) << to_text(table.error());
  EXPECT_EQ(table->rows(), 2);
  EXPECT_THAT(names_in(*table), ElementsAre("reward", "seconds", "kl"));
  const auto& reward = table->find("reward")->points;
  ASSERT_EQ(reward.size(), 2U);
  EXPECT_EQ(reward[0].iteration, 1);
  EXPECT_EQ(reward[0].value, 0.5);
  EXPECT_EQ(reward[1].iteration, 3);
  EXPECT_TRUE(std::isnan(reward[1].value));
  ASSERT_EQ(table->find("kl")->points.size(), 1U);
  EXPECT_EQ(table->find("kl")->points[0].iteration, 3);
  EXPECT_EQ(table->find("kl")->points[0].value, -1e-3);
  EXPECT_TRUE(table->find("seconds")->is_timing);
  EXPECT_FALSE(table->find("kl")->is_timing);
  EXPECT_EQ(table->find("iteration"), nullptr);
}

TEST(MetricTable, IsEmptyForAnEmptyFile) {
  const auto table = parse_metrics("", "m");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->rows(), 0);
  EXPECT_THAT(table->columns(), IsEmpty());
}

TEST(MetricTable, IgnoresAnUnfinishedRow) {
  const std::string row = "{\"iteration\": 1, \"a\": 1}\n";
  const std::string next = "{\"iteration\": 2, \"a\": 25}";
  for (std::size_t length = 0; length < next.size(); ++length)
    EXPECT_EQ(parse_metrics(row + next.substr(0, length), "m")->rows(), 1) << length;
  EXPECT_EQ(parse_metrics(row + next, "m")->rows(), 2);
}

TEST(MetricTable, ReportsErrorsWithPosition) {
  const std::string row = "{\"iteration\": 1, \"a\": 1}\n";
  EXPECT_THAT(error_of(row + "\n"), HasSubstr("m:2:"));
  EXPECT_THAT(error_of(row + "{\"iteration\": 2,}\n"), HasSubstr("m:2:17"));
  EXPECT_THAT(error_of(row + "[1]\n"), HasSubstr("m:2:1: this line is a list; accepted: an object"));
  EXPECT_THAT(error_of(row + "{\"a\": 1}\n"), HasSubstr("m:2:1: a row needs the key `iteration`"));
  EXPECT_THAT(error_of(row + "{\"iteration\": -1}\n"), HasSubstr("m:2:15: `iteration`"));
  EXPECT_THAT(error_of(row + "{\"iteration\": 1.5}\n"), HasSubstr("m:2:15"));
  EXPECT_EQ(error_of(row + row), "m:2:15: iteration 1 comes after iteration 1; accepted: a greater number in each row");
  EXPECT_THAT(error_of(row + "{\"iteration\": 2, \"a\": \"x\"}\n"), HasSubstr("m:2:23: `a`"));
  EXPECT_THAT(error_of(row + "{\"iteration\": 2, \"a\": 1e400}\n"), HasSubstr("m:2:23: the number is out of range"));
  EXPECT_THAT(error_of(row + "{\"iteration\": 2, \"a\": 1, \"a\": 2}\n"), HasSubstr("m:2:"));
  EXPECT_THAT(error_of("{\"iteration\": 2, \"timing\": 3}\n"), HasSubstr("m:1:28: `timing`"));
  EXPECT_THAT(error_of(row + "{\"iteration\": 2, \"timing\": {\"a\": 2}}\n"), HasSubstr("m:2:29: `a` is inside"));
  EXPECT_THAT(error_of(row + "{\"iteration\": 2, \"\": 2}\n"), HasSubstr("m:2:18"));
}

TEST(MetricTable, AMissingFileIsAnError) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(read_metrics(folder.file("none")).error().failure, base::Failure::io);
}

MetricTable table(const std::string& rows) { return parse_metrics(rows, "rows").value(); }

/// Formats each bar as name, begin and end in ms: "actor_generate 0 2".
std::vector<std::string> bars_in(const timeline::Timeline& timeline) {
  std::vector<std::string> bars;
  for (const timeline::Bar& bar : timeline.bars) {
    const auto ms = [](base::Ticks time) { return std::to_string(time.count() / 1'000'000); };
    bars.push_back(title_of(timeline, bar) + " " + ms(bar.begin) + " " + ms(bar.end));
  }
  return bars;
}

TEST(RunTimeline, HasTasksAndOtherTimeOfEachIteration) {
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

TEST(RunTimeline, IsEmptyForRowsWithoutTimes) {
  EXPECT_THAT(bars_in(run_timeline(table("{\"iteration\": 1, \"reward\": 1}\n"), {})), ElementsAre());
  // A missing or non-numeric time has no bar.
  EXPECT_THAT(
      bars_in(run_timeline(table("{\"iteration\": 1, \"timing\": {\"a_seconds\": null, \"seconds\": 0}}\n"), {})),
      ElementsAre());
}

}  // namespace

}  // namespace dovetail::records
