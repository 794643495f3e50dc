#include "planner/search/pool.h"

#include <algorithm>

#include "parallel/message.h"

namespace dovetail::planner {
namespace {

bool has_meshes(const Selection& a, const Selection& b) {
  return std::equal(a.begin(), a.end(), b.begin(), [](SelectedChoice x, SelectedChoice y) { return x.mesh == y.mesh; });
}

}  // namespace

void Pool::add(const Selection& selection, const Score& score) {
  if (score.excess > 0 || (found_.size() >= most_ && score.period >= found_.back().score.period)) return;
  const auto same = std::find_if(found_.begin(), found_.end(), [&](const Found& known) {
    return known.score.fused == score.fused && has_meshes(known.selection, selection);
  });
  if (same != found_.end()) {
    if (same->score.period <= score.period) return;
    found_.erase(same);
  }
  const auto place =
      std::upper_bound(found_.begin(), found_.end(), score.period,
                       [](base::Ticks period, const Found& known) { return period < known.score.period; });
  found_.insert(place, {selection, score});
  if (found_.size() > most_) found_.pop_back();
}

std::vector<Found> scored_exactly(Trial& trial, std::vector<Found> found) {
  for (Found& one : found) one.score = trial.exact_score(one.selection, one.score.fused);
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.score.period < b.score.period; });
  return found;
}

void put(std::string& message, const std::vector<Found>& found) {
  parallel::put(message, static_cast<std::int64_t>(found.size()));
  for (const Found& one : found) {
    parallel::put(message, one.score.period.count());
    parallel::put(message, one.score.excess);
    parallel::put(message, std::int64_t{one.score.fused.generation});
    parallel::put(message, std::int64_t{one.score.fused.training});
    parallel::put(message, static_cast<std::int64_t>(one.selection.size()));
    for (const SelectedChoice selected : one.selection) {
      parallel::put(message, selected.mesh);
      parallel::put(message, selected.choice);
    }
  }
}

std::vector<Found> take_found(std::string_view& message) {
  std::vector<Found> found(static_cast<std::size_t>(parallel::take(message)));
  for (Found& one : found) {
    one.score.period = base::Ticks(parallel::take(message));
    one.score.excess = parallel::take(message);
    one.score.fused.generation = parallel::take(message) != 0;
    one.score.fused.training = parallel::take(message) != 0;
    one.selection.resize(static_cast<std::size_t>(parallel::take(message)));
    for (SelectedChoice& selected : one.selection) {
      selected.mesh = static_cast<std::int32_t>(parallel::take(message));
      selected.choice = static_cast<std::int32_t>(parallel::take(message));
    }
  }
  return found;
}

}  // namespace dovetail::planner
