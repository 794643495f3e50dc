// Simulates the setting of RLHFuse (NSDI 2025, section 7): its four pairs of models and three lengths on 256 Hopper
// GPUs, as four systems would run them, compared with the ratios of the paper. It is a plausibility check: nothing is
// fitted to these ratios.
//
// Assumptions that the paper does not settle are printed above the table: lengths, layouts (chosen by the planner), and
// the efficiency of each system's software.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cost/efficiency.h"
#include "plan/job_file.h"
#include "planner/rank/rank.h"
#include "predict/closed_form/inter_stage.h"
#include "predict/simulated/inter_stage.h"
#include "predict/simulated/simulation.h"
#include "report/text/table.h"
#include "tables.h"

namespace {

using namespace dovetail;

constexpr std::array<std::array<const char*, 2>, 4> all_pairs{
    {{"13b", "33b"}, {"33b", "13b"}, {"33b", "65b"}, {"65b", "33b"}}};
constexpr std::array<int, 3> all_lengths{512, 1024, 2048};
constexpr double part_of_pairs = 0.75;
/// The paper's best threshold: share of samples left when the tail begins.
constexpr double tail_begins = 0.2;

/// Settings of the table.
struct Effort {
  int pairs = static_cast<int>(all_pairs.size());
  int lengths = static_cast<int>(all_lengths.size());
  int iterations = 20'000;  ///< per chain, of the search for ReaL's plan
  int draws = 4;            ///< draws of lengths per plan
  double task = 0;          ///< seconds of each task's hand-over, for RLHFuse and Base
  int mini_batch = 64;      ///< samples per optimizer step, for all except DeepSpeed-Chat
  bool padded = false;      ///< whether inference and training pad rows to the maximum length, for all systems
};

/// Kernels as fast as NVIDIA's stack on H100. The runtime is one program for all tasks, like RLHFuse's: no engine wakes
/// up or is filled tensor by tensor, and no data passes between frameworks. Its task switches take less than 3% of an
/// iteration.
cost::Efficiency one_runtime(double task) {
  cost::Efficiency efficiency = cost::find_efficiency("h100/megatron-vllm").value();
  efficiency.name = "h100, one runtime";
  efficiency.refit = 0;
  efficiency.refit_tensor = 0;
  efficiency.task = task;
  efficiency.iteration = 0.5;
  return efficiency;
}

/// The same, with the host times of ReaL's runs on A100: between decode steps, between passes, and once per iteration.
/// Kernels of a decode step are in a CUDA graph, as in ReaL's PPO examples (`ppo.gen.use_cuda_graph=True`).
cost::Efficiency real_runtime() {
  cost::Efficiency efficiency = one_runtime(0);
  const cost::Efficiency real = cost::find_efficiency("a100/realhf").value();
  efficiency.name = "h100, ReaL's runtime";
  efficiency.decode_step = real.decode_step;
  efficiency.slot = real.slot;
  efficiency.iteration = real.iteration;
  return efficiency;
}

/// The same, but launching the kernels of a decode step one by one, each in the time fitted to ReaL's runs without
/// graphs. It launches half as many, because DeepSpeed's hybrid engine has its own kernels: norm and product of
/// queries, keys and values, 6 of attention (split, rotation, two products, softmax, merge), its product, 4 of the MLP
/// (norm with residual, product, activation, product), a residual (counted in its
/// csrc/transformer/inference/csrc/pt_binding.cpp).
cost::Efficiency hybrid_engine_runtime() {
  constexpr double kernels = 14.0;
  constexpr double kernels_of_real = 28.0;
  cost::Efficiency efficiency = real_runtime();
  const cost::Efficiency real = cost::find_efficiency("a100/realhf").value();
  efficiency.name = "h100, DeepSpeed's hybrid engine";
  efficiency.decode_launch = real.decode_launch * kernels / kernels_of_real;
  efficiency.decode_reduce = real.decode_reduce;
  return efficiency;
}

/// A system, and how it may run the job.
struct System {
  const char* name;
  const char* software;  ///< framework whose memory use applies
  int mini_batch;
  bool packing;
  std::string fixed;  ///< `fixed` of the job file
  cost::Efficiency efficiency;
  planner::OptionSet option_set;
  planner::Placement placement;
};

/// In the order of the table's columns. Engines generate with the trained weights, which are reallocated between
/// layouts.
std::vector<System> systems(const Effort& effort) {
  constexpr const char* zero =
      "actor_generate: {engine: {own_weights: false}, layout: {pp: 1}}, "
      "reference_infer: {layout: {tp: 1, pp: 1, zero: 3}}, reward_infer: {layout: {tp: 1, pp: 1, zero: 3}}, "
      "critic_infer: {layout: {tp: 1, pp: 1, zero: 3}}, actor_train: {layout: {tp: 1, pp: 1, zero: 3}}, "
      "critic_train: {layout: {tp: 1, pp: 1, zero: 3}}, fusion: {inter_stage: false, intra_stage: false}";
  const std::string real = "actor_generate: {engine: {own_weights: false}}";
  const std::string apart = ", fusion: {inter_stage: false, intra_stage: false}";
  using planner::OptionSet;
  using planner::Placement;
  const bool packing = !effort.padded;
  return {{"DeepSpeed-Chat", "deepspeed-zero", 256, packing, zero, hybrid_engine_runtime(), OptionSet::all,
           Placement::co_located},
          {"ReaL", "megatron", effort.mini_batch, packing, real + apart, real_runtime(), OptionSet::real,
           Placement::searched},
          {"RLHFuse-Base", "megatron", effort.mini_batch, packing, real + apart, one_runtime(effort.task),
           OptionSet::all, Placement::co_located},
          {"RLHFuse", "megatron", effort.mini_batch, packing, real, one_runtime(effort.task), OptionSet::all,
           Placement::rlhfuse}};
}

plan::Job job_of(const System& system, const std::array<const char*, 2>& pair, int length) {
  const std::string text = fmt::format(
      "format: dovetail/job@1\nalgorithm: ppo\nmodels: {{actor: rlhfuse-{}, reward: rlhfuse-{}}}\n"
      "workload: {{prompts: 512, mini_batch: {}, packing: {}, prompt_length: {{p50: 100, p90: 300, cap: 1024}}, "
      "response_length: {{p50: 200, sigma: 0.85, cap: {}}}}}\n"
      "cluster: {{nodes: 32, gpus_per_node: 8, gpu: H100, host_memory: 2TB, network: {{bandwidth: 200Gb/s}}}}\n"
      "software: {{training: {}}}\nfixed: {{{}}}\n",
      pair[0], pair[1], system.mini_batch, system.packing, length, system.software, system.fixed);
  return plan::parse_job(text, "rlhfuse.yaml").value();
}

/// A simulated plan.
struct SimulatedSetting {
  double iteration = 0;             ///< seconds
  double generated = 0;             ///< generation alone, if not fused
  double tail = 0;                  ///< its part with at most tail_begins of the samples left, analytical
  double scored = 0;                ///< from the start of generation to the end of inference
  double trained = 0;               ///< both trainings, from the start of the first
  double mini_by_mini = 0;          ///< the same with each pair of mini-batches fused separately
  std::optional<double> threshold;  ///< fraction; nullopt: no migration

  bool there() const { return iteration > 0; }
};

/// Returns seconds from the start of the first activity of these kinds to the end of the last.
double seconds_of(const predict::Simulation& simulation, const plan::Job& job,
                  const std::function<bool(workflow::TaskKind)>& counts) {
  base::Ticks begin = base::Ticks::max();
  base::Ticks end;
  for (std::size_t index = 0; index < simulation.closed.graph.activities.size(); ++index) {
    const plan::Activity& step = simulation.closed.graph.activities[index];
    if (step.kind != plan::Activity::Kind::task || step.within || !counts(job.workflow.tasks[step.task].kind)) continue;
    begin = std::min(begin, simulation.iteration.activities[index].begin);
    end = std::max(end, simulation.iteration.activities[index].end);
  }
  return base::seconds_of_ticks(end - begin);
}

/// Simulates the plan of a system with the threshold chosen by simulation. Returns an empty result if no plan fits.
SimulatedSetting simulate_setting(const System& system, const std::array<const char*, 2>& pair, int length,
                                  const Effort& effort) {
  const plan::Job job = job_of(system, pair, length);
  predict::Software software = predict::software_of(job).value();
  software.efficiency = system.efficiency;
  const predict::Scenario scenario = predict::scenario_of(job, software);
  planner::RankOptions options;
  options.option_set = system.option_set;
  options.placements = {system.placement};
  options.search.chains = 2;
  options.search.iterations = effort.iterations;
  const planner::Ranking ranking = planner::rank_plans(scenario, options).value();
  if (ranking.plans.empty()) return {};
  plan::Plan plan = ranking.plans.front().plan;
  SimulatedSetting simulated;
  if (system.placement == planner::Placement::rlhfuse) {
    const simulate::ThresholdChoice choice = predict::simulated_thresholds(scenario, plan, 1, effort.draws).value();
    plan.fusion.threshold = choice.points[choice.best].threshold;
    simulated.threshold = plan.fusion.threshold;
  }
  predict::SimulationOptions simulating;
  simulating.draws = effort.draws;
  const predict::Simulation simulation = predict::Simulator(scenario, simulating).simulate(plan).value();
  simulated.iteration = simulation.iteration_seconds;
  using workflow::TaskKind;
  simulated.generated = seconds_of(simulation, job, [](TaskKind kind) { return kind == TaskKind::generate; });
  if (!plan.fusion.threshold && !plan::find_threshold_fault(tail_begins, job, plan.tasks))
    simulated.tail = std::max(0.0, simulated.generated - predict::inter_stage(scenario, plan.tasks, tail_begins).until);
  simulated.scored =
      seconds_of(simulation, job, [](TaskKind kind) { return kind == TaskKind::generate || kind == TaskKind::infer; });
  simulated.trained = seconds_of(simulation, job, [](TaskKind kind) { return kind == TaskKind::train; });
  simulated.mini_by_mini = simulated.trained;
  if (const auto& fused = simulation.training)
    simulated.mini_by_mini += base::seconds_of_ticks(fused->mini_by_mini - fused->trace.end);
  return simulated;
}

/// A figure of the paper.
struct Band {
  const char* name;
  double low;
  double high;
  const char* text;
};

constexpr std::array<Band, 6> bands{{{"over DeepSpeed-Chat", 2.5, 3.7, "2.5-3.7"},
                                     {"over ReaL", 1.4, 2.4, "1.4-2.4"},
                                     {"over Base", 1.2, 1.4, "1.2-1.4"},
                                     {"generation+inference", 1.2, 1.6, "1.2-1.6"},
                                     {"training", 1.15, 1.35, "1.15-1.35"},
                                     {"best threshold", 0.1, 0.3, "near 20%: 10-30%"}}};

/// Figures that the paper has; nullopt if a system has no plan, or if nothing migrates.
using Figures = std::array<std::optional<double>, bands.size()>;

Figures figures_of(const std::vector<SimulatedSetting>& simulated) {
  const auto over = [](const SimulatedSetting& published, const SimulatedSetting& ours,
                       double SimulatedSetting::* part) {
    return published.there() && ours.there() ? std::optional(published.*part / (ours.*part)) : std::nullopt;
  };
  const SimulatedSetting& base = simulated[2];
  const SimulatedSetting& ours = simulated[3];
  return {
      over(simulated[0], ours, &SimulatedSetting::iteration), over(simulated[1], ours, &SimulatedSetting::iteration),
      over(base, ours, &SimulatedSetting::iteration),         over(base, ours, &SimulatedSetting::scored),
      over(base, ours, &SimulatedSetting::trained),           ours.threshold};
}

std::string text_of(std::size_t figure, std::optional<double> value) {
  if (figure + 1 == bands.size()) return value ? fmt::format("{:.0f}%", 100 * *value) : "none";
  return value ? fmt::format("{:.2f}", *value) : "-";
}

std::string seconds_text(const SimulatedSetting& simulated) {
  return simulated.there() ? fmt::format("{:.1f}", simulated.iteration) : "-";
}

using Rows = std::vector<std::vector<std::string>>;

/// Contents of both tables for a pair.
struct Pair {
  Rows ratios;
  Rows phases;         ///< phases_of
  Figures option_set;  ///< mean over the lengths with a figure
};

/// Returns how Base's seconds are spent, the gain from hiding all of its inference, and the training of RLHFuse.
std::vector<std::string> phases_of(const std::string& name, const SimulatedSetting& base,
                                   const SimulatedSetting& ours) {
  if (!base.there() || !ours.there()) return {name, "-", "-", "-", "-", "-", "-", "-"};
  const auto text = [](double seconds) { return fmt::format("{:.2f}", seconds); };
  return {name,
          text(base.generated),
          text(base.tail),
          text(base.scored - base.generated),
          text(base.scored / base.generated),
          text(base.trained),
          text(ours.trained),
          fmt::format("{:.2f} ({:.2f})", ours.mini_by_mini, base.trained / ours.mini_by_mini)};
}

Figures mean_of(const std::vector<Figures>& all) {
  Figures option_set;
  for (std::size_t figure = 0; figure < option_set.size(); ++figure) {
    double sum = 0;
    int count = 0;
    for (const Figures& one : all)
      if (one[figure]) {
        sum += *one[figure];
        ++count;
      }
    if (count > 0) option_set[figure] = sum / count;
  }
  return option_set;
}

/// Simulates all lengths of a pair.
Pair simulate_pair(std::size_t number, const Effort& effort) {
  Pair pair;
  std::vector<Figures> all;
  for (int index = 0; index < effort.lengths; ++index) {
    const int length = all_lengths[static_cast<std::size_t>(index)];
    const std::string name = fmt::format("{}/{}, {}", all_pairs[number][0], all_pairs[number][1], length);
    bench::note(fmt::format("{} tokens", name));
    std::vector<SimulatedSetting> simulated;
    std::vector<std::string> row{name};
    for (const System& system : systems(effort)) {
      simulated.push_back(simulate_setting(system, all_pairs[number], length, effort));
      row.push_back(seconds_text(simulated.back()));
    }
    all.push_back(figures_of(simulated));
    for (std::size_t figure = 0; figure < bands.size(); ++figure) row.push_back(text_of(figure, all.back()[figure]));
    pair.ratios.push_back(std::move(row));
    pair.phases.push_back(phases_of(name, simulated[2], simulated[3]));
  }
  pair.option_set = mean_of(all);
  return pair;
}

void print_setting(const Effort& effort) {
  fmt::print(
      "512 prompts (median 100 tokens, 90% below 300), responses log-normal with median 200 and sigma 0.85, cut at the "
      "length; mini-batches\nof {} (DeepSpeed-Chat 256); 32 nodes of 8 H100, 200 Gb/s each. Seconds per iteration, "
      "mean of {} draws of lengths. Assumptions:\n- RLHFuse, Base: h100/megatron-vllm's kernels in one runtime (weight "
      "sync only moves weights, {} s of hand-over per task, 0.5 s per\n  iteration)\n- ReaL: the same kernels, "
      "decoding in CUDA graphs; a100/realhf's host seconds between decode steps and between passes, and its\n  2.2 s "
      "per iteration\n- DeepSpeed-Chat: like ReaL, but decoding kernel by kernel, with half as many per layer as "
      "a100/realhf launches; all tasks on all\n  GPUs, ZeRO 3 in training and inference, tensor parallel generation\n- "
      "sequences of inference and training: {}\n- layouts and micro-batches: from the planner; ReaL with its own "
      "means, {} iterations in each of 2 chains\n\n",
      effort.mini_batch, effort.draws, effort.task, effort.padded ? "padded to the maximum length" : "packed",
      effort.iterations);
}

/// Prints both tables. Returns how many figures are within their bands for enough pairs.
int print_tables(const Effort& effort) {
  std::vector<report::Column> columns{{"actor/critic, tokens", report::Align::left}};
  for (const System& system : systems(effort)) columns.push_back({system.name});
  for (const Band& band : bands) columns.push_back({band.name});
  Rows ratios;
  Rows phases;
  std::array<int, bands.size()> inside{};
  for (int number = 0; number < effort.pairs; ++number) {
    Pair pair = simulate_pair(static_cast<std::size_t>(number), effort);
    std::move(pair.ratios.begin(), pair.ratios.end(), std::back_inserter(ratios));
    std::move(pair.phases.begin(), pair.phases.end(), std::back_inserter(phases));
    for (std::size_t figure = 0; figure < bands.size(); ++figure) {
      const std::optional<double> mean = pair.option_set[figure];
      inside[figure] += mean && *mean >= bands[figure].low && *mean <= bands[figure].high ? 1 : 0;
    }
  }
  ratios.push_back({"paper", "", "", "", ""});
  ratios.push_back({"pairs within, by their mean", "", "", "", ""});
  int met = 0;
  for (std::size_t figure = 0; figure < bands.size(); ++figure) {
    ratios[ratios.size() - 2].emplace_back(bands[figure].text);
    ratios.back().push_back(fmt::format("{} of {}", inside[figure], effort.pairs));
    met += inside[figure] >= part_of_pairs * effort.pairs ? 1 : 0;
  }
  fmt::print("{}\n", report::render_table(columns, ratios));
  fmt::print(
      "Breakdown of Base's seconds; at most: generation and inference with inference fully hidden. Then RLHFuse's "
      "training, and its\nduration (gain over Base) with each pair of mini-batches fused separately\n{}\n",
      report::render_table({{"actor/critic, tokens", report::Align::left},
                            {"generation"},
                            {"its last 20% of samples"},
                            {"inference"},
                            {"at most"},
                            {"training"},
                            {"fused"},
                            {"mini-batch by mini-batch"}},
                           phases));
  return met;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments program("Simulates RLHFuse's setting and compares it with the ratios of its paper.");
  Effort effort;
  program.number("--pairs", effort.pairs, "number of pairs of models, from the first", 1, effort.pairs);
  program.number("--lengths", effort.lengths, "number of response lengths, from the shortest", 1, effort.lengths);
  program.number("--iterations", effort.iterations, "iterations per chain of the search for ReaL's plan", 1);
  program.number("--draws", effort.draws, "draws of lengths per plan", 1);
  program.number("--task", effort.task, "seconds of each task's hand-over for RLHFuse and Base (NeMo-RL's: 0.932)", 0.0,
                 60.0);
  program.number("--mini-batch", effort.mini_batch, "samples per optimizer step, for all except DeepSpeed-Chat", 1,
                 512);
  program.flag("--padded", effort.padded, "pad all sequences of inference and training to the maximum length");
  if (const auto code = program.parse(argc, argv)) return *code;
  bench::print_heading(argc, argv);
  print_setting(effort);
  return bench::print_met(print_tables(effort), static_cast<int>(bands.size()));
}
