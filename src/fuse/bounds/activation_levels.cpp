#include "fuse/bounds/activation_levels.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace dovetail::fuse {

using base::Memory;

namespace {

constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t max_steps = 100'000;
/// Maximum number of distinct amounts. More would have too many sums to search.
constexpr std::size_t max_items = 64;

}  // namespace

ActivationLevels::ActivationLevels(const pipeline::Problem& problem)
    : devices_(static_cast<std::size_t>(problem.devices)) {
  for (const pipeline::Model& model : problem.models) {
    for (const auto& devices : model.replicas) {
      for (std::size_t s = 0; s < devices.size(); ++s) {
        std::vector<Item>& items = devices_[devices[s].index()];
        items.push_back({model.activation[s].count(), model.total_microbatches()});
        if (model.split()) items.push_back({model.weight_activation[s].count(), model.total_microbatches()});
      }
    }
  }
  for (std::vector<Item>& items : devices_) merge(items);
}

/// Merges equal amounts and drops zeros.
void ActivationLevels::merge(std::vector<Item>& items) {
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.amount > b.amount; });
  std::vector<Item> merged;
  for (const Item& item : items) {
    if (item.amount == 0) continue;
    if (merged.empty() || merged.back().amount != item.amount)
      merged.push_back(item);
    else
      merged.back().max += item.max;
  }
  items = std::move(merged);
}

/// Returns the smallest sum of the items from `first` on that reaches `target` > 0, or `none` if all of them together
/// do not reach it.
std::int64_t ActivationLevels::min_sum(const std::vector<Item>& items, std::size_t first, std::int64_t target,
                                       std::int64_t& steps_left) {
  if (first == items.size()) return none;
  const Item& item = items[first];
  const std::int64_t enough = (target - 1) / item.amount + 1;
  std::int64_t best = enough <= item.max ? enough * item.amount : none;
  for (std::int64_t count = 0; count < enough && count <= item.max && --steps_left > 0; ++count) {
    const std::int64_t rest = min_sum(items, first + 1, target - count * item.amount, steps_left);
    if (rest != none) best = std::min(best, count * item.amount + rest);
  }
  return best;
}

std::optional<Memory> ActivationLevels::at_or_above(Memory amount) const {
  if (amount <= Memory(0)) return Memory(0);
  std::int64_t best = none;
  for (const std::vector<Item>& items : devices_) {
    std::int64_t divisor = 0;
    std::int64_t total = 0;
    for (const Item& item : items) {
      divisor = std::gcd(divisor, item.amount);
      total += item.amount * item.max;
    }
    if (total < amount.count()) continue;
    std::int64_t steps_left = items.size() > max_items ? 0 : max_steps;
    const std::int64_t least = steps_left > 0 ? min_sum(items, 0, amount.count(), steps_left) : none;
    best = std::min(best, steps_left > 0 ? least : ((amount.count() - 1) / divisor + 1) * divisor);
  }
  if (best == none) return std::nullopt;
  return Memory(best);
}

}  // namespace dovetail::fuse
