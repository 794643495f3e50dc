// Random transfers.
#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <vector>

#include "simulate/traffic.h"

namespace dovetail::simulate::test {

/// Returns fewer than `most` transfers on links below `links`.
inline std::vector<Transfer> random_transfers(int links, int most) {
  std::vector<Transfer> transfers(static_cast<std::size_t>(*rc::gen::inRange(1, most)));
  for (Transfer& transfer : transfers) {
    for (int link = 0; link < links; ++link)
      if (*rc::gen::arbitrary<bool>()) transfer.links.push_back(link);
    if (transfer.links.empty()) transfer.links.push_back(*rc::gen::inRange(0, links));
    transfer.uncontended = base::Ticks(*rc::gen::inRange(1, 1000));
  }
  return transfers;
}

}  // namespace dovetail::simulate::test
