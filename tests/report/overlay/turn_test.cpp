#include "report/overlay/turn.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "report/overlay/pieces.h"

namespace dovetail::report {
namespace {

using base::Ticks;

constexpr std::int32_t hand_over = 3;  // the category

/// Lanes of bars without gaps of categories 0 to 2, the last of them idle time, with a curve each; behind them all, for a time that may be
/// nothing, the hand-over.
Chart random_chart(int stretch, int closing) {
  Chart chart;
  chart.end = Ticks(stretch + closing);
  chart.categories = {
      {"x", "x", "", {}, false}, {"y", "y", "", {}, false}, {"wait", "wait", "", {}, true}, {"", "hand-over", "", {}, false}};
  chart.fields = {{"number"}};
  for (std::size_t lane = 0; lane < 2; ++lane) {
    chart.lanes.push_back({"lane", 0});
    Curve curve{lane, {}};
    for (int now = 0; now < stretch;) {
      const int until = std::min(now + *rc::gen::inRange(1, 20), stretch);
      chart.bars.push_back({Ticks(now), Ticks(until), *rc::gen::inRange(0, 3)});
      chart.fields[0].values.push_back(*rc::gen::inRange(0, 2));
      const double value = *rc::gen::inRange(0, 4);
      if (curve.steps.empty() || curve.steps.back().second != value) curve.steps.emplace_back(Ticks(now), value);
      ++chart.lanes.back().bars;
      now = until;
    }
    if (closing > 0) {
      chart.bars.push_back({Ticks(stretch), chart.end, hand_over});
      chart.fields[0].values.push_back(-1);
      ++chart.lanes.back().bars;
    }
    chart.curves.push_back(std::move(curve));
  }
  return chart;
}

using Moment = std::pair<std::int32_t, std::int64_t>;  // category and field

/// [lane][moment] what runs then.
std::vector<std::vector<Moment>> painted(const Chart& chart) {
  std::vector<std::vector<Moment>> lanes;
  std::size_t bar = 0;
  for (const ChartLane& lane : chart.lanes) {
    lanes.emplace_back();
    for (const std::size_t end = bar + lane.bars; bar < end; ++bar) {
      RC_ASSERT(chart.bars[bar].begin == Ticks(static_cast<std::int64_t>(lanes.back().size())));
      for (Ticks now = chart.bars[bar].begin; now < chart.bars[bar].end; now += Ticks(1))
        lanes.back().emplace_back(chart.bars[bar].category, chart.fields[0].values[bar]);
    }
  }
  return lanes;
}

double value_at(const Curve& curve, Ticks time) {
  double value = -1;
  for (const auto& [from, of] : curve.steps)
    if (from <= time) value = of;
  return value;
}

RC_GTEST_PROP(OverlayTurn, ShowsEachMomentWhereItBelongs, ()) {
  const int stretch = *rc::gen::inRange(2, 60);
  const Chart chart = random_chart(stretch, *rc::gen::inRange(0, 5));
  const int begin = *rc::gen::inRange(0, stretch);
  RC_ASSERT(stretch_end(chart) == Ticks(stretch));
  const Chart result = turned(chart, Ticks(begin));
  const auto before = painted(chart);
  const auto after = painted(result);
  for (std::size_t lane = 0; lane < before.size(); ++lane) {
    RC_ASSERT(after[lane].size() == before[lane].size());
    for (int time = 0; time < chart.end.count(); ++time) {
      const int from = time < stretch ? (time + begin) % stretch : time;
      RC_ASSERT(after[lane][static_cast<std::size_t>(time)] == before[lane][static_cast<std::size_t>(from)]);
      RC_ASSERT(value_at(result.curves[lane], Ticks(time)) == value_at(chart.curves[lane], Ticks(from)));
    }
    for (std::size_t step = 1; step < result.curves[lane].steps.size(); ++step)
      RC_ASSERT(result.curves[lane].steps[step - 1].first < result.curves[lane].steps[step].first);
  }
}

RC_GTEST_PROP(OverlayTurn, BackGivesTheChartAgain, ()) {
  const int stretch = *rc::gen::inRange(2, 60);
  Chart chart = random_chart(stretch, *rc::gen::inRange(0, 5));
  // Alike at both ends it would stay one bar.
  std::size_t first = 0;
  for (const ChartLane& lane : chart.lanes) {
    chart.fields[0].values[first] = 7;
    first += lane.bars;
  }
  const int begin = *rc::gen::inRange(1, stretch);
  const Chart back = turned(turned(chart, Ticks(begin)), Ticks(stretch - begin));
  // What was cut at `begin` is one again.
  RC_ASSERT(painted(back) == painted(chart));
  RC_ASSERT(back.bars.size() <= chart.bars.size());
}

TEST(OverlayTurn, JoinsWhatTheEndCutsAndCutsWhatRunsAtTheBeginning) {
  Chart chart;
  chart.end = Ticks(100);
  chart.categories = {{"x", "x", "", {}, false}, {"y", "y", "", {}, false}, {"hand-over", "hand-over", "", {}, false}};
  chart.fields = {{"number"}, {"launch", Field::Kind::time}};
  chart.lanes = {{"device 0", 4}};
  chart.bars = {{Ticks(0), Ticks(20), 0}, {Ticks(20), Ticks(60), 1}, {Ticks(60), Ticks(90), 0}, {Ticks(90), Ticks(100), 2}};
  chart.fields[0].values = {5, -1, 5, -1};
  chart.fields[1].values = {12, 25, 30, -1};
  chart.arrows = {{2, 1}};
  const Chart result = turned(chart, Ticks(40));
  ASSERT_EQ(result.bars.size(), 4U);
  EXPECT_EQ(result.bars[0].end, Ticks(20)) << "the rest of the second";
  EXPECT_EQ(result.bars[1].begin, Ticks(20));
  EXPECT_EQ(result.bars[1].end, Ticks(70)) << "the third and the first are one";
  EXPECT_EQ(result.bars[2].begin, Ticks(70));
  EXPECT_EQ(result.bars[2].end, Ticks(90));
  EXPECT_EQ(result.bars[3].begin, Ticks(90)) << "the hand-over stays last";
  EXPECT_EQ(result.fields[0].values, (std::vector<std::int64_t>{-1, 5, -1, -1}));
  EXPECT_EQ(result.fields[1].values, (std::vector<std::int64_t>{20, 30, 20, -1})) << "no longer than its part";
  EXPECT_EQ(result.arrows[0].from, 1);
  EXPECT_EQ(result.arrows[0].to, 0);
  EXPECT_EQ(turned(chart, Ticks(0)).bars.size(), 4U);
}

TEST(OverlayTurn, KeepsBarsApartThatDiffer) {
  Chart chart;
  chart.end = Ticks(30);
  chart.categories = {{"x", "x", "", {}, false}};
  chart.fields = {{"number"}};
  chart.lanes = {{"device 0", 3}};
  chart.bars = {{Ticks(0), Ticks(10), 0}, {Ticks(10), Ticks(20), 0}, {Ticks(20), Ticks(30), 0}};
  chart.fields[0].values = {1, 2, 3};
  EXPECT_EQ(turned(chart, Ticks(10)).bars.size(), 3U);
}

}  // namespace
}  // namespace dovetail::report
