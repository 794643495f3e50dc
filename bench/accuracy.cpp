// Measured RLHF iterations beside what place::estimate says of them: fitted, and predicted with the row's own model or sweep left out.
//
// One set of efficiencies for each GPU type, engine and site (accuracy_sets.h). Each fit is printed as the lines of
// src/cost/bundled_efficiencies.cpp, and compared with them. What the tables mean and why rows miss is in docs/accuracy.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "accuracy_sets.h"
#include "cost/bundled_efficiencies.h"
#include "cost/efficiency_file.h"
#include "place/calibrate.h"
#include "report/calibration.h"
#include "tables.h"

namespace {

using namespace dovetail;

/// What the fit of a set must reach.
struct Goal {
  double iteration = 0;    // mean absolute error, also with groups left out
  double phase = 0;        // worst of the phases that are a tenth of their row or more, also with groups left out; 0: there are none
  double correlation = 0;  // of the ranks of all iterations; 0: not asked for
};

/// The constants that were fitted, as lines of bundled_efficiencies.cpp, and whether they are the same there.
bool print_values(const place::Calibration& calibration) {
  // The last digit hangs on the machine's mathematical library.
  constexpr double rounding = 0.02;
  cost::Efficiency bundled = cost::find_efficiency(calibration.name).value();
  bool same = true;
  fmt::print("  efficiency.error = {:.3f};\n", calibration.fit.candidate.efficiency.error);
  for (const place::FittedValue& fitted : calibration.values) {
    const cost::EfficiencyConstant* constant = cost::find_constant(fitted.name);
    if (constant == nullptr) {
      fmt::print("  // {} = {:.3g}\n", fitted.name, fitted.value);
      continue;
    }
    const double stored = constant->of(bundled);
    const bool equal = std::abs(fitted.value - stored) <= rounding * stored;
    same = same && equal;
    fmt::print("  efficiency.{} = {:.2e};{}\n", fitted.name, fitted.value,
               equal ? "" : fmt::format("  // DIFFERENT: {:.2e} is bundled", stored));
  }
  return same;
}

/// Prints a set's tables; how many of its goals are met, of how many.
std::pair<int, int> print_set(const place::Measurements& measurements, const Goal& goal) {
  const auto begin = std::chrono::steady_clock::now();
  const place::Calibration calibration = place::calibrate(measurements);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{}\nfitted, and again without each group, in {:.1f} s:\n", report::calibration_text(calibration), seconds);
  const bool same = print_values(calibration);
  const place::ErrorSummary& fitted = calibration.fitted;
  const place::ErrorSummary& left_out = calibration.left_out.value();
  std::vector<bool> met = {fitted.mean <= goal.iteration, left_out.mean <= goal.iteration, same};
  if (goal.phase > 0) met.insert(met.end(), {fitted.worst_phase <= goal.phase, left_out.worst_phase <= goal.phase});
  if (goal.correlation > 0)
    met.insert(met.end(), {fitted.rank_correlation >= goal.correlation, left_out.rank_correlation >= goal.correlation});
  fmt::print("\n");
  return {static_cast<int>(std::count(met.begin(), met.end(), true)), static_cast<int>(met.size())};
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App program("Measured RLHF iterations beside the predictions of their plans.");
  CLI11_PARSE(program, count, arguments);
  bench::print_heading(count, arguments);
  const auto [realhf_met, realhf_all] = print_set(bench::realhf_set(), {.iteration = 0.10, .correlation = 0.95});
  const auto [nemo_rl_met, nemo_rl_all] = print_set(bench::nemo_rl_set(), {.iteration = 0.20, .phase = 0.25});
  return bench::print_met(realhf_met + nemo_rl_met, realhf_all + nemo_rl_all);
}
