
#include "fuse/portfolio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fuse/constructions/constructions.h"
#include "fuse/solve.h"
#include "pipeline/problem/instances.h"
#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/validate.h"

namespace dovetail::fuse {
namespace {

using pipeline::Problem;

const Problem& bundled(const char* name) { return pipeline::find_instance(name)->problem; }

Solution list_schedule(const Problem& problem) { return std::get<Solution>(solve_list(problem, {})); }

TEST(Minibatches, SingleMinibatchHasOnlyItsModels) {
  Problem problem = bundled("minibatches-1");
  problem.models[0].minibatches = 3;
  for (std::size_t model = 1; model < problem.models.size(); ++model) problem.models[model].minibatches = 2;
  EXPECT_EQ(count_minibatches(problem), 3);
  EXPECT_EQ(only_minibatch(problem, 1).models.size(), problem.models.size());
  const Problem last = only_minibatch(problem, 2);
  ASSERT_EQ(last.models.size(), 1U);
  EXPECT_EQ(last.models[0].name, problem.models[0].name);
  EXPECT_EQ(count_minibatches(last), 1);
}

/// Returns the bundled problems of several mini-batches, each also with all optional waits of steps and forwards.
std::vector<std::pair<std::string, Problem>> problems_of_minibatches() {
  std::vector<std::pair<std::string, Problem>> problems;
  for (const char* name : {"minibatches-1", "minibatches-2", "minibatches-3", "minibatches-4", "minibatches-5"}) {
    problems.emplace_back(name, bundled(name));
    Problem waiting = bundled(name);
    for (pipeline::Model& model : waiting.models) {
      model.step_after = pipeline::StepAfter::model;
      model.step_before = pipeline::StepBefore::replicas;
    }
    problems.emplace_back(std::string(name) + ", waiting", std::move(waiting));
  }
  return problems;
}

TEST(Minibatches, ConcatenationTakesNoLongerThanTheSum) {
  for (const auto& [name, problem] : problems_of_minibatches()) {
    std::vector<Solution> parts;
    base::Ticks sum;
    base::Memory peak;
    for (int index = 0; index < count_minibatches(problem); ++index) {
      parts.push_back(list_schedule(only_minibatch(problem, index)));
      sum += parts.back().evaluation.makespan;
      peak = std::max(peak, parts.back().evaluation.peak_activation);
    }
    const pipeline::Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::split);
    const auto evaluation = pipeline::evaluate(lowering.graph, join_minibatches(problem, lowering, parts));
    ASSERT_TRUE(evaluation.ok()) << name;
    EXPECT_LE(evaluation->makespan, sum) << name;
    EXPECT_LE(evaluation->peak_activation, peak) << name;
  }
}

TEST(Minibatches, ModelsWithFewerStayInTheirPlaces) {
  Problem problem = bundled("minibatches-1");
  problem.models[0].minibatches = 1;  // the last mini-batches then have other model indices than the problem
  std::vector<Solution> parts;
  for (int index = 0; index < count_minibatches(problem); ++index)
    parts.push_back(list_schedule(only_minibatch(problem, index)));
  const pipeline::Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::split);
  const pipeline::Order order = join_minibatches(problem, lowering, parts);
  std::size_t ops = 0;
  for (const auto& device : order.devices) ops += device.size();
  EXPECT_EQ(ops, lowering.graph.size());
  EXPECT_TRUE(pipeline::evaluate(lowering.graph, order).ok());
}

TEST(Minibatches, ZeroDurationStepsAreKept) {
  Problem problem = bundled("minibatches-1");
  for (pipeline::Model& model : problem.models) std::fill(model.step.begin(), model.step.end(), base::Ticks(0));
  std::vector<Solution> parts;
  for (int index = 0; index < count_minibatches(problem); ++index)
    parts.push_back(list_schedule(only_minibatch(problem, index)));
  const pipeline::Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::split);
  std::size_t ops = 0;
  for (const auto& device : join_minibatches(problem, lowering, parts).devices) ops += device.size();
  EXPECT_EQ(ops, lowering.graph.size());
}

TEST(Minibatches, BriefSearchesReturnValidSchedules) {
  const Problem& problem = bundled("minibatches-5");
  SolveOptions options;
  options.chains = 1;
  options.iterations = 100;
  options.brief = true;
  options.proof_work = 0;
  const auto usual = solve(problem, "auto", options);
  ASSERT_TRUE(usual.ok());
  options.iterations_alone = 1'000;
  const auto brief = solve(problem, "auto", options);
  ASSERT_TRUE(brief.ok());
  EXPECT_FALSE(pipeline::validate(brief->schedule).has_value());
  EXPECT_LE(brief->solution.evaluation.makespan, std::get<Solution>(solve_list(problem, {})).evaluation.makespan);
  // Longer walks of each single mini-batch lead to a different schedule that is not longer.
  EXPECT_LT(usual->solution.evaluation.makespan, brief->solution.evaluation.makespan);
  // Without proof work, nothing beyond the sums is proven.
  const base::Ticks makespan = brief->solution.evaluation.makespan;
  EXPECT_EQ(brief->schedule.claims.bound_peak_activation, peak_activation_bound(problem, makespan, {.work = 0}));
  EXPECT_EQ(brief->schedule.claims.bound_makespan, brief->bounds.makespan);
}

TEST(Minibatches, DriftingApartNeverLoses) {
  const Problem& problem = bundled("minibatches-1");
  SolveOptions options;
  options.iterations = 1'000;
  const auto whole = std::get<Solution>(solve_auto(problem, options));
  base::Ticks sum;
  for (int index = 0; index < count_minibatches(problem); ++index)
    sum += std::get<Solution>(solve_auto(only_minibatch(problem, index), options)).evaluation.makespan;
  EXPECT_LE(whole.evaluation.makespan, sum);
}

}  // namespace
}  // namespace dovetail::fuse
