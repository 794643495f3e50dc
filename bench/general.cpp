// Compares the search on the bundled problems of examples/general with the best construction, with the pattern that it
// starts from, and, if applicable, with the annealing baseline in the same time. A row is met if the search is never
// worse and strictly better than any result that is not proven optimal. For several mini-batches, also compares fusing
// all of them with fusing each alone.
#include <fmt/core.h>

#include <algorithm>

#include "fuse/portfolio.h"
#include "report/text/table.h"
#include "tables.h"

namespace {

using namespace dovetail;

struct Options {
  double seconds = 10;
  int threads = 2;
  std::vector<std::string> names;
};

fuse::SolveOptions search_options(const Options& options) {
  fuse::SolveOptions solve;
  solve.threads = options.threads;
  solve.time_limit_seconds = options.seconds;
  return solve;
}

/// Whether our run is at least as good as `other`, and better unless `other` is proven optimal.
bool is_met(const bench::Run& ours, const std::optional<bench::Run>& other, const fuse::SolveOptions& solve) {
  if (!other || fuse::is_better(ours.solution, other->solution, solve)) return true;
  if (fuse::is_better(other->solution, ours.solution, solve)) return false;
  return ours.claims.optimal_makespan.value_or(false) && ours.claims.optimal_peak_activation.value_or(false);
}

struct Row {
  bool met = false;
  std::vector<std::string> cells;
};

Row run_row(const pipeline::Instance& instance, const bench::Run& ours, const fuse::SolveOptions& solve) {
  const bench::Run construction = bench::run_best_construction(instance.problem, solve);
  const auto pattern = bench::run("pattern", instance.problem, solve);
  const auto annealing = bench::run_annealing_after(ours.seconds, instance.problem, solve);
  const bool met = is_met(ours, construction, solve) && is_met(ours, pattern, solve) && is_met(ours, annealing, solve);
  return {met,
          {instance.name,
           base::format_time(ours.claims.bound_makespan.value_or(base::Ticks(0)), instance.problem.time_unit),
           bench::makespan_text(ours), bench::peak_text(ours),
           ours.claims.bound_peak_activation ? base::format_memory(*ours.claims.bound_peak_activation) : "-",
           bench::optimal_text(ours), bench::seconds_text(ours.seconds), construction.solution.solver.name,
           bench::makespan_text(construction), bench::peak_text(construction), bench::ratio_text(construction, ours),
           bench::makespan_text(pattern), bench::peak_text(pattern), bench::makespan_text(annealing),
           bench::peak_text(annealing), bench::ratio_text(annealing, ours), bench::yes_or_no(met)}};
}

std::vector<std::string> row_of_gain(const pipeline::Instance& instance, const bench::Run& ours,
                                     const fuse::SolveOptions& solve) {
  const int rounds = fuse::count_minibatches(instance.problem);
  base::Ticks sum;
  std::optional<pipeline::Problem> last;
  std::optional<bench::Run> alone;
  for (int round = 0; round < rounds; ++round) {
    pipeline::Problem problem = fuse::only_minibatch(instance.problem, round);
    if (!last || *last != problem) alone = bench::run_search(problem, solve);
    sum += alone->solution.evaluation.makespan;
    last = std::move(problem);
  }
  const auto whole = static_cast<double>(ours.solution.evaluation.makespan.count());
  return {instance.name, fmt::format("{}", rounds), base::format_time(sum, instance.problem.time_unit),
          bench::makespan_text(ours), fmt::format("{:.1f}%", 100 * (static_cast<double>(sum.count()) / whole - 1))};
}

const std::vector<report::Column> columns{{"problem", report::Align::left},
                                          {"bound"},
                                          {"makespan"},
                                          {"peak"},
                                          {"peak bound"},
                                          {"optimal", report::Align::left},
                                          {"seconds"},
                                          {"construction", report::Align::left},
                                          {"makespan"},
                                          {"peak"},
                                          {"ratio"},
                                          {"pattern"},
                                          {"peak"},
                                          {"annealing"},
                                          {"peak"},
                                          {"ratio"},
                                          {"met"}};

int print_tables(const std::vector<const pipeline::Instance*>& instances, const Options& options) {
  const fuse::SolveOptions solve = search_options(options);
  std::vector<std::vector<std::string>> rows;
  std::vector<std::vector<std::string>> gains;
  int met = 0;
  for (const pipeline::Instance* instance : instances) {
    const bench::Run ours = bench::run_search(instance->problem, solve);
    const Row row = run_row(*instance, ours, solve);
    rows.push_back(row.cells);
    met += row.met ? 1 : 0;
    bench::note(fmt::format("{}: {}, {} in {} s, met: {}", instance->name, bench::makespan_text(ours),
                            bench::peak_text(ours), bench::seconds_text(ours.seconds), bench::yes_or_no(row.met)));
    if (instance->group == pipeline::InstanceGroup::minibatches) gains.push_back(row_of_gain(*instance, ours, solve));
  }
  fmt::print(
      "{} threads, at most {:g} s each; ratios are makespans over the search's; *: exceeds the capacity; annealing in "
      "the\nsame time, if applicable (no transfers, splits, steps, several stages of a pipeline on a device):\n{}\n",
      options.threads, options.seconds, report::render_table(columns, rows));
  if (!gains.empty())
    fmt::print(
        "All mini-batches in one schedule, compared with each fused separately, in sequence:\n{}\n",
        report::render_table(
            {{"problem", report::Align::left}, {"mini-batches"}, {"each separately"}, {"together"}, {"gain"}}, gains));
  return bench::print_met(met, static_cast<int>(rows.size()));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Arguments program(
      "Compares the search with constructions and the annealing baseline on the bundled general problems.");
  bench::add_search_options(program, options.seconds, options.threads);
  program.texts("instances", options.names, "bundled instances (default: all of examples/general)");
  if (const auto code = program.parse(argc, argv)) return *code;
  if (options.names.empty())
    for (const pipeline::Instance& instance : pipeline::instances())
      if (instance.group >= pipeline::InstanceGroup::three_models) options.names.push_back(instance.name);
  const auto instances = bench::find_instances(options.names);
  if (!instances) return 2;
  bench::print_heading(argc, argv);
  return print_tables(*instances, options);
}
