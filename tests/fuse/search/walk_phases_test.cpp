// Checks what the phases of a chain preserve and find, with the evaluator.
#include "fuse/search/walk_phases.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "fuse/bounds/bounds.h"
#include "fuse/constructions/constructions.h"
#include "fuse/search/search.h"
#include "pipeline/schedule/evaluate.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using pipeline::Lowering;
using pipeline::OpGraph;
using pipeline::Order;
using pipeline::Problem;

constexpr std::int64_t none = -1;  // a target that is never reached

Lowering lower_split(const Problem& problem) { return pipeline::lower(problem, pipeline::BackwardForm::split); }

Order order_by(Answer (*solve)(const Problem&, const SolveOptions&), const Problem& problem, const Lowering& lowering) {
  return search_order(lowering, std::get<Solution>(solve(problem, {})));
}

/// Whether the current state of the walk of `chain`, and its best, are as recorded.
bool is_consistent(const Chain& chain, const OpGraph& graph) {
  const auto now = pipeline::evaluate(graph, chain.walk.order());
  const auto best = pipeline::evaluate(graph, chain.best);
  return now.ok() && best.ok() && now->makespan.count() == chain.walk.makespan() &&
         best->makespan.count() == chain.best_makespan && best->peak_activation.count() == chain.best_peak;
}

bool are_same(const Chain& a, const Chain& b) {
  return a.walk.order().devices == b.walk.order().devices && a.best.devices == b.best.devices &&
         a.best_makespan == b.best_makespan && a.best_peak == b.best_peak &&
         base::Random(a.random).next() == base::Random(b.random).next();
}

std::vector<std::int64_t> peaks_of(const OpGraph& graph, const Order& order) {
  std::vector<std::int64_t> peaks;
  const auto evaluation = pipeline::evaluate(graph, order);
  for (const pipeline::DeviceUse& use : evaluation->devices) peaks.push_back(use.peak.count());
  return peaks;
}

/// Whether no device holds more than its limit, or more than at the start if it already exceeded it.
bool are_within(const std::vector<std::int64_t>& peaks, const std::vector<std::int64_t>& start,
                const std::vector<std::int64_t>& headroom) {
  for (std::size_t device = 0; device < peaks.size(); ++device)
    if (peaks[device] > std::max(start[device], headroom[device])) return false;
  return true;
}

/// Returns a random limit for each device, on some less than the start holds.
std::vector<std::int64_t> random_headroom(const std::vector<std::int64_t>& peaks) {
  std::vector<std::int64_t> headroom;
  for (const std::int64_t peak : peaks)
    headroom.push_back(peak / 2 + *rc::gen::noShrink(rc::gen::inRange<std::int64_t>(0, peak + 1)));
  return headroom;
}

Order any_start(const Problem& problem, const Lowering& lowering) {
  constexpr std::array constructions{solve_one_at_a_time, solve_greedy, solve_list};
  return order_by(constructions[*rc::gen::noShrink(rc::gen::inRange<std::size_t>(0, constructions.size()))], problem,
                  lowering);
}

std::uint64_t any_seed() { return *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()); }

RC_GTEST_PROP(Chain, StartsWithItsOrderAsItsBest, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  const Order order = order_by(solve_greedy, problem, lowering);
  const Chain chain = chain_from(lowering.graph, order, 1, 2);
  RC_ASSERT(is_consistent(chain, lowering.graph));
  RC_ASSERT(chain.best.devices == order.devices);
  RC_ASSERT(chain.walk.order().devices == order.devices);
}

RC_GTEST_PROP(Shorten, NeverGetsWorseAndStaysWithinCapacity, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  const Order start = any_start(problem, lowering);
  const std::vector<std::int64_t> peaks = peaks_of(lowering.graph, start);
  const std::vector<std::int64_t> headroom = random_headroom(peaks);
  const bool limited = *rc::gen::noShrink(rc::gen::arbitrary<bool>());
  Chain chain = chain_from(lowering.graph, start, any_seed(), 0);
  const std::int64_t before = chain.best_makespan;
  MakespanDescent descent{Cooling(4, 0.5, 3'000), *rc::gen::arbitrary<bool>()};
  shorten(chain, descent, 3'000, none, limited ? headroom : std::vector<std::int64_t>());
  RC_ASSERT(is_consistent(chain, lowering.graph));
  RC_ASSERT(chain.best_makespan <= before);
  RC_ASSERT(chain.best_makespan <= chain.walk.makespan());
  RC_ASSERT(chain.best_makespan >= bounds_of(problem).makespan.count());
  if (!limited) return;
  RC_ASSERT(are_within(peaks_of(lowering.graph, chain.best), peaks, headroom));
  RC_ASSERT(are_within(peaks_of(lowering.graph, chain.walk.order()), peaks, headroom));
}

RC_GTEST_PROP(Shorten, WithAPriceOnlyFittingSchedulesBecomeBest, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  const Order start = any_start(problem, lowering);
  const std::vector<std::int64_t> peaks = peaks_of(lowering.graph, start);
  const std::vector<std::int64_t> headroom = random_headroom(peaks);
  const std::uint64_t seed = any_seed();
  const bool prompt = *rc::gen::arbitrary<bool>();
  const auto run = [&](const std::vector<std::int64_t>& parts) {
    Chain chain = chain_from(lowering.graph, start, seed, 0);
    MakespanDescent descent{Cooling(4, 0.5, 4 * Cooling::iterations_a_step), prompt};
    descent.price = 1e-6;
    descent.price_factor = 2;
    for (const std::int64_t part : parts) shorten(chain, descent, part * Cooling::iterations_a_step, none, headroom);
    return chain;
  };
  const Chain chain = run({4});
  RC_ASSERT(is_consistent(chain, lowering.graph));
  RC_ASSERT(are_same(chain, run({1, 3})));
  if (chain.best.devices == start.devices) return;
  RC_ASSERT(chain.best_makespan < chain_from(lowering.graph, start, 0, 0).best_makespan);
  const std::vector<std::int64_t> nothing(headroom.size(), 0);
  RC_ASSERT(are_within(peaks_of(lowering.graph, chain.best), nothing, headroom));
}

TEST(Shorten, TinyPriceDoesNotLimitTheWalk) {
  const Problem problem = test::problem_of(
      4, {test::chain_model("actor", {0, 1, 2, 3}, 4, 3, 6), test::chain_model("critic", {3, 2, 1, 0}, 4, 2, 4)});
  const Lowering lowering = lower_split(problem);
  const Order start = order_by(solve_one_at_a_time, problem, lowering);
  Chain limited = chain_from(lowering.graph, start, 1, 0);
  Chain free = limited;
  const std::vector<std::int64_t> headroom = peaks_of(lowering.graph, start);
  MakespanDescent descent{Cooling(2, 0.2, 50'000)};
  MakespanDescent cheap = descent;
  cheap.price = 1e-30;
  shorten(free, descent, 50'000, none, {});
  shorten(limited, cheap, 50'000, none, headroom);
  EXPECT_EQ(limited.walk.order().devices, free.walk.order().devices);
  EXPECT_LT(limited.walk.makespan(), limited.best_makespan) << "a schedule that does not fit must not become the best";
}

RC_GTEST_PROP(Shorten, IsDeterministicAlsoInParts, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  const Order start = order_by(solve_one_at_a_time, problem, lowering);
  const std::uint64_t seed = any_seed();
  const bool prompt = *rc::gen::arbitrary<bool>();
  const auto run = [&](const std::vector<std::int64_t>& parts) {
    Chain chain = chain_from(lowering.graph, start, seed, 0);
    MakespanDescent descent{Cooling(2, 0.2, 3 * Cooling::iterations_a_step), prompt};
    for (const std::int64_t part : parts) shorten(chain, descent, part * Cooling::iterations_a_step, none, {});
    return chain;
  };
  RC_ASSERT(are_same(run({3}), run({3})));
  RC_ASSERT(are_same(run({3}), run({1, 2})));
}

RC_GTEST_PROP(Shorten, StopsAtItsTarget, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  const Order start = order_by(solve_one_at_a_time, problem, lowering);
  const std::uint64_t seed = any_seed();
  const auto run = [&](std::int64_t iterations, std::int64_t target) {
    Chain chain = chain_from(lowering.graph, start, seed, 0);
    MakespanDescent descent{Cooling(2, 0.2, 4'096)};
    shorten(chain, descent, iterations, target, {});
    return chain;
  };
  const Chain fresh = chain_from(lowering.graph, start, seed, 0);
  RC_ASSERT(are_same(run(4'096, fresh.best_makespan), fresh));
  const std::int64_t reached = run(4'096, none).best_makespan;
  const Chain stopped = run(4'096, reached);
  RC_ASSERT(stopped.best_makespan == reached);
  RC_ASSERT(are_same(stopped, run(1'000'000'000, reached)));
}

RC_GTEST_PROP(LowerPeak, StaysWithinDeadlineAndCapacity, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  const Order start = any_start(problem, lowering);
  const std::vector<std::int64_t> peaks = peaks_of(lowering.graph, start);
  const std::vector<std::int64_t> headroom = random_headroom(peaks);
  const bool limited = *rc::gen::noShrink(rc::gen::arbitrary<bool>());
  Chain chain = chain_from(lowering.graph, start, any_seed(), 0);
  const std::int64_t before = chain.best_peak;
  const std::int64_t deadline = chain.walk.makespan() + *rc::gen::noShrink(rc::gen::inRange<std::int64_t>(0, 20));
  const std::int64_t step = *rc::gen::noShrink(rc::gen::inRange<std::int64_t>(1, 400'000));
  PeakDescent descent =
      descent_from(chain, Cooling(1e6, 3e4, 6'000), deadline, step, limited ? headroom : std::vector<std::int64_t>());
  RC_ASSERT(descent.cap == before - step);
  for (int part = 0; part < 3; ++part) {
    lower_peak(chain, descent, 2'000, none);
    RC_ASSERT(is_consistent(chain, lowering.graph));
    RC_ASSERT(chain.walk.makespan() <= deadline);
    RC_ASSERT(chain.best_makespan <= deadline);
    RC_ASSERT(chain.best_peak <= before);
    RC_ASSERT(chain.best_peak >= peak_activation_bound(problem).count());
    std::int64_t energy = 0;
    for (std::uint32_t place = 0; place < chain.walk.places(); ++place)
      energy += std::max<std::int64_t>(0, chain.walk.level(static_cast<SwapWalk::Place>(place)) - descent.cap);
    RC_ASSERT(descent.energy == static_cast<double>(energy));
    if (limited) RC_ASSERT(are_within(peaks_of(lowering.graph, chain.walk.order()), peaks, headroom));
  }
}

RC_GTEST_PROP(LowerPeak, IsDeterministicAndStopsAtItsTarget, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  const Order start = order_by(solve_list, problem, lowering);
  const std::uint64_t seed = any_seed();
  const auto run = [&](std::int64_t target) {
    Chain chain = chain_from(lowering.graph, start, seed, 0);
    PeakDescent descent = descent_from(chain, Cooling(1e6, 3e4, 8'192), chain.walk.makespan(), 30'000, {});
    lower_peak(chain, descent, 8'192, target);
    return chain;
  };
  const Chain fresh = chain_from(lowering.graph, start, seed, 0);
  RC_ASSERT(are_same(run(fresh.best_peak), fresh));
  const Chain whole = run(none);
  RC_ASSERT(are_same(whole, run(none)));
  RC_ASSERT(run(whole.best_peak).best_peak == whole.best_peak);
}

TEST(LowerPeak, ReachesOneMicrobatchIfTimeAllows) {
  const Problem problem =
      test::problem_of(3, {test::chain_model("a", {0, 1, 2}, 6, 1, 2), test::chain_model("b", {2, 1, 0}, 4, 2, 2)});
  const Lowering lowering = lower_split(problem);
  Chain chain = chain_from(lowering.graph, order_by(solve_list, problem, lowering), 1, 0);
  ASSERT_GT(chain.best_peak, 1'000'000);
  const std::int64_t one_by_one = std::get<Solution>(solve_one_at_a_time(problem, {})).evaluation.makespan.count();
  PeakDescent descent = descent_from(chain, Cooling(5e5, 2e4, 400'000), one_by_one, 50'000, {});
  lower_peak(chain, descent, 400'000, 1'000'000);
  EXPECT_EQ(chain.best_peak, 1'000'000);
}

RC_GTEST_PROP(Wander, KeepsTheDeadlineAndTheLimit, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  const Order start = order_by(solve_list, problem, lowering);
  const std::vector<std::int64_t> peaks = peaks_of(lowering.graph, start);
  const std::vector<std::int64_t> limit = random_headroom(peaks);
  const std::uint64_t seed = any_seed();
  Chain chain = chain_from(lowering.graph, start, seed, 0);
  const std::int64_t deadline = chain.walk.makespan() + *rc::gen::noShrink(rc::gen::inRange<std::int64_t>(0, 5));
  for (int part = 0; part < 5; ++part) {
    wander(chain, 200, deadline, limit);
    RC_ASSERT(is_consistent(chain, lowering.graph));
    RC_ASSERT(chain.walk.makespan() <= deadline);
    RC_ASSERT(are_within(peaks_of(lowering.graph, chain.walk.order()), peaks, limit));
    RC_ASSERT(chain.best.devices == start.devices);
  }
  Chain again = chain_from(lowering.graph, start, seed, 0);
  wander(again, 1'000, deadline, limit);
  RC_ASSERT(are_same(chain, again));
}

TEST(Wander, MovesAwayFromTheStart) {
  const Problem problem =
      test::problem_of(2, {test::chain_model("a", {0, 1}, 4, 1, 2), test::chain_model("b", {1, 0}, 4, 1, 2)});
  const Lowering lowering = lower_split(problem);
  Chain chain = chain_from(lowering.graph, order_by(solve_greedy, problem, lowering), 1, 0);
  wander(chain, 1'000, 2 * chain.walk.makespan(), {100'000'000, 100'000'000});
  EXPECT_NE(chain.walk.order().devices, chain.best.devices);
}

TEST(Record, StoresTheStateOfTheWalk) {
  const Problem problem =
      test::problem_of(2, {test::chain_model("a", {0, 1}, 4, 1, 2), test::chain_model("b", {1, 0}, 4, 1, 2)});
  const Lowering lowering = lower_split(problem);
  Chain chain = chain_from(lowering.graph, order_by(solve_greedy, problem, lowering), 1, 0);
  wander(chain, 1'000, 2 * chain.walk.makespan(), {100'000'000, 100'000'000});
  record(chain);
  EXPECT_EQ(chain.best.devices, chain.walk.order().devices);
  EXPECT_TRUE(is_consistent(chain, lowering.graph));
}

/// Activations as large as a problem may have: sums over the ops of a device must not exceed 64 bits.
TEST(LowerPeak, SumsOfTheLargestActivationsAreExact) {
  std::vector<int> devices(24);
  for (std::size_t device = 0; device < devices.size(); ++device) devices[device] = static_cast<int>(device);
  std::vector<pipeline::Model> models{test::chain_model("a", devices, 48, 1, 2)};
  std::reverse(devices.begin(), devices.end());
  models.push_back(test::chain_model("b", devices, 48, 1, 2));
  for (pipeline::Model& model : models) model.activation.assign(devices.size(), base::Memory(pipeline::max_sum / 96));
  const Problem problem = test::problem_of(24, models);
  ASSERT_FALSE(pipeline::find_fault(problem));
  const Lowering lowering = lower_split(problem);
  Chain chain = chain_from(lowering.graph, order_by(solve_gpipe, problem, lowering), 1, 0);
  const std::int64_t before = chain.best_peak;
  const double held = static_cast<double>(pipeline::max_sum) / 96;
  PeakDescent descent = descent_from(chain, Cooling(0.3 * held, 0.015 * held, 500'000), 2 * chain.walk.makespan(),
                                     static_cast<std::int64_t>(0.035 * held), {});
  lower_peak(chain, descent, 500'000, none);
  EXPECT_TRUE(is_consistent(chain, lowering.graph));
  EXPECT_LT(chain.best_peak, before);
  EXPECT_GE(descent.energy, 0);
}

}  // namespace
}  // namespace dovetail::fuse
