#include "execute/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "execute/replay_figures.h"
#include "pipeline/program/compile.h"
#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/validate.h"
#include "support/random_problem.h"
#include "support/random_schedule.h"

namespace dovetail::execute {
namespace {

using base::Ticks;
using pipeline::Code;
using pipeline::Instruction;
using pipeline::OpLabel;
using pipeline::Program;
using pipeline::Schedule;

constexpr double millisecond = 1e6;

/// A schedule with its replay.
struct Replayed {
  Schedule schedule;
  pipeline::Placement placement;
  std::vector<Program> programs;
  ReplayTimes times;

  std::vector<std::vector<ReplayedOp>> ops() const { return replayed_ops(schedule, placement, programs, times); }
};

Replayed replayed(const Schedule& given, double ns_per_tick) {
  Replayed replayed;
  replayed.schedule = as_replayed(given, ns_per_tick).value();
  replayed.placement = pipeline::rank_per_device(given.problem);
  replayed.programs = pipeline::sound_programs(replayed.schedule, replayed.placement).value();
  const auto times = replay(replayed.schedule, replayed.placement, replayed.programs, {});
  EXPECT_TRUE(times.ok()) << times.error().message;
  replayed.times = times.ok() ? *times : ReplayTimes(replayed.programs.size());
  return replayed;
}

pipeline::Problem problem_of(int devices, std::vector<pipeline::Model> models) {
  pipeline::Problem problem;
  problem.devices = devices;
  problem.models = std::move(models);
  return pipeline::with_defaults(problem);
}

pipeline::Model model_on(const std::string& name, const std::vector<int>& devices, int microbatches) {
  pipeline::Model model;
  model.name = name;
  model.microbatches = microbatches;
  model.replicas = {pipeline::device_list(devices)};
  model.forward.assign(devices.size(), Ticks(1));
  model.backward.assign(devices.size(), Ticks(2));
  return model;
}

TEST(AsReplayed, ScalesEveryTime) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Schedule given = test::random_schedule(test::random_problem(seed), seed);
    const auto scaled = as_replayed(given, 1000);
    ASSERT_TRUE(scaled.ok());
    EXPECT_EQ(scaled->claims.makespan, *given.claims.makespan * 1000);
    EXPECT_EQ(scaled->claims.peak_activation, given.claims.peak_activation);
    EXPECT_EQ(scaled->problem.time_unit, base::TimeUnit::ns);
    EXPECT_FALSE(pipeline::validate(*scaled));
  }
}

TEST(AsReplayed, StartsOpsAsEarlyAsPossible) {
  const pipeline::Problem problem = problem_of(1, {model_on("actor", {0}, 1)});
  Schedule late{problem,
                {{{{pipeline::OpKind::F, {}, {}, {}, {}}, Ticks(5), Ticks(6)},
                  {{pipeline::OpKind::B, {}, {}, {}, {}}, Ticks(9), Ticks(11)}}},
                {}};
  ASSERT_FALSE(pipeline::validate(late));
  const auto soon = as_replayed(late, 2.5);
  ASSERT_TRUE(soon.ok());
  EXPECT_EQ(soon->devices[0][0].start, Ticks(0));
  EXPECT_EQ(soon->devices[0][1].start, Ticks(3));  // 2.5 ns, to the nearest
  EXPECT_EQ(soon->claims.makespan, Ticks(8));
}

TEST(AsReplayed, RejectsTooLongTimes) {
  const pipeline::Problem problem = problem_of(1, {model_on("actor", {0}, 4)});
  const auto error_for = as_replayed(test::random_schedule(problem, 1), 1e18);
  ASSERT_FALSE(error_for.ok());
  EXPECT_EQ(error_for.error().failure, base::Failure::bad_input);
}

/// Expects that the order of the programs was kept: on each rank, from sender to receiver, and from all starts of a
/// reduction to each await.
void expect_in_order(const Replayed& replayed) {
  std::map<std::tuple<int, int, int>, Ticks> sent;  // (from, to, sequence)
  std::map<int, Ticks> last_start;                  // [number of a reduction]
  for (std::size_t r = 0; r < replayed.programs.size(); ++r) {
    const Program& program = replayed.programs[r];
    ASSERT_EQ(replayed.times[r].size(), program.code.size());
    Ticks last;
    for (std::size_t i = 0; i < program.code.size(); ++i) {
      const auto [begin, end] = replayed.times[r][i];
      EXPECT_LE(last, begin);
      EXPECT_LE(begin, end);
      last = end;
      const auto target = static_cast<std::size_t>(program.code[i].target);
      if (program.code[i].code == Code::send) {
        const pipeline::Message& message = program.messages[target];
        sent[{program.rank, message.peer, message.sequence}] = begin;
      }
      if (program.code[i].code == Code::reduce) {
        Ticks& start = last_start[program.reductions[target].number];
        start = std::max(start, begin);
      }
    }
  }
  for (std::size_t r = 0; r < replayed.programs.size(); ++r) {
    const Program& program = replayed.programs[r];
    for (std::size_t i = 0; i < program.code.size(); ++i) {
      const auto target = static_cast<std::size_t>(program.code[i].target);
      const Ticks end = replayed.times[r][i].end;
      if (program.code[i].code == Code::wait) {
        const pipeline::Message& message = program.messages[target];
        EXPECT_LE(sent.at({message.peer, program.rank, message.sequence}), end);
      }
      if (program.code[i].code == Code::await) {
        EXPECT_LE(last_start.at(program.reductions[target].number), end);
      }
    }
  }
}

/// Expects that each op ran after its dependencies, and each rank's ops in the order of the schedule.
void expect_as_scheduled(const Replayed& replayed) {
  std::map<OpLabel, Span> spans;
  for (const auto& rank : replayed.ops())
    for (const ReplayedOp& op : rank) spans[op.label] = op.measured;
  const pipeline::LoweredSchedule lowered = pipeline::evaluate(replayed.schedule);
  const pipeline::OpGraph& graph = lowered.lowering.graph;
  ASSERT_EQ(spans.size(), graph.size());
  for (std::size_t op = 0; op < graph.size(); ++op)
    for (const pipeline::Arc& before : graph.predecessors(base::OpId(op)))
      EXPECT_LE(spans.at(graph.labels[before.op.index()]).end, spans.at(graph.labels[op]).begin);
  for (const auto& device : lowered.order.devices)
    for (std::size_t i = 1; i < device.size(); ++i)
      EXPECT_LE(spans.at(graph.labels[device[i - 1].index()]).end, spans.at(graph.labels[device[i].index()]).begin);
}

TEST(Replay, KeepsTheOrderAndTakesAtLeastTheMakespan) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Replayed run = replayed(test::random_schedule(test::random_problem(seed), seed), 0.3 * millisecond);
    expect_in_order(run);
    expect_as_scheduled(run);
    const ReplayFigures figures = figures_of(run.ops());
    EXPECT_EQ(figures.planned, run.schedule.claims.makespan);
    EXPECT_GE(figures.measured, figures.planned);
    EXPECT_GE(figures.latest.lateness(), figures.measured - figures.planned);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Replay, RunsFusedModelsConcurrently) {
  const pipeline::Problem problem =
      problem_of(4, {model_on("actor", {0, 1, 2, 3}, 4), model_on("critic", {3, 2, 1, 0}, 4)});
  const Replayed run = replayed(test::random_schedule(problem, 1), 2 * millisecond);
  expect_in_order(run);
  expect_as_scheduled(run);
  const ReplayFigures figures = figures_of(run.ops());
  EXPECT_GT(figures.planned_overlap, Ticks());
  EXPECT_GT(figures.measured_overlap, Ticks());
  // The ops of one rank do not overlap, so ops that overlap are on different ranks.
  std::set<base::ModelId> models;
  for (const auto& rank : run.ops()) {
    Ticks last;
    for (const ReplayedOp& op : rank) {
      EXPECT_LE(last, op.measured.begin);
      last = op.measured.end;
      models.insert(op.label.model);
    }
  }
  EXPECT_EQ(models.size(), 2U);
}

TEST(Replay, TransfersDelayOnlyTheirReceiver) {
  pipeline::Model model = model_on("actor", {0, 1}, 3);
  model.transfer_forward = {Ticks(400)};
  const Replayed run = replayed(test::random_schedule(problem_of(2, {model}), 3), millisecond);
  const auto ops = run.ops();
  const auto find = [](const std::vector<ReplayedOp>& rank, int microbatch) {
    return *std::find_if(rank.begin(), rank.end(), [microbatch](const ReplayedOp& op) {
      return op.label.kind == pipeline::OpKind::F && op.label.microbatch.value == microbatch;
    });
  };
  const Ticks transfer(400'000'000);
  for (int m = 0; m < 3; ++m) {
    // If a sleep ends late, the transfer counts from its planned end.
    EXPECT_GE(find(ops[1], m).measured.begin, find(ops[0], m).measured.begin + transfer);
    EXPECT_GE(find(ops[1], m).measured.begin, find(ops[0], m).planned.end + transfer);
  }
  EXPECT_LT(find(ops[0], 1).measured.begin, find(ops[1], ops[1].front().label.microbatch.value).measured.begin);
  EXPECT_LT(figures_of(ops).measured, run.schedule.claims.makespan.value() + transfer);
}

TEST(Replay, RunsTensorParallelGroupsAndMergedStages) {
  pipeline::Model actor = model_on("actor", {0, 1}, 3);
  actor.forward = {Ticks(4), Ticks(4)};
  actor.backward = {Ticks(4), Ticks(4)};
  const pipeline::Problem problem = problem_of(2, {actor, model_on("critic", {1, 0}, 3)});
  Replayed run;
  run.schedule = as_replayed(test::random_schedule(problem, 2), millisecond).value();
  // Two ranks per device. Each stage of the actor consists of two stages, one per rank. Each stage of the critic is on
  // both ranks together.
  run.placement = {4, 1, {{2, {{{0}, {1}, {2}, {3}}}}, {1, {{{2, 3}, {0, 1}}}}}};
  run.programs = pipeline::sound_programs(run.schedule, run.placement).value();
  run.times = replay(run.schedule, run.placement, run.programs, {}).value();
  expect_in_order(run);
  // Ranks of one device do not wait for each other's ops, unlike in the problem.
  const Ticks measured = figures_of(run.ops()).measured;
  for (const auto& rank : run.ops()) {
    EXPECT_EQ(rank.size(), 12U);
    Ticks busy;
    for (const ReplayedOp& op : rank) busy += op.planned.end - op.planned.begin;
    EXPECT_GE(measured, busy);
  }
}

TEST(Replay, EndsOnCancellation) {
  const Schedule schedule =
      as_replayed(test::random_schedule(problem_of(2, {model_on("actor", {0, 1}, 64)}), 1), 20 * millisecond).value();
  const pipeline::Placement placement = pipeline::rank_per_device(schedule.problem);
  const auto programs = pipeline::sound_programs(schedule, placement).value();
  parallel::Cancellation stop;
  stop.request();
  const auto stopped = replay(schedule, placement, programs, {.cancellation = &stop});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().failure, base::Failure::interrupted);
}

TEST(Replay, RejectsMoreRanksThanThreads) {
  const Schedule schedule =
      as_replayed(test::random_schedule(problem_of(max_replay_threads + 1, {model_on("actor", {0}, 1)}), 1),
                  millisecond)
          .value();
  const pipeline::Placement placement = pipeline::rank_per_device(schedule.problem);
  const auto error_for = replay(schedule, placement, pipeline::sound_programs(schedule, placement).value(), {});
  ASSERT_FALSE(error_for.ok());
  EXPECT_EQ(error_for.error().failure, base::Failure::bad_input);
}

ReplayedOp op_of(int model, int rank, Span planned, Span measured) {
  return {{pipeline::OpKind::F, base::ModelId(model), {}, {}, {}}, rank, planned, measured};
}

TEST(ReplayFigures, AreComputedFromTimesOfOps) {
  const auto span = [](std::int64_t begin, std::int64_t end) { return Span{Ticks(begin), Ticks(end)}; };
  const ReplayFigures figures = figures_of({
      {op_of(0, 0, span(0, 10), span(1, 11)), op_of(1, 0, span(10, 20), span(12, 23))},
      {op_of(1, 1, span(0, 15), span(0, 16)), op_of(0, 1, span(15, 20), span(20, 25))},
  });
  EXPECT_EQ(figures.planned, Ticks(20));
  EXPECT_EQ(figures.measured, Ticks(25));
  EXPECT_DOUBLE_EQ(figures.ratio(), 1.25);
  EXPECT_DOUBLE_EQ(figures.executor_share(), 0.2);
  EXPECT_EQ(figures.planned_overlap, Ticks(15));   // 0 to 10, 15 to 20
  EXPECT_EQ(figures.measured_overlap, Ticks(13));  // 1 to 11, 20 to 23
  EXPECT_EQ(figures.latest.rank, 1);
  EXPECT_EQ(figures.latest.lateness(), Ticks(5));
}

}  // namespace
}  // namespace dovetail::execute
