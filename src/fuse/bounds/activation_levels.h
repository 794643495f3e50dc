// The amounts of activation that a device can hold at all: sums of what its stages hold for each micro-batch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/problem/problem.h"

namespace dovetail::fuse {

/// Between two neighbouring levels nothing is to be proven: a peak above one is at least the next.
class ActivationLevels {
 public:
  explicit ActivationLevels(const pipeline::Problem& problem);

  /// A level at or above `amount` such that no device can hold anything from `amount` up to it; nothing where no device
  /// can hold as much. Where a device has too many levels to look for, the next multiple of their greatest common
  /// divisor.
  std::optional<base::Memory> at_or_above(base::Memory amount) const;

 private:
  /// How often an amount can be held at once.
  struct Item {
    std::int64_t amount = 0;
    std::int64_t most = 0;
  };

  static void merge(std::vector<Item>& items);
  static std::int64_t min_sum(const std::vector<Item>& items, std::size_t first, std::int64_t target,
                              std::int64_t& steps_left);

  std::vector<std::vector<Item>> devices_;
};

}  // namespace dovetail::fuse
