// The amounts of memory that a device can hold: the only values that a peak can have.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuse/exact/exact_model.h"

namespace dovetail::fuse {

/// The candidates for the least peak, between a bound and a peak that was found. Where there are too many to be listed,
/// all whole numbers.
class Levels {
 public:
  /// Candidates from `least` to below `peak`, on devices that may hold `caps`.
  Levels(const ExactModel& model, const std::vector<std::int64_t>& caps, std::int64_t least, std::int64_t peak);

  /// The candidate to try next; nothing when none is left.
  std::optional<std::int64_t> middle() const;
  /// The smallest candidate left.
  std::optional<std::int64_t> least() const;
  /// No schedule has this peak or less.
  void drop_up_to(std::int64_t peak);
  /// One has this peak.
  void drop_from(std::int64_t peak);

 private:
  bool listed_ = true;
  std::vector<std::int64_t> levels_;  // ascending
  std::int64_t begin_ = 0;            // the candidates: indices into levels_, or the numbers themselves
  std::int64_t end_ = 0;
};

}  // namespace dovetail::fuse
