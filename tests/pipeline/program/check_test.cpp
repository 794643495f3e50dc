#include "pipeline/program/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "pipeline/program/compile.h"
#include "support/random_schedule.h"

namespace dovetail::pipeline {
namespace {

using Programs = std::vector<Program>;

/// Two models in opposite directions on four ranks, with two replicas of the first, so that programs have every
/// feature.
Problem fused_problem() {
  Problem problem;
  problem.devices = 4;
  Model actor;
  actor.name = "actor";
  actor.minibatches = 2;
  actor.microbatches = 3;
  actor.replicas = {device_list({0, 1}), device_list({2, 3})};
  actor.forward = {Ticks(2)};
  actor.backward = {Ticks(2)};
  actor.weight_gradient = {Ticks(2)};
  actor.activation = {Memory(3)};
  actor.weight_activation = {Memory(1)};
  actor.step = {Ticks(1)};
  actor.step_after = StepAfter::model;
  actor.step_before = StepBefore::replicas;
  Model critic = actor;
  critic.name = "critic";
  critic.replicas = {device_list({3, 2, 1, 0, 0})};
  critic.weight_gradient.clear();
  critic.weight_activation.clear();
  problem.models = {actor, critic};
  return with_defaults(problem);
}

Programs sound_programs() {
  const Schedule schedule = test::random_schedule(fused_problem(), 3);
  const Exchanges exchanges{
      .clips_by_norm = true, .tied = true, .shards_steps = true, .forward_bytes = {}, .backward_bytes = {}};
  return *compile(schedule, rank_per_device(schedule.problem), {exchanges, exchanges});
}

/// Returns the index of the n-th instruction that `is_it` accepts.
std::size_t find(const Program& program, const std::function<bool(const Instruction&)>& is_it, int n = 0) {
  for (std::size_t i = 0; i < program.code.size(); ++i)
    if (is_it(program.code[i]) && n-- == 0) return i;
  ADD_FAILURE() << "no such instruction";
  return 0;
}
std::size_t find(const Program& program, Code code, int n = 0) {
  return find(program, [code](const Instruction& i) { return i.code == code; }, n);
}
std::size_t find(const Program& program, OpKind op, int n = 0) {
  return find(program, [op](const Instruction& i) { return i.code == Code::run && i.op == op; }, n);
}
std::size_t find(const Program& program, Code code, ReductionKind kind) {
  return find(program, [&](const Instruction& i) {
    return i.code == code && program.reductions[static_cast<std::size_t>(i.target)].kind == kind;
  });
}

void erase(Program& program, std::size_t at) {
  program.code.erase(program.code.begin() + static_cast<std::ptrdiff_t>(at));
}
void move_to(Program& program, std::size_t from, std::size_t to) {
  const Instruction moved = program.code[from];
  erase(program, from);
  program.code.insert(program.code.begin() + static_cast<std::ptrdiff_t>(to), moved);
}

struct Damage {
  std::string name;
  std::function<void(Programs&)> change;
  std::string found;  ///< part of the message of the fault
};

/// Finds two receives of a rank from the same peer, in the order of its code.
std::pair<std::size_t, std::size_t> two_receives(const Program& program) {
  for (std::size_t i = 0; i < program.code.size(); ++i)
    for (std::size_t j = i + 1; j < program.code.size(); ++j)
      if (program.code[i].code == Code::receive && program.code[j].code == Code::receive &&
          program.messages[static_cast<std::size_t>(program.code[i].target)].peer ==
              program.messages[static_cast<std::size_t>(program.code[j].target)].peer)
        return {i, j};
  return {0, 0};
}

std::vector<Damage> damages() {
  return {
      {"two receives exchanged",
       [](Programs& p) {
         const auto [a, b] = two_receives(p[1]);
         std::swap(p[1].code[a], p[1].code[b]);
       },
       "out of order"},
      {"a send dropped", [](Programs& p) { erase(p[1], find(p[1], Code::send)); }, "sent out of order"},
      {"a receive dropped", [](Programs& p) { erase(p[1], find(p[1], Code::receive)); }, "out of order"},
      {"a wait dropped", [](Programs& p) { erase(p[1], find(p[1], Code::wait)); }, "before its input has arrived"},
      {"a wait after its op",
       [](Programs& p) {
         const std::size_t wait = find(p[1], Code::wait);
         const Message& message = p[1].messages[static_cast<std::size_t>(p[1].code[wait].target)];
         const std::size_t op = find(p[1], [&](const Instruction& i) {
           return i.code == Code::run && i.target == message.stage && i.microbatch == message.microbatch;
         });
         move_to(p[1], wait, std::max(op, wait));
       },
       "before its input has arrived"},
      {"a buffer freed early",
       [](Programs& p) {
         const std::size_t free = find(p[2], Code::free);
         move_to(p[2], free, free - 1);
       },
       "before its backward has ended"},
      {"a buffer never freed", [](Programs& p) { erase(p[2], find(p[2], Code::free)); }, "never freed"},
      {"a buffer freed twice",
       [](Programs& p) {
         const std::size_t free = find(p[2], Code::free);
         p[2].code.insert(p[2].code.begin() + static_cast<std::ptrdiff_t>(free), p[2].code[free]);
       },
       "freed twice"},
      {"two reductions started in another order",
       [](Programs& p) {
         const std::size_t a = find(p[0], Code::reduce);
         const std::size_t b = find(p[0], Code::reduce, 1);
         std::swap(p[0].code[a].target, p[0].code[b].target);
       },
       ""},
      {"a reduction numbered differently on one rank",
       [](Programs& p) { std::swap(p[0].reductions[0].number, p[0].reductions[1].number); }, ""},
      {"a start missing", [](Programs& p) { erase(p[0], find(p[0], Code::reduce)); }, ""},
      {"a reduction missing on one rank",
       [](Programs& p) {
         erase(p[0], find(p[0], Code::await, ReductionKind::weights));
         erase(p[0], find(p[0], Code::reduce, ReductionKind::weights));
       },
       ""},
      {"S before its await",
       [](Programs& p) { move_to(p[0], find(p[0], Code::await, ReductionKind::norm), find(p[0], OpKind::S)); },
       "before it has awaited"},
      {"F before the weights of the previous step",
       [](Programs& p) {
         const std::size_t await = find(p[0], Code::await, ReductionKind::weights);
         move_to(p[0], await, p[0].code.size() - 1);
       },
       "before it has awaited the weights"},
      {"a reduction started before its gradients are ready",
       [](Programs& p) { move_to(p[0], find(p[0], Code::reduce, ReductionKind::gradients), 0); },
       "before all contributions"},
      {"an op dropped", [](Programs& p) { erase(p[3], find(p[3], OpKind::F)); }, "before it is made"},
      {"an op twice",
       [](Programs& p) {
         const std::size_t op = find(p[3], OpKind::F);
         p[3].code.insert(p[3].code.begin() + static_cast<std::ptrdiff_t>(op), p[3].code[op]);
       },
       "again"},
      {"W before I",
       [](Programs& p) {
         const std::size_t weight = find(p[0], OpKind::W);
         const Instruction op = p[0].code[weight];
         const std::size_t input = find(p[0], [&](const Instruction& i) {
           return i.code == Code::run && i.op == OpKind::I && i.target == op.target && i.microbatch == op.microbatch;
         });
         move_to(p[0], weight, input);
       },
       "before an op that it needs"},
      {"a message to another rank",
       [](Programs& p) {
         const std::size_t send = find(p[1], Code::send);
         int& peer = p[1].messages[static_cast<std::size_t>(p[1].code[send].target)].peer;
         peer = peer == 3 ? 0 : 3;
       },
       ""},
      {"a message of another micro-batch for its receiver",
       [](Programs& p) {
         const auto [a, b] = two_receives(p[1]);
         Message& first = p[1].messages[static_cast<std::size_t>(p[1].code[a].target)];
         Message& second = p[1].messages[static_cast<std::size_t>(p[1].code[b].target)];
         std::swap(first.sequence, second.sequence);
       },
       ""},
      {"a rank of another problem", [](Programs& p) { p[2].problem = "other"; }, "different problem"},
      {"a missing rank", [](Programs& p) { p.pop_back(); }, "for 4 ranks"},
      {"two ranks exchanged", [](Programs& p) { std::swap(p[0], p[1]); }, "is listed as"},
      {"a false peak", [](Programs& p) { p[0].peak.activation += Memory(1); }, "peak"},
      {"an instruction with a bad target", [](Programs& p) { p[0].code.front().target = 1000; }, "does not exist"},
  };
}

TEST(Check, FindsEachKindOfDamageUnderEachDelivery) {
  const Programs sound = sound_programs();
  for (const Delivery delivery : deliveries) {
    ASSERT_FALSE(check(sound, delivery).has_value()) << describe(*check(sound, delivery));
    for (const Damage& damage : damages()) {
      SCOPED_TRACE(damage.name);
      Programs damaged = sound;
      damage.change(damaged);
      ASSERT_NE(damaged, sound);
      const auto fault = check(damaged, delivery);
      ASSERT_TRUE(fault.has_value());
      EXPECT_THAT(fault->message, testing::HasSubstr(damage.found));
    }
  }
}

/// Two ranks that each wait for the other's first message before they send their own.
TEST(Check, FindsRanksThatWaitForEachOther) {
  Problem problem;
  problem.devices = 2;
  Model down;
  down.name = "down";
  down.replicas = {device_list({0, 1})};
  down.forward = down.backward = {Ticks(1)};
  down.activation = {Memory(1)};
  Model up = down;
  up.name = "up";
  up.replicas = {device_list({1, 0})};
  problem.models = {down, up};
  problem = with_defaults(problem);
  const Schedule schedule = test::random_schedule(problem, 1);
  Programs programs = *compile(schedule, rank_per_device(problem), {{}, {}});
  // Each rank runs the forward of its second stage, which needs the other rank's first, before its own first.
  for (Program& program : programs) {
    std::vector<Instruction> late;
    std::vector<Instruction> rest;
    for (const Instruction& i : program.code) {
      const bool first = i.target == (program.rank == 0 ? 0 : 1) && i.code == Code::run && i.op == OpKind::F;
      const bool sent = i.code == Code::send && program.messages[static_cast<std::size_t>(i.target)].forward;
      (first || sent ? late : rest).push_back(i);
    }
    const auto after = std::find_if(rest.begin(), rest.end(),
                                    [](const Instruction& i) { return i.code == Code::run && i.op == OpKind::F; });
    rest.insert(after + 1, late.begin(), late.end());
    program.code = rest;
    program.peak = peak_of(program);
  }
  for (const Delivery delivery : deliveries) {
    const auto fault = check(programs, delivery);
    ASSERT_TRUE(fault.has_value());
    EXPECT_THAT(describe(*fault), testing::HasSubstr("wait for each other: this rank waits for message 0 from rank 1"));
  }
}

}  // namespace
}  // namespace dovetail::pipeline
