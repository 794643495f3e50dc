// Compares measured RLHF iterations with predict::estimate: fitted, and predicted with the row's own model or sweep
// held out.
//
// There is one set of efficiencies per GPU type, engine and site (accuracy_sets.h). Each fit is printed as lines of
// src/cost/efficiency.cpp and compared with the bundled values. docs/accuracy.md explains the tables and why rows miss.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "accuracy_sets.h"
#include "answer/measured/calibration.h"
#include "cost/efficiency.h"
#include "measure/calibrate.h"
#include "planner/rank/rank.h"
#include "report/text/table.h"
#include "tables.h"

namespace {

using namespace dovetail;

/// Accuracy that the fit of a set must reach.
struct Goal {
  double iteration = 0;    // mean absolute error, also with groups held out
  double phase = 0;        // worst phase of at least 10% of its row, also with groups held out; 0: no phases
  double correlation = 0;  // rank correlation over all iterations; 0: not required
};

/// Prints the fitted constants as lines of efficiency.cpp and marks those that differ from it. For the workload,
/// compares the spread of lengths with nemo_rl_spread.
bool print_values(const measure::Calibration& calibration) {
  // The last digit depends on the machine's math library.
  constexpr double rounding = 0.02;
  cost::Efficiency bundled = cost::find_efficiency(calibration.name).value();
  bool same = true;
  fmt::print("  efficiency.error = {:.3f};\n", calibration.fit.candidate.efficiency.error);
  for (const measure::FittedValue& fitted : calibration.values) {
    const cost::EfficiencyConstant* constant = cost::find_constant(fitted.name);
    if (constant == nullptr) {
      const bool equal = std::abs(fitted.value - bench::nemo_rl_spread) <= rounding * bench::nemo_rl_spread;
      same = same && equal;
      fmt::print("  // {} = {:.3g}{}\n", fitted.name, fitted.value,
                 equal ? "" : fmt::format("  DIFFERENT: accuracy_sets.h has {}", bench::nemo_rl_spread));
      continue;
    }
    const double stored = constant->of(bundled);
    const bool equal = std::abs(fitted.value - stored) <= rounding * stored;
    same = same && equal;
    fmt::print("  efficiency.{} = {:.2e};{}\n", fitted.name, fitted.value,
               equal ? "" : fmt::format("  // DIFFERENT: bundled value {:.2e}", stored));
  }
  return same;
}

/// Prints the tables of a set. Returns the number of goals met and the number of goals.
std::pair<int, int> print_set(const measure::Measurements& measurements, const Goal& goal) {
  const auto begin = std::chrono::steady_clock::now();
  const measure::Calibration calibration = measure::calibrate(measurements);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{}\nfitted, and again with each group held out, in {:.1f} s:\n",
             report::text_of(answer::calibration_sections(calibration)), seconds);
  const bool same = print_values(calibration);
  const measure::ErrorSummary& fitted = calibration.fitted;
  const measure::ErrorSummary& left_out = calibration.left_out.value();
  std::vector<bool> met = {fitted.mean <= goal.iteration, left_out.mean <= goal.iteration, same};
  if (goal.phase > 0) met.insert(met.end(), {fitted.worst_phase <= goal.phase, left_out.worst_phase <= goal.phase});
  if (goal.correlation > 0)
    met.insert(met.end(), {fitted.rank_correlation >= goal.correlation, left_out.rank_correlation >= goal.correlation});
  fmt::print("\n");
  return {static_cast<int>(std::count(met.begin(), met.end(), true)), static_cast<int>(met.size())};
}

/// Compares, for each row of ReaL's table, the best plan that Dovetail's search finds with ReaL's means against ReaL's
/// own plan. Both are relative to the heuristic plan's seconds. The efficiencies were fitted to heuristic plans only.
std::pair<int, int> print_searched(const measure::Measurements& measurements, const std::vector<double>& measured) {
  constexpr double must_be_within = 0.20;
  constexpr double may_be_above = 0.05;
  std::vector<std::vector<std::string>> rows;
  double sum = 0;
  int above = 0;
  for (std::size_t index = 0; index < measured.size(); ++index) {
    const measure::Measurement& row = measurements.rows[index];
    plan::Job job = row.job;
    job.software.efficiency = measurements.name;
    const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
    planner::RankOptions options;
    options.option_set = planner::OptionSet::real;
    const planner::Ranking ranking = planner::rank_plans(scenario, options).value();
    const double heuristic = predict::estimate(scenario, row.plan).iteration_seconds;
    const double best = ranking.plans.empty() ? heuristic : ranking.plans.front().estimate.iteration_seconds;
    const double predicted_ratio = best / heuristic;
    const double measured_ratio = measured[index] / row.seconds;
    sum += std::abs(predicted_ratio - measured_ratio);
    above += predicted_ratio > measured_ratio + may_be_above ? 1 : 0;
    rows.push_back({row.name, fmt::format("{:.1f}", row.seconds), fmt::format("{:.1f}", heuristic),
                    fmt::format("{:.1f}", measured[index]), fmt::format("{:.1f}", best),
                    fmt::format("{:.2f}", measured_ratio), fmt::format("{:.2f}", predicted_ratio),
                    fmt::format("{:+.2f}", predicted_ratio - measured_ratio)});
  }
  const double mean = sum / static_cast<double>(measured.size());
  fmt::print(
      "Best plan with ReaL's means found by Dovetail, compared with the plan that ReaL found (seconds; ratios to the "
      "heuristic plan)\n");
  const std::vector<report::Column> columns{{"row", report::Align::left},
                                            {"heuristic"},
                                            {"predicted"},
                                            {"ReaL's"},
                                            {"best found"},
                                            {"ratio"},
                                            {"predicted's"},
                                            {"difference"}};
  std::fputs(report::render_table(columns, rows).c_str(), stdout);
  fmt::print("mean difference of the ratios {:.3f}; predicted more than {} above the measured one in {} of {}\n\n",
             mean, may_be_above, above, measured.size());
  const bool few_above = 10 * above <= static_cast<int>(measured.size());
  return {(mean <= must_be_within ? 1 : 0) + (few_above ? 1 : 0), 2};
}

}  // namespace

int main(int count, char** arguments) {
  bench::Arguments program("Compares measured RLHF iterations with predictions of their plans.");
  if (const auto code = program.parse(count, arguments)) return *code;
  bench::print_heading(count, arguments);
  const auto [realhf_met, realhf_all] = print_set(bench::realhf_set(), {.iteration = 0.10, .correlation = 0.95});
  const auto [nemo_rl_met, nemo_rl_all] = print_set(bench::nemo_rl_set(), {.iteration = 0.20, .phase = 0.25});
  const auto [searched_met, searched_all] = print_searched(bench::realhf_set(), bench::realhf_searched_seconds());
  return bench::print_met(realhf_met + nemo_rl_met + searched_met, realhf_all + nemo_rl_all + searched_all);
}
