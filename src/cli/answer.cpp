#include "cli/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <variant>

#include "pipeline/validate.h"
#include "report/table.h"
#include "report/text.h"

namespace dovetail::cli {

base::Result<Solved> solve(const fuse::Solver& solver, const pipeline::Problem& problem, const fuse::Bounds& bounds,
                           const fuse::SolveOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  fuse::Answer answer = solver.solve(problem, options);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  if (const auto* refusal = std::get_if<fuse::NotApplicable>(&answer)) {
    return base::bad_input(fmt::format("solver '{}' is not applicable to this problem: {}", solver.name, refusal->why));
  }
  Solved solved{std::move(std::get<fuse::Solution>(answer)), bounds, {}, {}, elapsed.count()};
  if (solved.solution.other_layout) solved.bounds = fuse::bounds_of(solved.solution.problem);
  solved.schedule = fuse::to_schedule(solved.solution, solved.bounds);
  solved.excess = pipeline::find_excess(solved.solution.problem, solved.solution.evaluation, options.memory_cap);
  // A schedule that does not fit is never written; every other one has to break no rule.
  if (solved.excess.empty()) DOVETAIL_ASSERT(!pipeline::validate(solved.schedule).has_value());
  return solved;
}

std::optional<std::string> why_no_search_applies(const pipeline::Problem& problem) {
  std::optional<std::string> first;
  fuse::SolveOptions shortest;
  shortest.chains = 1;
  shortest.iterations = 1;
  for (const fuse::Solver& solver : fuse::solvers()) {
    if (!solver.searches || !solver.in_compare) continue;
    const fuse::Answer answer = solver.solve(problem, shortest);
    const auto* refusal = std::get_if<fuse::NotApplicable>(&answer);
    if (refusal == nullptr) return std::nullopt;
    if (!first) first = refusal->why;
  }
  return first;
}

std::string describe(const pipeline::SolverRecord& solver) {
  std::string text = solver.name;
  if (solver.seed) text += fmt::format(", seed {}", *solver.seed);
  if (solver.chains) text += ", " + report::counted(*solver.chains, "chain");
  if (solver.iterations) text += " x " + report::counted(*solver.iterations, "iteration");
  return text;
}

Json to_json(const pipeline::SolverRecord& solver) {
  Json object{{"name", solver.name}};
  if (solver.seed) object["seed"] = *solver.seed;
  if (solver.chains) object["chains"] = *solver.chains;
  if (solver.iterations) object["iterations"] = *solver.iterations;
  return object;
}

base::Memory largest_excess(const std::vector<pipeline::CapacityExcess>& excess) {
  base::Memory largest;
  for (const pipeline::CapacityExcess& device : excess) largest = std::max(largest, device.peak - device.capacity);
  return largest;
}

std::string excess_table(const std::vector<pipeline::CapacityExcess>& excess) {
  std::vector<std::vector<std::string>> rows;
  for (const pipeline::CapacityExcess& device : excess) {
    rows.push_back({fmt::format("{}", device.device.value), base::format_memory(device.peak), base::format_memory(device.capacity),
                    base::format_memory(device.peak - device.capacity)});
  }
  return report::render_table({{"device"}, {"held"}, {"capacity"}, {"excess"}}, rows);
}

Json excess_json(const std::vector<pipeline::CapacityExcess>& excess) {
  Json list = Json::array();
  for (const pipeline::CapacityExcess& device : excess) {
    list.push_back({{"device", device.device.value},
                    {"held", json_memory(device.peak)},
                    {"capacity", json_memory(device.capacity)},
                    {"excess", json_memory(device.peak - device.capacity)}});
  }
  return list;
}

}  // namespace dovetail::cli
