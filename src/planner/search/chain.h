// One chain of the search over plans: simulated annealing in repeated coolings, with a pool of the best plans found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "parallel/cancellation.h"
#include "planner/space/trial.h"

namespace dovetail::planner {

/// A selection with its score, which includes its fusions.
struct Found {
  Selection selection;
  Score score;

  friend bool operator==(const Found&, const Found&) = default;
};

/// The best plans that fit, sorted by period. Keeps only the best of those with the same meshes and fusions.
class Pool {
 public:
  /// Keeps at most `max_size` plans. REQUIRES: max_size > 0.
  explicit Pool(std::size_t max_size) : max_size_(max_size) {}

  /// Adds the selection if it fits and is among the best. It replaces a slower plan with the same meshes and fusions.
  void add(const Selection& selection, const Score& score);

  const std::vector<Found>& found() const { return found_; }

 private:
  std::size_t max_size_;
  std::vector<Found> found_;
};

/// Returns the plans with their Trial::exact_score, the best first.
std::vector<Found> scored_exactly(Trial& trial, std::vector<Found> found);

/// Append plans to a message for other processes (parallel/exchange.h), and read them from one.
void put(std::string& message, const std::vector<Found>& found);
std::vector<Found> take_found(std::string_view& message);

/// A chain of simulated annealing. All its random numbers come from stream `number` of the seed. A step changes a
/// task's choice, its mesh, both, the meshes of several tasks, or the fusions. Steps are accepted by the
/// Metropolis rule. The temperature of a cooling falls geometrically, from 1/20 of the cost at its start to a
/// thousandth of that temperature. Plans that do not fit (Score::cost) or lack a required fusion cost more, but are
/// allowed, so that a chain can pass through them.
class Chain {
 public:
  static constexpr std::int64_t cooling = 20'000;  ///< steps of one cooling

  /// Starts at `start` with the fusions that the job requires, and also tries the other fusions in `fusion`. If `start`
  /// is null, it starts with the first choices on random meshes. Keeps the `kept` best plans. `tables` are shared by
  /// chains and must outlive them.
  Chain(FusionTables& tables, const Selection* start, FusionSelection fusion, std::uint64_t seed, int number,
        std::size_t kept);

  /// Runs the next `count` of the chain's `planned` steps, or fewer if cancelled. A cooling begins every `cooling`
  /// steps, and the last one takes the remaining steps. Unless cancelled, the result does not depend on how the steps
  /// are divided among calls.
  void run(std::int64_t count, std::int64_t planned, const parallel::Cancellation& cancellation);

  const std::vector<Found>& found() const { return pool_.found(); }
  /// Returns the number of plans scored so far.
  std::int64_t evaluations() const { return evaluations_; }

 private:
  /// Position of a chain. A fusion that is impossible for the selection stays set, and takes effect once it becomes
  /// possible.
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
  std::map<cluster::Mesh, std::int32_t> numbers_;  // indices of the space's meshes
  std::vector<std::size_t> tasks_;                 // indices of tasks that are not rules
  std::int64_t usable_ = 0;
  FusionSelection required_;
  FusionSelection open_;  // fusions that are optional
  State now_;
  State next_;
  Score score_;
  State best_;
  double best_cost_ = 0;
  double heat_ = 0;
  double factor_ = 1;  // heat_ is multiplied by it at each step
  std::int64_t done_ = 0;
  std::int64_t evaluations_ = 0;
};

}  // namespace dovetail::planner
