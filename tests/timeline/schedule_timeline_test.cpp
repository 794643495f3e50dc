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

/// The schedule of `problem` with these start times.
LoweredSchedule schedule_at(const Problem& problem, BackwardForm form, const std::vector<std::pair<pipeline::OpLabel, int>>& starts) {
  LoweredSchedule schedule{lower(problem, form), {}, {}};
  const OpGraph& graph = schedule.lowering.graph;
  std::vector<Ticks> start(graph.size());
  for (std::size_t op = 0; op < graph.size(); ++op) {
    const auto found = std::find_if(starts.begin(), starts.end(), [&](const auto& entry) { return entry.first == graph.labels[op]; });
    EXPECT_NE(found, starts.end()) << describe(problem, graph.labels[op]);
    start[op] = Ticks(found->second);
  }
  schedule.order.devices.resize(static_cast<std::size_t>(graph.devices));
  for (std::size_t op = 0; op < graph.size(); ++op) schedule.order.devices[graph.device[op].index()].push_back(OpId(op));
  for (auto& device : schedule.order.devices) {
    std::sort(device.begin(), device.end(), [&](OpId a, OpId b) { return start[a.index()] < start[b.index()]; });
  }
  schedule.evaluation = evaluate(graph, start);
  return schedule;
}

pipeline::OpLabel label(OpKind kind, int stage, int microbatch) {
  return {kind, base::ModelId(0), base::ReplicaId(0), base::StageId(stage), base::MicrobatchId(microbatch)};
}

/// Two stages with a transfer of 1 between them, and a device that has nothing to do.
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

/// "dependency 4-7 awaits 1/2", "forward 0-2": a bar as text.
std::string to_text(const Bar& bar) {
  std::ostringstream text;
  text << name_of(bar.kind) << ' ' << bar.start.count() << '-' << bar.end.count();
  if (bar.awaits >= 0) text << " awaits " << bar.awaits_lane << '/' << bar.awaits;
  return text.str();
}

std::vector<std::string> to_text(const Lane& lane) {
  std::vector<std::string> bars;
  for (const Bar& bar : lane.bars) bars.push_back(to_text(bar));
  return bars;
}

TEST(ScheduleTimeline, SplitsIdleTimeByItsCause) {
  const Timeline timeline = hand_made();
  EXPECT_EQ(timeline.title, "by hand");
  EXPECT_EQ(timeline.end, Ticks(14));
  ASSERT_EQ(timeline.lanes.size(), 3U);
  EXPECT_EQ(timeline.lanes[1].name, "device 1");
  EXPECT_THAT(to_text(timeline.lanes[0]), ElementsAre("forward 0-2", "forward 2-4", "dependency 4-7 awaits 1/2", "transfer 7-8 awaits 1/2",
                                                      "delay 8-9", "backward 9-11", "transfer 11-12 awaits 1/4", "backward 12-14"));
  EXPECT_THAT(to_text(timeline.lanes[1]),
              ElementsAre("warm-up 0-3 awaits 0/0", "forward 3-5", "backward 5-7", "forward 7-9", "backward 9-11", "drain 11-14"));
  EXPECT_THAT(to_text(timeline.lanes[2]), ElementsAre("drain 0-14"));
}

TEST(ScheduleTimeline, SumsTimeByKind) {
  const Timeline timeline = hand_made();
  const TimeByKind time = time_by_kind(timeline);
  const auto of = [&](BarKind kind) { return time[static_cast<std::size_t>(kind)].count(); };
  EXPECT_EQ(of(BarKind::forward), 8);
  EXPECT_EQ(of(BarKind::backward), 8);
  EXPECT_EQ(of(BarKind::warm_up), 3);
  EXPECT_EQ(of(BarKind::dependency), 3);
  EXPECT_EQ(of(BarKind::transfer), 2);
  EXPECT_EQ(of(BarKind::delay), 1);
  EXPECT_EQ(of(BarKind::drain), 17);
  EXPECT_EQ(time_by_kind(timeline.lanes[0])[static_cast<std::size_t>(BarKind::transfer)], Ticks(2));
}

TEST(ScheduleTimeline, StepsTheActivationHeld) {
  const Timeline timeline = hand_made();
  const Counter& first = timeline.lanes[0].memory;
  EXPECT_THAT(first.steps, ElementsAre(Pair(Ticks(0), Memory(1'000'000)), Pair(Ticks(2), Memory(2'000'000)),
                                       Pair(Ticks(11), Memory(1'000'000)), Pair(Ticks(14), Memory(0))));
  EXPECT_EQ(peak_of(first), std::pair(Ticks(2), Memory(2'000'000)));
  // At 7 one micro-batch is given back and another taken: nothing changes, so there is no step.
  EXPECT_THAT(timeline.lanes[1].memory.steps,
              ElementsAre(Pair(Ticks(0), Memory(0)), Pair(Ticks(3), Memory(1'000'000)), Pair(Ticks(11), Memory(0))));
  EXPECT_THAT(timeline.lanes[2].memory.steps, ElementsAre(Pair(Ticks(0), Memory(0))));
  EXPECT_EQ(peak_of(Counter{}), std::pair(Ticks(0), Memory(0)));
}

TEST(ScheduleTimeline, DrawsAnArrowForEveryTransfer) {
  const Timeline timeline = hand_made();
  std::vector<std::string> arrows;
  for (const Arrow& arrow : timeline.arrows) {
    const auto bar = [&](std::int32_t lane, std::int32_t index) {
      return to_text(timeline.lanes[static_cast<std::size_t>(lane)].bars[static_cast<std::size_t>(index)]);
    };
    arrows.push_back(bar(arrow.from_lane, arrow.from_bar) + " -> " + bar(arrow.to_lane, arrow.to_bar));
  }
  EXPECT_THAT(arrows, testing::UnorderedElementsAre("forward 0-2 -> forward 3-5", "forward 2-4 -> forward 7-9",
                                                    "backward 5-7 -> backward 9-11", "backward 9-11 -> backward 12-14"));
}

TEST(ScheduleTimeline, AwaitsTheOutputThatArrivesLast) {
  // B of stage 0 needs its own F (ended long ago) and B of stage 1, which arrives last.
  const Timeline timeline = hand_made();
  const Bar& wait = timeline.lanes[0].bars[2];
  const Bar& awaited = timeline.lanes[static_cast<std::size_t>(wait.awaits_lane)].bars[static_cast<std::size_t>(wait.awaits)];
  EXPECT_EQ(awaited.kind, BarKind::backward);
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
  EXPECT_THAT(to_text(timeline.lanes[0]),
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
  for (const Bar& bar : timeline.lanes[0].bars) EXPECT_EQ(bar.track, is_idle(bar.kind) ? -1 : 0);
}

/// Any order without deadlock: one ready op after another.
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

void check_lane(const Timeline& timeline, const Lane& lane, const pipeline::DeviceUse& use) {
  Ticks now;
  Ticks work;
  Ticks sum;
  for (std::size_t i = 0; i < lane.bars.size(); ++i) {
    const Bar& bar = lane.bars[i];
    RC_ASSERT(bar.start == now);
    const bool has_length = is_idle(bar.kind) ? bar.end > bar.start : bar.end >= bar.start;
    RC_ASSERT(has_length);
    now = bar.end;
    if (!is_idle(bar.kind)) work += bar.end - bar.start;
    if (bar.awaits < 0) continue;
    RC_ASSERT(is_idle(bar.kind));
    const Bar& awaited = timeline.lanes[static_cast<std::size_t>(bar.awaits_lane)].bars[static_cast<std::size_t>(bar.awaits)];
    RC_ASSERT(!is_idle(awaited.kind));
    if (bar.kind == BarKind::dependency) RC_ASSERT(awaited.end >= bar.end);
    if (bar.kind == BarKind::transfer) RC_ASSERT(awaited.end <= bar.start);
  }
  RC_ASSERT(now == timeline.end);
  RC_ASSERT(work == use.busy);
  for (const Ticks time : time_by_kind(lane)) sum += time;
  RC_ASSERT(sum == timeline.end);
  RC_ASSERT(peak_of(lane.memory).second == use.peak);
  RC_ASSERT(lane.memory.steps.back().second == Memory());
  for (std::size_t i = 1; i < lane.memory.steps.size(); ++i) RC_ASSERT(lane.memory.steps[i - 1].first < lane.memory.steps[i].first);
}

RC_GTEST_PROP(ScheduleTimelineProperty, CoversEveryLaneAndAgreesWithTheEvaluator, ()) {
  const Problem problem = *test::problems();
  const auto form = *rc::gen::element(BackwardForm::whole, BackwardForm::split);
  LoweredSchedule schedule{lower(problem, form), {}, {}};
  const OpGraph& graph = schedule.lowering.graph;
  schedule.order = any_order(graph);
  schedule.evaluation = evaluate(graph, schedule.order).value();
  if (*rc::gen::arbitrary<bool>()) {
    // Starting everything twice as late breaks no rule, and leaves gaps that nothing causes.
    std::vector<Ticks> late = schedule.evaluation.start;
    for (Ticks& start : late) start = start * 2;
    schedule.evaluation = evaluate(graph, late);
  }
  const Timeline timeline = schedule_timeline(problem, schedule, "any");
  RC_ASSERT(timeline.lanes.size() == static_cast<std::size_t>(problem.devices));
  RC_ASSERT(timeline.end == schedule.evaluation.makespan);
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane)
    check_lane(timeline, timeline.lanes[lane], schedule.evaluation.devices[lane]);
  for (const Arrow& arrow : timeline.arrows) {
    const Bar& from = timeline.lanes[static_cast<std::size_t>(arrow.from_lane)].bars[static_cast<std::size_t>(arrow.from_bar)];
    const Bar& to = timeline.lanes[static_cast<std::size_t>(arrow.to_lane)].bars[static_cast<std::size_t>(arrow.to_bar)];
    RC_ASSERT(arrow.from_lane != arrow.to_lane);
    RC_ASSERT(from.end <= to.start);
    RC_ASSERT(!is_idle(from.kind));
    RC_ASSERT(!is_idle(to.kind));
  }
}

}  // namespace
}  // namespace dovetail::timeline
