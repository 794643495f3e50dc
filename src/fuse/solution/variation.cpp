#include "fuse/solution/variation.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/assert.h"
#include "base/random.h"
#include "parallel/for_each_index.h"

namespace dovetail::fuse {
namespace {

using base::OpId;
using pipeline::Arc;
using pipeline::OpGraph;
using pipeline::OpLabel;
using pipeline::Order;

constexpr std::size_t lanes = 8;  ///< draws evaluated together
using Lanes = std::array<std::int64_t, lanes>;

/// Times saturate here, so that no sum of the largest valid times overflows.
constexpr std::int64_t latest_time = std::numeric_limits<std::int64_t>::max() / 4;

/// Returns a 64-bit key of an op's label that is the same in every graph with that op.
std::uint64_t key_of(const OpLabel& label) {
  const auto field = [](std::int32_t value) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(value)); };
  const std::uint64_t model = base::scatter(static_cast<std::uint64_t>(label.kind) << 32 | field(label.model.value));
  const std::uint64_t pipeline = base::scatter(model ^ field(label.replica.value));
  return base::scatter(pipeline ^ (field(label.stage.value) << 32 | field(label.microbatch.value)));
}

/// An op in a fixed evaluation order. Times are in thousandths of a tick.
struct Step {
  std::uint64_t key = 0;
  std::int64_t whole_thousands = 0;  ///< duration in ticks / 1000
  std::int64_t rest = 0;             ///< duration in ticks % 1000
  bool varies = true;
  /// End of its entries in Sequence::waits, which begin where those of the previous step end.
  std::uint32_t waits_end = 0;
};

/// A step starts no earlier than `lag` after the end of step `before`.
struct Wait {
  std::uint32_t before = 0;
  std::int64_t lag = 0;
};

/// A schedule as steps in topological order: every op comes after everything it waits for, including the previous op of
/// its device.
struct Sequence {
  std::vector<Step> steps;
  std::vector<Wait> waits;
};

OpGraph with_order(const OpGraph& graph, const Order& order) {
  std::vector<pipeline::Precedence> extra = order.barriers;
  for (const std::vector<OpId>& ops : order.devices)
    for (std::size_t i = 1; i < ops.size(); ++i) extra.push_back({ops[i - 1], ops[i], base::Ticks(0)});
  return pipeline::with_predecessors(graph, extra);
}

Sequence sequence_of(const OpGraph& graph, const Order& order) {
  const OpGraph ordered = with_order(graph, order);
  Sequence sequence;
  sequence.steps.reserve(ordered.size());
  sequence.waits.reserve(ordered.predecessor_arcs.size());
  std::vector<std::uint32_t> position(ordered.size());
  for (const OpId op : pipeline::topological_order(ordered)) {
    position[op.index()] = static_cast<std::uint32_t>(sequence.steps.size());
    for (const Arc& arc : ordered.predecessors(op))
      sequence.waits.push_back({position[arc.op.index()], arc.lag.count() * 1000});
    const OpLabel& label = ordered.labels[op.index()];
    const std::int64_t duration = ordered.duration[op.index()].count();
    sequence.steps.push_back({key_of(label), duration / 1000, duration % 1000,
                              !pipeline::traits_of(label.kind).per_minibatch,
                              static_cast<std::uint32_t>(sequence.waits.size())});
  }
  return sequence;
}

/// Evaluates blocks of draws of one schedule.
class DrawEvaluator {
 public:
  DrawEvaluator(const Sequence& sequence, const VariationOptions& options)
      : sequence_(sequence),
        seed_key_(base::scatter(options.seed)),
        spread_(static_cast<std::int64_t>(options.thousandths) * 1000) {}

  /// Returns the makespans of draws first ... first + lanes - 1. `ends` is a buffer with one entry per step.
  Lanes makespans(std::uint64_t first, std::vector<Lanes>& ends) const {
    std::array<std::uint64_t, lanes> draw_keys;
    for (std::size_t lane = 0; lane < lanes; ++lane) draw_keys[lane] = base::scatter(seed_key_ + first + lane);
    Lanes makespan{};
    std::size_t next_wait = 0;
    for (std::size_t index = 0; index < sequence_.steps.size(); ++index) {
      const Step& step = sequence_.steps[index];
      Lanes end{};
      for (; next_wait < step.waits_end; ++next_wait) {
        const Wait& wait = sequence_.waits[next_wait];
        const Lanes& before = ends[wait.before];
        for (std::size_t lane = 0; lane < lanes; ++lane) end[lane] = std::max(end[lane], before[lane] + wait.lag);
      }
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        end[lane] = std::min(end[lane] + duration(step, draw_keys[lane]), latest_time);
        makespan[lane] = std::max(makespan[lane], end[lane]);
      }
      ends[index] = end;
    }
    return makespan;
  }

 private:
  /// Returns (duration * factor + 500) / 1000 with the factor in millionths, computed without overflow.
  std::int64_t duration(const Step& step, std::uint64_t draw_key) const {
    const std::int64_t factor = step.varies ? factor_of(step.key ^ draw_key) : 1'000'000;
    return step.whole_thousands * factor + (step.rest * factor + 500) / 1000;
  }

  /// Returns a factor in [1 - x, 1 + x], in millionths. The 2^32 values of the draw are distributed over it as evenly
  /// as possible.
  std::int64_t factor_of(std::uint64_t key) const {
    const std::uint64_t values = static_cast<std::uint64_t>(2 * spread_ + 1);
    return 1'000'000 - spread_ + static_cast<std::int64_t>(((base::scatter(key) >> 32) * values) >> 32);
  }

  const Sequence& sequence_;
  std::uint64_t seed_key_;
  std::int64_t spread_;  ///< x in millionths
};

/// Returns the smallest sorted value that at least `percent` percent of the values do not exceed.
std::int64_t nearest_rank(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  return sorted[(percent * sorted.size() + 99) / 100 - 1];
}

}  // namespace

Variation vary_durations(const OpGraph& graph, const Order& order, const VariationOptions& options) {
  DOVETAIL_ASSERT(options.draws >= 1 && options.thousandths >= 0 && options.thousandths <= 1000);
  const Sequence sequence = sequence_of(graph, order);
  const DrawEvaluator evaluator(sequence, options);
  const auto draws = static_cast<std::size_t>(options.draws);
  const std::size_t blocks = (draws + lanes - 1) / lanes;
  std::vector<Lanes> makespans(blocks);
  std::vector<char> done(blocks, 0);
  // One chunk of blocks per thread, so that each has its own buffer for ends.
  const std::size_t chunks = std::min(blocks, static_cast<std::size_t>(std::max(1, options.threads)));
  parallel::for_each_index(static_cast<int>(chunks), options.threads, [&](int chunk) {
    std::vector<Lanes> ends(sequence.steps.size());
    for (std::size_t block = static_cast<std::size_t>(chunk); block < blocks; block += chunks) {
      if (options.cancellation && options.cancellation->requested()) return;
      makespans[block] = evaluator.makespans(block * lanes, ends);
      done[block] = 1;
    }
  });
  std::vector<std::int64_t> sorted;
  for (std::size_t draw = 0; draw < draws; ++draw)
    if (done[draw / lanes]) sorted.push_back(makespans[draw / lanes][draw % lanes]);
  if (sorted.empty()) return {};
  std::sort(sorted.begin(), sorted.end());
  return {nearest_rank(sorted, 50), nearest_rank(sorted, 95)};
}

}  // namespace dovetail::fuse
