#include "answer/schedules/search.h"

#include <gtest/gtest.h>

#include <string>

#include "fuse/bounds/bounds.h"
#include "pipeline/problem/instances.h"

namespace dovetail::answer {
namespace {

std::string joined(const std::vector<ProgressField>& fields) {
  std::string text;
  for (const ProgressField& field : fields) text += field.text;
  return text;
}

TEST(ProgressFields, DescribeTheProgress) {
  fuse::Progress progress;
  progress.phase = "peak";
  progress.makespan = base::Ticks(24310);
  progress.peak_activation = base::Memory(33'630'000);
  progress.iterations = 3;
  progress.iterations_planned = 4;
  progress.iterations_per_second = 12.7e6;
  progress.seconds_left = 75;
  EXPECT_EQ(
      joined(progress_fields(progress, base::Ticks(24000), base::Memory(20'000'000), base::TimeUnit::tick)),
      "peak: makespan 24310 (bound 24000, gap 1.3%), peak 33.63 (bound 20), 75.0% done, 12.7M it/s, 1:15 min left");
}

TEST(ProgressFields, OmitUnknownValues) {
  fuse::Progress progress;
  progress.phase = "exact";
  progress.makespan = base::Ticks(1'500'000);
  EXPECT_EQ(joined(progress_fields(progress, base::Ticks(1'000'000), std::nullopt, base::TimeUnit::ms)),
            "exact: makespan 1.5 (bound 1, gap 50.0%), peak 0");
}

TEST(SearchProgress, ReportsThePeakBoundAtTheCurrentMakespan) {
  const pipeline::Problem& problem = pipeline::find_instance("exp2")->problem;
  const base::Ticks bound = fuse::bounds_of(problem).makespan;
  std::vector<std::string> reported;
  Callbacks callbacks;
  callbacks.on_figures = [&reported](const Figures& figures) { reported.push_back(joined(figures())); };
  SearchProgress search(callbacks, problem, bound);
  EXPECT_EQ(search.iterations_per_second(), 0);
  fuse::Progress progress;
  progress.phase = "makespan";
  progress.iterations_per_second = 1234;
  for (const base::Ticks makespan : {bound + bound, bound}) {
    progress.makespan = makespan;
    search.report(progress);
    const std::string peak = base::format_memory(fuse::peak_activation_bound(problem, makespan, {.work = 0}));
    EXPECT_NE(reported.back().find(", peak 0 (bound " + peak + "), 1.23k it/s"), std::string::npos) << reported.back();
  }
  EXPECT_NE(reported[0], reported[1]);
  EXPECT_EQ(search.iterations_per_second(), 1234);
}

}  // namespace
}  // namespace dovetail::answer
