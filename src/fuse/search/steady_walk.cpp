#include "fuse/search/steady_walk.h"

#include <algorithm>

#include "fuse/solution/variation.h"

namespace dovetail::fuse {

std::int64_t steadiness(const pipeline::OpGraph& graph, const pipeline::Order& order, std::int64_t makespan,
                        const SteadinessMeasure& measure) {
  VariationOptions options;
  options.draws = measure.draws;
  options.seed = measure.seed;
  const std::int64_t late = vary_durations(graph, order, options).percentile_95_thousandths;
  if (measure.percent == 0) return late;
  // Hundreds and the rest apart: times may be as large as 64 bits allow.
  const auto share = [](std::int64_t time, int percent) { return time / 100 * percent + time % 100 * percent / 100; };
  const std::int64_t planned = std::min(makespan, std::int64_t{1} << 51) * 1000;
  return share(planned, 100 - measure.percent) + share(late, measure.percent);
}

void walk_steadily(Chain& chain, const pipeline::OpGraph& graph, std::int64_t deadline, std::int64_t peak,
                   const std::vector<std::int64_t>& capacity, const SteadinessMeasure& measure, int samples,
                   std::int64_t iterations) {
  std::vector<std::int64_t> limit(static_cast<std::size_t>(chain.walk.devices()), peak);
  for (std::size_t device = 0; device < capacity.size(); ++device) limit[device] = std::min(peak, capacity[device]);
  chain.walk.reset(chain.best);
  for (int sample = 0; sample < samples; ++sample) {
    wander(chain, iterations, deadline, limit);
    const std::int64_t makespan = chain.walk.makespan();
    pipeline::Order order = chain.walk.order();
    const std::int64_t score = steadiness(graph, order, makespan, measure);
    if (score < chain.best_score && (measure.percent > 0 || makespan <= chain.best_makespan)) {
      record(chain);
      chain.best_score = score;
    } else {
      chain.walk.reset(chain.best);
    }
  }
}

}  // namespace dovetail::fuse
