// Compares the search over plans with ReaL's in the same run: quality and speed.
//
// The jobs are PPO on clusters of A100 with nodes of eight. The best known plan is the fastest found by any run here,
// including the long one. ReaL's Markov chain (with correct units) searches the same space, once with as many
// evaluations as ours and once with ten times as many.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/random.h"
#include "base/stopwatch.h"
#include "parallel/for_each_index.h"
#include "plan/job_file.h"
#include "planner/bound/bound.h"
#include "planner/rank/rank.h"
#include "planner/search/search.h"
#include "report/text/table.h"
#include "tables.h"

namespace {

using namespace dovetail;

struct Case {
  const char* name;
  const char* actor;
  const char* reward;
  int nodes;
  int prompts;
  double must_take;  ///< maximum seconds
  double aim;        ///< target seconds; 0: none
};

constexpr Case cases[] = {
    {"8 x 8, 70B and 7B", "llama-2-70b", "llama-2-7b", 8, 512, 5, 0},
    {"8 x 8, 13B and 13B", "llama-2-13b", "llama-2-13b", 8, 512, 5, 0},
    {"8 x 8, 7B and 34B", "llama-2-7b", "codellama-34b", 8, 512, 5, 0},
    {"128 x 8, 70B and 7B", "llama-2-70b", "llama-2-7b", 128, 4096, 60, 20},
    {"128 x 8, 70B and 70B", "llama-2-70b", "llama-2-70b", 128, 4096, 60, 20},
};

plan::Job job_of(const Case& one) {
  const std::string text = fmt::format(
      "format: dovetail/job@1\nname: search\nalgorithm: ppo\nmodels: {{actor: {}, reward: {}}}\n"
      "workload: {{prompts: {}, mini_batches: 4, prompt_length: 128, response_length: {{p50: 200, p90: 600, cap: "
      "1024}}}}\n"
      "cluster: {{nodes: {}, gpus_per_node: 8, gpu: A100-80, host_memory: 1TB, network: {{bandwidth: 200Gb/s}}}}\n",
      one.actor, one.reward, one.prompts, one.nodes);
  return plan::parse_job(text, "search.yaml").value();
}

double seconds_of(const std::vector<planner::Found>& found) {
  return found.empty() ? 0 : base::seconds_of_ticks(found.front().score.period);
}

/// Returns how many random plans one thread evaluates per second.
double evaluation_rate(const planner::SearchSpace& space, int evaluations) {
  base::Random random(1, 0);
  planner::Trial trial(space);
  planner::Selection selection(space.choices.size());
  for (std::size_t task = 0; task < selection.size(); ++task)
    if (!space.is_rule(task)) selection[task] = {space.open[task].front(), 0};
  const auto begin = std::chrono::steady_clock::now();
  for (int evaluation = 0; evaluation < evaluations; ++evaluation) {
    const std::size_t task = random.below(static_cast<std::uint32_t>(selection.size()));
    if (space.is_rule(task)) continue;
    const auto& open = space.open[task];
    selection[task].mesh = open[random.below(static_cast<std::uint32_t>(open.size()))];
    const auto& choices = space.choices[task][space.shapes[static_cast<std::size_t>(selection[task].mesh)]];
    selection[task].choice = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(choices.size())));
    trial.score(selection);
  }
  return evaluations / base::seconds_since(begin);
}

/// Returns how many random co-located plans with all possible fusion one thread evaluates per second: the worst case of
/// a search.
double fused_rate(const planner::SearchSpace& space, const planner::Selection& start, int evaluations) {
  base::Random random(1, 0);
  planner::Trial trial(space);
  planner::Selection selection = start;
  const planner::FusionSelection fusion = planner::open_fusion(space.scenario->job);
  const auto begin = std::chrono::steady_clock::now();
  for (int evaluation = 0; evaluation < evaluations; ++evaluation) {
    const std::size_t task = random.below(static_cast<std::uint32_t>(selection.size()));
    if (space.is_rule(task)) continue;
    const auto& choices = space.choices[task][space.shapes[static_cast<std::size_t>(selection[task].mesh)]];
    selection[task].choice = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(choices.size())));
    trial.score(selection, fusion);
  }
  return evaluations / base::seconds_since(begin);
}

struct Row {
  std::vector<std::string> cells;
  bool met = false;
};

struct Options {
  int threads = 2;
  int long_factor = 10;
  std::int64_t iterations = planner::SearchOptions::default_iterations;
  std::size_t count = std::size(cases);
};

Row measure(const Case& one, const Options& given) {
  const plan::Job job = job_of(one);
  const predict::Software software = predict::software_of(job).value();
  const predict::Scenario scenario = predict::scenario_of(job, software);
  const auto begin = std::chrono::steady_clock::now();
  planner::RankOptions options;
  options.search.threads = given.threads;
  options.search.iterations = given.iterations;
  const planner::Ranking ranking = planner::rank_plans(scenario, options).value();
  const double took = base::seconds_since(begin);
  const planner::SearchSpace space =
      planner::make_search_space(scenario, planner::search_meshes(job), {}, given.threads);
  std::vector<planner::Selection> starts;
  for (const planner::Placement placement : planner::named_placements)
    for (const planner::Selection& selection : planner::selection_of(space, placement)) starts.push_back(selection);
  const double ours = seconds_of(planner::search(space, starts, options.search).found);
  planner::SearchOptions longer = options.search;
  longer.iterations = given.iterations * given.long_factor;
  longer.seed = 2;
  longer.threads = 1;
  const std::int64_t evaluations = options.search.chains * given.iterations;
  double others[3];  // ReaL's, ReaL's with ten times the evaluations, ours with more evaluations
  parallel::for_each_index(3, given.threads, [&](int other) {
    others[other] = other == 2
                        ? seconds_of(planner::search(space, starts, longer).found)
                        : seconds_of(planner::real_search(space, {.evaluations = (other == 0 ? 1 : 10) * evaluations}));
  });
  const auto [real, real_longer, ours_longer] = others;
  const double best = std::min({ours, ours_longer, real > 0 ? real : ours, real_longer > 0 ? real_longer : ours});
  const double rate = evaluation_rate(space, static_cast<int>(std::min<std::int64_t>(200'000, evaluations)));
  const double fused = fused_rate(space, planner::selection_of(space, planner::Placement::co_located).front(),
                                  static_cast<int>(std::min<std::int64_t>(200'000, evaluations)));
  double choices = 1;
  for (std::size_t task = 0; task < space.choices.size(); ++task) {
    double of_task = 0;
    for (const std::int32_t mesh : space.open[task])
      of_task += static_cast<double>(space.choices[task][space.shapes[static_cast<std::size_t>(mesh)]].size());
    choices *= std::max(1.0, of_task);
  }
  const bool met =
      took <= one.must_take && ours <= 1.02 * best && (real_longer == 0 || ours < real_longer) && rate >= 1e5;
  const auto text = [](double seconds) { return seconds > 0 ? fmt::format("{:.3f}", seconds) : std::string("none"); };
  return {{one.name, fmt::format("{:.0e}", choices), fmt::format("{:.2f}", took), text(ours), text(best),
           fmt::format("{:.2f}%", 100 * (ours / best - 1)), text(real), text(real_longer),
           fmt::format("{:.1f}%", 100 * (ours / planner::period_bound(space) - 1)), fmt::format("{:.0f}", rate),
           fmt::format("{:.0f}", fused),
           ranking.plans.empty() ? "none" : fmt::format("{:.3f}", ranking.plans.front().estimate.iteration_seconds),
           met ? "yes" : "NO"},
          met};
}

int print_all(const Options& options) {
  std::vector<std::vector<std::string>> rows;
  int met = 0;
  for (std::size_t index = 0; index < options.count; ++index) {
    const Row row = measure(cases[index], options);
    rows.push_back(row.cells);
    met += row.met ? 1 : 0;
  }
  fmt::print(
      "Periods are seconds, without fusion; rates are evaluations per second on one thread, `fused` for plans with all "
      "possible fusion; `took`: time of dovetail plan, without simulation of the finalists and output; `iteration`: "
      "seconds of its best plan, with any fusion\n");
  std::fputs(report::render_table({{"cluster, actor and critic", report::Align::left},
                                   {"plans"},
                                   {"took s"},
                                   {"ours"},
                                   {"best known"},
                                   {"above"},
                                   {"ReaL's"},
                                   {"x10"},
                                   {"over bound"},
                                   {"rate"},
                                   {"fused"},
                                   {"iteration"},
                                   {"met", report::Align::left}},
                                  rows)
                 .c_str(),
             stdout);
  return bench::print_met(met, static_cast<int>(options.count));
}

}  // namespace

int main(int count, char** arguments) {
  bench::Arguments program("Compares the search over plans with ReaL's.");
  Options options;
  program.number("--threads", options.threads, "threads of the search");
  program.number("--iterations", options.iterations, "iterations of each chain");
  program.number("--long", options.long_factor, "factor of iterations of the long run");
  program.number("--cases", options.count, "number of cases to run, from the first", 1, std::size(cases));
  if (const auto code = program.parse(count, arguments)) return *code;
  bench::print_heading(count, arguments);
  return print_all(options);
}
