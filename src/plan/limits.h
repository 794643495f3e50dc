// What a job limits of its plans.
#pragma once

#include <cstdint>
#include <optional>

#include "base/document.h"
#include "base/result.h"

namespace dovetail::plan {

/// The memory margin that plans leave at least of each device: a share of its usable memory and bytes, one of which is
/// 0.
struct MinMargin {
  double share = 0;
  std::int64_t bytes = 0;

  std::int64_t of(std::int64_t usable) const;
  friend bool operator==(const MinMargin&, const MinMargin&) = default;
};

struct Limits {
  std::optional<MinMargin> margin;  ///< nothing: whoever predicts chooses it (predict/closed_form/margin.h)

  friend bool operator==(const Limits&, const Limits&) = default;
};

/// Reads `limits: {margin: 5%}` or `{margin: 4GiB}` of a job; a share is from 0% to 90%. An Error at what is wrong.
base::Result<Limits> read_limits(const base::Node& node);

}  // namespace dovetail::plan
