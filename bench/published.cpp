// Compares the twelve published instances with the published results and the annealing baseline in the same time:
// latency, peak and what is proven. With --seeds N, prints the spread over seeds. Exits with 1 if a row misses its
// target.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "report/text/table.h"
#include "tables.h"

namespace {

using namespace dovetail;

/// Maximum peaks at the minimum latency for a row to count as met: for one run (the published peak if that is lower),
/// and for each seed.
struct Target {
  const char* instance;
  const char* one_run;
  const char* every_seed;
};
constexpr std::array<Target, 12> targets{{{"exp0", "16", "16"},
                                          {"exp1", "15.75", "15.95"},
                                          {"exp2", "15.6", "15.7"},
                                          {"exp3", "17", "17"},
                                          {"exp4", "17", "17"},
                                          {"exp5", "15.6", "15.6"},
                                          {"exp6", "29.7", "29.7"},
                                          {"exp7", "29.7", "29.7"},
                                          {"exp8", "26.24", "26.4"},
                                          {"exp9", "32", "32"},
                                          {"exp10", "29.7", "29.7"},
                                          {"exp11", "26.24", "27.5"}}};

base::Memory limit_of(const pipeline::Instance& instance, const char* Target::* which) {
  const auto target =
      std::find_if(targets.begin(), targets.end(), [&](const Target& row) { return instance.name == row.instance; });
  return base::parse_memory((*target).*which).value();
}

bool is_met(const pipeline::Instance& instance, const bench::Run& run, base::Memory limit) {
  return run.solution.evaluation.makespan == instance.published->bound && run.claims.optimal_makespan.value_or(false) &&
         run.solution.evaluation.peak_activation <= limit;
}

struct Options {
  int seeds = 1;
  double seconds = 60;
  int threads = 2;
  std::vector<std::string> names;
};

std::vector<bench::Run> run_seeds(const pipeline::Instance& instance, const Options& options) {
  std::vector<bench::Run> runs;
  for (int seed = 1; seed <= options.seeds; ++seed) {
    fuse::SolveOptions solve;
    solve.seed = static_cast<std::uint64_t>(seed);
    solve.threads = options.threads;
    solve.time_limit_seconds = options.seconds;
    runs.push_back(bench::run_search(instance.problem, solve));
    bench::note(fmt::format("{} seed {}: {}, {} in {} s", instance.name, seed, bench::makespan_text(runs.back()),
                            bench::peak_text(runs.back()), bench::seconds_text(runs.back().seconds)));
  }
  return runs;
}

std::vector<std::string> row_of_first(const pipeline::Instance& instance, const bench::Run& run,
                                      const Options& options) {
  fuse::SolveOptions solve;
  solve.threads = options.threads;
  const auto annealing = bench::run_annealing_after(run.seconds, instance.problem, solve);
  const auto& published = *instance.published;
  const base::Memory limit = limit_of(instance, &Target::one_run);
  return {instance.name,
          base::format_time(published.bound, instance.problem.time_unit),
          base::format_time(published.makespan, instance.problem.time_unit),
          base::format_memory(published.peak_activation_optimized.value_or(published.peak_activation)),
          bench::makespan_text(run),
          bench::peak_text(run),
          run.claims.bound_peak_activation ? base::format_memory(*run.claims.bound_peak_activation) : "-",
          bench::optimal_text(run),
          bench::seconds_text(run.seconds),
          base::format_memory(limit),
          bench::yes_or_no(is_met(instance, run, limit)),
          bench::makespan_text(annealing),
          bench::peak_text(annealing),
          bench::seconds_text(annealing->seconds),
          bench::ratio_text(annealing, run),
          bench::peak_ratio_text(annealing, run)};
}

template <class Value, class Format>
void append_spread(std::vector<std::string>& row, std::vector<Value> values, Format format) {
  std::sort(values.begin(), values.end());
  for (const Value& value : {values.front(), values[values.size() / 2], values.back()}) row.push_back(format(value));
}

std::vector<std::string> row_of_spread(const pipeline::Instance& instance, const std::vector<bench::Run>& runs,
                                       bool& met) {
  const base::Memory limit = limit_of(instance, &Target::every_seed);
  std::vector<base::Ticks> makespans;
  std::vector<base::Memory> peaks;
  std::vector<double> seconds;
  std::int64_t good = 0;
  for (const bench::Run& run : runs) {
    makespans.push_back(run.solution.evaluation.makespan);
    peaks.push_back(run.solution.evaluation.peak_activation);
    seconds.push_back(run.seconds);
    good += is_met(instance, run, limit) ? 1 : 0;
  }
  std::vector<std::string> row{instance.name, base::format_time(instance.published->bound, instance.problem.time_unit)};
  append_spread(row, makespans, [&](base::Ticks time) { return base::format_time(time, instance.problem.time_unit); });
  append_spread(row, peaks, base::format_memory);
  append_spread(row, seconds, bench::seconds_text);
  row.push_back(base::format_memory(limit));
  row.push_back(fmt::format("{} of {}", good, runs.size()));
  met = good == static_cast<std::int64_t>(runs.size());
  return row;
}

const std::vector<report::Column> columns{{"instance", report::Align::left},
                                          {"bound"},
                                          {"published"},
                                          {"peak"},
                                          {"makespan"},
                                          {"peak"},
                                          {"peak bound"},
                                          {"optimal", report::Align::left},
                                          {"seconds"},
                                          {"target"},
                                          {"met"},
                                          {"annealing"},
                                          {"peak"},
                                          {"seconds"},
                                          {"ratio"},
                                          {"of peaks"}};

/// Each figure has three columns: minimum, median and maximum.
const std::vector<report::Column> spread_columns{{"instance", report::Align::left},
                                                 {"bound"},
                                                 {"makespan"},
                                                 {""},
                                                 {""},
                                                 {"peak"},
                                                 {""},
                                                 {""},
                                                 {"seconds"},
                                                 {""},
                                                 {""},
                                                 {"target"},
                                                 {"seeds met"}};

int print_tables(const std::vector<const pipeline::Instance*>& instances, const Options& options) {
  std::vector<std::vector<std::string>> first;
  std::vector<std::vector<std::string>> spread;
  int met = 0;
  for (const pipeline::Instance* instance : instances) {
    const std::vector<bench::Run> runs = run_seeds(*instance, options);
    first.push_back(row_of_first(*instance, runs.front(), options));
    met += is_met(*instance, runs.front(), limit_of(*instance, &Target::one_run)) ? 1 : 0;
    if (options.seeds == 1) continue;
    bool all_seeds = false;
    spread.push_back(row_of_spread(*instance, runs, all_seeds));
    met += all_seeds ? 1 : 0;
  }
  fmt::print(
      "Seed 1, {} threads, at most {:g} s each; annealing in the search's time, with its figures over the "
      "search's:\n{}\n",
      options.threads, options.seconds, report::render_table(columns, first));
  if (options.seeds > 1)
    fmt::print("Spread over seeds 1 to {}: minimum, median and maximum.\n{}\n", options.seeds,
               report::render_table(spread_columns, spread));
  return bench::print_met(met, static_cast<int>(first.size() + spread.size()));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Arguments program(
      "Compares the search with the published results and the annealing baseline on the published instances.");
  program.number("--seeds", options.seeds, "number of seeds: run seeds 1 to N", 1, 1024);
  bench::add_search_options(program, options.seconds, options.threads);
  program.texts("instances", options.names, "exp0 to exp11 (default: all)");
  if (const auto code = program.parse(argc, argv)) return *code;
  if (options.names.empty())
    for (const Target& target : targets) options.names.emplace_back(target.instance);
  const auto instances = bench::find_instances(options.names);
  if (!instances) return 2;
  for (const pipeline::Instance* instance : *instances)
    if (!instance->published) {
      fmt::print(stderr, "no published result for '{}'; accepted: exp0 to exp11\n", instance->name);
      return 2;
    }
  bench::print_heading(argc, argv);
  return print_tables(*instances, options);
}
