// Compares the search with each zero-bubble construction on one model with split backward, using the construction's
// peak as the limit. A row is met if the search's makespan is no longer, at no higher peak. On uneven stages, the
// target is a shorter one.
#include <fmt/core.h>

#include <array>

#include "report/text/table.h"
#include "tables.h"

namespace {

using namespace dovetail;

struct Options {
  double seconds = 5;
  int threads = 2;
  int min_devices = 4;
  int max_devices = 16;
  std::vector<std::string> constructions;
};

/// Differences between the stages, and the durations of F, I and W.
enum class Stages {
  alike,          ///< F, I and W take the same time on all stages
  unequal_kinds,  ///< equal stages, but I is longer than F (attention has no W) and W shorter
  head,           ///< the same, with 10% more on the first stage (embedding) and 40% more on the last (head)
  dealt,          ///< the same, with stages of alternately five and four layers, and transfers
};
constexpr std::array<const char*, 4> stages_names{"alike", "unequal I, W", "head", "dealt layers"};

struct Shape {
  bool in_v = false;  ///< two stages per device, down the devices and back up
  Stages stages = Stages::alike;
  int devices = 0;
  int microbatches = 0;
};

/// Returns the duration of stage `stage` of `count` in tenths of an ordinary stage.
int tenths_of(Stages stages, int stage, int count) {
  if (stages == Stages::dealt) return stage % 2 == 0 ? 10 : 8;
  if (stages != Stages::head) return 10;
  return stage == 0 ? 11 : stage == count - 1 ? 14 : 10;
}

/// An ordinary stage has F 200, I 200 and W 200 (unequal kinds: I 240, W 160), or half of that in a V. With unequal
/// kinds, W needs half of the activation.
pipeline::Problem make_problem(const Shape& shape) {
  const int count = shape.in_v ? 2 * shape.devices : shape.devices;
  const auto boundaries = static_cast<std::size_t>(count - 1);
  const int unit = shape.in_v ? 1 : 2;
  const bool equal = shape.stages == Stages::alike;
  pipeline::Model model;
  model.name = "model";
  model.microbatches = shape.microbatches;
  std::vector<base::DeviceId>& map = model.replicas.emplace_back();
  for (int stage = 0; stage < count; ++stage) {
    map.emplace_back(stage < shape.devices ? stage : count - 1 - stage);
    const int size = unit * tenths_of(shape.stages, stage, count);
    model.forward.emplace_back(size * 10);
    model.backward.emplace_back(size * (equal ? 10 : 12));
    model.weight_gradient.emplace_back(size * (equal ? 10 : 8));
    model.activation.emplace_back(size * 50'000);
    model.weight_activation.emplace_back(size * (equal ? 50'000 : 25'000));
  }
  const base::Ticks transfer(shape.stages == Stages::dealt ? 10 : 0);
  model.transfer_forward.assign(boundaries, transfer);
  model.transfer_backward.assign(boundaries, transfer);
  model.step.resize(map.size());
  pipeline::Problem problem;
  problem.devices = shape.devices;
  problem.resident.resize(static_cast<std::size_t>(shape.devices));
  problem.models.push_back(std::move(model));
  return problem;
}

struct Row {
  bool met = false;
  bool open = false;     ///< the construction is above the bound
  bool smaller = false;  ///< than the construction's makespan
  std::vector<std::string> cells;
};

Row run_row(const Shape& shape, const std::string& construction, const Options& options) {
  const pipeline::Problem problem = make_problem(shape);
  const char* stages = stages_names[static_cast<std::size_t>(shape.stages)];
  fuse::SolveOptions solve;
  solve.threads = options.threads;
  const bench::Run theirs = bench::run(construction, problem, solve).value();
  solve.memory_cap = theirs.solution.evaluation.peak_activation;
  solve.time_limit_seconds = options.seconds;
  const bench::Run ours = bench::run_search(problem, solve);
  const base::Ticks time = ours.solution.evaluation.makespan;
  const base::Ticks their_time = theirs.solution.evaluation.makespan;
  const bool met = ours.fits && time <= their_time;
  bench::note(fmt::format("{} on {} x {}, {}: {} against {}", construction, shape.devices, shape.microbatches, stages,
                          time.count(), their_time.count()));
  return {met,
          their_time > ours.claims.bound_makespan.value_or(base::Ticks(0)),
          time < their_time,
          {construction, stages, fmt::format("{}", shape.devices), fmt::format("{}", shape.microbatches),
           fmt::format("{}", ours.claims.bound_makespan.value_or(base::Ticks(0)).count()), bench::makespan_text(theirs),
           bench::peak_text(theirs), bench::makespan_text(ours), bench::peak_text(ours),
           bench::ratio_text(theirs, ours), bench::optimal_text(ours), bench::seconds_text(ours.seconds),
           time < their_time    ? "smaller"
           : time == their_time ? "equal"
                                : "larger",
           bench::yes_or_no(met)}};
}

int print_table(const Options& options) {
  std::vector<std::vector<std::string>> rows;
  int met = 0;
  int open = 0;
  int smaller = 0;
  for (const std::string& construction : options.constructions)
    for (const Stages stages : {Stages::alike, Stages::unequal_kinds, Stages::head, Stages::dealt})
      for (int devices = options.min_devices; devices <= options.max_devices; devices += 4)
        for (const int factor : {2, 4}) {
          const Row row = run_row({construction == "zb-v", stages, devices, factor * devices}, construction, options);
          rows.push_back(row.cells);
          met += row.met ? 1 : 0;
          open += row.open && stages != Stages::alike ? 1 : 0;
          smaller += row.smaller && stages != Stages::alike ? 1 : 0;
        }
  fmt::print(
      "{} threads, at most {:g} s each, with the construction's peak as the limit; the annealing baseline has no split "
      "backward.\n{}\n",
      options.threads, options.seconds,
      report::render_table({{"construction", report::Align::left},
                            {"stages", report::Align::left},
                            {"devices"},
                            {"micro-batches"},
                            {"bound"},
                            {"its makespan"},
                            {"its peak"},
                            {"makespan"},
                            {"peak"},
                            {"ratio"},
                            {"optimal", report::Align::left},
                            {"seconds"},
                            {"makespan is", report::Align::left},
                            {"met"}},
                           rows));
  fmt::print("shorter on uneven kinds or stages if the construction is above the bound: {} of {}\n", smaller, open);
  return bench::print_met(met, static_cast<int>(rows.size()));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Arguments program(
      "Compares the search with the zero-bubble constructions at their peaks on one model with split backward.");
  bench::add_search_options(program, options.seconds, options.threads);
  program.number("--least-devices", options.min_devices, "minimum number of devices", 2, 256);
  program.number("--most-devices", options.max_devices, "maximum number of devices, in steps of four", 2, 256);
  program.texts("constructions", options.constructions, "zb-h1, zb-h2, zb-v (default: all)",
                {"zb-h1", "zb-h2", "zb-v"});
  if (const auto code = program.parse(argc, argv)) return *code;
  if (options.constructions.empty()) options.constructions = {"zb-h1", "zb-h2", "zb-v"};
  bench::print_heading(argc, argv);
  return print_table(options);
}
