#include "control/training_sums.h"

#include <algorithm>

namespace dovetail::control {

void TrainingSums::add(const TrainingSums& more) {
  weight += more.weight;
  loss += more.loss;
  entropy += more.entropy;
  clipped += more.clipped;
  ratio += more.ratio;
  max_ratio = std::max(max_ratio, more.max_ratio);
  divergence += more.divergence;
  gap += more.gap;
  max_gap = std::max(max_gap, more.max_gap);
  squared_error += more.squared_error;
  target += more.target;
  squared_target += more.squared_target;
  accurate += more.accurate;
  margin += more.margin;
  log_probability += more.log_probability;
}

}  // namespace dovetail::control
