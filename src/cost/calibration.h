// Fits the constants of Efficiency to measured times, and says what they predict of what they were not fitted to.
//
// A fit minimises
//
//   weighted mean over all measured times of (sqrt(e^2 + noise^2) - noise)  +  prior * sum over unknowns of ln(value /
//                                                                           start)^2
//
// with e = ln(predicted / measured): absolute errors, so that one row that misses does not pull all others along, but
// for what is below the noise of measurements themselves; and a penalty that keeps what the measurements do not
// determine near where it started.
//
// The unknowns are positive and bounded. The search is Nelder and Mead's simplex (A simplex method for function
// minimization, 1965) in value / start, begun again from its own best with a new simplex, and from starts that are up
// to twice as large or small. Its random numbers are base::Random's and its logarithms base::negative_log's, so that it
// takes the same path wherever the predictions are the same.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/efficiency.h"

namespace dovetail::cost {

/// What a fit chooses: constants of the software, and facts of the workload that its source does not give (such as the
/// spread of lengths).
struct Candidate {
  Efficiency efficiency;
  std::vector<double> workload;
};

/// One number of a Candidate that is fitted, within bounds. REQUIRES: 0 < low <= high.
struct Unknown {
  std::string name;
  double low = 0;
  double high = 0;
  std::function<double&(Candidate&)> of;
};

/// The constant of Efficiency of that name, with its bounds. REQUIRES: it is one of efficiency_constants()
/// (efficiency_file.h).
Unknown efficiency_unknown(std::string_view name);
Unknown workload_unknown(std::string name, std::size_t index, double low, double high);

/// A measured time: of a phase, or of all.
struct MeasuredSeconds {
  std::string phase;
  double seconds = 0;
  double weight = 1;  ///< in the objective; 0 where it is only shown
};

/// A measured run.
struct CalibrationRow {
  std::string name;
  std::string group;                                                    ///< left out together: a model, or a sweep
  std::vector<MeasuredSeconds> measured;                                ///< at least one
  std::function<std::vector<double>(const Candidate&)> predicted = {};  ///< seconds, one for each of `measured`
};

struct FitOptions {
  double noise = 0.05;  ///< runs repeat themselves no better than that (docs/facts.md#whom-constants-belong-to)
  double prior = 0.002;
  int restarts = 2;        ///< starts beside the given one
  int evaluations = 1200;  ///< of all rows, for each start
  std::uint64_t seed = 1;
  /// Called with each few more evaluations of all rows; false ends the fit with the best so far.
  std::function<bool(int evaluations)> go_on = {};
};

struct Fit {
  Candidate candidate;
  double error = 0;  ///< weighted mean of |ln(predicted / measured)|, without the penalty
};

/// The weighted mean of sqrt(e^2 + noise^2) - noise, which is |e| without noise. REQUIRES: some weight is above 0,
/// predictions are above 0.
double mean_error(const std::vector<CalibrationRow>& rows, const Candidate& candidate, double noise = 0);

/// The candidate that fits best; where it starts, where no unknown is given. REQUIRES: as mean_error, unknowns of
/// `start` within their bounds.
Fit fit(const std::vector<CalibrationRow>& rows, const std::vector<Unknown>& unknowns, const Candidate& start,
        const FitOptions& options = {});

/// A group, and the fit to all rows but its own.
struct LeftOut {
  std::string group;
  Fit fit;
};
/// Of each group, in the order of the rows. REQUIRES: at least two groups have a weight above 0.
std::vector<LeftOut> leave_one_out(const std::vector<CalibrationRow>& rows, const std::vector<Unknown>& unknowns,
                                   const Candidate& start, const FitOptions& options = {});

}  // namespace dovetail::cost
