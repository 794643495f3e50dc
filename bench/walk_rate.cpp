// Measures how fast the local search decides swaps, compared with the annealing baseline's evaluations in the same run.
//
// Counts tested neighbors per second and core: uniformly random adjacent unlike pairs, each decided exactly, over one
// whole cooling of the published schedule. A decision covers whether Metropolis accepts the swap's new makespan and
// whether the swap creates a cycle. Accepted swaps are applied. Runs on one thread. A swap that both is rejected for
// its makespan and creates a cycle counts under the reason found first.
#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <ctime>

#include "base/random.h"
#include "base/stopwatch.h"
#include "fuse/annealing/annealing.h"
#include "fuse/annealing/cooling.h"
#include "fuse/constructions/constructions.h"
#include "fuse/search/makespan_walk.h"
#include "fuse/search/search.h"
#include "fuse/search/swap_walk.h"
#include "report/text/table.h"
#include "tables.h"

namespace {

using namespace dovetail;

constexpr double must_reach = 5e6;
constexpr double aim = 20e6;

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Rate {
  std::int64_t tested = 0;
  std::int64_t cycles = 0;
  std::int64_t accepted = 0;
  std::int64_t least = 0;  ///< makespan
  double processor_seconds = 0;
  double wall_seconds = 0;

  double per_second() const { return static_cast<double>(tested) / processor_seconds; }
};

/// Calls `work` and adds its time.
template <class Work>
Rate timed(const Work& work) {
  Rate rate;
  const auto begin = std::chrono::steady_clock::now();
  const double processor_begin = processor_seconds();
  work(rate);
  rate.processor_seconds = processor_seconds() - processor_begin;
  rate.wall_seconds = base::seconds_since(begin);
  return rate;
}

/// Runs one cooling from the greedy schedule. An iteration draws until the two ops of the pair differ; only those pairs
/// count.
void cool(fuse::SwapWalk& walk, const fuse::AnnealingPass& pass, std::uint64_t seed, Rate& rate) {
  const fuse::MetropolisTable& table = fuse::metropolis_table();
  fuse::MakespanWalk steps(walk, false);
  base::Random random(seed, 0);
  double temperature = pass.start_temperature;
  rate.least = walk.makespan();
  while (rate.tested < pass.iterations) {
    const std::uint64_t bits = random.next();
    const fuse::SwapWalk::Place first = walk.draw(bits);
    if (!walk.can_swap(first)) continue;
    ++rate.tested;
    temperature *= pass.cooling;
    const auto outcome = steps.step(first, temperature * table[bits]);
    rate.cycles += outcome == fuse::MakespanWalk::Outcome::cycle ? 1 : 0;
    rate.accepted += outcome == fuse::MakespanWalk::Outcome::made ? 1 : 0;
    rate.least = std::min(rate.least, walk.makespan());
  }
}

/// Runs the baseline over the first iterations of the same cooling. It evaluates the whole schedule each time, at any
/// temperature.
void evaluate_whole(const pipeline::Problem& problem, const pipeline::Lowering& lowering, const pipeline::Order& order,
                    const fuse::AnnealingPass& pass, std::int64_t iterations, Rate& rate) {
  fuse::AnnealingState state(problem, lowering, order);
  base::Random random(1, 0);
  double temperature = pass.start_temperature;
  rate.least = state.metric().makespan.count();
  for (; rate.tested < iterations; ++rate.tested, temperature *= pass.cooling) {
    const fuse::AnnealingMetric before = state.metric();
    if (!state.disturb(random, pass.move)) {
      ++rate.cycles;
      continue;
    }
    const fuse::AnnealingMetric& after = state.metric();
    const auto loss = static_cast<double>((after.makespan - before.makespan).count());
    if (!(after < before) && loss > temperature * random.negative_log_unit()) {
      state.undo();
      continue;
    }
    ++rate.accepted;
    rate.least = std::min(rate.least, after.makespan.count());
  }
}

std::vector<std::string> row(const std::string& name, const Rate& rate) {
  const auto share = [&](std::int64_t count) {
    return fmt::format("{:.1f}%", 100.0 * static_cast<double>(count) / static_cast<double>(rate.tested));
  };
  return {name,
          fmt::format("{}", rate.tested),
          fmt::format("{:.0f}", rate.per_second()),
          fmt::format("{:.0f}", static_cast<double>(rate.tested) / rate.wall_seconds),
          fmt::format("{}", rate.accepted),
          share(rate.accepted),
          share(rate.cycles),
          fmt::format("{}", rate.least)};
}

int print_rates(const pipeline::Instance& instance, const fuse::AnnealingParameters& parameters, std::int64_t most) {
  const pipeline::Problem& problem = instance.problem;
  const pipeline::Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::whole);
  const auto greedy = std::get<fuse::Solution>(fuse::solve_greedy(problem, {}));
  fuse::AnnealingPass pass = parameters.latency;
  if (most > 0) pass.iterations = std::min(pass.iterations, most);
  fuse::SwapWalk walk(lowering.graph, fuse::search_order(lowering, greedy));
  const Rate fast = timed([&](Rate& rate) { cool(walk, pass, 1, rate); });
  DOVETAIL_ASSERT(pipeline::evaluate(lowering.graph, walk.order())->makespan.count() == walk.makespan());
  const std::int64_t iterations = std::max<std::int64_t>(100, pass.iterations / 200);
  const Rate slow = timed([&](Rate& rate) { evaluate_whole(problem, lowering, greedy.order, pass, iterations, rate); });
  fmt::print(
      "{}: one cooling of {} iterations from {:g} ticks, one thread; per second of processor time and of wall "
      "time\n{}\n",
      instance.name, pass.iterations, pass.start_temperature,
      report::render_table({{"", report::Align::left},
                            {"tested"},
                            {"per second"},
                            {"wall time"},
                            {"made"},
                            {""},
                            {"cycles"},
                            {"min makespan"}},
                           {row("swaps", fast), row("annealing baseline", slow)}));
  fmt::print("swaps over baseline: {:.0f}; 5 million per second: {}; 20 million (target): {}\n",
             fast.per_second() / slow.per_second(), bench::yes_or_no(fast.per_second() >= must_reach),
             bench::yes_or_no(fast.per_second() >= aim));
  return bench::print_met(fast.per_second() >= must_reach ? 1 : 0, 1);
}

}  // namespace

int main(int argc, char** argv) {
  std::string name = "exp9";
  std::int64_t most = 0;
  bench::Arguments program(
      "Measures tested neighbors per second and core over one cooling of the published schedule, compared with "
      "annealing.");
  program.number("--iterations", most, "number of iterations after which the cooling ends", 1);
  program.text("instance", name, "exp0 to exp11");
  if (const auto code = program.parse(argc, argv)) return *code;
  const auto instances = bench::find_instances({name});
  if (!instances) return 2;
  const auto parameters = fuse::published_parameters(instances->front()->problem);
  if (!parameters) {
    fmt::print(stderr, "no published cooling for '{}'; accepted: exp0 to exp11\n", name);
    return 2;
  }
  bench::print_heading(argc, argv);
  return print_rates(*instances->front(), *parameters, most);
}
