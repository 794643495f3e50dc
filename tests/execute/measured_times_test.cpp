#include "execute/measured_times.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "base/random.h"
#include "pipeline/program/compile.h"
#include "support/random_problem.h"
#include "support/random_schedule.h"

namespace dovetail::execute {
namespace {

using base::Ticks;
using pipeline::OpKind;

SameOps ops(int model, int stage, OpKind kind) { return {base::ModelId(model), base::StageId(stage), kind}; }

/// Returns times in which each op takes as long as in the problem and all other instructions take no time.
ReplayTimes times_as_planned(const pipeline::Problem& problem, const std::vector<pipeline::Program>& programs) {
  ReplayTimes times;
  for (const pipeline::Program& program : programs) {
    Ticks now;
    auto& spans = times.emplace_back();
    for (const pipeline::Instruction& instruction : program.code) {
      Ticks duration;
      if (instruction.code == pipeline::Code::run) {
        const pipeline::ProgramStage& stage = program.stages[static_cast<std::size_t>(instruction.target)];
        const pipeline::Model& model = problem.models[stage.model.index()];
        duration = instruction.op == OpKind::B
                       ? model.whole_backward(stage.stage.index())
                       : (model.*pipeline::traits_of(instruction.op).duration)[stage.stage.index()];
      }
      spans.push_back({now, now + duration});
      now += duration;
    }
  }
  return times;
}

/// Returns `problem` with every op a nanosecond longer.
pipeline::Problem longer(pipeline::Problem problem) {
  for (pipeline::Model& model : problem.models)
    pipeline::for_each_duration(model, [](std::vector<Ticks>& times, const auto&) {
      for (Ticks& time : times) time += Ticks(1);
    });
  return problem;
}

TEST(OpMedians, EqualThePlannedTimesIfOpsTakeThem) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    // Steps without duration would become a nanosecond long.
    test::RandomProblemOptions options;
    options.split = false;
    options.steps = false;
    const pipeline::Problem problem = longer(test::random_problem(seed, options));
    const pipeline::Placement placement = pipeline::rank_per_device(problem);
    const auto programs = pipeline::sound_programs(test::random_schedule(problem, seed), placement).value();
    const OpMedians medians = medians_of(programs, times_as_planned(problem, programs));
    EXPECT_EQ(with_measured_times(longer(problem), placement, medians), problem);
  }
}

TEST(OpMedians, AreTheMiddleValues) {
  const std::vector<OpMedians> runs{{{ops(0, 0, OpKind::F), Ticks(5)}},
                                    {{ops(0, 0, OpKind::F), Ticks(100)}, {ops(0, 1, OpKind::F), Ticks(7)}},
                                    {{ops(0, 0, OpKind::F), Ticks(6)}, {ops(0, 1, OpKind::F), Ticks(9)}}};
  EXPECT_EQ(medians_of(runs), (OpMedians{{ops(0, 0, OpKind::F), Ticks(6)}, {ops(0, 1, OpKind::F), Ticks(7)}}));
}

TEST(OpMedians, SumOverMergedStagesWithOutput) {
  pipeline::Problem problem;
  problem.time_unit = base::TimeUnit::ns;
  problem.devices = 1;
  pipeline::Model actor;
  actor.name = "actor";
  actor.replicas = {pipeline::device_list({0})};
  actor.forward = {Ticks(1)};
  actor.backward = {Ticks(1)};
  actor.step = {Ticks(1)};
  problem.models = {actor};
  const pipeline::Placement placement{2, 1, {{2, {{{0}, {1}}}}}};
  const OpMedians medians{{ops(0, 0, OpKind::F), Ticks(10)},
                          {ops(0, 1, OpKind::F), Ticks(20)},
                          {ops(0, 0, OpKind::S), Ticks(3)},
                          {ops(0, 1, OpKind::S), Ticks(4)},
                          {ops(0, 0, OpKind::B), Ticks(50)}};
  const pipeline::Model measured = with_measured_times(pipeline::with_defaults(problem), placement, medians).models[0];
  EXPECT_EQ(measured.forward[0], Ticks(30));
  EXPECT_EQ(measured.step[0], Ticks(4));
  EXPECT_EQ(measured.backward[0], Ticks(1)) << "a part of it was not measured";
}

using base::Ticks;
using pipeline::Code;
using pipeline::Program;

struct Ran {
  std::vector<Program> programs;
  ReplayTimes times;
};

Ran run_of(std::uint64_t seed) {
  const pipeline::Problem problem = test::random_problem(seed);
  const pipeline::Schedule schedule = as_replayed(test::random_schedule(problem, seed), 20'000).value();
  const pipeline::Placement placement = pipeline::rank_per_device(problem);
  Ran ran;
  ran.programs = pipeline::sound_programs(schedule, placement).value();
  ran.times = replay(schedule, placement, ran.programs, {}).value();
  return ran;
}

/// Returns the maximum time by which a message or a reduction ends before another rank has begun it.
Ticks earliness_of(const Ran& ran) {
  std::map<std::tuple<int, int, int>, Ticks> sent;  // (from, to, sequence)
  std::map<int, Ticks> last_start;                  // of a reduction
  for (const Program& program : ran.programs)
    for (std::size_t i = 0; i < program.code.size(); ++i) {
      const auto target = static_cast<std::size_t>(program.code[i].target);
      const Ticks begin = ran.times[static_cast<std::size_t>(program.rank)][i].begin;
      if (program.code[i].code == Code::send)
        sent[{program.rank, program.messages[target].peer, program.messages[target].sequence}] = begin;
      if (program.code[i].code == Code::reduce) {
        const int number = program.reductions[target].number;
        last_start[number] = last_start.contains(number) ? std::max(last_start[number], begin) : begin;
      }
    }
  Ticks worst;
  for (const Program& program : ran.programs)
    for (std::size_t i = 0; i < program.code.size(); ++i) {
      const auto target = static_cast<std::size_t>(program.code[i].target);
      const Ticks end = ran.times[static_cast<std::size_t>(program.rank)][i].end;
      if (program.code[i].code == Code::wait)
        worst = std::max(
            worst, sent.at({program.messages[target].peer, program.rank, program.messages[target].sequence}) - end);
      if (program.code[i].code == Code::await)
        worst = std::max(worst, last_start.at(program.reductions[target].number) - end);
    }
  return worst;
}

Ticks first_begin(const ReplayTimes& times) {
  Ticks first = Ticks::max();
  for (const auto& rank : times)
    if (!rank.empty()) first = std::min(first, rank.front().begin);
  return first;
}

TEST(CommonClock, KeepsConsistentClocks) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Ran ran = run_of(seed);
    const Ticks first = first_begin(ran.times);
    const ReplayTimes common = on_common_clock(ran.programs, ran.times);
    for (std::size_t rank = 0; rank < common.size(); ++rank)
      for (std::size_t i = 0; i < common[rank].size(); ++i)
        ASSERT_EQ(common[rank][i].begin + first, ran.times[rank][i].begin);
  }
}

TEST(CommonClock, AlignsInconsistentClocks) {
  int apart = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Ran ran = run_of(seed);
    base::Random random(seed, 3);
    for (auto& rank : ran.times) {
      const Ticks offset(static_cast<std::int64_t>(random.below(2'000'000'000)) * 1000);
      for (Span& span : rank) {
        span.begin += offset;
        span.end += offset;
      }
    }
    apart += earliness_of(ran) > Ticks() ? 1 : 0;
    const ReplayTimes before = ran.times;
    ran.times = on_common_clock(ran.programs, std::move(ran.times));
    EXPECT_LE(earliness_of(ran), Ticks(1)) << "halves are rounded";
    EXPECT_EQ(first_begin(ran.times), Ticks());
    // The times of a rank move together.
    for (std::size_t rank = 0; rank < before.size(); ++rank)
      for (std::size_t i = 0; i < before[rank].size(); ++i)
        ASSERT_EQ(ran.times[rank][i].begin - ran.times[rank][0].begin, before[rank][i].begin - before[rank][0].begin);
  }
  EXPECT_GT(apart, 20);
}

}  // namespace
}  // namespace dovetail::execute
