// Chooses the threshold of inter-stage fusion by simulating several draws of samples.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/quantity.h"
#include "parallel/cancellation.h"
#include "simulate/inter_stage.h"
#include "simulate/sample.h"

namespace dovetail::simulate {

/// Results of one threshold over several draws of samples.
struct ThresholdPoint {
  std::optional<double> threshold;  ///< fraction of the samples; nullopt: no migration
  std::vector<base::Ticks> ends;    ///< [draw] end of generation and inference
  base::Ticks value;                ///< mean or quantile of the ends; the smallest value wins
  std::size_t migrated = 0;         ///< number of draws with a migration
};

/// Returns 1%, 2%, 3%, then 5%, 10%, ... 95%. The first steps are small because a few percent of thousands of samples
/// already form a tail.
std::vector<double> default_thresholds();

struct ThresholdOptions {
  std::vector<double> thresholds = default_thresholds();  ///< thresholds to compare: ascending, in (0, 1)

  /// Compares thresholds by this quantile of the ends, in [0, 1]: the earliest end by which at least this fraction of
  /// the draws have ended. nullopt: by the mean.
  std::optional<double> quantile;
  int threads = 1;  ///< number of draws simulated in parallel; does not affect the result
  const parallel::Cancellation* cancellation = nullptr;
};

struct ThresholdChoice {
  std::vector<ThresholdPoint> points;  ///< result without migration, then by ascending threshold
  std::size_t best = 0;                ///< index of the first point with the smallest value
  base::Ticks side_by_side;            ///< mean or quantile of Stages::side_by_side
};

/// Simulates every threshold on every draw and chooses the best. Returns nullopt if canceled. REQUIRES: there is
/// at least one draw, and the conditions of simulate_inter_stage hold.
std::optional<ThresholdChoice> choose_threshold(const InterStageTask& task,
                                                const std::vector<std::vector<Sample>>& draws,
                                                const ThresholdOptions& options = {});

}  // namespace dovetail::simulate
