#include "timeline/schedule_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::timeline {
namespace {

using base::Memory;
using base::OpId;
using base::Ticks;
using pipeline::BackwardForm;
using pipeline::LoweredSchedule;
using pipeline::Model;
using pipeline::OpGraph;
using pipeline::OpKind;
using pipeline::Problem;
using testing::ElementsAre;
using testing::Pair;

/// Returns the schedule of `problem` with these start times.
LoweredSchedule schedule_at(const Problem& problem, BackwardForm form,
                            const std::vector<std::pair<pipeline::OpLabel, int>>& starts) {
  LoweredSchedule schedule{lower(problem, form), {}, {}};
  const OpGraph& graph = schedule.lowering.graph;
  std::vector<Ticks> start(graph.size());
  for (std::size_t op = 0; op < graph.size(); ++op) {
    const auto found =
        std::find_if(starts.begin(), starts.end(), [&](const auto& entry) { return entry.first == graph.labels[op]; });
    EXPECT_NE(found, starts.end()) << describe(problem, graph.labels[op]);
    start[op] = Ticks(found->second);
  }
  schedule.order.devices.resize(static_cast<std::size_t>(graph.devices));
  for (std::size_t op = 0; op < graph.size(); ++op)
    schedule.order.devices[graph.device[op].index()].push_back(OpId(op));
  for (auto& device : schedule.order.devices) {
    std::sort(device.begin(), device.end(), [&](OpId a, OpId b) { return start[a.index()] < start[b.index()]; });
  }
  schedule.evaluation = evaluate(graph, start);
  return schedule;
}

pipeline::OpLabel label(OpKind kind, int stage, int microbatch) {
  return {kind, base::ModelId(0), base::ReplicaId(0), base::StageId(stage), base::MicrobatchId(microbatch)};
}

/// Two stages with a transfer of 1 between them, and an idle device.
Timeline hand_made() {
  Model model = test::chain_model("actor", {0, 1}, 2, 2, 2);
  model.transfer_forward = {Ticks(1)};
  model.transfer_backward = {Ticks(1)};
  const Problem problem = test::problem_of(3, {model});
  const auto schedule = schedule_at(problem, BackwardForm::whole,
                                    {{label(OpKind::F, 0, 0), 0},
                                     {label(OpKind::F, 0, 1), 2},
                                     {label(OpKind::B, 0, 0), 9},
                                     {label(OpKind::B, 0, 1), 12},
                                     {label(OpKind::F, 1, 0), 3},
                                     {label(OpKind::B, 1, 0), 5},
                                     {label(OpKind::F, 1, 1), 7},
                                     {label(OpKind::B, 1, 1), 9}});
  return schedule_timeline(problem, schedule, "by hand");
}

/// Formats a bar: "dependency 4-7 awaits 1/2", "forward 0-2".
std::string to_text(const Timeline& timeline, const Bar& bar) {
  std::ostringstream text;
  text << name_of(bar.bar_kind) << ' ' << bar.begin.count() << '-' << bar.end.count();
  if (bar.awaits >= 0) {
    const std::vector<std::size_t> first = first_bars(timeline);
    const auto awaited = static_cast<std::size_t>(bar.awaits);
    text << " awaits " << lane_of(first, awaited) << '/' << awaited - first[lane_of(first, awaited)];
  }
  return text.str();
}

std::vector<std::string> to_text(const Timeline& timeline, std::size_t lane) {
  std::vector<std::string> bars;
  for (const Bar& bar : bars_of(timeline, lane)) bars.push_back(to_text(timeline, bar));
  return bars;
}

TEST(ScheduleTimeline, SplitsIdleTimeByItsCause) {
  const Timeline timeline = hand_made();
  EXPECT_EQ(timeline.title, "by hand");
  EXPECT_EQ(timeline.end, Ticks(14));
  ASSERT_EQ(timeline.lanes.size(), 3U);
  EXPECT_EQ(timeline.lanes[1].name, "device 1");
  EXPECT_THAT(to_text(timeline, 0),
              ElementsAre("forward 0-2", "forward 2-4", "dependency 4-7 awaits 1/2", "transfer 7-8 awaits 1/2",
                          "delay 8-9", "backward 9-11", "transfer 11-12 awaits 1/4", "backward 12-14"));
  EXPECT_THAT(to_text(timeline, 1), ElementsAre("warm-up 0-3 awaits 0/0", "forward 3-5", "backward 5-7", "forward 7-9",
                                                "backward 9-11", "drain 11-14"));
  EXPECT_THAT(to_text(timeline, 2), ElementsAre("drain 0-14"));
}

TEST(ScheduleTimeline, SumsTimeByBarKind) {
  const Timeline timeline = hand_made();
  const TimeByBarKind time = time_by_bar_kind(timeline.bars);
  const auto of = [&](BarKind bar_kind) { return time[index_of(bar_kind)].count(); };
  EXPECT_EQ(of(BarKind::forward), 8);
  EXPECT_EQ(of(BarKind::backward), 8);
  EXPECT_EQ(of(BarKind::warm_up), 3);
  EXPECT_EQ(of(BarKind::dependency), 3);
  EXPECT_EQ(of(BarKind::transfer), 2);
  EXPECT_EQ(of(BarKind::delay), 1);
  EXPECT_EQ(of(BarKind::drain), 17);
  EXPECT_EQ(time_by_bar_kind(bars_of(timeline, 0))[index_of(BarKind::transfer)], Ticks(2));
}

TEST(ScheduleTimeline, StepsTheActivationHeld) {
  const Timeline timeline = hand_made();
  const std::vector<const Counter*> counters = drawn_counters(timeline);
  const Counter& first = *counters[0];
  EXPECT_THAT(first.steps, ElementsAre(Pair(Ticks(0), Memory(1'000'000)), Pair(Ticks(2), Memory(2'000'000)),
                                       Pair(Ticks(11), Memory(1'000'000)), Pair(Ticks(14), Memory(0))));
  EXPECT_EQ(peak_of(first), std::pair(Ticks(2), Memory(2'000'000)));
  // At 7 one micro-batch is freed and another allocated, so there is no step.
  EXPECT_THAT(counters[1]->steps,
              ElementsAre(Pair(Ticks(0), Memory(0)), Pair(Ticks(3), Memory(1'000'000)), Pair(Ticks(11), Memory(0))));
  EXPECT_THAT(counters[2]->steps, ElementsAre(Pair(Ticks(0), Memory(0))));
}

TEST(ScheduleTimeline, DrawsAnArrowForEveryTransfer) {
  const Timeline timeline = hand_made();
  std::vector<std::string> arrows;
  for (const Arrow& arrow : timeline.arrows) {
    const auto bar = [&](std::int32_t number) {
      return to_text(timeline, timeline.bars[static_cast<std::size_t>(number)]);
    };
    arrows.push_back(bar(arrow.from) + " -> " + bar(arrow.to));
  }
  EXPECT_THAT(arrows,
              testing::UnorderedElementsAre("forward 0-2 -> forward 3-5", "forward 2-4 -> forward 7-9",
                                            "backward 5-7 -> backward 9-11", "backward 9-11 -> backward 12-14"));
}

TEST(ScheduleTimeline, AwaitsTheOutputThatArrivesLast) {
  // B of stage 0 needs its own F, which ended long ago, and B of stage 1, which arrives last.
  const Timeline timeline = hand_made();
  const Bar& wait = bars_of(timeline, 0)[2];
  const Bar& awaited = timeline.bars[static_cast<std::size_t>(wait.awaits)];
  EXPECT_EQ(awaited.bar_kind, BarKind::backward);
  EXPECT_EQ(awaited.stage, 1);
  EXPECT_EQ(awaited.microbatch, 0);
}

TEST(ScheduleTimeline, KeepsStepsThatTakeNoTime) {
  Model model = test::chain_model("actor", {0}, 1, 2, 2);
  model.minibatches = 2;
  const Problem problem = test::problem_of(1, {model});
  const auto schedule = schedule_at(problem, BackwardForm::whole,
                                    {{label(OpKind::F, 0, 0), 0},
                                     {label(OpKind::B, 0, 0), 2},
                                     {label(OpKind::S, 0, 0), 4},
                                     {label(OpKind::F, 0, 1), 4},
                                     {label(OpKind::B, 0, 1), 6},
                                     {label(OpKind::S, 0, 1), 8}});
  const Timeline timeline = schedule_timeline(problem, schedule, "");
  EXPECT_THAT(to_text(timeline, 0),
              ElementsAre("forward 0-2", "backward 2-4", "step 4-4", "forward 4-6", "backward 6-8", "step 8-8"));
}

TEST(ScheduleTimeline, NamesTheTracksAfterThePipelines) {
  Model actor = test::chain_model("actor", {0}, 1, 2, 2);
  actor.replicas.push_back({base::DeviceId(1)});
  const Problem problem = test::problem_of(2, {actor, test::chain_model("critic", {1}, 1, 2, 2)});
  LoweredSchedule schedule{lower(problem, BackwardForm::whole), {}, {}};
  schedule.order.devices.resize(2);
  for (const OpId op : topological_order(schedule.lowering.graph)) {
    schedule.order.devices[schedule.lowering.graph.device[op.index()].index()].push_back(op);
  }
  schedule.evaluation = evaluate(schedule.lowering.graph, schedule.order).value();
  const Timeline timeline = schedule_timeline(problem, schedule, "");
  ASSERT_EQ(timeline.tracks.size(), 3U);
  EXPECT_EQ(timeline.tracks[0].name, "actor/0");
  EXPECT_EQ(timeline.tracks[1].name, "actor/1");
  EXPECT_EQ(timeline.tracks[1].replica, 1);
  EXPECT_EQ(timeline.tracks[2].name, "critic");
  EXPECT_EQ(timeline.tracks[2].model, 1);
  for (const Bar& bar : bars_of(timeline, 0)) EXPECT_EQ(bar.track, is_idle(bar.bar_kind) ? -1 : 0);
}

/// Returns an order without deadlock: one ready op after another.
pipeline::Order any_order(const OpGraph& graph) {
  pipeline::Order order;
  order.devices.resize(static_cast<std::size_t>(graph.devices));
  std::vector<std::size_t> missing(graph.size());
  std::vector<OpId> ready;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    missing[op] = graph.predecessors(OpId(op)).size();
    if (missing[op] == 0) ready.emplace_back(op);
  }
  while (!ready.empty()) {
    const auto chosen = ready.begin() + static_cast<std::ptrdiff_t>(*rc::gen::inRange<std::size_t>(0, ready.size()));
    const OpId op = *chosen;
    ready.erase(chosen);
    order.devices[graph.device[op.index()].index()].push_back(op);
    for (const pipeline::Arc& arc : graph.successors(op)) {
      if (--missing[arc.op.index()] == 0) ready.push_back(arc.op);
    }
  }
  return order;
}

void check_lane(const Timeline& timeline, std::size_t lane, const pipeline::DeviceUse& use) {
  Ticks now;
  Ticks work;
  Ticks sum;
  for (const Bar& bar : bars_of(timeline, lane)) {
    RC_ASSERT(bar.begin == now);
    const bool has_length = is_idle(bar.bar_kind) ? bar.end > bar.begin : bar.end >= bar.begin;
    RC_ASSERT(has_length);
    now = bar.end;
    if (!is_idle(bar.bar_kind)) work += bar.end - bar.begin;
    if (bar.awaits < 0) continue;
    RC_ASSERT(is_idle(bar.bar_kind));
    const Bar& awaited = timeline.bars[static_cast<std::size_t>(bar.awaits)];
    RC_ASSERT(!is_idle(awaited.bar_kind));
    if (bar.bar_kind == BarKind::dependency) RC_ASSERT(awaited.end >= bar.end);
    if (bar.bar_kind == BarKind::transfer) RC_ASSERT(awaited.end <= bar.begin);
  }
  RC_ASSERT(now == timeline.end);
  RC_ASSERT(work == use.busy);
  for (const Ticks time : time_by_bar_kind(bars_of(timeline, lane))) sum += time;
  RC_ASSERT(sum == timeline.end);
  const Counter& held = *drawn_counters(timeline)[lane];
  RC_ASSERT(peak_of(held).second == use.peak);
  RC_ASSERT(held.steps.back().second == Memory());
  for (std::size_t i = 1; i < held.steps.size(); ++i) RC_ASSERT(held.steps[i - 1].first < held.steps[i].first);
}

RC_GTEST_PROP(ScheduleTimelineProperty, CoversEveryLaneAndAgreesWithTheEvaluator, ()) {
  const Problem problem = *test::problems();
  const auto form = *rc::gen::element(BackwardForm::whole, BackwardForm::split);
  LoweredSchedule schedule{lower(problem, form), {}, {}};
  const OpGraph& graph = schedule.lowering.graph;
  schedule.order = any_order(graph);
  schedule.evaluation = evaluate(graph, schedule.order).value();
  if (*rc::gen::arbitrary<bool>()) {
    // Starting everything twice as late breaks no rule and leaves gaps without a cause.
    std::vector<Ticks> late = schedule.evaluation.start;
    for (Ticks& start : late) start = start * 2;
    schedule.evaluation = evaluate(graph, late);
  }
  const Timeline timeline = schedule_timeline(problem, schedule, "any");
  RC_ASSERT(timeline.lanes.size() == static_cast<std::size_t>(problem.devices));
  RC_ASSERT(timeline.end == schedule.evaluation.makespan);
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane)
    check_lane(timeline, lane, schedule.evaluation.devices[lane]);
  const std::vector<std::size_t> first = first_bars(timeline);
  for (const Arrow& arrow : timeline.arrows) {
    const Bar& from = timeline.bars[static_cast<std::size_t>(arrow.from)];
    const Bar& to = timeline.bars[static_cast<std::size_t>(arrow.to)];
    RC_ASSERT(lane_of(first, static_cast<std::size_t>(arrow.from)) !=
              lane_of(first, static_cast<std::size_t>(arrow.to)));
    RC_ASSERT(from.end <= to.begin);
    RC_ASSERT(!is_idle(from.bar_kind));
    RC_ASSERT(!is_idle(to.bar_kind));
  }
}

}  // namespace
}  // namespace dovetail::timeline
