// Fits the constants of Efficiency to measured times, and predicts measurements outside the fit.
//
// A fit minimizes
//
//   weighted mean over all measured times of (sqrt(e^2 + noise^2) - noise)
//     + prior * sum over unknowns of ln(value / start)^2
//
// with e = ln(predicted / measured). Errors are not squared, so that one outlier does not dominate, and errors below
// the measurement noise count little. The second term, the penalty, keeps constants near their start unless the
// measurements determine them.
//
// Unknowns are positive and bounded. The search is the simplex method of Nelder and Mead (A simplex method for function
// minimization, 1965) over value / start. It restarts from its own best point with a new simplex, and from random
// points where each value is between half and twice its start. It uses base::Random and base::negative_log, so equal
// predictions give the same fit on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/efficiency.h"

namespace dovetail::cost {

/// Values that a fit chooses: constants of the software, and workload properties that the source of the measurements
/// omits, such as the spread of lengths.
struct Candidate {
  Efficiency efficiency;
  std::vector<double> workload;
};

/// A value in Candidate to fit, within bounds. REQUIRES: 0 < low <= high.
struct Unknown {
  std::string name;
  double low = 0;
  double high = 0;
  std::function<double&(Candidate&)> of;
};

/// Returns the Efficiency constant of that name as an unknown, with its bounds. REQUIRES: find_constant(name) is not
/// null.
Unknown efficiency_unknown(std::string_view name);
/// Returns Candidate::workload[index] as an unknown.
Unknown workload_unknown(std::string name, std::size_t index, double low, double high);

/// A measured time of a phase, or of the whole iteration.
struct MeasuredSeconds {
  std::string phase;
  double seconds = 0;
  double weight = 1;  ///< weight in the objective; 0: reported, but not fitted
};

/// A measured run, with a function that predicts its times.
struct CalibrationRow {
  std::string name;
  std::string group;                      ///< rows of one group, such as a model or a sweep, are left out together
  std::vector<MeasuredSeconds> measured;  ///< at least one
  std::function<std::vector<double>(const Candidate&)> predicted = {};  ///< seconds for each entry of `measured`
};

struct FitOptions {
  double noise = 0.05;     ///< relative variation between equal runs (docs/facts.md#scope-of-constants)
  double prior = 0.002;    ///< weight of the penalty
  int restarts = 2;        ///< random starts in addition to the given one
  int evaluations = 1200;  ///< evaluations of the objective, for each start
  std::uint64_t seed = 1;
  /// Called after every few evaluations with the number of evaluations since the last call. Once it returns only false,
  /// the fit soon ends with the best result so far.
  std::function<bool(int evaluations)> should_continue = {};
};

struct Fit {
  Candidate candidate;
  double error = 0;  ///< weighted mean of |ln(predicted / measured)|, without the penalty
};

/// Returns the weighted mean of sqrt(e^2 + noise^2) - noise over all measured times, where e = ln(predicted /
/// measured). With `noise` 0, this is the mean of |e|. REQUIRES: at least one weight and all predictions are above 0.
double mean_error(const std::vector<CalibrationRow>& rows, const Candidate& candidate, double noise = 0);

/// Returns the best candidate found and its error. Without unknowns, the candidate is `start`. REQUIRES: the conditions
/// of mean_error hold, and the unknowns of `start` are within their bounds.
Fit fit(const std::vector<CalibrationRow>& rows, const std::vector<Unknown>& unknowns, const Candidate& start,
        const FitOptions& options = {});

/// A group, and the fit to the rows of all other groups.
struct LeftOut {
  std::string group;
  Fit fit;
};
/// Returns one entry per group, in the order of their first rows. REQUIRES: at least two groups have a weight above 0,
/// and the conditions of fit hold.
std::vector<LeftOut> leave_one_out(const std::vector<CalibrationRow>& rows, const std::vector<Unknown>& unknowns,
                                   const Candidate& start, const FitOptions& options = {});

}  // namespace dovetail::cost
