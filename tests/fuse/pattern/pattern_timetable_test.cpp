// Repeating timetables: no device overlaps itself, and nothing starts before its predecessors end.
#include "fuse/pattern/pattern_timetable.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <utility>

#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using pipeline::Problem;

std::int64_t modulo(std::int64_t a, std::int64_t b) { return (a % b + b) % b; }

void check_devices(const ClassGraph& graph, const Timetable& timetable) {
  for (const auto& classes : graph.on_device) {
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    for (const std::int32_t id : classes)
      for (const std::int64_t start : timetable.starts[static_cast<std::size_t>(id)])
        spans.emplace_back(modulo(start, timetable.period), graph.classes[static_cast<std::size_t>(id)].duration);
    std::sort(spans.begin(), spans.end());
    for (std::size_t index = 0; index < spans.size(); ++index) {
      const bool last = index + 1 == spans.size();
      const std::int64_t next = last ? spans[0].first + timetable.period : spans[index + 1].first;
      RC_ASSERT(spans[index].first + spans[index].second <= next);
    }
  }
}

void check_waits(const ClassGraph& graph, const Timetable& timetable) {
  for (std::size_t index = 0; index < graph.classes.size(); ++index) {
    const ClassLink& parent = graph.classes[index].parent;
    if (parent.op_class < 0) continue;
    const auto before = static_cast<std::size_t>(parent.op_class);
    for (std::int64_t microbatch = -5; microbatch < 9; ++microbatch)
      RC_ASSERT(timetable.at(index, microbatch) >=
                timetable.at(before, microbatch) + graph.classes[before].duration + parent.lag);
  }
}

RC_GTEST_PROP(PatternTimetableProperty, IsValidForAnyProblemAndPeriod, ()) {
  test::RandomProblemOptions options;
  options.max_microbatches = 12;
  options.max_minibatches = 1;
  const Problem problem = *test::problems(options);
  const auto made = make_class_graph(problem);
  const auto* graph = std::get_if<ClassGraph>(&made);
  if (!graph) return;
  const auto percent = *rc::gen::inRange<std::int64_t>(100, 300);
  Timetable timetable = make_timetable(*graph, graph->period * percent / 100);
  check_devices(*graph, timetable);
  check_waits(*graph, timetable);
  timetable = with_buffers(*graph, std::move(timetable), std::vector<std::int64_t>(graph->pipelines.size(), 3));
  check_devices(*graph, timetable);
  check_waits(*graph, timetable);
}

RC_GTEST_PROP(PatternTimetableProperty, CountsMicrobatchesBeforeATime, ()) {
  Timetable timetable;
  timetable.period = 10;
  timetable.starts = {{3, 7, 12}};
  const auto time = *rc::gen::inRange<std::int64_t>(-100, 100);
  const std::int64_t first = timetable.first_from(0, time);
  RC_ASSERT(timetable.at(0, first) >= time);
  RC_ASSERT(timetable.at(0, first - 1) < time);
}

TEST(PatternTimetable, HoldsAsManyMicrobatchesAs1f1bForOneModel) {
  const Problem problem = test::problem_of(4, {test::chain_model("only", {0, 1, 2, 3}, 16, 1, 2)});
  const ClassGraph graph = std::get<ClassGraph>(make_class_graph(problem));
  const Timetable timetable = make_timetable(graph, graph.period);
  EXPECT_EQ(timetable.period, 3);
  EXPECT_EQ(in_flight_of(graph, timetable), (std::vector<std::int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(rounds_in_flight(graph, timetable), 4);
}

TEST(PatternTimetable, BuffersGrowTowardsTheFirstStage) {
  const Problem problem = test::problem_of(4, {test::chain_model("only", {0, 1, 2, 3}, 64, 1, 2)});
  const ClassGraph graph = std::get<ClassGraph>(make_class_graph(problem));
  const Timetable timetable = with_buffers(graph, make_timetable(graph, graph.period), {8});
  EXPECT_EQ(in_flight_of(graph, timetable), (std::vector<std::int64_t>{12, 9, 6, 3}));
}

TEST(PatternClasses, PutsMicrobatchesIntoRoundsInProportion) {
  const auto rounds_of = [](int first, int second) {
    const Problem problem = test::problem_of(
        2, {test::chain_model("a", {0, 1}, first, 1, 2), test::chain_model("b", {1, 0}, second, 1, 2)});
    const ClassGraph graph = std::get<ClassGraph>(make_class_graph(problem));
    return std::vector<std::int64_t>{graph.rounds, graph.pipelines[0].per_round, graph.pipelines[1].per_round,
                                     graph.pipelines[0].remainder, graph.pipelines[1].remainder};
  };
  EXPECT_EQ(rounds_of(16, 16), (std::vector<std::int64_t>{16, 1, 1, 0, 0}));
  EXPECT_EQ(rounds_of(32, 16), (std::vector<std::int64_t>{16, 2, 1, 0, 0}));
  EXPECT_EQ(rounds_of(60, 90), (std::vector<std::int64_t>{30, 2, 3, 0, 0}));
  EXPECT_EQ(rounds_of(16, 17), (std::vector<std::int64_t>{16, 1, 1, 0, 1}));
}

}  // namespace
}  // namespace dovetail::fuse
