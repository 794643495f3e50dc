// One chain of the search over plans: simulated annealing, cooling after cooling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/random.h"
#include "parallel/cancellation.h"
#include "planner/search/pool.h"

namespace dovetail::planner {

/// Draws from stream (seed, number) alone. A step changes the choice of a task, its mesh, both, the meshes of several
/// tasks at once, or what is fused; it is taken as Metropolis does it, at a temperature that falls geometrically from a
/// twentieth of the cost to a thousandth of that. Plans that do not fit cost more the more is missing (Score::cost), so
/// that a chain can pass through them, and so do those that lack a fusion which the job demands.
class Chain {
 public:
  static constexpr std::int64_t cooling = 20'000;  ///< steps of one cooling

  /// From `start`, or where it is null from the first choices on random meshes, with the fusions that the job demands;
  /// of `fusion` it tries the others as well. Remembers the `kept` best plans. `tables`, which chains share, outlive
  /// it.
  Chain(FusionTables& tables, const Selection* start, FusionSelection fusion, std::uint64_t seed, int number,
        std::size_t kept);

  /// `count` more steps of `planned` in all: a cooling begins every `cooling` steps, and the last one is as long as
  /// what is left of these. Fewer where it is cancelled. Two chains that are told the same go the same way, however
  /// their steps are shared out over calls.
  void run(std::int64_t count, std::int64_t planned, const parallel::Cancellation& cancellation);

  const std::vector<Found>& found() const { return pool_.found(); }
  /// Plans judged so far.
  std::int64_t evaluations() const { return evaluations_; }

 private:
  /// Where a chain is: a fusion that the selection cannot have is kept for when they can.
  struct State {
    Selection selection;
    FusionSelection fusion;

    friend bool operator==(const State&, const State&) = default;
  };

  void begin_cooling(std::int64_t length);
  void step();
  void propose();
  void place(std::size_t task, std::int32_t mesh);
  void join(std::size_t task, std::size_t other);
  void exchange(std::size_t a, std::size_t b);
  void put_side_by_side(std::size_t a, std::size_t b);
  void move_all(std::int32_t from, std::int32_t to);
  void change_fusion();
  bool keep_bound();
  Score score(const State& state);
  double cost_of(const Score& score) const;
  void remember();
  Selection anywhere();
  std::uint32_t below(std::size_t bound) { return random_.below(static_cast<std::uint32_t>(bound)); }
  std::size_t any_task() { return tasks_[below(tasks_.size())]; }
  std::int32_t any_mesh(std::size_t task) { return space_.open[task][below(space_.open[task].size())]; }
  std::int32_t any_choice(std::size_t task, std::int32_t mesh);

  const SearchSpace& space_;
  base::Random random_;
  Trial trial_;
  Pool pool_;
  std::map<cluster::Mesh, std::int32_t> numbers_;  // of the space's meshes
  std::vector<std::size_t> tasks_;                 // that are no rules
  std::int64_t usable_ = 0;
  FusionSelection demanded_;
  FusionSelection open_;  // that may be chosen or not
  State now_;
  State next_;
  Score score_;
  State best_;
  double best_cost_ = 0;
  double heat_ = 0;
  double factor_ = 1;  // of the heat, from step to step
  std::int64_t done_ = 0;
  std::int64_t evaluations_ = 0;
};

}  // namespace dovetail::planner
