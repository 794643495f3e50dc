#include "execute/op_medians.h"

#include <gtest/gtest.h>

#include "pipeline/program/compile.h"
#include "support/random_problem.h"
#include "support/random_schedule.h"

namespace dovetail::execute {
namespace {

using base::Ticks;
using pipeline::OpKind;

SameOps ops(int model, int stage, OpKind kind) { return {base::ModelId(model), base::StageId(stage), kind}; }

/// Times in which each instruction takes as long as its op in the problem; others take none.
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

/// `problem` with every time of an op a nanosecond longer.
pipeline::Problem longer(pipeline::Problem problem) {
  for (pipeline::Model& model : problem.models)
    pipeline::for_each_duration(model, [](std::vector<Ticks>& times, const auto&) {
      for (Ticks& time : times) time += Ticks(1);
    });
  return problem;
}

TEST(OpMedians, OfOpsThatTakeWhatTheProblemSaysAreTheProblems) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    // Steps that take no time would be made a nanosecond long.
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

TEST(OpMedians, AreThoseInTheMiddle) {
  const std::vector<OpMedians> runs{{{ops(0, 0, OpKind::F), Ticks(5)}},
                                    {{ops(0, 0, OpKind::F), Ticks(100)}, {ops(0, 1, OpKind::F), Ticks(7)}},
                                    {{ops(0, 0, OpKind::F), Ticks(6)}, {ops(0, 1, OpKind::F), Ticks(9)}}};
  EXPECT_EQ(medians_of(runs), (OpMedians{{ops(0, 0, OpKind::F), Ticks(6)}, {ops(0, 1, OpKind::F), Ticks(7)}}));
}

TEST(OpMedians, OfMergedStagesAddUpWhereTheyHandOn) {
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

}  // namespace
}  // namespace dovetail::execute
