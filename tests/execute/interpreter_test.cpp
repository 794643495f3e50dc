#include "execute/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "pipeline/problem/instances.h"
#include "pipeline/program/check.h"
#include "pipeline/program/compile.h"
#include "pipeline/schedule/evaluate.h"
#include "support/random_problem.h"
#include "support/random_schedule.h"
#include "transport/collectives.h"
#include "transport/threads.h"

namespace dovetail::execute {
namespace {

using namespace std::chrono_literals;
using base::Result;
using base::Status;
using pipeline::OpKind;
using pipeline::OpLabel;
using pipeline::Program;
using transport::Clock;
using transport::Transport;

/// Returns the output of a stage: a number that identifies the whole path to it.
std::uint64_t mixed(std::uint64_t value, std::uint64_t more) {
  return (value ^ (more + 0x9e3779b97f4a7c15U + (value << 6U) + (value >> 2U))) * 0xff51afd7ed558ccdU;
}

Buffer number_buffer(std::uint64_t number) {
  Buffer buffer = transport::make_buffer(sizeof number);
  std::memcpy(buffer.data, &number, sizeof number);
  return buffer;
}

std::uint64_t number_of(const Buffer& buffer) {
  std::uint64_t number = 0;
  if (buffer.data != nullptr) std::memcpy(&number, buffer.data, sizeof number);
  return number;
}

/// A stage whose activation of a micro-batch mixes all previous stages, and whose gradient mixes all later ones.
class NumberStage : public Stage {
 public:
  explicit NumberStage(const pipeline::ProgramStage& stage) : stage_(stage) {}

  Buffer receive_buffer(bool, MicrobatchId) override { return transport::make_buffer(sizeof(std::uint64_t)); }

  Result<Buffer> run(OpKind op, MicrobatchId microbatch, Buffer input) override {
    ops.push_back({op, stage_.model, stage_.replica, stage_.stage, microbatch});
    if (op == OpKind::W) return Buffer{};
    const bool forward = op == OpKind::F;
    const std::uint64_t made = mixed(mixed(number_of(input), microbatch.index()), stage_.stage.index());
    if (forward) ++held;
    max_held = std::max(max_held, held);
    if (!forward) gradients += made;
    return number_buffer(made);
  }

  void free(MicrobatchId) override { --held; }

  Status step(int minibatch) override {
    ops.push_back({OpKind::S, stage_.model, stage_.replica, stage_.stage, MicrobatchId(minibatch)});
    return {};
  }

  std::vector<OpLabel> ops;
  int held = 0;
  int max_held = 0;
  std::uint64_t gradients = 0;

 private:
  pipeline::ProgramStage stage_;
};

/// Sums ones, so that every rank must get the number of ranks.
class CountingReducer : public Reducer {
 public:
  Status reduce(const pipeline::Reduction& reduction, std::uint32_t number, transport::Collectives& collectives,
                transport::Deadline deadline) override {
    std::vector<double> ones(3, 1);
    DOVETAIL_CHECK(collectives.all_reduce({reduction.ranks, number}, std::span(ones), deadline));
    EXPECT_THAT(ones, testing::Each(static_cast<double>(reduction.ranks.size())));
    ++reductions;
    return {};
  }
  std::size_t reductions = 0;
};

struct Rank {
  std::vector<std::unique_ptr<NumberStage>> stages;
  CountingReducer reducer;
  Result<Trace> trace = Trace{};
};

/// Runs programs on threads, `runs` times in sequence.
std::vector<Rank> run_on_threads(const std::vector<Program>& programs, const std::vector<transport::Fault>& faults = {},
                                 Clock::duration timeout = 20s, std::uint32_t runs = 1) {
  const auto ends = transport::connect_threads(static_cast<int>(programs.size()), faults);
  std::vector<Rank> ranks(programs.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < programs.size(); ++r)
    threads.emplace_back([&, r] {
      Workers workers{{}, &ranks[r].reducer};
      for (const pipeline::ProgramStage& stage : programs[r].stages) {
        ranks[r].stages.push_back(std::make_unique<NumberStage>(stage));
        workers.stages.push_back(ranks[r].stages.back().get());
      }
      for (std::uint32_t i = 0; i < runs && ranks[r].trace.ok(); ++i)
        ranks[r].trace = run(programs[r], workers, *ends[r], {timeout, i});
    });
  for (std::thread& thread : threads) thread.join();
  return ranks;
}

std::vector<Program> programs_of(const pipeline::Schedule& schedule) {
  auto programs = pipeline::compile(schedule, rank_per_device(schedule.problem), exchanges_of(schedule.problem));
  EXPECT_TRUE(programs.ok());
  return *programs;
}

/// Computes the outputs of the stages of a model, micro-batch by micro-batch, without ranks.
std::uint64_t gradients_of(const pipeline::Model& model, int stage) {
  std::uint64_t sum = 0;
  for (int m = 0; m < model.total_microbatches(); ++m) {
    std::uint64_t gradient = 0;
    for (int s = model.stages() - 1; s >= stage; --s)
      gradient = mixed(mixed(gradient, static_cast<std::uint64_t>(m)), static_cast<std::uint64_t>(s));
    sum += gradient;
  }
  return sum;
}

void expect_as_scheduled(const pipeline::Schedule& schedule) {
  const std::vector<Program> programs = programs_of(schedule);
  const std::vector<Rank> ranks = run_on_threads(programs);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ASSERT_TRUE(ranks[r].trace.ok()) << ranks[r].trace.error().message;
    EXPECT_EQ(ranks[r].trace->instructions.size(), programs[r].code.size());
    EXPECT_EQ(ranks[r].reducer.reductions, programs[r].reductions.size());
    for (std::size_t s = 0; s < ranks[r].stages.size(); ++s) {
      const pipeline::ProgramStage& stage = programs[r].stages[s];
      const NumberStage& done = *ranks[r].stages[s];
      EXPECT_EQ(done.held, 0);
      EXPECT_EQ(done.gradients, gradients_of(schedule.problem.models[stage.model.index()], stage.stage.value));
    }
  }
}

TEST(Interpreter, RunsRandomSchedulesOnThreads) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    expect_as_scheduled(test::random_schedule(test::random_problem(seed), seed));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Interpreter, RunsThePublishedInstancesOnThreads) {
  for (const pipeline::Instance& instance : pipeline::instances()) {
    if (instance.group != pipeline::InstanceGroup::published && instance.name != "scale64") continue;
    SCOPED_TRACE(instance.name);
    expect_as_scheduled(test::random_schedule(instance.problem, 1));
  }
}

/// When each op began and ended.
std::map<OpLabel, Interval> intervals_of(const std::vector<Program>& programs, const std::vector<Rank>& ranks) {
  std::map<OpLabel, Interval> intervals;
  for (std::size_t r = 0; r < programs.size(); ++r)
    for (std::size_t i = 0; i < programs[r].code.size(); ++i) {
      const pipeline::Instruction& instruction = programs[r].code[i];
      if (instruction.code != pipeline::Code::run) continue;
      const pipeline::ProgramStage& stage = programs[r].stages[static_cast<std::size_t>(instruction.target)];
      intervals[{instruction.op, stage.model, stage.replica, stage.stage, instruction.microbatch}] =
          ranks[r].trace->instructions[i];
    }
  return intervals;
}

TEST(Interpreter, TheTraceKeepsEveryOrderOfTheProblemAndOfTheSchedule) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const pipeline::Schedule schedule = test::random_schedule(test::random_problem(seed), seed);
    const std::vector<Program> programs = programs_of(schedule);
    const std::vector<Rank> ranks = run_on_threads(programs);
    const std::map<OpLabel, Interval> intervals = intervals_of(programs, ranks);
    const pipeline::LoweredSchedule lowered = pipeline::evaluate(schedule);
    const pipeline::OpGraph& graph = lowered.lowering.graph;
    ASSERT_EQ(intervals.size(), graph.size());
    for (std::size_t op = 0; op < graph.size(); ++op)
      for (const pipeline::Arc& before : graph.predecessors(base::OpId(op)))
        EXPECT_LE(intervals.at(graph.labels[before.op.index()]).end, intervals.at(graph.labels[op]).begin);
    for (const auto& device : lowered.order.devices)
      for (std::size_t i = 1; i < device.size(); ++i)
        EXPECT_LE(intervals.at(graph.labels[device[i - 1].index()]).end,
                  intervals.at(graph.labels[device[i].index()]).begin);
  }
}

/// Returns a fused problem with every kind of exchange between ranks.
pipeline::Problem busy_problem() {
  pipeline::Problem problem;
  problem.devices = 4;
  pipeline::Model actor;
  actor.name = "actor";
  actor.minibatches = 2;
  actor.microbatches = 3;
  actor.replicas = {pipeline::device_list({0, 1}), pipeline::device_list({2, 3})};
  actor.forward = actor.backward = {base::Ticks(2)};
  actor.activation = {base::Memory(1)};
  actor.step = {base::Ticks(1)};
  actor.step_after = pipeline::StepAfter::model;
  actor.step_before = pipeline::StepBefore::replicas;
  pipeline::Model critic = actor;
  critic.name = "critic";
  critic.replicas = {pipeline::device_list({3, 2, 1, 0})};
  problem.models = {actor, critic};
  return pipeline::with_defaults(problem);
}

TEST(Interpreter, RunsAProgramAgainOnTheSameTransport) {
  const auto programs = programs_of(test::random_schedule(busy_problem(), 1));
  const std::vector<Rank> ranks = run_on_threads(programs, {}, 20s, 50);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ASSERT_TRUE(ranks[r].trace.ok()) << ranks[r].trace.error().message;
    EXPECT_EQ(ranks[r].reducer.reductions, 50 * programs[r].reductions.size());
  }
}

TEST(Interpreter, EveryFaultEndsAllRanksWithTheSameError) {
  const auto programs = programs_of(test::random_schedule(busy_problem(), 1));
  for (int rank = 0; rank < 4; ++rank)
    for (int send = 0; send < 12; ++send) {
      SCOPED_TRACE("rank " + std::to_string(rank) + ", send " + std::to_string(send));
      const std::vector<Rank> killed = run_on_threads(programs, {{transport::Fault::Kind::kill, rank, send, {}}});
      for (const Rank& each : killed) {
        ASSERT_FALSE(each.trace.ok());
        EXPECT_EQ(each.trace.error().message, "rank " + std::to_string(rank) + " is lost");
        EXPECT_EQ(each.trace.error().failure, base::Failure::lost);
      }
      const std::vector<Rank> late = run_on_threads(programs, {{transport::Fault::Kind::delay, rank, send, 2ms}});
      for (const Rank& each : late) EXPECT_TRUE(each.trace.ok());
    }
  const std::vector<Rank> dropped = run_on_threads(programs, {{transport::Fault::Kind::drop, 1, 3, {}}}, 200ms);
  for (const Rank& each : dropped) {
    ASSERT_FALSE(each.trace.ok());
    EXPECT_EQ(each.trace.error().failure, base::Failure::lost);
    EXPECT_EQ(each.trace.error().message, dropped.front().trace.error().message);
  }
}

/// A stage that throws in its second op.
class ThrowingStage final : public NumberStage {
 public:
  using NumberStage::NumberStage;
  Result<Buffer> run(OpKind op, MicrobatchId microbatch, Buffer input) override {
    if (!ops.empty()) throw std::runtime_error("thrown");
    return NumberStage::run(op, microbatch, std::move(input));
  }
};

class ThrowingReducer final : public Reducer {
 public:
  Status reduce(const pipeline::Reduction&, std::uint32_t, transport::Collectives&, transport::Deadline) override {
    throw std::runtime_error("thrown");
  }
};

/// Part of rank 1 that throws.
enum class Throws { stage, reduction };

void expect_an_error(Throws throws) {
  const auto programs = programs_of(test::random_schedule(busy_problem(), 1));
  const auto ends = transport::connect_threads(static_cast<int>(programs.size()));
  const Guard guard = [](const std::function<Status()>& work) -> Status {
    try {
      return work();
    } catch (const std::exception& error) {
      return base::bad_input(error.what());
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < programs.size(); ++r)
    threads.emplace_back([&, r] {
      std::vector<std::unique_ptr<Stage>> stages;
      CountingReducer counts;
      ThrowingReducer fails;
      Workers workers{{}, &counts};
      if (r == 1 && throws == Throws::reduction) workers.reducer = &fails;
      for (const pipeline::ProgramStage& stage : programs[r].stages) {
        if (r == 1 && throws == Throws::stage)
          stages.push_back(std::make_unique<ThrowingStage>(stage));
        else
          stages.push_back(std::make_unique<NumberStage>(stage));
        workers.stages.push_back(stages.back().get());
      }
      const auto trace = run(programs[r], workers, *ends[r], {.timeout = 60s, .guard = guard});
      ASSERT_FALSE(trace.ok());
      EXPECT_EQ(trace.error().message, "thrown");
    });
  const auto begin = Clock::now();
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(Clock::now() - begin, 30s);
}

TEST(Interpreter, AnExceptionEndsAllRanks) {
  expect_an_error(Throws::stage);
  expect_an_error(Throws::reduction);
}

}  // namespace
}  // namespace dovetail::execute
