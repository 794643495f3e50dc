#include "trainers/slime/flags.h"

#include <vector>

namespace dovetail::trainers {

std::span<const syntax::Flag> slime_flags() {
  static const std::vector<syntax::Flag> flags = [] {
    std::vector<syntax::Flag> all;
    for (const auto part : {slime_own_flags(), slime_megatron_flags(), slime_sglang_flags()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return flags;
}

}  // namespace dovetail::trainers
