#include "cost/packing.h"

#include <algorithm>
#include <functional>

namespace dovetail::cost {
namespace {

/// What is left in each of so many packs; which is the first with enough takes the logarithm of their number.
class Rooms {
 public:
  Rooms(std::size_t packs, double capacity) {
    while (leaves_ < packs) leaves_ *= 2;
    most_.assign(2 * leaves_, capacity);
  }

  /// REQUIRES: some pack has it.
  std::size_t first_with(double room) const {
    std::size_t node = 1;
    while (node < leaves_) node = most_[2 * node] >= room ? 2 * node : 2 * node + 1;
    return node - leaves_;
  }

  void take(std::size_t pack, double tokens) {
    std::size_t node = leaves_ + pack;
    most_[node] -= tokens;
    while (node > 1) {
      node /= 2;
      most_[node] = std::max(most_[2 * node], most_[2 * node + 1]);
    }
  }

 private:
  std::size_t leaves_ = 1;
  std::vector<double> most_;  // a tree: of the node's own packs; the leaves are packs
};

}  // namespace

std::vector<Pack> first_fit_decreasing(std::vector<std::int64_t> lengths, double capacity) {
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  Rooms rooms(lengths.size(), capacity);
  std::vector<Pack> packs;
  for (const std::int64_t length : lengths) {
    const auto tokens = static_cast<double>(length);
    // Packs that nobody has begun have all of the capacity.
    const std::size_t first = rooms.first_with(std::min(tokens, capacity));
    rooms.take(first, tokens);
    if (first == packs.size()) packs.emplace_back();
    Pack& pack = packs[first];
    pack.tokens += length;
    pack.squares += tokens * tokens;
    pack.last = length;
  }
  return packs;
}

}  // namespace dovetail::cost
