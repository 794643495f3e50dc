#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "fuse/bounds/bounds.h"
#include "fuse/bounds/refutation.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Model;
using pipeline::Problem;

/// A time by which all ops can have run one after another, with all transfers between them. No bound can exceed it.
Ticks serial(const Problem& problem) {
  Ticks total;
  for (const Model& model : problem.models) {
    Ticks microbatch;
    Ticks steps;
    for (std::size_t s = 0; s < static_cast<std::size_t>(model.stages()); ++s) {
      microbatch += model.forward[s] + model.whole_backward(s);
      if (s > 0) microbatch += model.transfer_forward[s - 1] + model.transfer_backward[s - 1];
      steps += model.step[s];
    }
    const auto replicas = static_cast<std::int64_t>(model.replicas.size());
    total += microbatch * (replicas * model.total_microbatches()) + steps * (replicas * model.minibatches);
  }
  return total;
}

/// Raises a proven makespan bound by refuting smaller makespans.
class MakespanSearch {
 public:
  MakespanSearch(const Problem& problem, std::vector<Memory> headroom, Ticks least, const BoundOptions& options)
      : headroom_(std::move(headroom)),
        least_(least),
        // Without a known schedule this limit may not be attainable, but no larger bound can be proven.
        most_(std::max(least, options.known_makespan.value_or(serial(problem)))),
        refutation_(problem),
        budget_{options.work.value_or(default_work(problem)), options.cancellation} {}

  Ticks run() && {
    search(ProofDepth::windows);
    if (refutation_.network().size() > max_ops_to_sequence) return least_;
    search(ProofDepth::sequences);
    search(ProofDepth::cases);
    return least_;
  }

 private:
  bool is_settled() const { return budget_.spent() || least_ >= most_; }

  /// Tries to refute `deadline`. If it succeeds, the bound rises above it.
  bool refute(Ticks deadline, ProofDepth depth) {
    if (!refutation_.refutes(deadline, headroom_, depth, budget_)) return false;
    least_ = deadline + Ticks(1);
    return true;
  }

  /// Steps grow up to the largest possible sum of all times of a problem.
  Ticks next_step(Ticks step) const {
    return std::min(step * 2 + Ticks(least_.count() / 4096 + 1), Ticks(pipeline::max_sum));
  }

  void search(ProofDepth depth) {
    Ticks open = most_;  // smallest deadline that was not refuted at this depth, or most_
    for (Ticks step; !is_settled(); step = next_step(step)) {
      const Ticks deadline = least_ + step;
      if (deadline >= open) break;
      if (refute(deadline, depth)) continue;
      open = deadline;
      break;
    }
    while (!is_settled() && least_ < open) {
      const Ticks deadline = least_ + Ticks((open - least_).count() / 2);
      if (!refute(deadline, depth)) open = deadline;
    }
  }

  std::vector<Memory> headroom_;
  Ticks least_;
  Ticks most_;
  Refutation refutation_;
  ProofBudget budget_;
};

}  // namespace

Ticks makespan_bound(const Problem& problem, std::optional<Memory> cap, const BoundOptions& options) {
  const Ticks least = bounds_of(problem).makespan;
  if (pipeline::count_ops(problem) > max_ops_to_refute || options.work == 0) return least;
  if (!find_impossible(problem, cap).empty()) return least;
  return MakespanSearch(problem, pipeline::headroom_of(problem, cap), least, options).run();
}

}  // namespace dovetail::fuse
