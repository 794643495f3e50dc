// Compares measured steps and phases of NeMo-RL with the analytical model and the simulator. Both use the constants
// fitted to the analytical model. Also simulates with constants fitted to the simulator by the same procedure.
// docs/accuracy.md explains the tables and why rows miss.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy_sets.h"
#include "cost/calibration.h"
#include "cost/efficiency.h"
#include "measure/calibrate.h"
#include "measure/measurement.h"
#include "predict/simulated/simulation.h"
#include "report/text/table.h"
#include "simulate/trace.h"
#include "tables.h"
#include "workflow/log_normal.h"

namespace {

using namespace dovetail;

constexpr int min_draws = 8;
constexpr int max_draws = 5000;
constexpr std::size_t step = 0;        // first entry of a calibration row, before the phases of measure::phase_kinds
constexpr std::size_t generation = 1;  // first of these phases

/// Predicted seconds of a row: its step, then each phase. Simulated seconds are means of draws.
struct SimulatedRow {
  std::vector<double> closed;
  std::vector<double> simulated;
  std::vector<double> standard_errors;  // over the draws, if simulated
  int draws = 0;
  double deviation = 0;   // over the draws of generation
  double instance = 0;    // seconds until an instance has generated its last sample, mean over all instances
  double recomputed = 0;  // of these: recomputing the KV cache of preempted sequences
};

plan::Job job_of(const measure::Measurement& row, const cost::Candidate& constants) {
  // measure::calibrate rounds to hundredths as well.
  const double spread = std::round(constants.workload.front() * 100) / 100;
  plan::Job job = row.job;
  job.workload.response_length =
      workflow::log_normal_lengths({.mean = row.responses->mean, .sigma = spread, .cap = row.responses->cap});
  return job;
}

/// Returns a device's mean seconds for work of that kind of the task in an iteration.
double device_seconds(const simulate::Iteration& iteration, const plan::Plan& plan, std::size_t task,
                      simulate::BarKind bar_kind) {
  double seconds = 0;
  for (const simulate::Use& use : simulate::uses_of(iteration.trace))
    if (use.bar_kind == bar_kind && use.task == static_cast<std::int32_t>(task))
      seconds += base::seconds_of_ticks(use.time);
  return seconds / (std::max(1, plan.tasks[task].mesh.count) * static_cast<double>(iteration.iterations));
}

/// Returns a simulated activity from start to end, as timed by its caller, with its share of host transfers.
predict::ActivitySeconds simulated_step(const predict::Simulation& simulation, const plan::Plan& plan,
                                        std::size_t index) {
  const plan::Activity& of = simulation.closed.graph.activities[index];
  const plan::ActivityTime& time = simulation.iteration.activities[index];
  const double seconds = base::seconds_of_ticks(time.end - time.begin);
  const bool moves = of.kind == plan::Activity::Kind::task;
  const double transfers = moves ? device_seconds(simulation.iteration, plan, of.task, simulate::BarKind::loading) : 0;
  return predict::sum_of(
      {{predict::SecondsOf::host_transfers, transfers}, {predict::SecondsOf::compute, seconds - transfers}});
}

/// Returns the seconds of the step, then of each phase, from `seconds_of` for the activities of the graph.
std::vector<double> by_phase(double all, const plan::Job& job, const plan::IterationGraph& graph,
                             const std::function<predict::ActivitySeconds(std::size_t index)>& seconds_of) {
  std::vector<double> seconds(1 + measure::phase_kinds.size());
  seconds[step] = all;
  for (std::size_t index = 0; index < graph.activities.size(); ++index) {
    const predict::ActivitySeconds taken = seconds_of(index);
    for (std::size_t kind = 0; kind < measure::phase_kinds.size(); ++kind)
      seconds[1 + kind] += measure::seconds_in_phase(measure::phase_kinds[kind], job, graph.activities[index], taken);
  }
  return seconds;
}

/// Statistics of draws for the step and each phase.
class Draws {
 public:
  explicit Draws(std::size_t phases) : sums_(phases), squares_(phases) {}

  int count() const { return count_; }
  void add(const std::vector<double>& seconds) {
    ++count_;
    for (std::size_t phase = 0; phase < seconds.size(); ++phase) {
      sums_[phase] += seconds[phase];
      squares_[phase] += seconds[phase] * seconds[phase];
    }
  }
  double mean(std::size_t phase) const { return sums_[phase] / count_; }
  double deviation(std::size_t phase) const {
    return std::sqrt(std::max(0.0, squares_[phase] / count_ - mean(phase) * mean(phase)));
  }
  double standard_error(std::size_t phase) const { return deviation(phase) / std::sqrt(count_); }

 private:
  std::vector<double> sums_;
  std::vector<double> squares_;
  int count_ = 0;
};

/// Simulates draws until the standard error of generation's mean is at most `precision` of it.
SimulatedRow simulate_row(const measure::Measurement& row, const cost::Candidate& constants, double precision) {
  const plan::Job job = job_of(row, constants);
  const predict::Scenario scenario =
      predict::scenario_of(job, {predict::conventions_of(job.software).value(), constants.efficiency});
  const auto generate = static_cast<std::size_t>(
      std::find_if(job.workflow.tasks.begin(), job.workflow.tasks.end(),
                   [](const workflow::Task& task) { return task.kind == workflow::TaskKind::generate; }) -
      job.workflow.tasks.begin());
  SimulatedRow answer;
  Draws draws(1 + measure::phase_kinds.size());
  const auto is_sharp = [&] { return draws.standard_error(generation) <= precision * draws.mean(generation); };
  while (draws.count() < min_draws || (draws.count() < max_draws && !is_sharp())) {
    predict::SimulationOptions options;
    options.seed = static_cast<std::uint64_t>(draws.count()) + 1;
    const predict::Simulation simulation = predict::Simulator(scenario, options).simulate(row.plan).value();
    const predict::Estimate& closed = simulation.closed;
    answer.closed = by_phase(closed.iteration_seconds, job, closed.graph,
                             [&](std::size_t index) { return closed.activities[index]; });
    const std::vector<double> simulated =
        by_phase(simulation.iteration_seconds, job, closed.graph,
                 [&](std::size_t index) { return simulated_step(simulation, row.plan, index); });
    draws.add(simulated);
    answer.instance +=
        simulated[generation] - device_seconds(simulation.iteration, row.plan, generate, simulate::BarKind::tail);
    answer.recomputed += device_seconds(simulation.iteration, row.plan, generate, simulate::BarKind::recompute);
  }
  for (std::size_t phase = 0; phase < answer.closed.size(); ++phase) {
    answer.simulated.push_back(draws.mean(phase));
    answer.standard_errors.push_back(draws.standard_error(phase));
  }
  answer.draws = draws.count();
  answer.deviation = draws.deviation(generation);
  answer.instance /= answer.draws;
  answer.recomputed /= answer.draws;
  return answer;
}

/// A row with both sets of constants.
struct Compared {
  const measure::Measurement* row = nullptr;
  cost::CalibrationRow measured;
  SimulatedRow common;  // with the constants fitted to the analytical model
  SimulatedRow own;     // with the constants fitted to the simulator; nullopt if the row is not counted
};

/// Fits constants to the simulator. Assumes that simulated times differ from analytical ones by the same factor as with
/// the common constants.
cost::Candidate fitted_to_simulator(const measure::Measurements& set, const std::vector<Compared>& rows) {
  std::vector<cost::CalibrationRow> simulated;
  for (const Compared& row : rows) {
    if (row.row->weight <= 0) continue;
    std::vector<double> times;
    for (std::size_t phase = 0; phase < row.common.closed.size(); ++phase)
      times.push_back(row.common.closed[phase] > 0 ? row.common.simulated[phase] / row.common.closed[phase] : 1);
    cost::CalibrationRow& answer = simulated.emplace_back(row.measured);
    answer.predicted = [closed = row.measured.predicted, times](const cost::Candidate& constants) {
      std::vector<double> seconds = closed(constants);
      for (std::size_t phase = 0; phase < seconds.size(); ++phase) seconds[phase] *= times[phase];
      return seconds;
    };
  }
  return cost::fit(simulated, measure::unknowns_of(set), {set.start, {set.spread.start}}).candidate;
}

std::string error_text(double predicted, double measured) {
  return fmt::format("{:+.1f}%", 100 * (predicted / measured - 1));
}

std::vector<std::string> cells_of(const Compared& row, std::size_t phase) {
  const double measured = row.measured.measured[phase].seconds;
  std::vector<std::string> cells = {row.row->name, row.measured.measured[phase].phase, fmt::format("{:g}", measured)};
  for (const std::vector<double>* predicted : {&row.common.closed, &row.common.simulated, &row.own.simulated}) {
    const bool known = !predicted->empty();
    cells.push_back(known ? fmt::format("{:.1f}", (*predicted)[phase]) : "");
    cells.push_back(known ? error_text((*predicted)[phase], measured) : "");
  }
  return cells;
}

void print_measured(const std::vector<Compared>& rows) {
  std::vector<std::vector<std::string>> steps;
  std::vector<std::vector<std::string>> phases;
  for (const Compared& row : rows) {
    steps.push_back(cells_of(row, step));
    steps.back()[1] = row.row->caveat;
    for (std::size_t phase = 1; phase < row.measured.measured.size(); ++phase)
      if (row.measured.measured[phase].seconds > 0) phases.push_back(cells_of(row, phase));
  }
  std::vector<report::Column> columns = {{"row", report::Align::left},
                                         {"not counted because", report::Align::left},
                                         {"measured s"},
                                         {"analytical"},
                                         {"error"},
                                         {"simulated"},
                                         {"error"},
                                         {"own constants"},
                                         {"error"}};
  fmt::print("steps\n{}\n", report::render_table(columns, steps));
  columns[1].header = "phase";
  fmt::print("measured phases\n{}\n", report::render_table(columns, phases));
}

/// The draws affect generation only.
void print_generation(const std::vector<Compared>& rows) {
  std::vector<std::vector<std::string>> cells;
  for (const Compared& row : rows) {
    const SimulatedRow& of = row.common;
    cells.push_back({row.row->name, fmt::format("{:.1f}", of.closed[generation]), fmt::format("{:.1f}", of.instance),
                     fmt::format("{:.1f}", of.recomputed), fmt::format("{:.1f}", of.simulated[generation]),
                     error_text(of.simulated[generation], of.closed[generation]), fmt::format("{:.1f}", of.deviation),
                     fmt::format("{}", of.draws)});
  }
  const std::vector<report::Column> columns = {
      {"row", report::Align::left}, {"analytical"}, {"per instance"}, {"recomputing"}, {"slowest"},
      {"vs. analytical"},           {"deviation"},  {"draws"}};
  fmt::print("generation: analytical and simulated (seconds; means of draws)\n{}\n",
             report::render_table(columns, cells));
}

/// A mean absolute error and its uncertainty due to the draws.
struct Error {
  double mean = 0;
  double standard_error = 0;
};

/// Mean absolute errors over the counted rows.
struct Errors {
  Error steps;
  Error phases;  // phases of at least 10% of their step
  Error all;     // all measured times, weighted as in the fit
};

/// Rows have independent draws. Within a row, the slowest instance determines both generation and the step, so their
/// errors are added as fully correlated.
class WeightedMean {
 public:
  void begin_row() {
    squares_ += row_ * row_;
    row_ = 0;
  }
  void add(double weight, double error, double standard_error) {
    sum_ += weight * error;
    weights_ += weight;
    row_ += weight * standard_error;
  }
  Error value() {
    begin_row();
    return {sum_ / weights_, std::sqrt(squares_) / weights_};
  }

 private:
  double sum_ = 0;
  double weights_ = 0;
  double row_ = 0;      // weighted standard errors of the last row
  double squares_ = 0;  // of the other rows
};

/// Prediction of a row by one method: its seconds, and their standard errors if simulated.
struct Prediction {
  const std::vector<double>& seconds;
  const std::vector<double>& standard_errors;
};

Errors errors_of(const std::vector<Compared>& rows, const std::function<Prediction(const Compared&)>& prediction_of) {
  WeightedMean steps;
  WeightedMean phases;
  WeightedMean all;
  for (const Compared& row : rows) {
    if (row.row->weight <= 0) continue;
    for (WeightedMean* mean : {&steps, &phases, &all}) mean->begin_row();
    const Prediction prediction = prediction_of(row);
    for (std::size_t phase = 0; phase < row.measured.measured.size(); ++phase) {
      const cost::MeasuredSeconds& measured = row.measured.measured[phase];
      if (measured.seconds <= 0) continue;
      const double error = std::abs(prediction.seconds[phase] / measured.seconds - 1);
      const double open = prediction.standard_errors.empty() ? 0 : prediction.standard_errors[phase] / measured.seconds;
      all.add(measured.weight, error, open);
      if (phase == step)
        steps.add(1, error, open);
      else if (measured.seconds >= 0.1 * row.row->seconds)
        phases.add(1, error, open);
    }
  }
  return {steps.value(), phases.value(), all.value()};
}

int print_claims(const std::vector<Compared>& rows) {
  const std::vector<double> exact;
  const Errors closed = errors_of(rows, [&](const Compared& row) { return Prediction{row.common.closed, exact}; });
  const Errors simulated =
      errors_of(rows, [](const Compared& row) { return Prediction{row.common.simulated, row.common.standard_errors}; });
  const Errors own =
      errors_of(rows, [](const Compared& row) { return Prediction{row.own.simulated, row.own.standard_errors}; });
  int met = 0;
  int claims = 0;
  std::vector<std::vector<std::string>> cells;
  const auto claim = [&](const std::string& what, Error Errors::* error) {
    const auto judged = [&](const Errors& of) {
      const Error& is = of.*error;
      const bool no_worse = is.mean <= (closed.*error).mean;
      met += no_worse ? 1 : 0;
      ++claims;
      return fmt::format("{:.2f}% +- {:.2f}, {}", 100 * is.mean, 100 * is.standard_error,
                         no_worse ? "no worse" : "WORSE");
    };
    cells.push_back({what, fmt::format("{:.2f}%", 100 * (closed.*error).mean), judged(simulated), judged(own)});
  };
  claim("steps", &Errors::steps);
  claim("phases of at least 10% of their step", &Errors::phases);
  claim("all measured times, weighted as in the fit", &Errors::all);
  const std::vector<report::Column> columns = {
      {"mean absolute error", report::Align::left}, {"analytical"}, {"simulated"}, {"simulated, own constants"}};
  fmt::print("(+- standard error of the draws)\n{}\n", report::render_table(columns, cells));
  return bench::print_met(met, claims);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments program(
      "Compares measured steps and phases of NeMo-RL with the analytical model and the simulator.");
  double precision = 0.0075;
  program.number("--precision", precision,
                 "relative standard error of generation's mean at which drawing lengths stops", 1e-4, 1.0);
  if (const auto code = program.parse(argc, argv)) return *code;
  bench::print_heading(argc, argv);
  const measure::Measurements set = bench::nemo_rl_set();
  const cost::Candidate common{cost::find_efficiency(set.name).value(), {bench::nemo_rl_spread}};
  std::vector<Compared> rows;
  for (const measure::Measurement& row : set.rows) {
    bench::note(row.name);
    rows.push_back({&row, measure::calibration_row(row), simulate_row(row, common, precision), {}});
  }
  bench::note("fitting to the simulator");
  const cost::Candidate own = fitted_to_simulator(set, rows);
  for (Compared& row : rows)
    if (row.row->weight > 0) row.own = simulate_row(*row.row, own, precision);
  print_measured(rows);
  print_generation(rows);
  return print_claims(rows);
}
