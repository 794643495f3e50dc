// The threshold of inter-stage fusion, chosen by simulation over several draws of samples.
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
  std::optional<double> threshold;  ///< nothing: do not migrate
  std::vector<base::Ticks> ends;    ///< [draw]
  base::Ticks value;                ///< what is compared: their mean, or a quantile
  std::size_t migrated = 0;         ///< draws in which anything did
};

/// 1%, 2%, 3% (of thousands of samples a few per cent are a tail), then 5%, 10%, ... 95%.
std::vector<double> usual_thresholds();

struct ThresholdOptions {
  std::vector<double> thresholds = usual_thresholds();  ///< rising, in (0, 1)
  std::optional<double> quantile;  ///< in [0, 1], of the draws' ends: the least that at least this fraction does not
                                   ///< exceed; else the mean
  int threads = 1;                 ///< that draws are shared out over; they do not change the answer
  const parallel::Cancellation* cancellation = nullptr;
};

struct ThresholdChoice {
  std::vector<ThresholdPoint> points;  ///< without migration, then by rising threshold
  std::size_t best = 0;                ///< index of the first with the least value
  base::Ticks side_by_side;            ///< mean or quantile, as a point's value: Stages::side_by_side
};

/// Plays every threshold on every draw; nothing where that is cancelled. REQUIRES: at least one draw; as
/// simulate_inter_stage.
std::optional<ThresholdChoice> choose_threshold(const InterStageTask& task,
                                                const std::vector<std::vector<Sample>>& draws,
                                                const ThresholdOptions& options = {});

}  // namespace dovetail::simulate
