#include "support/brute_force.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::test {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::BackwardForm;
using pipeline::Problem;

pipeline::OpGraph graph_of(const Problem& problem) { return pipeline::lower(problem, BackwardForm::split).graph; }

TEST(BruteForce, SolvesOnePipeline) {
  const auto optimum = brute_force(graph_of(problem_of(3, {chain_model("a", {0, 1, 2}, 3, 1, 2)})));
  ASSERT_TRUE(optimum);
  EXPECT_EQ(optimum->makespan, Ticks(15));
  EXPECT_EQ(optimum->peak_at_makespan, Memory(3'000'000));
  EXPECT_EQ(optimum->min_peak, Memory(1'000'000));
}

/// Two equal models of four stages in opposite directions, `microbatches` each.
Problem chimera(int microbatches, std::int64_t backward) {
  return problem_of(4, {chain_model("down", {0, 1, 2, 3}, microbatches, 1, backward),
                        chain_model("up", {3, 2, 1, 0}, microbatches, 1, backward)});
}

TEST(BruteForce, FindsChimerasMakespans) {
  // Four micro-batches in total on four devices: 2N + D - 2 slots of equal length. With backwards twice as long as
  // forwards it is 16, one above the bound of 15.
  EXPECT_EQ(brute_force_makespan(graph_of(chimera(2, 1))), Ticks(10));
  EXPECT_EQ(brute_force_makespan(graph_of(chimera(2, 2))), Ticks(16));
}

TEST(BruteForce, TradesMemoryForTime) {
  const pipeline::OpGraph graph = graph_of(problem_of(2, {chain_model("a", {0, 1}, 3, 1, 1)}));
  EXPECT_EQ(brute_force_peak(graph, Ticks(8)), Memory(2'000'000));
  EXPECT_EQ(brute_force_peak(graph, Ticks(11)), Memory(2'000'000));
  EXPECT_EQ(brute_force_peak(graph, Ticks(12)), Memory(1'000'000))
      << "three micro-batches, one after the other, of four ticks";
}

TEST(BruteForce, GivesUp) { EXPECT_FALSE(brute_force(graph_of(chimera(2, 2)), {.max_steps = 100})); }

TEST(BruteForce, OrderOfMicrobatchesLosesNothing) {
  RandomProblemOptions options;
  options.max_ops = 12;
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const pipeline::OpGraph graph = graph_of(random_problem(seed, options));
    const auto in_any_order = brute_force(graph, {.in_order = false, .max_steps = 200'000});
    if (!in_any_order) continue;
    const auto in_order = brute_force(graph);
    ASSERT_TRUE(in_order);
    EXPECT_EQ(in_order->makespan, in_any_order->makespan) << "seed " << seed;
    EXPECT_EQ(in_order->peak_at_makespan, in_any_order->peak_at_makespan) << "seed " << seed;
    EXPECT_EQ(in_order->min_peak, in_any_order->min_peak) << "seed " << seed;
    ++compared;
  }
  EXPECT_GT(compared, 1300);
}

TEST(RandomProblem, IsDeterministic) {
  EXPECT_EQ(random_problem(7), random_problem(7));
  EXPECT_NE(random_problem(7), random_problem(8));
}

/// Returns the features of a problem.
std::set<std::string> features_of(const Problem& problem) {
  std::set<std::string> features;
  if (problem.models.size() > 1) features.insert("models");
  if (problem.capacity) features.insert("capacity");
  for (const Memory resident : problem.resident)
    if (resident > Memory(0)) features.insert("resident");
  for (const pipeline::Model& model : problem.models) {
    if (model.replicas.size() > 1) features.insert("replicas");
    if (model.minibatches > 1) features.insert("minibatches");
    if (model.has_steps()) features.insert("steps");
    if (model.has_steps() && model.step_after == pipeline::StepAfter::model) features.insert("step after model");
    if (model.has_steps() && model.step_before == pipeline::StepBefore::replicas)
      features.insert("step before replicas");
    if (model.has_steps() && model.step[0] == Ticks(0)) features.insert("step 0");
    if (model.split()) features.insert("split");
    if (model.split() && model.weight_activation != model.activation) features.insert("weight_activation");
    for (const Ticks transfer : model.transfer_forward)
      if (transfer > Ticks(0)) features.insert("transfers");
    if (model.forward != std::vector<Ticks>(model.forward.size(), model.forward[0])) features.insert("uneven");
    const auto& devices = model.replicas[0];
    if (std::set(devices.begin(), devices.end()).size() < devices.size()) features.insert("shared devices");
  }
  return features;
}

std::set<std::string> features_of_many(const RandomProblemOptions& options) {
  std::set<std::string> features;
  for (std::uint64_t seed = 0; seed < 500; ++seed) features.merge(features_of(random_problem(seed, options)));
  return features;
}

TEST(RandomProblem, HasEveryFeature) {
  RandomProblemOptions options;
  options.capacity = true;
  EXPECT_EQ(features_of_many(options),
            (std::set<std::string>{"capacity", "minibatches", "models", "replicas", "resident", "shared devices",
                                   "split", "step 0", "step after model", "step before replicas", "steps", "transfers",
                                   "uneven", "weight_activation"}));
}

TEST(RandomProblem, OmitsDisabledFeatures) {
  RandomProblemOptions options;
  options.max_models = 1;
  options.max_replicas = 1;
  options.uneven = options.shared_devices = options.transfers = options.split = options.steps = options.resident =
      false;
  EXPECT_EQ(features_of_many(options), std::set<std::string>{});
}

TEST(RandomProblem, StaysWithinTheNumberOfOps) {
  RandomProblemOptions options;
  options.max_ops = 10;
  for (std::uint64_t seed = 0; seed < 300; ++seed) EXPECT_LE(count_split_ops(random_problem(seed, options)), 10);
}

}  // namespace
}  // namespace dovetail::test
