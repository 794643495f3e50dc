// Fits efficiencies to measured runs, and says what error is left, row by row and phase by phase.
//
// Each run is predicted by predict::timed_iteration, as any other plan is: what is fitted is what plans are predicted
// with. (While it fits, two trainings in one schedule get longer and shorter with their bound; all that comes out has a
// schedule of its own.) What a fit minimises, and how, is in cost/calibration.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost/calibration.h"
#include "measure/measurement.h"

namespace dovetail::measure {

/// A run with the seconds that predict::timed_iteration predicts of it: its iteration, then the phases of each kind,
/// measured or not, then measured tasks. Weights are the row's and phase_weight's; 0 of what was not measured. The row
/// must outlive it.
cost::CalibrationRow calibration_row(const Measurement& row);

/// What is fitted: the constants that the measurements name, or those that the rows say anything of (a tenth more of
/// one changes what is predicted of some measured time that counts by 0.2% or more), and the spread of the lengths of
/// responses where a row leaves it open.
std::vector<cost::Unknown> unknowns_of(const Measurements& measurements);

/// Seconds, measured and predicted. Of what was not measured `measured` is 0.
struct PredictedPhase {
  std::string name;
  double measured = 0;
  double fitted = 0;               ///< by the fit to all rows
  std::optional<double> left_out;  ///< by the fit to all groups but the row's own, where there is one
};

struct PredictedRow {
  std::string name;
  std::string group;
  std::string doubtful;
  double weight = 0;
  PredictedPhase iteration;
  std::vector<PredictedPhase> phases;  ///< those of calibration_row
};

/// Errors of the rows that count: |predicted / measured - 1|.
struct ErrorSummary {
  double mean = 0;         ///< of iterations, weighted
  double worst_phase = 0;  ///< of the measured phases that are a tenth of their row or more; 0 where there are none
  std::string worst_name;  ///< its row and phase
  double rank_correlation = 0;  ///< Spearman's, of measured and predicted iterations; 1 of a single row
};

/// A constant that was fitted, or the spread of lengths ("spread").
struct FittedValue {
  std::string name;
  double start = 0;
  double value = 0;
  bool at_bound = false;  ///< it would have gone further
};

struct Calibration {
  std::string name;
  std::string source;
  std::vector<FittedValue> values;
  cost::Fit fit;
  std::optional<double> spread;    ///< fitted, where a row leaves it open
  std::vector<PredictedRow> rows;  ///< as measured
  ErrorSummary fitted;
  std::optional<ErrorSummary> left_out;  ///< where there are two groups or more, and nothing stopped it
  bool stopped = false;                  ///< before its end: the best so far
};

struct CalibrateOptions {
  cost::FitOptions fit;  ///< its go_on is not used
  /// Called now and then with the part that is done, from 0 to 1; false stops.
  std::function<bool(double share)> go_on = {};
};

/// Fits to all rows that count, then to all but each group, whose mean error becomes that of the efficiencies. Where
/// nothing was left out nothing is known of what was not fitted: they keep the error of what the fit starts from, or
/// have the fit's own where that is larger. The answer hangs on the measurements, seed, restarts and evaluations alone.
/// REQUIRES: a row counts, start values of what is fitted are within their bounds.
Calibration calibrate(const Measurements& measurements, const CalibrateOptions& options = {});

}  // namespace dovetail::measure
