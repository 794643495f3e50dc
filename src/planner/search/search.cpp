#include "planner/search/search.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/random.h"
#include "parallel/exchange.h"
#include "parallel/shared_chains.h"
#include "planner/search/chain.h"

namespace dovetail::planner {
namespace {

using pipeline::StoppedBy;

/// Returns the iterations of a chain per round, so that a round of many chains takes no longer than a round of a few.
std::int64_t round_of(int chains) { return std::clamp<std::int64_t>(8 * Chain::cooling / chains, 500, Chain::cooling); }

/// Share of the remaining time to plan for. The rest allows for rounds of varying length.
constexpr double margin = 0.97;

class Search {
 public:
  Search(const SearchSpace& space, const std::vector<Selection>& starts, const SearchOptions& options)
      : options_(options),
        tables_(space),
        stop_(space.scenario->cancellation),
        shared_({options.chains, options.threads, options.time_limit_seconds, &stop_, options.exchange}),
        best_of_starts_(options.kept),
        of_chains_(static_cast<std::size_t>(options.chains)),
        planned_(
            options.iterations.value_or(is_chosen_by_time() ? Chain::cooling : SearchOptions::default_iterations)) {
    Trial trial(space, tables_);
    const FusionSelection required = required_fusion(space.scenario->job, options.fusion);
    for (const Selection& selection : starts)
      for (const FusionSelection fusion : {required, options.fusion})
        if (best_of_starts_.found().empty() || !stop_.requested())
          if (const Score score = trial.score(selection, fusion); has(score.fused, required))
            best_of_starts_.add(selection, score);
    for (const int number : shared_.numbers()) {
      const Selection* start = starts.empty() ? nullptr : &starts[static_cast<std::size_t>(number) % starts.size()];
      chains_.push_back(std::make_unique<Chain>(tables_, start, options.fusion, options.seed, number, options.kept));
    }
  }

  SearchResult run() {
    const std::int64_t length = round_of(options_.chains);
    while (done_ < planned_ && !shared_.ended() && !is_bound_met()) {
      const std::int64_t count = std::min(length, planned_ - done_);
      const auto messages = shared_.run([&](std::size_t own) { chains_[own]->run(count, planned_, stop_); },
                                        [&] { return message(done_ + count); });
      done_ += count;
      for (const std::string_view received : messages) take(received);
      planned_ = std::exchange(next_planned_, std::nullopt).value_or(planned_);
      report();
    }
    Trial trial(tables_.space(), tables_);
    SearchResult result{scored_exactly(trial, merged().found()), {}};
    result.run = {options_.chains,          options_.seed, done_, stopped_by(), shared_.seconds(),
                  evaluations_per_second(), shared_.lost()};
    return result;
  }

 private:
  bool is_chosen_by_time() const { return options_.time_limit_seconds && !options_.iterations; }
  bool is_bound_met() const { return best_ && best_->score.period <= options_.bound; }

  /// Returns the total number of iterations that the time limit allows, given `done` iterations. It is a multiple of a
  /// cooling, so that a run with this number of iterations gives the same result.
  std::int64_t plan_by_speed(std::int64_t done) const {
    const double seconds_left = std::max(0.0, *options_.time_limit_seconds - shared_.seconds());
    const double left = margin * seconds_left / shared_.seconds() * static_cast<double>(done);
    const auto all = done + static_cast<std::int64_t>(std::min(left, 1e15));
    const std::int64_t begun = (done + Chain::cooling - 1) / Chain::cooling * Chain::cooling;
    return std::max(begun, all / Chain::cooling * Chain::cooling);
  }

  /// Returns the message to the other processes after `done` iterations.
  std::string message(std::int64_t done) const {
    std::string message;
    parallel::put(message, is_chosen_by_time() ? plan_by_speed(done) : planned_);
    parallel::put(message, static_cast<std::int64_t>(chains_.size()));
    for (std::size_t own = 0; own < chains_.size(); ++own) {
      parallel::put(message, shared_.numbers()[own]);
      parallel::put(message, chains_[own]->evaluations());
      put(message, chains_[own]->found());
    }
    return message;
  }

  /// All processes plan the number of iterations that the slowest of them has time for.
  void take(std::string_view message) {
    const std::int64_t planned = parallel::take(message);
    next_planned_ = std::min(next_planned_.value_or(planned), planned);
    for (std::int64_t left = parallel::take(message); left > 0; --left) {
      OfChain& chain = of_chains_[static_cast<std::size_t>(parallel::take(message))];
      chain.evaluations = parallel::take(message);
      chain.found = take_found(message);
    }
    DOVETAIL_ASSERT(message.empty());
  }

  Pool merged() const {
    Pool pool = best_of_starts_;
    for (const OfChain& chain : of_chains_)
      for (const Found& found : chain.found) pool.add(found.selection, found.score);
    return pool;
  }

  void report() {
    const Pool pool = merged();
    if (!pool.found().empty() && (!best_ || pool.found().front().score.period < best_->score.period)) {
      best_ = pool.found().front();
      if (options_.on_better) options_.on_better(*best_);
    }
    if (!options_.on_progress) return;
    const double left_by_speed = shared_.seconds() / static_cast<double>(done_) * static_cast<double>(planned_ - done_);
    options_.on_progress({best_ ? &*best_ : nullptr, options_.bound, done_, planned_, evaluations_per_second(),
                          std::max(0.0, left_by_speed)});
  }

  double evaluations_per_second() const {
    std::int64_t evaluations = 0;
    for (const OfChain& chain : of_chains_) evaluations += chain.evaluations;
    return static_cast<double>(evaluations) / std::max(shared_.seconds(), 1e-9);
  }

  StoppedBy stopped_by() const {
    if (shared_.ended() == parallel::EndedBy::interrupt) return StoppedBy::interrupt;
    if (is_bound_met()) return StoppedBy::bound;
    return done_ < planned_ ? StoppedBy::time : StoppedBy::iterations;
  }

  /// State of one chain that all processes know.
  struct OfChain {
    std::int64_t evaluations = 0;
    std::vector<Found> found;
  };

  const SearchOptions& options_;
  FusionTables tables_;
  const parallel::Cancellation stop_;
  parallel::SharedChains shared_;
  Pool best_of_starts_;
  std::vector<std::unique_ptr<Chain>> chains_;  // chains of this process
  std::vector<OfChain> of_chains_;              // [number]
  std::optional<Found> best_;
  std::int64_t planned_;
  std::optional<std::int64_t> next_planned_;
  std::int64_t done_ = 0;
};

}  // namespace

SearchResult search(const SearchSpace& space, const std::vector<Selection>& starts, const SearchOptions& options) {
  return Search(space, starts, options).run();
}

std::vector<Found> real_search(const SearchSpace& space, const RealOptions& options) {
  std::vector<std::vector<SelectedChoice>> lists(space.choices.size());
  std::vector<std::pair<std::size_t, std::size_t>> all;  // task, option
  for (std::size_t task = 0; task < lists.size(); ++task) {
    for (const std::int32_t mesh : space.open[task])
      for (std::size_t choice = 0; choice < space.choices[task][space.shapes[static_cast<std::size_t>(mesh)]].size();
           ++choice)
        lists[task].push_back({mesh, static_cast<std::int32_t>(choice)});
    std::stable_sort(lists[task].begin(), lists[task].end(), [&](SelectedChoice a, SelectedChoice b) {
      return space.choice(task, a).duration < space.choice(task, b).duration;
    });
    for (std::size_t option = 0; option < lists[task].size(); ++option) all.emplace_back(task, option);
  }
  Selection now(lists.size());
  for (std::size_t task = 0; task < lists.size(); ++task)
    if (!lists[task].empty()) now[task] = lists[task].front();
  Trial trial(space);
  base::Random random(options.seed, 0);
  Pool pool(1);
  const auto cost_of = [](const Score& score) { return score.period.count() * (score.excess > 0 ? 3 : 1); };
  Score score = trial.score(now);
  pool.add(now, score);
  constexpr double not_drawn = -1;
  double heat = not_drawn;  // heat of the current step, drawn when needed
  const auto is_rejected = [&](const Score& tried) {
    const std::int64_t units = 5 * (cost_of(tried) - cost_of(score)) / 100'000'000;
    if (units <= 0) return false;
    if (heat == not_drawn) heat = random.negative_log_unit();
    return options.beta * static_cast<double>(units) > heat;
  };
  for (std::int64_t done = 1; done < options.evaluations; ++done) {
    const auto [task, option] = all[random.below(static_cast<std::uint32_t>(all.size()))];
    Selection next = now;
    next[task] = lists[task][option];
    heat = not_drawn;
    const std::optional<Score> tried = trial.score_unless(next, {}, is_rejected);
    if (!tried || is_rejected(*tried)) continue;
    now = std::move(next);
    score = *tried;
    pool.add(now, score);
  }
  return scored_exactly(trial, pool.found());
}

}  // namespace dovetail::planner
