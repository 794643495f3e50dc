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

/// One threshold over several draws of samples.
struct ThresholdPoint {
  std::optional<double> threshold;  ///< nullopt: no migration
  std::vector<base::Ticks> ends;    ///< [draw]
  base::Ticks value;                ///< mean or quantile of the ends; the smallest value wins
  std::size_t migrated = 0;         ///< draws with a migration
};

/// Returns 1%, 2%, 3% (a few percent of thousands of samples are a tail), then 5%, 10%, ... 95%.
std::vector<double> default_thresholds();

struct ThresholdOptions {
  std::vector<double> thresholds = default_thresholds();  ///< ascending, in (0, 1)
  /// In [0, 1]: compares the smallest end that at least this fraction of the draws does not exceed; nullopt: the mean.
  std::optional<double> quantile;
  int threads = 1;  ///< draws run in parallel; the result does not depend on it
  const parallel::Cancellation* cancellation = nullptr;
};

struct ThresholdChoice {
  std::vector<ThresholdPoint> points;  ///< without migration, then by ascending threshold
  std::size_t best = 0;                ///< index of the first point with the smallest value
  base::Ticks side_by_side;            ///< mean or quantile of Stages::side_by_side
};

/// Simulates every threshold on every draw. nullopt if canceled. REQUIRES: at least one draw; as simulate_inter_stage.
std::optional<ThresholdChoice> choose_threshold(const InterStageTask& task,
                                                const std::vector<std::vector<Sample>>& draws,
                                                const ThresholdOptions& options = {});

}  // namespace dovetail::simulate
