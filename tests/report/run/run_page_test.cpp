#include "report/run/run_page.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "pipeline/schedule/evaluate.h"
#include "report/page/page.h"
#include "report/xml_check.h"
#include "support/random_schedule.h"
#include "support/two_models.h"
#include "timeline/chrome_trace_file.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

/// A run of this many iterations whose reward rises from -1.
RunTables tables_of(int iterations) {
  std::string metrics;
  std::string evaluations;
  for (int i = 1; i <= iterations; ++i) {
    const double reward = -1 + 2.0 * i / iterations;
    metrics += fmt::format(
        "{{\"iteration\": {}, \"reward\": {}, \"reward_quarter\": {}, \"reward_three_quarters\": {}, \"kl_token\": "
        "null, "
        "\"truncated\": 0, \"samples\": 8, \"timing\": {{\"actor_train_seconds\": 0.5, \"seconds\": 0.5}}}}\n",
        i, reward, reward - 0.5, reward + 0.5);
    if (i % 10 == 0) evaluations += fmt::format("{{\"iteration\": {}, \"reward\": {}}}\n", i, reward);
  }
  return {records::parse_metrics(metrics, "m").value(), records::parse_metrics(evaluations, "e").value()};
}

std::vector<std::string> titles_of(const std::vector<LineChart>& charts) {
  std::vector<std::string> titles;
  for (const LineChart& chart : charts) titles.push_back(chart.title);
  return titles;
}

TEST(RunCharts, DrawTheReportedFigures) {
  const std::vector<LineChart> charts = run_charts(tables_of(20));
  // No chart of a divergence that was never a number, or of a share that was always 0.
  EXPECT_THAT(titles_of(charts), ElementsAre("Reward"));
  ASSERT_THAT(charts[0].series, SizeIs(2));
  EXPECT_THAT(charts[0].series[0].points, SizeIs(20));
  EXPECT_EQ(charts[0].series[1].points, (std::vector<std::pair<double, double>>{{10, 0}, {20, 1}}));
}

TEST(RunCharts, AverageALongRun) {
  const LineChart chart = run_charts(tables_of(3000))[0];
  ASSERT_THAT(chart.series[0].points, SizeIs(300));
  EXPECT_EQ(chart.series[0].points[0].first, 10);
  EXPECT_NEAR(chart.series[0].points[0].second, -1 + 2.0 * 5.5 / 3000, 1e-12);
  EXPECT_THAT(chart.note, AllOf(HasSubstr("Each point of \"sampled\" is the mean of up to 10 iterations."),
                                Not(HasSubstr("evaluations"))));
}

TEST(RunPicture, DrawsNegativeValuesAndLinesOverGaps) {
  for (const int iterations : {1, 20, 3000}) {
    const std::string svg = render_curve_svg(run_picture(tables_of(iterations), "a & b", "facts"));
    EXPECT_EQ(find_xml_fault(svg), "") << iterations;
    EXPECT_THAT(svg, AllOf(HasSubstr("a &amp; b"), HasSubstr("facts"), Not(HasSubstr("nan"))));
  }
  // The evaluations are one line and the rewards another, without gaps.
  const std::string svg = render_curve_svg(run_picture(tables_of(200), "run", ""));
  std::size_t lines = 0;
  for (std::size_t at = svg.find("stroke-width=\"2.2\" stroke-linejoin"); at != std::string::npos;
       at = svg.find("stroke-width=\"2.2\" stroke-linejoin", at + 1)) {
    const std::size_t begin = svg.rfind("<path d=\"", at) + 9;
    const std::string path = svg.substr(begin, svg.find('"', begin) - begin);
    EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 1);
    ++lines;
  }
  EXPECT_EQ(lines, 2U);
}

TEST(RunPage, ShowsTheResultsOfARun) {
  const Page page = run_page({"tiny", "A run.", tables_of(100), std::nullopt});
  EXPECT_EQ(page.title, "tiny");
  ASSERT_GE(page.figures.size(), 3U);
  EXPECT_EQ(page.figures[0].value, "-0.89 → 0.91");
  const auto of = [&page](std::string_view name) {
    for (const Figure& figure : page.figures)
      if (figure.name == name) return figure.value;
    return std::string();
  };
  EXPECT_EQ(of("divergence"), "") << "it was never a number";
  EXPECT_EQ(of("iterations"), "100");
  EXPECT_EQ(of("training time"), "50.0 s");
  EXPECT_THAT(page.sections, SizeIs(3));
  EXPECT_THAT(render_html(page), HasSubstr("actor_train"));
}

std::vector<records::SampleRow> samples_with(std::initializer_list<double> rewards) {
  std::vector<records::SampleRow> samples;
  for (const double reward : rewards)
    samples.push_back({7, "ask " + std::to_string(samples.size()), "say", 3, reward, samples.size() % 2 == 0});
  return samples;
}

TEST(RunPage, ShowsSamplesOfTheLastIteration) {
  RunReport report{"tiny", "A run.", tables_of(3), std::nullopt};
  report.samples = samples_with({0.5, 1});
  const Page page = run_page(report);
  const auto found = std::find_if(page.sections.begin(), page.sections.end(), [](const Section& section) {
    const auto* const table = std::get_if<Table>(&section);
    return table != nullptr && table->title == "Samples of iteration 7";
  });
  ASSERT_NE(found, page.sections.end());
  EXPECT_THAT(std::get<Table>(*found).rows, ElementsAre(ElementsAre("1", "ask 1", "say", "3", "cut off at the cap"),
                                                        ElementsAre("0.5", "ask 0", "say", "3", "by itself")));
}

TEST(SampleTable, ShowsTheBestAndTheWorst) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Table table = sample_table(samples_with({1, 2, 3, 4, 5, 6, nan, 8, 9, 10}));
  std::vector<std::string> rewards;
  for (const auto& row : table.rows) rewards.push_back(row[0]);
  EXPECT_THAT(rewards, ElementsAre("10", "9", "8", "6", "3", "2", "1", "nan"));
  EXPECT_THAT(table.note, HasSubstr("The 4 responses with the highest rewards and the 4 with the lowest, out of 10."));
}

TEST(SampleTable, EscapesAndCutsTexts) {
  std::vector<records::SampleRow> samples = samples_with({1});
  samples[0].prompt = "<b>\n\tx\x1b[2J";
  samples[0].response = std::string(5000, 'y');
  const Table table = sample_table(samples);
  EXPECT_EQ(table.rows[0][1], "<b>\\n\\tx\uFFFD[2J");
  EXPECT_EQ(table.rows[0][2], std::string(399, 'y') + "…");
}

TEST(RunPage, HasNoCurvesWithoutFigures) {
  const RunTables tables{records::parse_metrics("{\"iteration\": 1, \"reward\": null}\n", "m").value(), {}};
  EXPECT_THAT(run_charts(tables), SizeIs(0));
  EXPECT_THAT(render_html(run_page({"quiet", "", tables, std::nullopt})), Not(HasSubstr("nan")));
}

TEST(RunPage, ComparesTheTrainingPhaseWithItsSchedule) {
  const pipeline::Problem problem = test::two_models(2, 4);
  records::TrainingPhase phase{
      "actor_train+critic_train", test::random_schedule(problem, 1), test::random_schedule(problem, 1), {}};
  const auto trace = timeline::schedule_timeline(problem, pipeline::evaluate(phase.planned), "trace");
  // As read from a file: bars have only names.
  phase.trace = timeline::parse_chrome_trace(timeline::render_chrome_trace(trace), "trace").value();
  const Page page = run_page({"tiny", "", tables_of(3), std::nullopt, {phase}});
  ASSERT_GE(page.sections.size(), 2U);
  const auto& chart = std::get<Chart>(page.sections[page.sections.size() - 2]);
  EXPECT_EQ(chart.title, "Training phase actor + critic");
  // One row per device as scheduled, and one as measured.
  ASSERT_THAT(chart.timeline.lanes, SizeIs(4));
  EXPECT_EQ(chart.timeline.tracks.size(), 2U) << "both models, although only one side knows the kinds of its bars";
  EXPECT_EQ(std::get<Table>(page.sections.back()).title, "Training phase actor + critic, predicted and measured");
  EXPECT_THAT(render_html(page), HasSubstr("saved by fusion"));
}

TEST(RunPage, CombinesTheBarsOfALongRun) {
  const Page page = run_page({"long", "", tables_of(50'000), std::nullopt});
  for (const Section& section : page.sections) {
    const auto* const chart = std::get_if<Chart>(&section);
    EXPECT_TRUE(chart == nullptr || chart->timeline.bars.size() <= 20'000U);
  }
}

}  // namespace
}  // namespace dovetail::report
