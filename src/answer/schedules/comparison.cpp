#include "answer/schedules/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "answer/schedules/search.h"
#include "answer/text/text.h"

namespace dovetail::answer {
namespace {

/// Returns the solvers to run.
base::Result<std::vector<const fuse::Solver*>> chosen_solvers(const ComparisonRequest& request) {
  std::vector<const fuse::Solver*> chosen;
  for (const std::string& name : request.solvers) {
    DOVETAIL_TRY(const fuse::Solver* const solver, solver_named(name));
    if (std::find(chosen.begin(), chosen.end(), solver) == chosen.end()) chosen.push_back(solver);
  }
  if (request.all && !chosen.empty())
    return base::bad_input("--all runs every solver; it cannot be combined with --solver");
  if (!chosen.empty()) return chosen;
  for (const fuse::Solver& solver : fuse::solvers()) {
    if (solver.in_compare || request.all) chosen.push_back(&solver);
  }
  return chosen;
}

ComparedSolver with_variations(std::string_view solver, fuse::Solved solved, int draws,
                               const fuse::SolveOptions& options) {
  ComparedSolver row{std::string(solver), std::move(solved), {}};
  fuse::VariationOptions vary;
  vary.draws = draws;
  vary.seed = options.seed;
  vary.threads = options.threads;
  vary.cancellation = options.cancellation;
  for (std::size_t i = 0; i < variations.size(); ++i) {
    vary.thousandths = variations[i];
    row.varied[i] = fuse::vary_durations(row.solved.solution.graph, row.solved.solution.order, vary);
  }
  return row;
}

/// Sets the makespan that speed-ups refer to, from the baseline's row or by running the baseline.
void find_baseline(const fuse::SolveOptions& options, ComparisonAnswer& answer) {
  for (const fuse::Solver& solver : fuse::solvers()) {
    if (!solver.is_baseline) continue;
    answer.baseline_name = solver.name;
    for (const ComparedSolver& row : answer.rows) {
      if (row.solver == solver.name) answer.baseline = row.solved.solution.evaluation.makespan;
    }
    if (answer.baseline) return;
    const auto solved = fuse::run_solver(solver, answer.question.named.problem, answer.question.bounds, options);
    if (solved.ok()) answer.baseline = solved->solution.evaluation.makespan;
  }
}

/// Runs one solver and adds its row, or the reason why it has none.
void run_solver(const fuse::Solver& solver, const fuse::SolveOptions& options, const Callbacks& callbacks,
                ComparisonAnswer& answer) {
  auto solved = fuse::run_solver(solver, answer.question.named.problem, answer.question.bounds, options);
  if (!solved.ok()) {
    if (!options.cancellation->requested())
      answer.inapplicable.push_back({std::string(solver.name), solved.error().message});
    return;
  }
  notify_work(callbacks, counted(answer.draws, "draw") + " of varied durations");
  ComparedSolver row = with_variations(solver.name, std::move(*solved), answer.draws, options);
  // Figures from some of the draws must not appear next to complete ones.
  if (!options.cancellation->requested()) answer.rows.push_back(std::move(row));
}

void run_solvers(const std::vector<const fuse::Solver*>& chosen, const Callbacks& callbacks, ComparisonAnswer& answer) {
  fuse::SolveOptions options = answer.question.options;
  const parallel::Cancellation stop(callbacks.cancellation, with_grace_period(options.time_limit_seconds));
  options.cancellation = &stop;
  SearchProgress progress(callbacks, answer.question.named.problem, answer.question.bounds.makespan);
  options.on_progress = [&progress](const fuse::Progress& so_far) { progress.report(so_far); };
  for (std::size_t i = 0; i < chosen.size() && !stop.requested(); ++i) {
    notify_label(callbacks, fmt::format("{} ({} of {})", chosen[i]->name, i + 1, chosen.size()));
    notify_work(callbacks, "running");
    // The remaining time is divided among the remaining solvers.
    if (const auto left = stop.seconds_left())
      options.time_limit_seconds = *left / static_cast<double>(chosen.size() - i);
    run_solver(*chosen[i], options, callbacks, answer);
  }
  if (!stop.requested()) find_baseline(options, answer);
  answer.complete = !stop.requested();
}

base::Error none_applicable(const ComparisonAnswer& answer) {
  std::string text = "no solver is applicable:";
  for (const InapplicableSolver& each : answer.inapplicable) text += "\n  " + each.why;
  return base::bad_input(std::move(text));
}

}  // namespace

std::optional<double> ComparisonAnswer::speed_up(const ComparedSolver& row) const {
  const base::Ticks makespan = row.solved.solution.evaluation.makespan;
  if (!baseline || makespan.count() == 0) return std::nullopt;
  return static_cast<double>(baseline->count()) / static_cast<double>(makespan.count());
}

base::Result<ComparisonAnswer> answer_to(const ComparisonRequest& request, const Callbacks& callbacks) {
  DOVETAIL_TRY(const std::vector<const fuse::Solver*> chosen, chosen_solvers(request));
  ComparisonAnswer answer;
  DOVETAIL_TRY(answer.question.named, read_problem(request.problem, callbacks));
  DOVETAIL_CHECK(notify_read(callbacks));
  answer.question.options = solve_options(request.search);
  answer.question.options.objective = request.objective;
  answer.question.options.robustness_percent = request.robustness_percent;
  if (const auto fault = fuse::find_fault(answer.question.options, answer.question.named.problem))
    return base::bad_input(*fault);
  answer.question.bounds = fuse::bounds_of(answer.question.named.problem);
  answer.draws = request.draws;
  run_solvers(chosen, callbacks, answer);
  if (answer.rows.empty() && answer.complete) return none_applicable(answer);
  answer.outcome = unless_interrupted(callbacks, Outcome::done);
  return answer;
}

}  // namespace dovetail::answer
