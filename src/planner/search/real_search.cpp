#include "planner/search/real_search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/random.h"

namespace dovetail::planner {

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
  std::optional<double> heat;  // of the step at hand, once it is needed
  const auto is_refused = [&](const Score& tried) {
    const std::int64_t units = 5 * (cost_of(tried) - cost_of(score)) / 100'000'000;
    if (units <= 0) return false;
    if (!heat) heat = random.negative_log_unit();
    return options.beta * static_cast<double>(units) > *heat;
  };
  for (std::int64_t done = 1; done < options.evaluations; ++done) {
    const auto [task, option] = all[random.below(static_cast<std::uint32_t>(all.size()))];
    Selection next = now;
    next[task] = lists[task][option];
    heat.reset();
    const std::optional<Score> tried = trial.score_unless(next, {}, is_refused);
    if (!tried || is_refused(*tried)) continue;
    now = std::move(next);
    score = *tried;
    pool.add(now, score);
  }
  return scored_exactly(trial, pool.found());
}

}  // namespace dovetail::planner
