#include "measure/calibrate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "cost/efficiency.h"
#include "predict/closed_form/estimate.h"
#include "predict/closed_form/software.h"
#include "workflow/log_normal.h"

namespace dovetail::measure {
namespace {

using cost::CalibrationRow;
using cost::Candidate;

constexpr double min_seconds = 1e-9;
constexpr std::size_t sigma =
    0;  // index in Candidate::workload: standard deviation of the logarithm of response lengths

/// A row with one spread of response lengths. Caches values that depend little or not at all on efficiencies.
struct Scene {
  explicit Scene(plan::Job job_of_spread)
      : job(std::move(job_of_spread)),
        scenario(predict::scenario_of(job, {predict::conventions_of(job.software).value(), {}})) {}

  plan::Job job;
  predict::Scenario scenario;
  /// Schedule of fused train tasks, with the first efficiencies used.
  std::optional<predict::IntraStage> training;
  std::optional<std::vector<predict::TaskMemory>> memory;  ///< set if the software prefetches
};

/// Returns the seconds of the iteration, then of each phase.
std::vector<double> seconds_of(const std::vector<Phase>& phases, const plan::Job& job,
                               const predict::TimedIteration& iteration) {
  std::vector<double> seconds = {iteration.iteration_seconds};
  for (const Phase& phase : phases) {
    seconds.push_back(0);
    for (std::size_t activity = 0; activity < iteration.activities.size(); ++activity)
      seconds.back() +=
          seconds_in_phase(phase, job, iteration.graph.activities[activity], iteration.activities[activity]);
  }
  return seconds;
}

/// Predicts a row. Values that depend only on the spread are computed once per hundredth of it.
class RowPredictor {
 public:
  RowPredictor(const Measurement& row, std::vector<Phase> phases) : row_(row), phases_(std::move(phases)) {}

  /// Seconds for printing.
  std::vector<double> estimated(const Candidate& candidate) {
    const Scene& scene = scene_of(candidate);
    return seconds_of(phases_, scene.job, predict::timed_iteration(scene.scenario, row_.plan));
  }

  /// As above, but fast enough for the hundreds of thousands of calls of a fit. Computes no schedule per candidate:
  /// fused trainings scale with their lower bound.
  std::vector<double> predicted(const Candidate& candidate) {
    Scene& scene = scene_of(candidate);
    compute_once(scene);
    std::optional<predict::IntraStage> training;
    if (scene.training) training = predict::intra_stage_like(scene.scenario, row_.plan, *scene.training);
    const predict::KnownParts known{training ? &*training : nullptr, scene.memory ? &*scene.memory : nullptr};
    std::vector<double> seconds =
        seconds_of(phases_, scene.job, predict::timed_iteration(scene.scenario, row_.plan, {}, known));
    // The fit takes logarithms of times, so a predicted time of 0 is raised to a minimum.
    for (double& phase : seconds) phase = std::max(phase, min_seconds);
    return seconds;
  }

 private:
  void compute_once(Scene& scene) const {
    if (row_.plan.fusion.training && !scene.training) scene.training = predict::intra_stage(scene.scenario, row_.plan);
    if (row_.job.software.prefetch && !scene.memory)
      scene.memory =
          predict::task_memory(scene.scenario, row_.plan, scene.training ? scene.training->activations : std::nullopt);
  }

  Scene& scene_of(const Candidate& candidate) {
    const int hundredths = row_.responses ? static_cast<int>(std::lround(candidate.workload.at(sigma) * 100)) : 0;
    std::unique_ptr<Scene>& scene = scenes_[hundredths];
    if (scene == nullptr) {
      plan::Job job = row_.job;
      if (row_.responses)
        workflow::set_responses(
            job.workload, workflow::log_normal_lengths(
                              {.mean = row_.responses->mean, .sigma = hundredths / 100.0, .cap = row_.responses->cap}));
      scene = std::make_unique<Scene>(std::move(job));
    }
    scene->scenario.software.efficiency = candidate.efficiency;
    return *scene;
  }

  const Measurement& row_;
  std::vector<Phase> phases_;
  std::map<int, std::unique_ptr<Scene>> scenes_;  // [spread in hundredths; 0 if the row has no open spread]
};

/// The measured times of a row: the iteration, the phases of each kind, and the measured tasks.
std::vector<cost::MeasuredSeconds> measured_of(const Measurement& row) {
  std::vector<cost::MeasuredSeconds> measured = {{"iteration", row.seconds, row.weight}};
  for (const PhaseKind kind : phase_kinds) measured.push_back({name_of(kind, row.job), 0, 0});
  for (const MeasuredPhase& phase : row.phases) {
    const std::string name = name_of(phase.phase, row.job);
    const auto found = std::find_if(measured.begin() + 1, measured.end(),
                                    [&](const cost::MeasuredSeconds& one) { return one.phase == name; });
    cost::MeasuredSeconds& place = found == measured.end() ? measured.emplace_back() : *found;
    place = {name, phase.seconds, phase_weight(row, phase.seconds)};
  }
  return measured;
}

/// The phases after the iteration in `measured`.
std::vector<Phase> phases_of(const std::vector<cost::MeasuredSeconds>& measured, const plan::Job& job) {
  std::vector<Phase> phases;
  for (std::size_t i = 1; i < measured.size(); ++i) phases.push_back(*phase_named(measured[i].phase, job));
  return phases;
}

bool leaves_spread_open(const Measurements& measurements) {
  return std::any_of(measurements.rows.begin(), measurements.rows.end(),
                     [](const Measurement& row) { return row.responses.has_value(); });
}

Candidate start_of(const Measurements& measurements) { return {measurements.start, {measurements.spread.start}}; }

std::vector<CalibrationRow> counted_rows(const Measurements& measurements) {
  std::vector<CalibrationRow> rows;
  for (const Measurement& row : measurements.rows)
    if (row.weight > 0) rows.push_back(calibration_row(row));
  return rows;
}

/// Whether raising a constant by 10% changes any measured time.
bool determines(const std::vector<CalibrationRow>& rows, const Candidate& start,
                const cost::EfficiencyConstant& constant) {
  constexpr double min_change = 0.002;
  Candidate changed = start;
  constant.of(changed.efficiency) *= 1.1;
  for (const CalibrationRow& row : rows) {
    const std::vector<double> before = row.predicted(start);
    const std::vector<double> after = row.predicted(changed);
    for (std::size_t i = 0; i < before.size(); ++i)
      if (row.measured[i].weight > 0 && std::abs(after[i] - before[i]) >= min_change * before[i]) return true;
  }
  return false;
}

PredictedRow predicted_row(const Measurement& row, const Candidate& fitted, const Candidate* left_out) {
  PredictedRow answer{row.name, row.group, row.caveat, row.weight, {}, {}};
  const std::vector<cost::MeasuredSeconds> measured = measured_of(row);
  RowPredictor predictor(row, phases_of(measured, row.job));
  const std::vector<double> by_fit = predictor.estimated(fitted);
  const std::vector<double> by_others = left_out == nullptr ? std::vector<double>() : predictor.estimated(*left_out);
  for (std::size_t i = 0; i < by_fit.size(); ++i) {
    PredictedPhase phase{measured[i].phase, measured[i].seconds, by_fit[i], std::nullopt};
    if (left_out != nullptr) phase.left_out = by_others[i];
    if (i == 0)
      answer.iteration = std::move(phase);
    else
      answer.phases.push_back(std::move(phase));
  }
  return answer;
}

/// Ranks of the values, from 0. Equal values share their mean rank.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double value : values) {
    double rank = -0.5;
    for (const double other : values) rank += other < value ? 1 : other == value ? 0.5 : 0;
    ranks.push_back(rank);
  }
  return ranks;
}

/// Spearman's rank correlation.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks_of(a);
  const std::vector<double> y = ranks_of(b);
  const double mean = (static_cast<double>(x.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (xx == 0 || yy == 0) return xx == yy ? 1 : 0;
  return xy / std::sqrt(xx * yy);
}

template <class Predicted>
ErrorSummary summary_of(const std::vector<PredictedRow>& rows, Predicted predicted) {
  ErrorSummary summary;
  double weights = 0;
  std::vector<double> measured;
  std::vector<double> answers;
  for (const PredictedRow& row : rows) {
    if (row.weight <= 0) continue;
    weights += row.weight;
    summary.mean += row.weight * std::abs(predicted(row.iteration) / row.iteration.measured - 1);
    measured.push_back(row.iteration.measured);
    answers.push_back(predicted(row.iteration));
    for (const PredictedPhase& phase : row.phases) {
      if (phase.measured <= 0 || phase.measured < 0.1 * row.iteration.measured) continue;
      const double error = std::abs(predicted(phase) / phase.measured - 1);
      if (error <= summary.worst_phase) continue;
      summary.worst_phase = error;
      summary.worst_name = row.name + ", " + phase_title(phase.name);
    }
  }
  summary.mean /= weights;
  summary.rank_correlation = rank_correlation(measured, answers);
  return summary;
}

std::size_t count_groups(const std::vector<CalibrationRow>& rows) {
  std::vector<std::string> groups;
  for (const CalibrationRow& row : rows) groups.push_back(row.group);
  std::sort(groups.begin(), groups.end());
  return static_cast<std::size_t>(std::unique(groups.begin(), groups.end()) - groups.begin());
}

std::vector<FittedValue> values_of(const std::vector<cost::Unknown>& unknowns, Candidate start, Candidate fitted) {
  std::vector<FittedValue> values;
  for (const cost::Unknown& unknown : unknowns) {
    const double value = unknown.of(fitted);
    values.push_back({unknown.name, unknown.of(start), value, value <= unknown.low || value >= unknown.high});
  }
  return values;
}

/// The fit without `group`, or the fit to all rows if no row of the group has a weight.
const Candidate* fit_without(const std::string& group, const Calibration& calibration,
                             const std::vector<cost::LeftOut>& left_out) {
  const auto found =
      std::find_if(left_out.begin(), left_out.end(), [&](const cost::LeftOut& one) { return one.group == group; });
  return found == left_out.end() ? &calibration.fit.candidate : &found->fit.candidate;
}

}  // namespace

CalibrationRow calibration_row(const Measurement& row) {
  std::vector<cost::MeasuredSeconds> measured = measured_of(row);
  auto predictor = std::make_shared<RowPredictor>(row, phases_of(measured, row.job));
  return {row.name, row.group, std::move(measured),
          [predictor](const Candidate& candidate) { return predictor->predicted(candidate); }};
}

std::vector<cost::Unknown> unknowns_of(const Measurements& measurements) {
  std::vector<cost::Unknown> unknowns;
  for (const std::string& name : measurements.fitted) unknowns.push_back(cost::efficiency_unknown(name));
  if (unknowns.empty()) {
    const std::vector<CalibrationRow> rows = counted_rows(measurements);
    Candidate start = start_of(measurements);
    for (const cost::EfficiencyConstant& constant : cost::efficiency_constants()) {
      const double value = constant.of(start.efficiency);
      if (value >= constant.low && value <= constant.high && determines(rows, start, constant))
        unknowns.push_back(cost::efficiency_unknown(constant.name));
    }
  }
  if (leaves_spread_open(measurements))
    unknowns.push_back(cost::workload_unknown("spread", sigma, measurements.spread.low, measurements.spread.high));
  return unknowns;
}

Calibration calibrate(const Measurements& measurements, const CalibrateOptions& options) {
  const std::vector<CalibrationRow> rows = counted_rows(measurements);
  DOVETAIL_ASSERT(!rows.empty());
  const std::size_t groups = count_groups(rows);
  const double planned =
      static_cast<double>(groups > 1 ? groups + 1 : 1) * (options.fit.restarts + 1) * options.fit.evaluations;

  Calibration calibration{measurements.name, measurements.source, {}, {}, {}, {}, {}, {}, false};
  const std::vector<cost::Unknown> unknowns = unknowns_of(measurements);
  double done = 0;
  cost::FitOptions fit_options = options.fit;
  fit_options.should_continue = [&](int evaluations) {
    done += evaluations;
    if (options.should_continue && !calibration.stopped)
      calibration.stopped = !options.should_continue(std::min(1.0, done / planned));
    return !calibration.stopped;
  };
  calibration.fit = cost::fit(rows, unknowns, start_of(measurements), fit_options);
  calibration.values = values_of(unknowns, start_of(measurements), calibration.fit.candidate);
  std::vector<cost::LeftOut> left_out;
  if (groups > 1 && !calibration.stopped)
    left_out = cost::leave_one_out(rows, unknowns, start_of(measurements), fit_options);
  // Cross-validation needs complete fits.
  if (calibration.stopped) left_out.clear();

  if (leaves_spread_open(measurements)) calibration.spread = calibration.fit.candidate.workload[sigma];
  for (const Measurement& row : measurements.rows)
    calibration.rows.push_back(predicted_row(
        row, calibration.fit.candidate, left_out.empty() ? nullptr : fit_without(row.group, calibration, left_out)));
  calibration.fitted = summary_of(calibration.rows, [](const PredictedPhase& phase) { return phase.fitted; });
  if (!left_out.empty())
    calibration.left_out = summary_of(calibration.rows, [](const PredictedPhase& phase) { return *phase.left_out; });
  calibration.fit.candidate.efficiency.error =
      calibration.left_out ? calibration.left_out->mean : std::max(measurements.start.error, calibration.fitted.mean);
  return calibration;
}

}  // namespace dovetail::measure
