#include "cli/progress_line.h"

#include <gtest/gtest.h>

#include "answer/schedules/search.h"

namespace dovetail::cli {
namespace {

TEST(FitFields, LeavesOutWholeFieldsFromTheRight) {
  const std::vector<ProgressField> fields{{"makespan 225"}, {", peak 15.6"}, {", 12.5% done"}};
  EXPECT_EQ(fit_fields(fields, 80), "makespan 225, peak 15.6, 12.5% done");
  EXPECT_EQ(fit_fields(fields, 34), "makespan 225, peak 15.6");
  EXPECT_EQ(fit_fields(fields, 23), "makespan 225, peak 15.6");
  EXPECT_EQ(fit_fields(fields, 22), "makespan 225");
  EXPECT_EQ(fit_fields(fields, 11), "");
}

TEST(FitFields, LeavesOutTheLastRankFirst) {
  const std::vector<ProgressField> fields{{"peak: ", 1}, {"makespan 225"}, {", peak 15.6", 2}, {", 7 s left"}};
  EXPECT_EQ(fit_fields(fields, 39), "peak: makespan 225, peak 15.6, 7 s left");
  EXPECT_EQ(fit_fields(fields, 38), "peak: makespan 225, 7 s left");
  EXPECT_EQ(fit_fields(fields, 27), "makespan 225, 7 s left");
  EXPECT_EQ(fit_fields(fields, 21), "makespan 225");
}

TEST(FitFields, KeepsImportantFieldsInEightyColumns) {
  fuse::Progress progress;
  progress.phase = "peak";
  progress.makespan = base::Ticks(24310);
  progress.peak_activation = base::Memory(33'630'000);
  progress.iterations = 3;
  progress.iterations_planned = 4;
  progress.iterations_per_second = 12.7e6;
  progress.seconds_left = 75;
  const auto fields =
      answer::progress_fields(progress, base::Ticks(24000), base::Memory(20'000'000), base::TimeUnit::tick);
  EXPECT_EQ(
      fit_fields(fields, 200),
      "peak: makespan 24310 (bound 24000, gap 1.3%), peak 33.63 (bound 20), 75.0% done, 12.7M it/s, 1:15 min left");
  EXPECT_EQ(fit_fields(fields, 79), "makespan 24310 (bound 24000, gap 1.3%), peak 33.63, 12.7M it/s, 1:15 min left");
  EXPECT_EQ(fit_fields(fields, 66), "makespan 24310 (bound 24000, gap 1.3%), 12.7M it/s, 1:15 min left");
}

}  // namespace
}  // namespace dovetail::cli
