#include "answer/schedules/search.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "answer/text/figures.h"
#include "answer/text/text.h"
#include "fuse/bounds/bounds.h"

namespace dovetail::answer {
base::Result<const fuse::Solver*> solver_named(std::string_view name) {
  if (const fuse::Solver* solver = fuse::find_solver(name); solver != nullptr) return solver;
  std::vector<std::string_view> names;
  for (const fuse::Solver& solver : fuse::solvers()) names.push_back(solver.name);
  return base::bad_input(fmt::format("there is no solver '{}'{}", name, hint_and_list(name, "the solvers are", names)));
}

const fuse::Solver& default_solver() { return fuse::solvers().back(); }

std::string list_of_solvers() {
  std::string text;
  for (const fuse::Solver& solver : fuse::solvers()) text += fmt::format("  {:<20} {}\n", solver.name, solver.summary);
  return text;
}

std::string describe(const pipeline::SolverRecord& solver) {
  std::string text = solver.name;
  if (solver.seed) text += fmt::format(", seed {}", *solver.seed);
  if (solver.chains) text += ", " + counted(*solver.chains, "chain");
  if (solver.iterations) text += " x " + counted(*solver.iterations, "iteration");
  return text;
}

std::string describe_solver(const fuse::Solution& solution) {
  const std::string text = describe(solution.solver);
  return solution.stopped_by ? fmt::format("{}, stopped by {}", text, pipeline::name_of(*solution.stopped_by)) : text;
}

fuse::SolveOptions solve_options(const ScheduleSearchOptions& search) {
  fuse::SolveOptions options;
  options.seed = search.budget.seed;
  options.chains = search.budget.chains;
  options.iterations = search.budget.iterations;
  options.time_limit_seconds = search.budget.time_limit;
  options.threads = search.budget.thread_count();
  options.memory_cap = search.memory_cap;
  return options;
}

base::Result<std::optional<base::Ticks>> deadline_of(const std::optional<std::string>& text, base::TimeUnit unit) {
  if (!text) return std::optional<base::Ticks>();
  const auto deadline = base::parse_time(*text, unit, base::ExcessDigits::refuse);
  if (!deadline) return base::bad_input(fmt::format("--deadline: '{}' {}", *text, deadline.error().message));
  return std::optional(*deadline);
}

std::optional<double> with_grace_period(std::optional<double> time_limit_seconds) {
  constexpr double grace_seconds = 0.25;
  return time_limit_seconds ? std::optional(*time_limit_seconds + grace_seconds) : std::nullopt;
}

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

SearchProgress::SearchProgress(const Callbacks& callbacks, const pipeline::Problem& problem, base::Ticks bound)
    : callbacks_(callbacks), problem_(problem), bound_(bound) {
  // The bound of a larger problem would take a noticeable share of the search time.
  constexpr std::int64_t max_ops = 100'000;
  has_peak_bound_ = pipeline::count_ops(problem) <= max_ops;
}

void SearchProgress::report(const fuse::Progress& progress) {
  iterations_per_second_ = progress.iterations_per_second;
  notify_figures(callbacks_,
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
