// Activation memory that ranks hold for micro-batches in flight, counted by the tensor allocator, compared with the
// schedule's.
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "cost/conventions.h"
#include "cost/training_memory.h"
#include "fuse/solve.h"
#include "pipeline/program/compile.h"
#include "pipeline/schedule/evaluate.h"
#include "runtime/model/device.h"
#include "runtime/model/tensor.h"
#include "runtime/training/training_phase.h"
#include "support/problem_maker.h"
#include "transport/threads.h"

namespace dovetail::runtime {
namespace {

using namespace std::chrono_literals;
using control::Training;

constexpr int microbatches = 8;
constexpr std::size_t sequences_each = 4;
constexpr std::size_t sequence_tokens = 24;

/// Role and its stages, each with this many layers. A backward pass uses the memory of about two layers, and a
/// micro-batch holds a few rows besides its layers. Schedules count neither; with many layers they are negligible.
struct RoleStages {
  llm::Head head = llm::Head::scalar;
  std::vector<int> devices = {};
  std::int64_t layers = 0;

  std::int64_t stages() const { return static_cast<std::int64_t>(devices.size()); }
};

struct Case {
  std::string name;
  int ranks = 1;
  std::vector<RoleStages> roles;
  std::string solver;
};

llm::Transformer transformer_of(const RoleStages& role) {
  llm::Transformer made;
  made.layers = role.stages() * role.layers;
  made.hidden = 32;
  made.heads = 4;
  made.key_value_heads = 2;
  made.head_size = 8;
  made.width = 48;
  made.vocabulary = 11;
  made.head = role.head;
  return made;
}

/// Returns the bytes that one micro-batch keeps on each stage, as plans compute them.
std::vector<base::Memory> activations_of(const RoleStages& role) {
  llm::Layout layout;
  layout.pipeline = static_cast<int>(role.stages());
  cost::TrainingShape shape;
  shape.sequence_length = sequence_tokens;
  shape.packed_tokens = sequences_each * sequence_tokens;
  shape.in_flight.assign(role.devices.size(), 1.0);
  std::vector<base::Memory> activations;
  for (const cost::StageMemory& stage :
       cost::training_memory(transformer_of(role), layout, shape, *cost::find_conventions("dovetail")).stages)
    activations.emplace_back(stage.parts.activations);
  return activations;
}

pipeline::Schedule schedule_of(const Case& of) {
  std::vector<pipeline::Model> models;
  for (const RoleStages& role : of.roles) {
    models.push_back(test::chain_model("m" + std::to_string(models.size()), role.devices, microbatches, 3, 6));
    models.back().activation = activations_of(role);
    models.back().step.assign(role.devices.size(), base::Ticks(1));
    models.back().step_after = pipeline::StepAfter::model;
  }
  auto solved = fuse::solve(test::problem_of(of.ranks, std::move(models)), of.solver);
  EXPECT_TRUE(solved.ok()) << solved.error().message;
  return std::move(solved->schedule);
}

Training training_of(std::uint64_t seed) {
  base::Random random(seed, 5);
  std::vector<control::TokenSequence> sequences(microbatches * sequences_each);
  for (control::TokenSequence& sequence : sequences)
    for (std::size_t i = 0; i < sequence_tokens; ++i)
      sequence.tokens.push_back(static_cast<control::TokenId>(random.below(11)));
  const auto loss = [](std::span<const std::size_t>, std::span<const control::Scores> scores,
                       control::TrainingSums& sums) {
    std::vector<control::ScoreSlopes> slopes;
    for (const control::Scores& each : scores) slopes.push_back({each.values, {}});
    sums.weight += 1;
    return slopes;
  };
  Training training{.role = "", .mini_batches = {{std::move(sequences), 1, loss}}, .settings = {}, .decide = {}};
  training.decide = [](std::size_t, double, const control::TrainingSums&) { return control::StepDecision{}; };
  return training;
}

std::vector<std::vector<StageState>> states_of(const pipeline::Program& program, const Case& of) {
  std::vector<std::vector<StageState>> states(of.roles.size());
  for (const pipeline::ProgramStage& stage : program.stages) {
    const RoleStages& role = of.roles[stage.model.index()];
    const auto begin = static_cast<std::int64_t>(stage.stage.index()) * role.layers;
    Weights weights = empty_weights(transformer_of(role), llm::Computation(), at::kFloat, {begin, begin + role.layers});
    fill_randomly(weights, stage.model.index() + 1);
    Model model(std::move(weights));
    make_gradients(model.weights);
    Optimizer optimizer = make_optimizer(model.weights, all_parts(model.weights));
    states[stage.model.index()].push_back(
        {0, stage.stage.index(), std::move(model), std::move(optimizer), llm::Recomputation::none, false});
  }
  return states;
}

/// Returns the peak bytes of each rank above its resident memory.
std::vector<std::int64_t> measured_peaks(const Case& of, const pipeline::Schedule& schedule) {
  std::vector<Training> trainings;
  for (std::size_t m = 0; m < of.roles.size(); ++m) trainings.push_back(training_of(m));
  const std::vector<pipeline::Program> programs =
      *pipeline::compile(schedule, rank_per_device(schedule.problem), exchanges_of(schedule.problem));
  const auto ends = transport::connect_threads(of.ranks);
  std::vector<MemoryCount> counts(programs.size());
  std::vector<std::int64_t> peaks(programs.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < programs.size(); ++r)
    threads.emplace_back([&, r] {
      const c10::InferenceMode no_autograd;
      const CountedThread counted(counts[r]);
      use_threads(1);
      std::vector<std::vector<StageState>> states = states_of(programs[r], of);
      std::vector<PhaseRole> roles;
      for (std::size_t m = 0; m < trainings.size(); ++m) roles.push_back({&trainings[m], &states[m]});
      const std::int64_t resident = counts[r].live();
      (void)counts[r].take_peak();
      const auto result = run_training_phase(programs[r], roles, *ends[r], {60s, 0});
      EXPECT_TRUE(result.ok()) << result.error().message;
      peaks[r] = counts[r].take_peak() - resident;
      // The last messages may still be in use.
      EXPECT_TRUE(transport::barrier(*ends[r], 1'000, transport::Clock::now() + 60s).ok());
    });
  for (std::thread& thread : threads) thread.join();
  for (const MemoryCount& count : counts) EXPECT_EQ(count.live(), 0) << "leaked tensors";
  return peaks;
}

class ActivationMemory : public testing::TestWithParam<Case> {};

TEST_P(ActivationMemory, MatchesTheSchedule) {
  count_memory();
  const Case& of = GetParam();
  const pipeline::Schedule schedule = schedule_of(of);
  const auto evaluated = pipeline::evaluate(schedule);
  const std::vector<std::int64_t> peaks = measured_peaks(of, schedule);
  for (std::size_t r = 0; r < peaks.size(); ++r) {
    const auto expected = static_cast<double>(evaluated.evaluation.devices[r].peak.count());
    EXPECT_NEAR(static_cast<double>(peaks[r]) / expected, 1, 0.02) << "rank " << r;
  }
}

constexpr llm::Head language_model = llm::Head::language_model;
constexpr llm::Head scalar = llm::Head::scalar;

INSTANTIATE_TEST_SUITE_P(
    Layouts, ActivationMemory,
    testing::Values(Case{"one_rank", 1, {{language_model, {0}, 64}}, "gpipe"},
                    Case{"two_stages", 2, {{language_model, {0, 1}, 64}}, "1f1b"},
                    Case{"four_stages", 4, {{scalar, {0, 1, 2, 3}, 64}}, "1f1b"},
                    Case{"all_forwards_first", 2, {{scalar, {0, 1}, 16}}, "gpipe"},
                    Case{"fused", 2, {{language_model, {0, 1}, 64}, {scalar, {1, 0}, 64}}, "greedy"}),
    [](const testing::TestParamInfo<Case>& of) { return of.param.name; });

}  // namespace
}  // namespace dovetail::runtime
