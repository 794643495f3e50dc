#include "runtime/training/stage_state.h"

#include <algorithm>

#include "transport/ordered.h"

namespace dovetail::runtime {

std::vector<WeightPart> parts_of_share(const Weights& weights, std::size_t shares, std::size_t share) {
  std::vector<WeightPart> parts;
  const auto add_part_of = [&](std::int64_t begin, std::int64_t end) {
    const transport::Share own = transport::share_of(static_cast<std::size_t>(end - begin), shares, share);
    const std::int64_t first = begin + static_cast<std::int64_t>(own.begin);
    const std::int64_t last = first + static_cast<std::int64_t>(own.size);
    for (std::size_t i = 0; i < weights.parameters.size(); ++i) {
      const Parameter& parameter = weights.parameters[i];
      if (parameter.shared || parameter.offset < begin || parameter.offset >= end) continue;
      const std::int64_t from = std::max(first, parameter.offset);
      const std::int64_t to = std::min(last, parameter.offset + parameter.value.numel());
      if (from < to) parts.push_back({i, from - parameter.offset, to - parameter.offset});
    }
  };
  add_part_of(0, weights.apart);
  add_part_of(weights.apart, weights.values.numel());
  return parts;
}

}  // namespace dovetail::runtime
