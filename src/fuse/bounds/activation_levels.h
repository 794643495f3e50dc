// Amounts of activation that a device can hold: sums over the micro-batches in flight on its stages.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/problem/problem.h"

namespace dovetail::fuse {

/// The amounts of activation that a device's peak can equal, called levels. A peak above one level is at least the next
/// level.
class ActivationLevels {
 public:
  explicit ActivationLevels(const pipeline::Problem& problem);

  /// Returns the smallest level of any device that is at least `amount`, or nullopt if no device can hold that much.
  /// For a device with too many levels to enumerate, uses a lower bound on its level: the next multiple of the greatest
  /// common divisor of its stages' activations.
  std::optional<base::Memory> at_or_above(base::Memory amount) const;

 private:
  /// An amount of activation and how many times a device can hold it at once.
  struct Item {
    std::int64_t amount = 0;
    std::int64_t max = 0;
  };

  static void merge(std::vector<Item>& items);
  static std::int64_t min_sum(const std::vector<Item>& items, std::size_t first, std::int64_t target,
                              std::int64_t& steps_left);

  std::vector<std::vector<Item>> devices_;
};

}  // namespace dovetail::fuse
