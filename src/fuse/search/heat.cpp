#include "fuse/search/heat.h"

#include <algorithm>
#include <iterator>

namespace dovetail::fuse {

Scale scale_of(const pipeline::OpGraph& graph) {
  Scale sum;
  double forwards = 0;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    sum.time += static_cast<double>(graph.duration[op].count());
    sum.memory += static_cast<double>(graph.acquire[op].count());
    forwards += graph.labels[op].kind == pipeline::OpKind::F ? 1 : 0;
  }
  return {sum.time / static_cast<double>(graph.size()), std::max(1.0, sum.memory / forwards)};
}

MakespanDescent makespan_descent(const Scale& scale, std::size_t turn, std::int64_t iterations) {
  struct Turn {
    double heat;
    bool prompt;
  };
  constexpr Turn turns[] = {{0.05, true}, {0.1, true}, {0.02, true}, {0.3, true}, {0.5, false}};
  constexpr double cold = 0.003;
  const Turn& own = turns[turn % std::size(turns)];
  return {Cooling(scale.time * own.heat, scale.time * cold, iterations), own.prompt};
}

MakespanDescent limited_makespan_descent(const Scale& scale, std::size_t turn, std::int64_t iterations) {
  if (turn % 4 != 3) return makespan_descent(scale, turn, iterations);
  struct Turn {
    double heat;
    double first_price;
    double last_price;
  };
  constexpr Turn turns[] = {{2, 0.1, 10}, {0.3, 0.3, 3}, {1, 0.03, 10}};
  constexpr double cold = 0.003;
  const Turn& own = turns[turn / 4 % std::size(turns)];
  MakespanDescent descent{Cooling(scale.time * own.heat, scale.time * cold, iterations), false};
  const Cooling falling(own.last_price, own.first_price, iterations);
  descent.price = own.first_price * scale.time / scale.memory;
  descent.price_factor = 1 / falling.factor;
  return descent;
}

std::vector<std::int64_t> makespan_coolings(std::int64_t ops, std::int64_t iterations) {
  constexpr std::int64_t first = 1'000;  // proposals per op
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = first * ops; iterations > 0; length *= 2) {
    lengths.push_back(iterations < 2 * length ? iterations : length);
    iterations -= lengths.back();
  }
  return lengths;
}

Cooling peak_cooling(const Scale& scale, double heat, std::int64_t iterations) {
  constexpr double cold = 0.004;
  return {scale.memory * heat, scale.memory * cold, iterations};
}

double fresh_heat(std::size_t turn) {
  constexpr double heats[] = {0.3, 0.05, 0.6, 1.2};
  return heats[turn % std::size(heats)];
}

double reheat_heat(std::size_t turn) {
  constexpr double heats[] = {0.05, 0.1, 0.02};
  return heats[turn % std::size(heats)];
}

std::int64_t cap_step(const Scale& scale) {
  constexpr double step = 0.035;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(scale.memory * step));
}

}  // namespace dovetail::fuse
