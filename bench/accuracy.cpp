// Measured RLHF iterations beside what the time model says of them: fitted, and predicted with the row's own model or sweep left out.
//
// One set of efficiencies for each GPU type, engine and site (accuracy_sets.h). Each fit is printed as the lines of
// src/cost/bundled_efficiencies.cpp, and compared with them. What the tables mean and why rows miss is in docs/accuracy.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "accuracy_sets.h"
#include "cost/bundled_efficiencies.h"
#include "report/table.h"
#include "tables.h"

namespace {

using namespace dovetail;
using bench::MeasuredSet;
using cost::CalibrationRow;
using cost::Candidate;

/// What the fit of a set must reach.
struct Goal {
  double total = 0;        // mean absolute error, also with groups left out
  double phase = 0;        // worst of the phases that are a tenth of their row or more; 0: there are none
  double correlation = 0;  // of the ranks of all totals; 0: not asked for
};

struct Errors {
  double total = 0;
  double worst_phase = 0;  // of those that are a tenth of their row or more
  std::string worst_name;
};

/// Predictions of each row, by the fit to all and by the one without the row's group.
struct Predictions {
  std::vector<std::vector<double>> fitted;
  std::vector<std::vector<double>> left_out;
};

std::string percent(double ratio) { return fmt::format("{:+.1f}%", 100 * (ratio - 1)); }

Errors errors_of(const std::vector<CalibrationRow>& rows, const std::vector<std::vector<double>>& predicted) {
  Errors errors;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto& measured = rows[row].measured;
    errors.total += std::abs(predicted[row][0] / measured[0].seconds - 1) / static_cast<double>(rows.size());
    for (std::size_t i = 1; i < measured.size(); ++i) {
      const double error = measured[i].seconds > 0 ? std::abs(predicted[row][i] / measured[i].seconds - 1) : 0;
      if (measured[i].seconds < 0.1 * measured[0].seconds || error <= errors.worst_phase) continue;
      errors.worst_phase = error;
      errors.worst_name = rows[row].name + ", " + measured[i].phase;
    }
  }
  return errors;
}

/// [row] its place among all, from 0; equals share theirs.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double value : values) {
    double rank = 0;
    for (const double other : values) rank += other < value ? 1 : other == value ? 0.5 : 0;
    ranks.push_back(rank);
  }
  return ranks;
}

/// Spearman's: the correlation of the ranks.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks_of(a);
  const std::vector<double> y = ranks_of(b);
  const double mean = static_cast<double>(x.size()) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

double correlation_of(const std::vector<CalibrationRow>& rows, const std::vector<std::vector<double>>& predicted) {
  std::vector<double> measured;
  std::vector<double> answers;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    measured.push_back(rows[row].measured[0].seconds);
    answers.push_back(predicted[row][0]);
  }
  return rank_correlation(measured, answers);
}

/// "58 -> 57.2 (-1.4%)", or the prediction alone where nothing was measured.
std::string phase_text(const cost::MeasuredSeconds& measured, double predicted) {
  if (measured.seconds <= 0) return fmt::format("{:.1f}", predicted);
  return fmt::format("{:g}: {:.1f} ({})", measured.seconds, predicted, percent(predicted / measured.seconds));
}

void print_rows(const std::vector<CalibrationRow>& rows, const Predictions& predictions) {
  std::vector<report::Column> columns = {{"row", report::Align::left}, {"measured s"}, {"fitted s"}, {"error"}};
  if (!predictions.left_out.empty()) columns.push_back({"left out"});
  for (std::size_t i = 1; i < rows[0].measured.size(); ++i) columns.push_back({rows[0].measured[i].phase});
  std::vector<std::vector<std::string>> cells;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto& measured = rows[row].measured;
    const std::vector<double>& fitted = predictions.fitted[row];
    cells.push_back({rows[row].name, fmt::format("{:g}", measured[0].seconds), fmt::format("{:.1f}", fitted[0]),
                     percent(fitted[0] / measured[0].seconds)});
    if (!predictions.left_out.empty()) cells.back().push_back(percent(predictions.left_out[row][0] / measured[0].seconds));
    for (std::size_t i = 1; i < measured.size(); ++i) cells.back().push_back(phase_text(measured[i], fitted[i]));
  }
  fmt::print("{}\n", report::render_table(columns, cells));
}

/// The values that were fitted, as lines of bundled_efficiencies.cpp, and whether they are the same there.
bool print_values(const MeasuredSet& set, const cost::Fit& fit) {
  // The last digit hangs on the machine's mathematical library.
  constexpr double rounding = 0.02;
  Candidate bundled{cost::find_efficiency(set.name).value(), fit.candidate.workload};
  Candidate fitted = fit.candidate;
  const std::vector<std::string_view> members = cost::unknown_names();
  bool same = true;
  for (const cost::Unknown& unknown : set.unknowns) {
    const double value = unknown.of(fitted);
    const double stored = unknown.of(bundled);
    const bool equal = std::abs(value - stored) <= rounding * stored;
    same = same && equal;
    const bool is_member = std::find(members.begin(), members.end(), unknown.name) != members.end();
    fmt::print("  {}{} = {:.2e};{}\n", is_member ? "efficiency." : "// ", unknown.name, value,
               equal ? "" : fmt::format("  // DIFFERENT: {:.2e} is bundled", stored));
  }
  return same;
}

Predictions predictions_of(const MeasuredSet& set, const cost::Fit& fit, const std::vector<cost::LeftOut>& left_out) {
  Predictions predictions;
  for (const CalibrationRow& row : set.rows) {
    predictions.fitted.push_back(row.predicted(fit.candidate));
    const auto same = [&](const cost::LeftOut& one) { return one.group == row.group; };
    predictions.left_out.push_back(row.predicted(std::find_if(left_out.begin(), left_out.end(), same)->fit.candidate));
  }
  return predictions;
}

/// Prints a set's tables; how many of its goals are met, of how many.
std::pair<int, int> print_set(const MeasuredSet& set, const Goal& goal) {
  const auto begin = std::chrono::steady_clock::now();
  const cost::Fit fit = cost::fit(set.rows, set.unknowns, set.start);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Predictions predictions = predictions_of(set, fit, cost::leave_one_out(set.rows, set.unknowns, set.start));
  fmt::print("{}: {}; {} rows, {} unknowns, fitted in {:.1f} s\n\n", set.name, set.source, set.rows.size(), set.unknowns.size(), seconds);
  print_rows(set.rows, predictions);
  const Errors fitted = errors_of(set.rows, predictions.fitted);
  const Errors left_out = errors_of(set.rows, predictions.left_out);
  fmt::print("mean absolute error: fitted {:.1f}%, left out {:.1f}%\n", 100 * fitted.total, 100 * left_out.total);
  std::vector<bool> met = {fitted.total <= goal.total, left_out.total <= goal.total};
  if (goal.phase > 0) {
    fmt::print("worst phase of a tenth or more: fitted {:.1f}% ({}), left out {:.1f}% ({})\n", 100 * fitted.worst_phase, fitted.worst_name,
               100 * left_out.worst_phase, left_out.worst_name);
    met.push_back(fitted.worst_phase <= goal.phase);
  }
  if (goal.correlation > 0) {
    const double correlation = correlation_of(set.rows, predictions.fitted);
    const double of_left_out = correlation_of(set.rows, predictions.left_out);
    fmt::print("rank correlation: fitted {:.3f}, left out {:.3f}\n", correlation, of_left_out);
    met.insert(met.end(), {correlation >= goal.correlation, of_left_out >= goal.correlation});
  }
  if (!set.others.empty()) {
    fmt::print("\nneither fitted nor counted:\n\n");
    Predictions others;
    for (const CalibrationRow& row : set.others) others.fitted.push_back(row.predicted(fit.candidate));
    print_rows(set.others, others);
  }
  fmt::print("\nfitted values:\n");
  met.push_back(print_values(set, fit));
  fmt::print("\n");
  return {static_cast<int>(std::count(met.begin(), met.end(), true)), static_cast<int>(met.size())};
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App program("Measured RLHF iterations beside the time model's predictions.");
  CLI11_PARSE(program, count, arguments);
  bench::print_heading(count, arguments);
  const auto [realhf_met, realhf_all] = print_set(bench::realhf_set(), {.total = 0.10, .correlation = 0.95});
  const auto [nemo_rl_met, nemo_rl_all] = print_set(bench::nemo_rl_set(), {.total = 0.20, .phase = 0.25});
  return bench::print_met(realhf_met + nemo_rl_met, realhf_all + nemo_rl_all);
}
