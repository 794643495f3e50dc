// Replays schedules on ranks that are threads whose ops only wait, to measure the overhead of keeping the order.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "execute/replay_figures.h"
#include "fuse/solve.h"
#include "pipeline/program/compile.h"
#include "report/text/table.h"
#include "tables.h"

namespace {

using namespace dovetail;
using base::Ticks;

struct Case {
  std::string name;
  std::string solver;
  int devices = 1;
  int models = 1;
  double op_seconds = 0;  ///< of a forward; a backward takes the same time
  double limit = 0;       ///< maximum of the ratio
};

pipeline::Problem problem_of(const Case& tested, int microbatches) {
  pipeline::Problem problem;
  problem.devices = tested.devices;
  std::vector<int> devices(static_cast<std::size_t>(tested.devices));
  for (std::size_t d = 0; d < devices.size(); ++d) devices[d] = static_cast<int>(d);
  for (int m = 0; m < tested.models; ++m) {
    pipeline::Model model;
    model.name = m == 0 ? "actor" : "critic";
    model.microbatches = microbatches;
    model.replicas = {pipeline::device_list(devices)};
    model.forward.assign(devices.size(), Ticks(1));
    model.backward.assign(devices.size(), Ticks(1));
    problem.models.push_back(model);
    std::reverse(devices.begin(), devices.end());
  }
  return pipeline::with_defaults(problem);
}

/// Returns measured over planned makespan of one run.
base::Result<double> ratio_of(const pipeline::Schedule& schedule) {
  const pipeline::Placement placement = pipeline::rank_per_device(schedule.problem);
  DOVETAIL_TRY(const std::vector<pipeline::Program> programs, pipeline::sound_programs(schedule, placement));
  DOVETAIL_TRY(const execute::ReplayTimes times, execute::replay(schedule, placement, programs, {}));
  return execute::figures_of(execute::replayed_ops(schedule, placement, programs, times)).ratio();
}

/// [run], sorted.
base::Result<std::vector<double>> ratios_of(const pipeline::Schedule& schedule, int runs) {
  std::vector<double> ratios;
  for (int i = 0; i < runs; ++i) {
    DOVETAIL_TRY(const double ratio, ratio_of(schedule));
    ratios.push_back(ratio);
  }
  std::sort(ratios.begin(), ratios.end());
  return ratios;
}

double median_of(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

}  // namespace

int main(int count, char** arguments) {
  int runs = 10;
  int microbatches = 64;
  double speed = 1;
  bench::Arguments parser(
      "Measures makespans of schedules on ranks that are threads with waiting ops, relative to the plan.");
  parser.number("--runs", runs, "runs of each schedule; the median is reported", 1, 1000);
  parser.number("--microbatches", microbatches, "micro-batches of each model", 1, 1000);
  parser.number("--speed", speed, "factor by which ops are shorter", 0.01, 1000.0);
  if (const auto code = parser.parse(count, arguments)) return *code;
  bench::print_heading(count, arguments);
  const std::vector<Case> cases{{"1F1B, 64 ranks", "1f1b", 64, 1, 0.02, 0.04},
                                {"two models fused, 64 ranks", "fused-1f1b", 64, 2, 0.02, 0.04},
                                {"1F1B, 2 ranks", "1f1b", 2, 1, 0.005, 0.08},
                                {"two models fused, 4 ranks", "fused-1f1b", 4, 2, 0.005, 0.08}};
  std::vector<std::vector<std::string>> rows;
  int met = 0;
  for (const Case& tested : cases) {
    bench::note(tested.name);
    const auto solved = fuse::solve(problem_of(tested, microbatches), tested.solver);
    if (!solved.ok()) return fmt::print("failed: {}\n", solved.error().message), 1;
    const auto schedule = execute::as_replayed(solved->schedule, tested.op_seconds / speed * 1e9);
    const auto ratios = schedule.ok() ? ratios_of(*schedule, runs) : schedule.error();
    if (!ratios.ok()) return fmt::print("failed: {}\n", ratios.error().message), 1;
    const double median = median_of(*ratios);
    // A small group is limited by the executor's share, a large one by the ratio.
    const double reached = tested.devices > 4 ? median - 1 : 1 - 1 / median;
    const bool is_met = reached <= tested.limit;
    met += is_met ? 1 : 0;
    rows.push_back({tested.name, fmt::format("{:.0f} ms", 1e3 * tested.op_seconds / speed),
                    fmt::format("{:.3f} s", base::seconds_of_ticks(schedule->claims.makespan.value())),
                    fmt::format("{:.4f}", median), fmt::format("{:.4f}", ratios->front()),
                    fmt::format("{:.4f}", ratios->back()), fmt::format("{:.1f}%", 100 * (1 - 1 / median)),
                    fmt::format("{:.0f}%", 100 * tested.limit), bench::yes_or_no(is_met)});
  }
  using report::Align;
  fmt::print("{}", report::render_table({{"schedule", Align::left},
                                         {"op", Align::right},
                                         {"makespan", Align::right},
                                         {"median ratio", Align::right},
                                         {"least", Align::right},
                                         {"most", Align::right},
                                         {"executor", Align::right},
                                         {"limit", Align::right},
                                         {"met", Align::left}},
                                        rows));
  return bench::print_met(met, static_cast<int>(cases.size()));
}
