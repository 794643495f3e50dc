#include "answer/schedules/search_progress.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "answer/words/figures.h"
#include "fuse/bounds/bounds.h"

namespace dovetail::answer {

std::vector<ProgressField> progress_fields(const fuse::Progress& progress, base::Ticks bound,
                                           std::optional<base::Memory> peak_bound, base::TimeUnit unit) {
  std::vector<ProgressField> fields{
      {fmt::format("{}: ", progress.phase), 2},
      {"makespan " + base::format_time(progress.makespan, unit), 0},
      {fmt::format(" (bound {}, gap {})", base::format_time(bound, unit), percent(gap(progress.makespan, bound))), 0},
      {", peak " + base::format_memory(progress.peak_activation), 1}};
  if (peak_bound) fields.push_back({fmt::format(" (bound {})", base::format_memory(*peak_bound)), 3});
  if (progress.iterations_planned > 0) {
    const double share = static_cast<double>(progress.iterations) / static_cast<double>(progress.iterations_planned);
    fields.push_back({fmt::format(", {} done", percent(share)), 4});
  }
  if (progress.iterations_per_second > 0)
    fields.push_back({fmt::format(", {} it/s", short_number(progress.iterations_per_second)), 0});
  if (progress.seconds_left > 0 && std::isfinite(progress.seconds_left))
    fields.push_back({", " + time_left(progress.seconds_left), 0});
  return fields;
}

SearchProgress::SearchProgress(const Watch& watch, const pipeline::Problem& problem, base::Ticks bound)
    : watch_(watch), problem_(problem), bound_(bound) {
  // The bound of a larger problem would take a noticeable share of the search time.
  constexpr std::int64_t max_ops = 100'000;
  has_peak_bound_ = pipeline::count_ops(problem) <= max_ops;
}

void SearchProgress::tell(const fuse::Progress& progress) {
  iterations_per_second_ = progress.iterations_per_second;
  tell_figures(watch_,
               [&] { return progress_fields(progress, bound_, peak_bound(progress.makespan), problem_.time_unit); });
}

std::optional<base::Memory> SearchProgress::peak_bound(base::Ticks makespan) {
  if (!has_peak_bound_) return std::nullopt;
  if (!peak_bound_ || makespan != peak_bound_makespan_)
    peak_bound_ = fuse::peak_activation_bound(problem_, makespan, {.work = 0});
  peak_bound_makespan_ = makespan;
  return peak_bound_;
}

}  // namespace dovetail::answer
