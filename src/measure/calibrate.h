// Fits efficiencies to measured runs and reports the remaining error for each row and phase.
//
// predict::timed_iteration predicts each run, as for any other plan, so the fit uses the same model as planning. During
// the fit, the duration of a fused schedule scales with its lower bound; final results use a newly computed schedule.
// cost/calibration.h documents the objective and the method.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost/calibration.h"
#include "measure/measurement.h"

namespace dovetail::measure {

/// Returns a run as input of a fit, with seconds predicted by predict::timed_iteration. Its entries are the iteration,
/// then each kind of phase (measured or not), then the measured tasks. The iteration has the row's weight, and phases
/// have phase_weight, or 0 if they were not measured. `row` must outlive the result.
cost::CalibrationRow calibration_row(const Measurement& row);

/// Returns the values to fit: the constants that the measurements name or, if they name none, the constants that the
/// rows determine. A row determines a constant if a 10% higher constant changes the prediction of a time with a
/// positive weight by at least 0.2%. Includes the spread of response lengths if a row does not specify it.
std::vector<cost::Unknown> unknowns_of(const Measurements& measurements);

/// Measured and predicted seconds of a phase. `measured` is 0 if the phase was not measured.
struct PredictedPhase {
  std::string name;
  double measured = 0;
  double fitted = 0;               ///< prediction by the fit to all rows
  std::optional<double> left_out;  ///< prediction by the fit without the row's group; nullopt: no cross-validation
};

struct PredictedRow {
  std::string name;
  std::string group;
  std::string caveat;
  double weight = 0;
  PredictedPhase iteration;
  std::vector<PredictedPhase> phases;  ///< phases in the order of calibration_row
};

/// Errors |predicted / measured - 1| over the rows with a positive weight.
struct ErrorSummary {
  double mean = 0;  ///< weighted mean over iterations
  double worst_phase =
      0;  ///< largest error of a measured phase that takes at least 10% of its iteration; 0 if there is no such phase
  std::string worst_name;  ///< row and phase with that error
  /// Spearman's correlation of measured and predicted iteration times; 1 for a single row.
  double rank_correlation = 0;
};

/// A fitted constant, or the fitted spread of lengths ("spread").
struct FittedValue {
  std::string name;
  double start = 0;
  double value = 0;
  bool at_bound = false;  ///< whether `value` is at a bound of its range
};

struct Calibration {
  std::string name;
  std::string source;
  std::vector<FittedValue> values;
  cost::Fit fit;
  std::optional<double> spread;    ///< fitted spread; nullopt if every row specifies it
  std::vector<PredictedRow> rows;  ///< in the order of the measurements
  ErrorSummary fitted;
  std::optional<ErrorSummary> left_out;  ///< cross-validation; nullopt with fewer than two groups, or if stopped
  bool stopped = false;                  ///< whether the fit was stopped, so that the result is the best so far
};

struct CalibrateOptions {
  cost::FitOptions fit;  ///< its should_continue is ignored
  /// Called periodically with the completed fraction, from 0 to 1. Return false to stop.
  std::function<bool(double share)> should_continue = {};
};

/// Fits to all rows with a positive weight, then again with each group left out in turn. The mean error of these
/// cross-validation fits becomes the error of the efficiencies. Without cross-validation, their error is the larger of
/// the error of Measurements::start and the mean error of the fit. Unless stopped, the result depends only on the
/// measurements, seed, restarts and evaluations. REQUIRES: at least one row has a positive weight; the start values are
/// within their bounds.
Calibration calibrate(const Measurements& measurements, const CalibrateOptions& options = {});

}  // namespace dovetail::measure
