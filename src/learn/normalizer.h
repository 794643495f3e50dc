// The scale of rewards and values, followed over a run.
#pragma once

#include <span>

namespace dovetail::learn {

/// Exponential means of numbers and of their squares, without the bias of their start (Kingma and Ba 2014, arXiv
/// 1412.6980, section 3). A plain state: checkpoints hold it.
struct RunningMoments {
  double decay = 0.99;
  double mean_sum = 0;
  double square_sum = 0;
  double weight = 0;  ///< of what has been seen, in 1: 0 at first

  /// 0 before anything is seen.
  double mean() const;
  /// At least 1e-2, squared: rewards that do not differ are not blown up; 1 before anything is seen.
  double deviation() const;

  double normalized(double value) const { return (value - mean()) / deviation(); }
  double denormalized(double value) const { return value * deviation() + mean(); }
};

/// One batch more: it counts as one, however many numbers it has. Nothing where it has none.
void update(RunningMoments& moments, std::span<const double> batch);

}  // namespace dovetail::learn
