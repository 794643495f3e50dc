#include "control/data/order.h"

#include <numeric>
#include <utility>

#include "base/assert.h"
#include "base/random.h"

namespace dovetail::control {

namespace {

constexpr std::uint64_t order_of_data = 1;

}  // namespace

std::vector<std::size_t> permutation(std::uint64_t seed, std::uint64_t purpose, std::uint64_t index,
                                     std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  base::Random random(seed, base::scatter(purpose) ^ index);
  for (std::size_t left = count; left > 1; --left)
    std::swap(order[left - 1], order[random.below(static_cast<std::uint32_t>(left))]);
  return order;
}

std::vector<DataPlace> places_of(std::uint64_t seed, bool shuffle, std::size_t count, std::int64_t iteration,
                                 std::int64_t batch) {
  DOVETAIL_ASSERT(count >= 1);
  std::vector<DataPlace> places;
  std::vector<std::size_t> order;
  std::uint64_t order_epoch = 0;
  for (std::int64_t i = 0; i < batch; ++i) {
    const auto position = static_cast<std::uint64_t>(iteration * batch + i);
    const std::uint64_t epoch = position / count;
    const auto within = static_cast<std::size_t>(position % count);
    if (shuffle && (order.empty() || order_epoch != epoch)) order = permutation(seed, order_of_data, epoch, count);
    order_epoch = epoch;
    places.push_back({epoch, shuffle ? order[within] : within});
  }
  return places;
}

std::int64_t iterations_of(std::int64_t epochs, std::size_t count, std::int64_t batch) {
  return (epochs * static_cast<std::int64_t>(count) + batch - 1) / batch;
}

}  // namespace dovetail::control
