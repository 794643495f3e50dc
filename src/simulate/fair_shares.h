// What part of their links several transfers have, each its fair share.
#pragma once

#include <cstdint>
#include <vector>

#include "base/quantity.h"

namespace dovetail::simulate {

/// Bytes on their way over some links, all of them at once.
struct Transfer {
  std::vector<int> links;  ///< at least one, none twice
  base::Ticks alone;       ///< ns that it takes where nothing else is on its links
  std::int64_t bytes = 0;

  bool operator==(const Transfer&) const = default;
};

/// [transfer] what part of the speed it has alone, for all of `transfers` at once: max-min fair (Bertsekas and
/// Gallager, Data Networks, section 6.5.2). A link's transfers have equal parts of it, but for those that another link
/// holds back to less; what these leave is the others'. So no transfer could have more without one that has no more
/// than it having less. Links of equal parts go in the order of their numbers.
std::vector<double> fair_shares(const std::vector<const Transfer*>& transfers);

}  // namespace dovetail::simulate
