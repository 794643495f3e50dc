// Expected results of the constructions: closed forms from the papers, and FlexFusion's published values.
#include "fuse/constructions/constructions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "pipeline/problem/instances.h"
#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/validate.h"
#include "support/problem_maker.h"
#include "support/why_not.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Evaluation;
using pipeline::Model;
using pipeline::Problem;
using test::why_not;
using Solve = Answer (*)(const Problem&, const SolveOptions&);

Evaluation solve(Solve solver, const Problem& problem) {
  Answer answer = solver(problem, {});
  auto* solution = std::get_if<Solution>(&answer);
  if (solution) return std::move(solution->evaluation);
  ADD_FAILURE() << std::get<NotApplicable>(answer).why;
  return {};
}

std::vector<int> iota(int count, bool reversed = false) {
  std::vector<int> devices;
  for (int device = 0; device < count; ++device) devices.push_back(reversed ? count - 1 - device : device);
  return devices;
}

/// One model on p devices.
Problem single(int p, int m, int f, int b) {
  return test::problem_of(p, {test::chain_model("actor", iota(p), m, f, b)});
}

Problem single_split(int p, int m, int f, int b, int w, std::vector<int> devices) {
  Model model = test::chain_model("actor", devices, m, f, b);
  model.weight_gradient.assign(devices.size(), Ticks(w));
  model.weight_activation = model.activation;
  return test::problem_of(p, {model});
}

class PublishedInstances : public testing::TestWithParam<int> {
 protected:
  const pipeline::Instance& instance() const { return pipeline::instances()[static_cast<std::size_t>(GetParam())]; }
};

TEST_P(PublishedInstances, Greedy) {
  const Evaluation evaluation = solve(solve_greedy, instance().problem);
  EXPECT_EQ(evaluation.makespan, instance().published->greedy_makespan);
  EXPECT_EQ(evaluation.peak_activation, instance().published->greedy_peak_activation);
}

TEST_P(PublishedInstances, Serial1f1b) {
  const Evaluation evaluation = solve(solve_1f1b, instance().problem);
  EXPECT_EQ(evaluation.makespan, instance().published->serial_makespan);
  EXPECT_EQ(evaluation.peak_activation, instance().published->serial_peak_activation);
}

TEST_P(PublishedInstances, Serial1f1bPlus) {
  // RLHFuse, table 3, column 1F1B+, in hundredths. The paper truncates or rounds them.
  constexpr int speedups[] = {103, 106, 110, 103, 105, 107, 102, 103, 105, 101, 102, 103};
  const Answer answer = solve_1f1b_plus(instance().problem, {});
  const Solution& solution = std::get<Solution>(answer);
  EXPECT_TRUE(solution.other_layout.has_value());
  const double speedup = static_cast<double>(instance().published->serial_makespan.count()) /
                         static_cast<double>(solution.evaluation.makespan.count());
  EXPECT_NEAR(speedup, speedups[GetParam()] / 100.0, 0.01);
  // (PP0/2 + M0/2 - 1) * 6 f0 + (PP1/2 + M1/2 - 1) * 6 f1
  std::int64_t closed_form = 0;
  for (const Model& model : instance().problem.models)
    closed_form += (model.stages() / 2 + model.microbatches / 2 - 1) * 6 * model.forward[0].count();
  EXPECT_EQ(solution.evaluation.makespan, Ticks(closed_form));
}

INSTANTIATE_TEST_SUITE_P(Twelve, PublishedInstances, testing::Range(0, 12));

TEST(Gpipe, ClosedForm) {
  for (const int p : {1, 2, 4, 8})
    for (const int m : {1, 4, 12}) {
      const Evaluation evaluation = solve(solve_gpipe, single(p, m, 2, 5));
      EXPECT_EQ(evaluation.makespan, Ticks((p + m - 1) * 7));
      EXPECT_EQ(evaluation.peak_activation, Memory(m * 1'000'000));
    }
}

TEST(OneForwardOneBackward, ClosedForm) {
  for (const int p : {1, 2, 4, 8})
    for (const int m : {8, 12, 30}) {
      const Evaluation evaluation = solve(solve_1f1b, single(p, m, 2, 5));
      EXPECT_EQ(evaluation.makespan, Ticks((p + m - 1) * 7));
      EXPECT_NEAR(pipeline::bubble_rate(evaluation), (p - 1.0) / (m + p - 1.0), 1e-12);
      for (int device = 0; device < p; ++device)
        EXPECT_EQ(evaluation.devices[static_cast<std::size_t>(device)].peak, Memory((p - device) * 1'000'000));
    }
}

TEST(OneForwardOneBackward, ModelsAlwaysWaitForEachOther) {
  // Without the barrier the second model would start during the drain of the first: 801 on exp0 (docs/solvers.md).
  EXPECT_EQ(solve(solve_1f1b, pipeline::find_instance("exp0")->problem).makespan, Ticks(813));
}

TEST(Interleaved, ClosedForm) {
  for (const int p : {2, 4, 8})
    for (const int v : {2, 3})
      for (const int m : {p, 2 * p, 4 * p}) {
        std::vector<int> devices;
        for (int round = 0; round < v; ++round)
          for (int device = 0; device < p; ++device) devices.push_back(device);
        const Problem problem = test::problem_of(p, {test::chain_model("actor", devices, m, 1, 2)});
        // Narayanan et al. 2021: the bubble shrinks by the factor v: (p - 1)(f + b) / v, here in times of one chunk.
        EXPECT_EQ(solve(solve_interleaved_1f1b, problem).makespan, Ticks((v * m + p - 1) * 3))
            << p << " " << v << " " << m;
      }
}

TEST(Interleaved, ExplainsInapplicability) {
  EXPECT_EQ(why_not(solve_interleaved_1f1b, single(4, 8, 1, 2)), "no device has several stages of a model");
  EXPECT_EQ(why_not(solve_interleaved_1f1b, test::problem_of(2, {test::chain_model("actor", {0, 1, 0, 1}, 3, 1, 2)})),
            "model actor needs a multiple of 2 micro-batches (the devices of its pipeline), got 3");
  EXPECT_EQ(why_not(solve_interleaved_1f1b, test::problem_of(2, {test::chain_model("actor", {0, 1, 1, 0}, 4, 1, 2)})),
            "the stages of model actor do not cycle through its devices in a fixed order");
}

TEST(Chimera, ClosedForm) {
  for (const int d : {4, 8, 16})
    for (const int n : {d, 2 * d, 3 * d}) {
      const Problem problem = test::problem_of(
          d, {test::chain_model("down", iota(d), n / 2, 1, 1), test::chain_model("up", iota(d, true), n / 2, 1, 1)});
      const Evaluation evaluation = solve(solve_chimera, problem);
      EXPECT_EQ(evaluation.makespan, Ticks(2 * n + d - 2));
      EXPECT_LE(evaluation.peak_activation, Memory(d * 1'000'000));
    }
}

TEST(Chimera, ActivationsAreBalancedAsPublished) {
  const Problem problem = test::problem_of(
      8, {test::chain_model("down", iota(8), 4, 1, 1), test::chain_model("up", iota(8, true), 4, 1, 1)});
  std::vector<std::int64_t> peaks;
  for (const auto& device : solve(solve_chimera, problem).devices) peaks.push_back(device.peak.count() / 1'000'000);
  EXPECT_THAT(peaks, testing::ElementsAre(5, 6, 7, 8, 8, 7, 6, 5));
}

TEST(Chimera, ExplainsInapplicability) {
  EXPECT_EQ(why_not(solve_chimera, single(4, 4, 1, 1)), "the solver needs exactly two pipelines, got 1");
  EXPECT_EQ(why_not(solve_chimera, test::problem_of(2, {test::chain_model("a", {0, 1}, 2, 1, 1),
                                                        test::chain_model("b", {1, 0}, 2, 1, 2)})),
            "the two pipelines differ in more than their names and devices");
  EXPECT_EQ(why_not(solve_chimera, test::problem_of(2, {test::chain_model("a", {0, 1}, 2, 1, 1),
                                                        test::chain_model("b", {0, 1}, 2, 1, 1)})),
            "the second pipeline does not visit the devices of the first one in reverse order");
}

TEST(ZeroBubble, H1ClosedForm) {
  // Qi et al. 2024: m (f + b + w) + (p - 1)(f + b - w) within the memory of 1F1B.
  for (const int p : {2, 4, 8})
    for (const int m : {2 * p, 3 * p + 1}) {
      for (const auto& [f, b, w] : {std::tuple(1, 1, 1), std::tuple(10, 12, 8), std::tuple(4, 4, 3)}) {
        const Evaluation evaluation = solve(solve_zb_h1, single_split(p, m, f, b, w, iota(p)));
        EXPECT_EQ(pipeline::max_device_span(evaluation), Ticks(m * (f + b + w) + (p - 1) * (f + b - w)))
            << p << " " << m << " " << f;
        EXPECT_EQ(evaluation.peak_activation, Memory(p * 1'000'000));
      }
    }
}

TEST(ZeroBubble, H2ClosedForm) {
  for (const int p : {2, 4, 8})
    for (const int m : {2 * p, 3 * p}) {
      const Evaluation evaluation = solve(solve_zb_h2, single_split(p, m, 1, 1, 1, iota(p)));
      EXPECT_EQ(pipeline::max_device_span(evaluation), Ticks(3 * m));
      EXPECT_EQ(evaluation.peak_activation, Memory((2 * p - 1) * 1'000'000));
    }
}

std::vector<int> v_shape(int p) {
  std::vector<int> devices = iota(p);
  for (int device = p - 1; device >= 0; --device) devices.push_back(device);
  return devices;
}

TEST(ZeroBubble, VHasNoBubbleWithinTheMemoryOf1f1b) {
  for (const int p : {1, 2, 3, 4, 6, 8, 16})
    for (const int m : {2 * p, 2 * p + 3, 4 * p}) {
      const Evaluation evaluation = solve(solve_zb_v, single_split(p, m, 1, 1, 1, v_shape(p)));
      EXPECT_EQ(pipeline::max_device_span(evaluation), Ticks(6 * m)) << p << " " << m;
      EXPECT_LE(evaluation.peak_activation, Memory(2 * p * 1'000'000));
    }
}

TEST(ZeroBubble, VTerminatesForAnyNumberOfMicrobatches) {
  for (int p = 1; p <= 9; ++p)
    for (int m = 1; m <= 20; ++m)
      EXPECT_GT(solve(solve_zb_v, single_split(p, m, 2, 3, 1, v_shape(p))).makespan, Ticks(0));
}

TEST(ZeroBubble, ExplainsInapplicability) {
  EXPECT_EQ(why_not(solve_zb_h1, single(4, 8, 1, 2)), "model actor does not split its backward");
  EXPECT_EQ(why_not(solve_zb_h1, single_split(2, 8, 1, 1, 1, v_shape(2))),
            "model actor has several stages on a device");
  EXPECT_EQ(why_not(solve_zb_v, single_split(4, 8, 1, 1, 1, iota(4))),
            "the stages of model actor do not form a V: down its devices and back up");
}

TEST(OneForwardOneBackwardPlus, ExplainsInapplicability) {
  EXPECT_EQ(why_not(solve_1f1b_plus, single(3, 8, 1, 2)), "model actor needs an even number of stages, got 3");
  EXPECT_EQ(why_not(solve_1f1b_plus, single(4, 7, 1, 2)), "model actor needs an even number of micro-batches, got 7");
}

/// Three mini-batches with all optional waits of steps and forwards.
Problem with_step_waits(Problem problem) {
  for (Model& model : problem.models) {
    model.minibatches = 3;
    model.step_after = pipeline::StepAfter::model;
    model.step_before = pipeline::StepBefore::replicas;
    for (std::size_t stage = 0; stage < model.step.size(); ++stage)
      model.step[stage] = Ticks(static_cast<std::int64_t>(stage % 3));
  }
  return problem;
}

void expect_valid(Solve solver, const Problem& problem) {
  const Answer answer = solver(problem, {});
  ASSERT_TRUE(std::holds_alternative<Solution>(answer)) << std::get<NotApplicable>(answer).why;
  const auto& solution = std::get<Solution>(answer);
  const auto violation =
      pipeline::validate(pipeline::to_schedule(solution.problem, solution.graph, solution.evaluation));
  EXPECT_FALSE(violation.has_value()) << violation->message;
}

TEST(StepWaits, AreKeptByEveryConstruction) {
  Model replicated = test::chain_model("actor", iota(4), 4, 1, 2);
  replicated.replicas.push_back(pipeline::device_list({7, 6, 5, 4}));
  const Problem plain = test::problem_of(8, {replicated, test::chain_model("critic", iota(8, true), 3, 2, 1)});
  const Problem halves = test::problem_of(8, {replicated});
  const Problem rounds = test::problem_of(2, {test::chain_model("actor", {0, 1, 0, 1}, 4, 1, 2)});
  Model both_ways = test::chain_model("both", iota(4), 4, 1, 1);
  both_ways.replicas.push_back(pipeline::device_list(iota(4, true)));
  for (const Solve solver : {solve_gpipe, solve_1f1b, solve_one_at_a_time, solve_fused_1f1b, solve_greedy, solve_list})
    expect_valid(solver, with_step_waits(plain));
  expect_valid(solve_1f1b_plus, with_step_waits(halves));
  expect_valid(solve_interleaved_1f1b, with_step_waits(rounds));
  expect_valid(solve_chimera, with_step_waits(test::problem_of(4, {both_ways})));
  for (const Solve solver : {solve_zb_h1, solve_zb_h2})
    expect_valid(solver, with_step_waits(single_split(4, 6, 1, 2, 1, iota(4))));
  expect_valid(solve_zb_v, with_step_waits(single_split(3, 7, 1, 2, 1, v_shape(3))));
}

TEST(OneAtATime, NeedsMinimumMemory) {
  const Problem& problem = pipeline::find_instance("exp0")->problem;
  EXPECT_EQ(solve(solve_one_at_a_time, problem).peak_activation, bounds_of(problem).peak_activation);
}

}  // namespace
}  // namespace dovetail::fuse
