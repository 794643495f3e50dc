#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "fuse/constructions/constructions.h"
#include "fuse/search/search.h"
#include "fuse/solve.h"
#include "fuse/solver.h"
#include "pipeline/schedule/validate.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using base::Ticks;
using pipeline::BackwardForm;
using pipeline::Lowering;
using pipeline::OpGraph;
using pipeline::OpId;
using pipeline::OpKind;
using pipeline::OpLabel;
using pipeline::Order;
using pipeline::Problem;

/// Whether `order` has every op once, on its device, and alike ops in the order of their micro-batches.
bool is_in_order(const OpGraph& graph, const Order& order) {
  std::map<OpLabel, int> next;
  std::size_t ops = 0;
  for (std::size_t device = 0; device < order.devices.size(); ++device)
    for (const OpId op : order.devices[device]) {
      OpLabel label = graph.labels[op.index()];
      const int microbatch = label.microbatch.value;
      label.microbatch = base::MicrobatchId(0);
      if (graph.device[op.index()].index() != device || next[label]++ != microbatch) return false;
      ++ops;
    }
  return ops == graph.size() && order.barriers.empty() &&
         order.devices.size() == static_cast<std::size_t>(graph.devices);
}

/// Returns the fault of the search's order of `solution`, or an empty string.
std::string_view fault_of(const Problem& problem, const Lowering& lowering, const Solution& solution) {
  const Order order = search_order(lowering, solution);
  if (!is_in_order(lowering.graph, order)) return "not in order";
  const auto evaluation = pipeline::evaluate(lowering.graph, order);
  if (!evaluation.ok()) return "deadlock";
  if (evaluation->makespan > solution.evaluation.makespan) return "longer";
  for (std::size_t device = 0; device < evaluation->devices.size(); ++device)
    if (evaluation->devices[device].peak > solution.evaluation.devices[device].peak) return "holds more";
  if (pipeline::validate(pipeline::to_schedule(problem, lowering.graph, *evaluation))) return "invalid";
  return "";
}

RC_GTEST_PROP(SearchOrder, IsAsGoodAsEveryConstruction, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = pipeline::lower(problem, BackwardForm::split);
  for (const Solver& solver : solvers()) {
    if (solver.searches) continue;
    const Answer answer = solver.solve(problem, {});
    const auto* solution = std::get_if<Solution>(&answer);
    if (!solution || solution->other_layout) continue;
    const std::string_view fault = fault_of(problem, lowering, *solution);
    if (!fault.empty()) RC_FAIL(std::string(solver.name) + ": " + std::string(fault));
  }
}

RC_GTEST_PROP(SearchOrder, IsIdempotent, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = pipeline::lower(problem, BackwardForm::split);
  Solution solution = std::get<Solution>(solve_greedy(problem, {}));
  const Order order = search_order(lowering, solution);
  solution.graph = lowering.graph;
  solution.order = order;
  RC_ASSERT(search_order(lowering, solution).devices == order.devices);
}

/// Renames the micro-batches of each mini-batch and replica at random: an equally good schedule with alike ops out of
/// order.
Solution renamed(const Problem& problem, const Solution& solution, std::uint64_t seed) {
  pipeline::Schedule schedule = pipeline::to_schedule(problem, solution.graph, solution.evaluation);
  for (auto& device : schedule.devices)
    for (pipeline::ScheduledOp& op : device) {
      const pipeline::Model& model = problem.models[op.label.model.index()];
      if (op.label.kind == OpKind::S) continue;
      const int minibatch = op.label.microbatch.value / model.microbatches;
      const int within = op.label.microbatch.value % model.microbatches;
      const auto turn = static_cast<int>((seed + static_cast<std::uint64_t>(op.label.replica.value)) % 1'000);
      // Rotated by some places, and mirrored for some seeds.
      int other = (within + turn) % model.microbatches;
      if (seed % 2 == 0) other = model.microbatches - 1 - other;
      op.label.microbatch = base::MicrobatchId(minibatch * model.microbatches + other);
    }
  auto result = to_solution(schedule);
  RC_ASSERT(result.ok());
  return std::move(*result);
}

RC_GTEST_PROP(SearchOrder, SortsMicrobatchesWithoutLoss, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = pipeline::lower(problem, BackwardForm::split);
  const auto seed = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
  const Solution solution = renamed(problem, std::get<Solution>(solve_list(problem, {})), seed);
  RC_ASSERT(fault_of(problem, lowering, solution) == "");
}

RC_GTEST_PROP(SearchOrder, SplitsMixedBackwardsWithoutLoss, ()) {
  const Problem problem = *test::problems();
  const Lowering split = pipeline::lower(problem, BackwardForm::split);
  const Lowering whole = pipeline::lower(problem, BackwardForm::whole);
  // The order of whole backwards, with some of them split.
  const Answer answer = solve_one_at_a_time(problem, {});
  const Order of_split = search_order(split, std::get<Solution>(answer));
  std::vector<bool> is_whole;
  for (std::size_t i = 0; i < split.microbatch_ops.size(); ++i)
    is_whole.push_back(*rc::gen::noShrink(rc::gen::arbitrary<bool>()));
  const Lowering mixed = pipeline::lower(problem, is_whole);
  std::map<OpLabel, OpId> of_mixed;
  for (std::size_t op = 0; op < mixed.graph.size(); ++op) of_mixed[mixed.graph.labels[op]] = OpId(op);
  Solution solution = std::get<Solution>(answer);
  solution.graph = mixed.graph;
  solution.order = {};
  for (const auto& device : of_split.devices) {
    auto& sequence = solution.order.devices.emplace_back();
    for (const OpId op : device) {
      OpLabel label = split.graph.labels[op.index()];
      if (label.kind == OpKind::I && !of_mixed.contains(label)) label.kind = OpKind::B;
      // The W of a whole backward is part of its B.
      if (const auto found = of_mixed.find(label); found != of_mixed.end()) sequence.push_back(found->second);
    }
  }
  auto evaluation = pipeline::evaluate(mixed.graph, solution.order);
  RC_ASSERT(evaluation.ok());
  solution.evaluation = *evaluation;
  RC_ASSERT(fault_of(problem, split, solution) == "");
}

TEST(SearchOrder, SplitsAWholeBackward) {
  pipeline::Model model = test::chain_model("a", {0, 1}, 1, 2, 3);
  model.weight_gradient = {Ticks(4), Ticks(4)};
  model.weight_activation = model.activation;
  const Problem problem = test::problem_of(2, {model});
  const Lowering lowering = pipeline::lower(problem, BackwardForm::split);
  const Solution solution = std::get<Solution>(solve_gpipe(problem, {}));
  ASSERT_EQ(solution.evaluation.makespan, Ticks(2 + 2 + 7 + 7));
  const Order order = search_order(lowering, solution);
  std::vector<OpKind> kinds;
  for (const OpId op : order.devices[1]) kinds.push_back(lowering.graph.labels[op.index()].kind);
  EXPECT_EQ(kinds, (std::vector{OpKind::F, OpKind::I, OpKind::W}));
  // Stage 0 need not wait for the weight gradient of stage 1.
  EXPECT_EQ(pipeline::evaluate(lowering.graph, order)->makespan, Ticks(2 + 2 + 3 + 7));
}

TEST(SearchOrder, DropsBarriers) {
  const Problem problem =
      test::problem_of(2, {test::chain_model("a", {0, 1}, 2, 1, 2), test::chain_model("b", {1, 0}, 2, 1, 2)});
  const Lowering lowering = pipeline::lower(problem, BackwardForm::split);
  const Solution solution = std::get<Solution>(solve_1f1b(problem, {}));
  ASSERT_FALSE(solution.order.barriers.empty());
  const Order order = search_order(lowering, solution);
  EXPECT_TRUE(order.barriers.empty());
  EXPECT_LT(pipeline::evaluate(lowering.graph, order)->makespan, solution.evaluation.makespan);
}

}  // namespace
}  // namespace dovetail::fuse
