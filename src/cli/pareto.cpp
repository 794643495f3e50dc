#include "cli/pareto.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "answer/question/json.h"
#include "answer/words/figures.h"
#include "answer/words/text.h"
#include "base/stopwatch.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "fuse/direct_solvers.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/schedule/validate.h"
#include "report/schedule/pareto_svg.h"
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

using pipeline::Problem;

/// How finely the bound on the peak is drawn and written, in parts of the range of makespans.
constexpr int bound_resolution = 512;

/// The constructions, in a quarter of the time at most: the search starts from its own.
std::vector<ReferenceSchedule> reference_schedules(const Problem& problem, fuse::SolveOptions options) {
  constexpr double share_of_time = 0.25;
  if (options.time_limit_seconds) *options.time_limit_seconds *= share_of_time;
  std::vector<ReferenceSchedule> references;
  for (const fuse::Solver& solver : fuse::direct_solvers()) {
    if (options.cancellation && options.cancellation->requested()) break;
    const fuse::Answer answer = solver.solve(problem, options);
    const auto* solution = std::get_if<fuse::Solution>(&answer);
    if (solution == nullptr || solution->other_layout) continue;
    references.push_back({std::string(solver.name), solution->evaluation.makespan, solution->evaluation.peak_activation,
                          pipeline::find_excess(problem, solution->evaluation, options.memory_cap).empty(), solver.is_baseline});
  }
  return references;
}

/// The schedule with its limits. They are proven with less work than those of a single schedule: there are many.
FrontSchedule with_bounds(fuse::Solution solution, const fuse::Bounds& bounds, const fuse::SolveOptions& options, std::size_t schedules) {
  constexpr std::int64_t work_of_all = 20'000'000;
  const fuse::PointBounds proven = fuse::point_bounds(
      solution, bounds, {.work = work_of_all / static_cast<std::int64_t>(schedules), .cancellation = options.cancellation});
  pipeline::Schedule schedule = pipeline::to_schedule(solution.problem, solution.graph, solution.evaluation);
  pipeline::Claims& claims = schedule.claims;
  claims.bound_makespan = std::max(bounds.makespan, solution.proven_makespan.value_or(base::Ticks(0)));
  claims.bound_peak_activation = proven.peak;
  claims.optimal_makespan = solution.evaluation.makespan == *claims.bound_makespan;
  claims.optimal_peak_activation = solution.evaluation.peak_activation == proven.peak;
  claims.solver = solution.solver;
  claims.stopped_by = solution.stopped_by;
  Solved solved{std::move(solution), bounds, std::move(schedule), {}, 0};
  solved.excess = pipeline::find_excess(solved.solution.problem, solved.solution.evaluation, options.memory_cap);
  if (solved.excess.empty()) DOVETAIL_ASSERT(!pipeline::validate(solved.schedule).has_value());
  return {std::move(solved), proven.makespan, proven.peak};
}

const pipeline::Evaluation& evaluation_of(const FrontSchedule& schedule) { return schedule.solved.solution.evaluation; }

/// The bound on the peak over the makespans of the front.
std::vector<fuse::PeakBoundStep> bound_curve(const Problem& problem, const Front& front) {
  base::Ticks to = front.bounds.makespan;
  for (const FrontSchedule& schedule : front.schedules) to = std::max(to, evaluation_of(schedule).makespan);
  std::vector<fuse::PeakBoundStep> curve =
      fuse::peak_bound_curve(problem, front.bounds.makespan, to, stop_on_interrupt().requested() ? 1 : bound_resolution);
  for (const FrontSchedule& schedule : front.schedules) {
    fuse::raise_curve(curve, evaluation_of(schedule).makespan, schedule.peak_bound);
    // What is shorter than the bound at a peak has a larger one.
    if (schedule.makespan_bound > front.bounds.makespan)
      fuse::raise_curve(curve, schedule.makespan_bound - base::Ticks(1), evaluation_of(schedule).peak_activation);
  }
  return curve;
}

std::string proven_text(const FrontSchedule& schedule) {
  if (schedule.shortest() && schedule.lowest()) return "nothing is better";
  if (schedule.shortest()) return "makespan";
  return schedule.lowest() ? "peak" : "";
}

/// "+30 (+23.3%)".
template <class Amount, class Format>
std::string step_text(Amount from, Amount to, Format format) {
  return fmt::format("{} ({})", answer::change_text(from, to, format), answer::change_share_text(from, to));
}

std::string front_table(const Front& front, base::TimeUnit unit) {
  const auto format_time = [unit](base::Ticks time) { return base::format_time(time, unit); };
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < front.schedules.size(); ++i) {
    const FrontSchedule& schedule = front.schedules[i];
    const pipeline::Evaluation& evaluation = evaluation_of(schedule);
    std::vector<std::string> row{fmt::format("{}", i + 1),
                                 format_time(evaluation.makespan),
                                 format_time(schedule.makespan_bound),
                                 base::format_memory(evaluation.peak_activation),
                                 base::format_memory(schedule.peak_bound),
                                 "",
                                 "",
                                 proven_text(schedule)};
    if (i > 0) {
      const pipeline::Evaluation& before = evaluation_of(front.schedules[i - 1]);
      row[5] = step_text(before.makespan, evaluation.makespan, format_time);
      row[6] = step_text(before.peak_activation, evaluation.peak_activation, base::format_memory);
    }
    rows.push_back(std::move(row));
  }
  return report::render_table({{"#"}, {"makespan"}, {"bound"}, {"peak"}, {"bound"}, {"costs"}, {"gains"}, {"proven", report::Align::left}},
                              rows);
}

/// The numbers of the front's schedules that are better in both, or better in one and equal in the other: "2 to 5"; they are neighbours.
std::string beaten_by(const Front& front, const ReferenceSchedule& reference) {
  std::size_t first = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < front.schedules.size(); ++i) {
    const pipeline::Evaluation& evaluation = evaluation_of(front.schedules[i]);
    const bool as_good = evaluation.makespan <= reference.makespan && evaluation.peak_activation <= reference.peak;
    if (!as_good || (evaluation.makespan == reference.makespan && evaluation.peak_activation == reference.peak)) continue;
    if (first == 0) first = i + 1;
    last = i + 1;
  }
  if (first == 0) return "";
  return first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
}

std::string reference_table(const Front& front, base::TimeUnit unit) {
  std::vector<std::vector<std::string>> rows;
  for (const ReferenceSchedule& reference : front.references) {
    rows.push_back({reference.solver, base::format_time(reference.makespan, unit), base::format_memory(reference.peak),
                    beaten_by(front, reference), reference.fits ? "" : "does not fit"});
  }
  if (rows.empty()) return {};
  return "\n" +
         report::render_table(
             {{"construction", report::Align::left}, {"makespan"}, {"peak"}, {"beaten by", report::Align::left}, {"", report::Align::left}},
             rows);
}

std::string front_text(const NamedProblem& named, const Front& front, const std::vector<std::string>& written) {
  const base::TimeUnit unit = named.problem.time_unit;
  const fuse::Solution& first = front.schedules.front().solved.solution;
  std::string solver = describe(first.solver);
  if (first.stopped_by) solver += fmt::format(", stopped by {}", pipeline::name_of(*first.stopped_by));
  std::string text = fmt::format("{}: {}, {} to {}\n", named.name,
                                 answer::counted(static_cast<std::int64_t>(front.schedules.size()), "schedule") + " on the front",
                                 "from the least makespan found", "the least peak activation found");
  text += fmt::format("solver: {}\n\n", solver) + front_table(front, unit) + reference_table(front, unit);
  text += fmt::format("\nbounds: makespan {}, peak activation {} (of any schedule)\n", answer::time_with_unit(front.bounds.makespan, unit),
                      base::format_memory(front.bounds.peak_activation));
  for (const std::string& path : written) text += fmt::format("written: {}\n", path);
  return text + fmt::format("took: {:.1f} s\n", front.seconds);
}

/// What is said of a schedule of the front, in the report and in the file.
answer::Json point_json(const FrontSchedule& schedule, base::TimeUnit unit) {
  const pipeline::Evaluation& evaluation = evaluation_of(schedule);
  return {{"makespan", answer::json_time(evaluation.makespan, unit)},
          {"peak_activation", answer::json_memory(evaluation.peak_activation)},
          {"bounds", answer::Json{{"makespan", answer::json_time(schedule.makespan_bound, unit)},
                                  {"peak_activation", answer::json_memory(schedule.peak_bound)}}},
          {"optimal", answer::Json{{"makespan", schedule.shortest()}, {"peak_activation", schedule.lowest()}}}};
}

/// What the report and the file have in common; the schedules come last.
answer::Json front_json(std::string_view format, const NamedProblem& named, const Front& front) {
  const base::TimeUnit unit = named.problem.time_unit;
  const fuse::Solution& first = front.schedules.front().solved.solution;
  answer::Json object{{"format", format}, {"problem", named.name}, {"time_unit", base::name_of(unit)}, {"solver", to_json(first.solver)}};
  if (first.stopped_by) object["stopped_by"] = pipeline::name_of(*first.stopped_by);
  object["bounds"] = answer::Json{{"makespan", answer::json_time(front.bounds.makespan, unit)},
                                  {"peak_activation", answer::json_memory(front.bounds.peak_activation)}};
  object["peak_bound"] = answer::Json::array();
  for (const fuse::PeakBoundStep& step : front.peak_bound)
    object["peak_bound"].push_back(
        {{"makespan", answer::json_time(step.makespan, unit)}, {"peak_activation", answer::json_memory(step.peak)}});
  object["constructions"] = answer::Json::array();
  for (const ReferenceSchedule& reference : front.references) {
    object["constructions"].push_back({{"solver", reference.solver},
                                       {"makespan", answer::json_time(reference.makespan, unit)},
                                       {"peak_activation", answer::json_memory(reference.peak)},
                                       {"fits", reference.fits}});
  }
  return object;
}

answer::Json report_json(const NamedProblem& named, const Front& front, const std::vector<std::string>& written) {
  answer::Json object = front_json("dovetail/pareto-report@1", named, front);
  object["front"] = answer::Json::array();
  for (const FrontSchedule& schedule : front.schedules) object["front"].push_back(point_json(schedule, named.problem.time_unit));
  object["written"] = written;
  object["timing"] = answer::Json{{"seconds", answer::json_seconds(front.seconds)}};
  if (front.iterations_per_second > 0) object["timing"]["iterations_per_second"] = answer::json_ratio(front.iterations_per_second);
  return object;
}

/// The file: each schedule of the front is a whole dovetail/schedule@1, as the program that writes those writes it.
std::string front_file(const NamedProblem& named, const Front& front) {
  const auto open_object = [](const answer::Json& object) {
    std::string text = answer::json_text(object);
    text.pop_back();
    return text;
  };
  std::string text = open_object(front_json("dovetail/pareto@1", named, front)) + ",\n\"front\": [";
  std::string_view separator = "\n";
  for (const FrontSchedule& schedule : front.schedules) {
    text += fmt::format("{}{},\n\"schedule\": {}}}", std::exchange(separator, ",\n"),
                        open_object(point_json(schedule, named.problem.time_unit)), pipeline::schedule_to_json(schedule.solved.schedule));
  }
  return text + "]}\n";
}

std::string front_picture(const NamedProblem& named, const Front& front) {
  report::ParetoPicture picture;
  picture.title = named.name + ": makespan against peak activation";
  picture.time_unit = named.problem.time_unit;
  for (const FrontSchedule& schedule : front.schedules) {
    const pipeline::Evaluation& evaluation = evaluation_of(schedule);
    picture.front.push_back({{evaluation.makespan, evaluation.peak_activation}, schedule.shortest() && schedule.lowest()});
  }
  for (const ReferenceSchedule& reference : front.references) {
    const std::string name = reference.is_baseline ? "serial " + reference.solver : reference.solver;
    picture.others.push_back({name, {reference.makespan, reference.peak}, reference.is_baseline});
  }
  for (const fuse::PeakBoundStep& step : front.peak_bound) picture.bound.push_back({step.makespan, step.peak});
  return report::render_pareto_svg(picture);
}

base::Result<std::vector<std::string>> write_front(const NamedProblem& named, const Front& front, const FrontOutput& output) {
  if (!output.path) return std::vector<std::string>();
  if (output.pick > 0) {
    const FrontSchedule& picked = front.schedules[static_cast<std::size_t>(output.pick) - 1];
    return write_schedule(picked.solved.schedule, named.name, output.format, *output.path);
  }
  const std::string content = output.format == ScheduleFormat::svg ? front_picture(named, front) : front_file(named, front);
  DOVETAIL_TRY(std::string written, write_output(*output.path, content));
  return std::vector{std::move(written)};
}

/// Whether anything is made of the bound on the peak: the table shows it at the schedules only.
bool shows_peak_bound(const FrontOutput& output) { return output.json || (output.path && output.pick == 0); }

}  // namespace

Front solve_front(const NamedProblem& named, const fuse::Bounds& bounds, const fuse::SolveOptions& options, const FrontOutput& output) {
  const auto begin = std::chrono::steady_clock::now();
  Front front;
  front.bounds = bounds;
  fuse::SolveOptions search = options;
  const parallel::Cancellation stop(&stop_on_interrupt(), with_patience(options.time_limit_seconds));
  search.cancellation = &stop;
  {
    ProgressLine line(named.name, bounds.makespan, named.problem.time_unit);
    line.show_peak_bound(named.problem);
    search.on_progress = [&line](const fuse::Progress& progress) { line.update(progress); };
    front.references = reference_schedules(named.problem, search);
    if (options.time_limit_seconds) search.time_limit_seconds = std::max(0.0, *options.time_limit_seconds - base::seconds_since(begin));
    std::vector<fuse::Solution> solutions = fuse::solve_pareto(named.problem, search);
    line.update("proving bounds");
    for (fuse::Solution& solution : solutions) {
      if (stop.ended_by() == parallel::EndedBy::time && !solution.lost_process) solution.stopped_by = pipeline::StoppedBy::time;
      front.schedules.push_back(with_bounds(std::move(solution), bounds, search, solutions.size()));
    }
    if (shows_peak_bound(output)) front.peak_bound = bound_curve(named.problem, front);
    front.iterations_per_second = line.iterations_per_second();
  }
  front.seconds = base::seconds_since(begin);
  return front;
}

base::Result<ScheduleFormat> front_format(const std::string& path, const std::optional<std::string>& name) {
  DOVETAIL_TRY(const ScheduleFormat format, format_to_write(path, name));
  if (format == ScheduleFormat::json || format == ScheduleFormat::svg) return format;
  return base::bad_input(fmt::format(
      "a front is written as json or svg, not as {}; with --pick N one of its schedules is written, in any format", name_of(format)));
}

base::Result<int> report_front(const NamedProblem& named, const Front& front, const FrontOutput& output) {
  const Solved& first = front.schedules.front().solved;
  if (!first.excess.empty()) {
    print_error(fmt::format("dovetail: no schedule that was found fits the memory; the one with the least excess:\n{}{}",
                            excess_table(first.excess), min_capacity_text(named.problem)));
    return exit_infeasible;
  }
  const auto schedules = static_cast<std::int64_t>(front.schedules.size());
  std::vector<std::string> written;
  if (output.pick <= schedules) {
    DOVETAIL_TRY(written, write_front(named, front, output));
  }
  if (output.json) {
    print_json(answer::json_text(report_json(named, front, written)));
  } else {
    print_beside(output.path, front_text(named, front, written));
  }
  if (output.pick > schedules)
    return base::bad_input(fmt::format("the front has {}; --pick accepts 1 to {}", answer::counted(schedules, "schedule"), schedules));
  return first.solution.stopped_by == pipeline::StoppedBy::interrupt ? exit_interrupted : exit_done;
}

}  // namespace dovetail::cli
