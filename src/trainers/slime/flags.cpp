#include "trainers/slime/flags.h"

#include <vector>

namespace dovetail::trainers {

std::span<const Flag> slime_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<Flag> all;
    for (const auto part : {slime_own_flags(), slime_megatron_flags(), slime_sglang_flags()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return flags;
}

}  // namespace dovetail::trainers
