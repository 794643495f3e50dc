// Measures the gain of fusing two trainings on two ranks that compute, and compares it with the schedule's gain at the
// measured op times.
#include <c10/core/InferenceMode.h>
#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "answer/runs/phase_table.h"
#include "arguments.h"
#include "plan/job_file.h"
#include "predict/closed_form/software.h"
#include "report/text/table.h"
#include "runtime/model/device.h"
#include "runtime/run/rank_models.h"
#include "tables.h"
#include "transport/collectives.h"
#include "transport/threads.h"

namespace {

using namespace dovetail;
using namespace std::chrono_literals;
using base::Status;
using control::Scores;

constexpr int ranks = 2;
constexpr int minibatches = 2;
constexpr int sequences = 16;  // per mini-batch: four micro-batches
constexpr int tokens = 64;     // per sequence
constexpr std::size_t min_pairs = 10;
constexpr double max_difference = 0.03;
/// Maximum wall time of a rank's ops relative to its processor time. If they took longer, another process used the
/// core.
constexpr double max_wall = 1.1;

/// PPO with an actor and a critic of the same shape.
plan::Job job_of(int layers) {
  const std::string text = fmt::format(
      "format: dovetail/job@1\nalgorithm: {{name: ppo, reward: rule, reward_seconds: 0.001}}\n"
      "models: {{actor: {{model_type: llama, hidden_size: 256, num_hidden_layers: {}, num_attention_heads: 4, "
      "num_key_value_heads: 4, head_dim: 64, intermediate_size: 768, vocab_size: 512, tie_word_embeddings: false}}}}\n"
      "workload: {{prompts: {}, mini_batches: {}, prompt_length: 8, response_length: {}}}\n"
      "cluster: {{nodes: 1, gpus_per_node: {}, gpu: {{name: CPU, memory: 16GiB, bandwidth: 40GB/s, "
      "bf16: 130GFLOP/s}}}}\n",
      layers, sequences * minibatches, minibatches, tokens - 8, ranks);
  return plan::parse_job(text, "job").value();
}

/// Runs both trainings in pipelines over all ranks.
plan::Plan plan_of(const plan::Job& job, bool is_fused) {
  plan::Plan plan;
  plan.placement = "custom";
  std::vector<std::size_t> trained;
  for (const workflow::Task& task : job.workflow.tasks) {
    plan::TaskPlan& planned = plan.tasks.emplace_back();
    planned.mesh = {0, ranks};
    planned.layout.data = ranks;
    if (task.kind != workflow::TaskKind::generate) planned.micro_batching.sequences = 4;
    if (task.kind != workflow::TaskKind::train) continue;
    planned.layout.data = 1;
    planned.layout.pipeline = ranks;
    trained.push_back(plan.tasks.size() - 1);
  }
  if (is_fused) plan.fusion.training = {trained[0], trained[1]};
  return plan;
}

std::vector<runtime::RoleSetup> setups_of(const plan::Job& job) {
  std::vector<runtime::RoleSetup> all;
  for (std::size_t i = 0; i < job.models.size(); ++i) {
    runtime::RoleSetup& setup = all.emplace_back();
    setup.name = job.workflow.roles[i].name;
    setup.shape = job.models[i];
    setup.seed = i + 1;
    setup.trained = setup.name == "actor" || setup.name == "critic";
  }
  return all;
}

std::vector<control::ScoreSlopes> slopes_of(std::span<const std::size_t> ids, std::span<const Scores> scores) {
  std::vector<control::ScoreSlopes> slopes(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) slopes[i].values.assign(scores[i].values.size(), -1e-3);
  return slopes;
}

control::Training training_of(const std::string& role) {
  control::Training training{.role = role, .mini_batches = {}, .settings = {}, .decide = {}};
  const std::vector<control::TokenSequence> batch(sequences, {std::vector<control::TokenId>(tokens, 7), 8});
  for (int k = 0; k < minibatches; ++k)
    training.mini_batches.push_back(
        {batch, 1, [](std::span<const std::size_t> ids, std::span<const Scores> scores, control::TrainingSums&) {
           return slopes_of(ids, scores);
         }});
  training.settings.micro_batching.sequences = 4;
  training.decide = [](std::size_t, double, const control::TrainingSums&) {
    control::StepSettings step;
    step.optimizer.learning_rate = 1e-6;
    return control::StepDecision{step, false};
  };
  return training;
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Times of both trainings, either in one schedule or in sequence.
struct PhaseTimes {
  double seconds = 0;                 ///< of the schedule, or of both in sequence
  std::array<double, ranks> ops{};    ///< wall time of each rank's ops
  std::array<double, ranks> spent{};  ///< processor time of each rank
};

struct Pair {
  PhaseTimes fused;
  PhaseTimes serial;
};

bool is_undisturbed(const PhaseTimes& times) {
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (times.ops[rank] > max_wall * times.spent[rank]) return false;
  return true;
}

/// Adds the traces of all ranks in the phases that ran last.
void add_traces(const std::vector<records::TrainingPhase>& phases, PhaseTimes& times) {
  for (const records::TrainingPhase& phase : phases) {
    times.seconds += base::seconds_of_ticks(phase.trace.end);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      for (const timeline::Bar& bar : timeline::bars_of(phase.trace, rank))
        if (!timeline::is_idle(bar.bar_kind)) times.ops[rank] += base::seconds_of_ticks(bar.end - bar.begin);
  }
}

/// One rank's models of a plan.
struct RankSide {
  control::RankExchange rank_exchange;
  transport::OrderedCollectives collectives;
  std::unique_ptr<runtime::RankModels> models;

  explicit RankSide(transport::Transport& transport)
      : rank_exchange(transport, nullptr, 120s), collectives(transport) {}
};

Status train(RankSide& side, const std::vector<control::Training>& trainings, bool is_fused, PhaseTimes& times) {
  const double begin = thread_seconds();
  const auto rank = static_cast<std::size_t>(side.rank_exchange.rank());
  if (is_fused) {
    DOVETAIL_CHECK(side.models->train(trainings));
  } else {
    for (const control::Training& each : trainings) DOVETAIL_CHECK(side.models->train({&each, 1}));
  }
  times.spent[rank] = thread_seconds() - begin;
  if (rank == 0) add_traces(side.models->measured_phases(), times);
  return {};
}

struct Measured {
  std::vector<Pair> pairs;
  answer::FusionGain planned;
  answer::FusionGain of_schedule;  ///< at the median op times
};

/// State shared by all ranks.
struct Bench {
  Bench(const plan::Job& job, const predict::Software& software) : scenario(predict::scenario_of(job, software)) {}

  predict::Scenario scenario;
  plan::Plan fused = plan_of(scenario.job, true);
  plan::Plan serial = plan_of(scenario.job, false);
  std::vector<std::unique_ptr<transport::Transport>> of_fused = transport::connect_threads(ranks);
  std::vector<std::unique_ptr<transport::Transport>> of_serial = transport::connect_threads(ranks);
};

Status run_rank(Bench& bench, std::size_t rank, Measured& measured) {
  const c10::InferenceMode no_autograd;
  runtime::use_threads(1);
  RankSide fused(*bench.of_fused[rank]);
  RankSide serial(*bench.of_serial[rank]);
  constexpr std::int64_t cache_bytes = 1 << 20;
  DOVETAIL_TRY(fused.models, runtime::RankModels::make(setups_of(bench.scenario.job), cache_bytes, bench.scenario,
                                                       bench.fused, {fused.rank_exchange, fused.collectives}));
  DOVETAIL_TRY(serial.models, runtime::RankModels::make(setups_of(bench.scenario.job), cache_bytes, bench.scenario,
                                                        bench.serial, {serial.rank_exchange, serial.collectives}));
  const std::vector<control::Training> trainings{training_of("actor"), training_of("critic")};
  // Repeat until the order for the measured times has been applied.
  PhaseTimes warm_up;
  for (int i = 0; i < 6; ++i) DOVETAIL_CHECK(train(fused, trainings, true, warm_up));
  DOVETAIL_CHECK(train(serial, trainings, false, warm_up));
  for (std::size_t i = 0; i < measured.pairs.size(); ++i) {
    if (rank == 0) bench::note(fmt::format("pair {} of {}", i + 1, measured.pairs.size()));
    DOVETAIL_CHECK(train(fused, trainings, true, measured.pairs[i].fused));
    DOVETAIL_CHECK(train(serial, trainings, false, measured.pairs[i].serial));
  }
  if (rank != 0) return {};
  const records::TrainingPhase phase = fused.models->measured_phases().front();
  measured.planned = answer::fusion_gain(phase.planned).value();
  measured.of_schedule = answer::fusion_gain(phase.measured).value();
  return {};
}

base::Result<Measured> measure(int layers, std::size_t pairs) {
  const plan::Job job = job_of(layers);
  DOVETAIL_TRY(const predict::Software software, predict::software_of(job));
  Bench bench(job, software);
  Measured measured{.pairs = std::vector<Pair>(pairs), .planned = {}, .of_schedule = {}};
  std::array<Status, ranks> ended;
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      ended[rank] = run_rank(bench, rank, measured);
      if (ended[rank].ok()) return;
      bench.of_fused[rank]->fail(ended[rank].error());
      bench.of_serial[rank]->fail(ended[rank].error());
    });
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : ended) DOVETAIL_CHECK(status);
  return measured;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string ms(double seconds) { return fmt::format("{:.1f} ms", 1e3 * seconds); }

std::vector<std::string> row_of(const std::string& name, double serial, double fused) {
  return {name, ms(serial), ms(fused), fmt::format("{:.1f}%", 100 * (1 - fused / serial))};
}

std::vector<std::string> row_of(const std::string& name, const answer::FusionGain& gain) {
  return row_of(name, base::seconds_of_ticks(gain.serial), base::seconds_of_ticks(gain.fused));
}

int print_report(const Measured& measured) {
  std::vector<double> fused;
  std::vector<double> serial;
  for (const Pair& pair : measured.pairs) {
    if (!is_undisturbed(pair.fused) || !is_undisturbed(pair.serial)) continue;
    fused.push_back(pair.fused.seconds);
    serial.push_back(pair.serial.seconds);
  }
  std::vector<std::vector<std::string>> rows{row_of("schedule, as predicted", measured.planned),
                                             row_of("schedule, at measured op times", measured.of_schedule)};
  if (!fused.empty()) rows.push_back(row_of("ranks", median(serial), median(fused)));
  using report::Align;
  fmt::print("{}",
             report::render_table(
                 {{"", Align::left}, {"serial", Align::right}, {"fused", Align::right}, {"gain", Align::right}}, rows));
  fmt::print("{} of {} pairs ran undisturbed\n", fused.size(), measured.pairs.size());
  if (fused.size() < min_pairs) return fmt::print("machine busy: no verdict\n"), 0;
  const double gain = 1 - median(fused) / median(serial);
  const double difference = std::abs(gain - measured.of_schedule.saved());
  fmt::print("gain differs from the schedule's by {:.1f} points (limit {:.0f})\n", 100 * difference,
             100 * max_difference);
  return bench::print_met(difference <= max_difference ? 1 : 0, 1);
}

}  // namespace

int main(int count, char** arguments) {
  int pairs = 20;
  int layers = 8;
  bench::Arguments parser("Trains two models on two ranks that compute, fused in one schedule and in sequence.");
  parser.number("--pairs", pairs, "number of runs, alternating fused and in sequence", 1, 10'000);
  parser.number("--layers", layers, "layers of each model", 2, 64);
  if (const auto code = parser.parse(count, arguments)) return *code;
  bench::print_heading(count, arguments);
  const auto measured = measure(layers, static_cast<std::size_t>(pairs));
  if (!measured.ok()) return fmt::print("failed: {}\n", base::to_text(measured.error())), 1;
  return print_report(*measured);
}
