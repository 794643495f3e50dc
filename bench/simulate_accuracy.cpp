// Compares the analytical model of the plan search with the simulator: on random plans, on the choice of the best plan,
// and on the time of a simulation.
//
// Jobs are PPO and GRPO of bundled models on 1 to 8 nodes, with random lengths. A random plan gives each task any mesh
// and choice of the search space. The best plan of a job is chosen from those that a short search ranks first. If the
// simulator prefers another plan by at most two standard errors of the mean difference on the same draws, it cannot
// distinguish the two. Such jobs are counted separately.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/stopwatch.h"
#include "plan/job_file.h"
#include "planner/rank/rank.h"
#include "planner/space/search_space.h"
#include "predict/simulated/simulation.h"
#include "report/text/table.h"
#include "tables.h"

namespace {

using namespace dovetail;

constexpr double mean_to_reach = 0.05;
constexpr double same_best_to_reach = 0.9;

int draw(const std::vector<int>& values, base::Random& random) {
  return values[random.below(static_cast<std::uint32_t>(values.size()))];
}

/// A job with its scenario.
struct Case {
  explicit Case(plan::Job of)
      : job(std::move(of)), scenario(predict::scenario_of(job, predict::software_of(job).value())) {}
  Case(const Case&) = delete;

  plan::Job job;
  predict::Scenario scenario;
};

plan::Job draw_job(std::uint64_t number) {
  base::Random random(number, 0);
  const bool ppo = random.below(3) > 0;
  const std::vector<std::string> models{"llama-2-7b", "llama-2-13b", "qwen3-4b", "llama-3-8b"};
  const std::string& actor = models[random.below(4)];
  const std::string& reward = models[random.below(4)];
  const std::string text = fmt::format(
      "format: dovetail/job@1\nalgorithm: {}\nmodels: {{actor: {}{}}}\n"
      "workload: {{prompts: {}, samples_per_prompt: {}, mini_batches: {}, prompt_length: {}, response_length: {{p50: "
      "{}, sigma: 0.{}, cap: "
      "{}}}}}\ncluster: {{nodes: {}, gpus_per_node: 8, gpu: {}}}\n",
      ppo ? "ppo" : "{name: grpo, reward: rule}", actor, ppo ? ", reward: " + reward : "",
      draw({128, 256, 512}, random), ppo ? 1 : draw({4, 8}, random), draw({1, 4, 8}, random), draw({128, 512}, random),
      draw({256, 512}, random), draw({2, 5, 8}, random), draw({1024, 2048, 4096}, random), draw({1, 2, 4, 8}, random),
      random.below(2) == 0 ? "H100" : "A100-80");
  return plan::parse_job(text, "drawn.yaml").value();
}

/// Returns a plan with a random mesh and choice for each task, or nullopt if a task has none.
plan::Plan random_plan(const planner::SearchSpace& space, base::Random& random) {
  planner::Selection selection(space.open.size());
  for (std::size_t task = 0; task < selection.size(); ++task) {
    if (space.is_rule(task)) continue;
    const std::vector<std::int32_t>& open = space.open[task];
    selection[task].mesh = open[random.below(static_cast<std::uint32_t>(open.size()))];
    const std::size_t shape = space.shapes[static_cast<std::size_t>(selection[task].mesh)];
    selection[task].choice =
        static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(space.choices[task][shape].size())));
  }
  return planner::plan_of(space, selection, "random");
}

struct Difference {
  double sum = 0;
  double most = 0;
  int plans = 0;

  void add(const predict::Simulation& simulation) {
    const double off = std::abs(simulation.closed.iteration_seconds / simulation.iteration_seconds - 1);
    sum += off;
    most = std::max(most, off);
    ++plans;
  }
  double mean() const { return plans > 0 ? sum / plans : 0; }
};

planner::Ranking ranked(const Case& of, int iterations) {
  planner::RankOptions options;
  options.search.chains = 2;
  options.search.iterations = iterations;
  return planner::rank_plans(of.scenario, options).value();
}

/// Returns the wall time of simulating a plan of `job`.
double seconds_to_simulate(const std::string& text) {
  const Case of(plan::parse_job(text, "large.yaml").value());
  planner::RankOptions options;
  options.placements = {planner::Placement::co_located};
  const planner::Ranking ranking = planner::rank_plans(of.scenario, options).value();
  if (ranking.plans.empty()) return -1;
  const auto begin = std::chrono::steady_clock::now();
  predict::Simulator simulator(of.scenario, {});
  const auto simulation = simulator.simulate(ranking.plans.front().plan);
  return simulation.ok() ? base::seconds_since(begin) : -1;
}

std::string large_job(int samples, int length, int nodes) {
  return fmt::format(
      "format: dovetail/job@1\nalgorithm: ppo\nmodels: {{actor: llama-2-70b, reward: llama-2-7b}}\n"
      "workload: {{prompts: {}, mini_batches: 8, prompt_length: 256, response_length: {{p50: {}, sigma: 0.8, cap: "
      "{}}}}}\n"
      "cluster: {{nodes: {}, gpus_per_node: 8, gpu: H100}}\n",
      samples, length / 4, length, nodes);
}

/// Totals over all jobs.
struct Sums {
  Difference random;
  Difference ranked;
  int same_best = 0;
  int undecided = 0;  // jobs for which the simulator cannot distinguish the analytical model's best plan from its own
  int same_five = 0;
  std::vector<std::vector<std::string>>
      other_best;  // a row of cells for each job with another best plan in the simulator
};

/// A simulated ranked plan, with its position in the analytical order.
struct SimulatedPlan {
  double simulated = 0;
  std::size_t place = 0;
  double closed = 0;
  std::vector<double> draws;
};

/// How much slower one plan is than another on the same draws.
struct MeanDifference {
  double mean = 0;
  double standard_error = 0;

  bool is_decided() const { return mean > 2 * standard_error; }
};

/// A single draw has no standard error, so the difference itself is used.
MeanDifference difference_of(const SimulatedPlan& slower, const SimulatedPlan& faster) {
  const auto count = static_cast<double>(slower.draws.size());
  MeanDifference difference;
  for (std::size_t draw = 0; draw < slower.draws.size(); ++draw)
    difference.mean += (slower.draws[draw] - faster.draws[draw]) / count;
  double squares = 0;
  for (std::size_t draw = 0; draw < slower.draws.size(); ++draw)
    squares += std::pow(slower.draws[draw] - faster.draws[draw] - difference.mean, 2);
  if (count > 1) difference.standard_error = std::sqrt(squares / (count - 1) / count);
  return difference;
}

/// Returns the simulated plan that the analytical model ranks first.
const SimulatedPlan& ranked_first(const std::vector<SimulatedPlan>& order) {
  return *std::min_element(order.begin(), order.end(),
                           [](const SimulatedPlan& a, const SimulatedPlan& b) { return a.place < b.place; });
}

/// REQUIRES: `order` is by simulated seconds, and its first plan is not the analytical model's first.
std::vector<std::string> other_best_cells(std::uint64_t number, const std::vector<SimulatedPlan>& order) {
  const SimulatedPlan& best = order.front();
  const SimulatedPlan& first = ranked_first(order);
  const MeanDifference difference = difference_of(first, best);
  const auto cost = [](double seconds, double least) { return fmt::format("{:.2f}%", 100 * (seconds / least - 1)); };
  return {fmt::format("{}", number),
          fmt::format("{:.3f}", first.closed),
          fmt::format("{:.3f}", first.simulated),
          fmt::format("{}", best.place + 1),
          fmt::format("{:.3f}", best.closed),
          fmt::format("{:.3f}", best.simulated),
          cost(best.closed, first.closed),
          cost(first.simulated, best.simulated),
          fmt::format("{:.3f}", difference.standard_error),
          difference.is_decided() ? "yes" : "no"};
}

/// Compares the order of the ranked plans with their simulated order.
void add_ranking(std::uint64_t number, const planner::Ranking& ranking, predict::Simulator& simulator, Sums& sums) {
  std::vector<SimulatedPlan> order;
  for (std::size_t index = 0; index < ranking.plans.size(); ++index)
    if (const auto simulation = simulator.simulate(ranking.plans[index].plan); simulation.ok()) {
      sums.ranked.add(*simulation);
      order.push_back({simulation->iteration_seconds, index, simulation->closed.iteration_seconds, simulation->draws});
    }
  if (order.empty()) return;
  std::sort(order.begin(), order.end(), [](const SimulatedPlan& a, const SimulatedPlan& b) {
    return std::pair(a.simulated, a.place) < std::pair(b.simulated, b.place);
  });
  const bool is_same = order.front().place == ranked_first(order).place;
  sums.same_best += is_same ? 1 : 0;
  sums.undecided += !is_same && !difference_of(ranked_first(order), order.front()).is_decided() ? 1 : 0;
  if (!is_same) sums.other_best.push_back(other_best_cells(number, order));
  const std::size_t first = std::min<std::size_t>(5, order.size());
  const auto in_front = [first](const SimulatedPlan& plan) { return plan.place < first; };
  if (std::all_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(first), in_front)) ++sums.same_five;
}

void add_job(std::uint64_t number, int plans, int iterations, int draws, Sums& sums) {
  const Case of(draw_job(number));
  const planner::SearchSpace space = planner::make_search_space(of.scenario, planner::search_meshes(of.job), {}, 1);
  if (planner::impossible_task(space)) return;
  predict::SimulationOptions options;
  options.draws = draws;
  predict::Simulator simulator(of.scenario, options);
  base::Random random(number, 1);
  for (int index = 0; index < plans; ++index)
    if (const auto simulation = simulator.simulate(random_plan(space, random)); simulation.ok())
      sums.random.add(*simulation);
  add_ranking(number, ranked(of, iterations), simulator, sums);
}

std::string row(const char* what, const Difference& difference) {
  return fmt::format("{:40} {:4} plans: mean {:.2f}%, largest {:.2f}%\n", what, difference.plans,
                     100 * difference.mean(), 100 * difference.most);
}

void print_other_best(const Sums& sums) {
  if (sums.other_best.empty()) return;
  const std::vector<report::Column> columns = {
      {"job"},       {"ranked first: analytical"}, {"simulated"},        {"fastest simulated: place"}, {"analytical"},
      {"simulated"}, {"analytically slower"},      {"simulated faster"}, {"standard error, s"},        {"decided"}};
  fmt::print("another best plan in the simulator:\n{}", report::render_table(columns, sums.other_best));
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments program("Compares the analytical model of the plan search with the simulator.");
  int jobs = 10;
  int plans = 20;
  int iterations = 20'000;
  int draws = 8;
  bool no_large = false;
  program.number("--jobs", jobs, "number of random jobs");
  program.number("--plans", plans, "random plans per job");
  program.number("--iterations", iterations, "iterations per chain of the search for each job's best plan");
  program.number("--draws", draws, "draws of lengths per plan, whose mean is compared", 1);
  program.flag("--no-large", no_large, "skip the times of the large jobs");
  if (const auto code = program.parse(argc, argv)) return *code;
  bench::print_heading(argc, argv);

  Sums sums;
  for (int number = 0; number < jobs; ++number) {
    bench::note(fmt::format("job {} of {}", number + 1, jobs));
    add_job(static_cast<std::uint64_t>(number), plans, iterations, draws, sums);
  }
  fmt::print("|analytical / simulated - 1| of iterations (mean at most 5%, target 3%)\n");
  fmt::print("{}{}", row("random plans", sums.random), row("plans ranked first by a search", sums.ranked));
  fmt::print("same best plan in {} of {} jobs; in {} more, the draws cannot distinguish the two (required: 9 of 10)\n",
             sums.same_best, jobs, sums.undecided);
  fmt::print("same top five in {} (target)\n", sums.same_five);
  print_other_best(sums);
  int met = (sums.random.mean() <= mean_to_reach ? 1 : 0) +
            (sums.same_best + sums.undecided >= same_best_to_reach * jobs ? 1 : 0);
  int all = 2;
  if (!no_large) {
    const double small = seconds_to_simulate(large_job(512, 1024, 32));
    const double most = seconds_to_simulate(large_job(4096, 32'768, 128));
    fmt::print("simulating 512 samples of up to 1024 tokens on 256 GPUs: {:.3f} s (limit 1 s, target 0.1 s)\n", small);
    fmt::print("simulating 4096 samples of up to 32768 tokens on 1024 GPUs: {:.2f} s (limit 60 s, target 10 s)\n",
               most);
    met += (small >= 0 && small <= 1 ? 1 : 0) + (most >= 0 && most <= 60 ? 1 : 0);
    all += 2;
  }
  return bench::print_met(met, all);
}
