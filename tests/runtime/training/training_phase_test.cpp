#include "runtime/training/training_phase.h"

#include <ATen/ops/zeros_like.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "../tiny_model.h"
#include "fuse/solve.h"
#include "pipeline/program/check.h"
#include "pipeline/program/compile.h"
#include "pipeline/schedule/validate.h"
#include "runtime/model/device.h"
#include "runtime/ranks/device_transport.h"
#include "runtime/ranks/thread_devices.h"
#include "runtime/training/role_training.h"
#include "support/problem_maker.h"
#include "support/random_schedule.h"
#include "transport/threads.h"

namespace dovetail::runtime {
namespace {

using namespace std::chrono_literals;
using control::StepDecision;
using control::TokenSequence;
using control::Training;
using control::TrainingSums;

constexpr int microbatches = 3;

/// Role and the ranks that train it.
struct RoleLayout {
  TinyShape shape;
  std::vector<std::vector<int>> replicas;  ///< [replica][stage] device
  std::vector<std::int64_t> ends;          ///< [stage] end of its layers
  bool is_split = false;
  bool is_sharded = true;
};

/// Training phase: roles on a number of ranks, and the solvers that order its ops.
struct Case {
  std::string name;
  int ranks;
  std::vector<RoleLayout> roles;
  std::vector<std::string> solvers;
};

std::vector<TokenSequence> random_sequences(std::uint64_t seed, std::size_t count) {
  base::Random random(seed, 5);
  std::vector<TokenSequence> sequences(count);
  for (TokenSequence& sequence : sequences) {
    const std::size_t tokens = 3 + random.below(7);
    for (std::size_t i = 0; i < tokens; ++i)
      sequence.tokens.push_back(static_cast<control::TokenId>(random.below(tiny_vocabulary)));
    sequence.first_scored = 1 + random.below(static_cast<std::uint32_t>(tokens - 1));
  }
  return sequences;
}

/// Loss whose gradient depends on the model's output.
std::vector<control::ScoreSlopes> slopes_of(std::span<const std::size_t> ids, std::span<const control::Scores> scores,
                                            TrainingSums& sums) {
  std::vector<control::ScoreSlopes> slopes(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    for (std::size_t t = 0; t < scores[i].values.size(); ++t) {
      slopes[i].values.push_back(std::sin(scores[i].values[t] + static_cast<double>(ids[i] + t)));
      sums.weight += 1;
      sums.loss -= std::cos(scores[i].values[t] + static_cast<double>(ids[i] + t));
    }
  return slopes;
}

/// Returns the mini-batches of a role. The last one takes no step, so that its gradients remain.
Training training_of(std::uint64_t seed, int minibatches, bool ends_with_step) {
  Training training{.role = "", .mini_batches = {}, .settings = {}, .decide = {}};
  for (int k = 0; k < minibatches; ++k)
    training.mini_batches.push_back({random_sequences(seed + static_cast<std::uint64_t>(k), 11), 1, slopes_of});
  training.decide = [=](std::size_t k, double norm, const TrainingSums&) {
    StepDecision decision;
    if (!ends_with_step && k + 1 == static_cast<std::size_t>(minibatches)) return decision;
    decision.step.emplace();
    decision.step->optimizer.learning_rate = 0.01;
    decision.step->clip_factor = std::min(1.0, 2 / norm);
    return decision;
  };
  return training;
}

/// State of a tensor after training: its weight, and its gradient of the last mini-batch.
struct Outcome {
  std::vector<Tensor> weights;
  std::vector<Tensor> gradients;
  std::vector<MiniBatchResult> results;
};

Outcome empty_outcome(const Weights& whole) {
  Outcome outcome;
  for (const Parameter& parameter : whole.parameters) {
    outcome.weights.push_back(at::zeros_like(parameter.value));
    outcome.gradients.push_back(at::zeros_like(parameter.value));
  }
  return outcome;
}

/// Trains in one process, micro-batch by micro-batch.
Outcome train_alone(const RoleLayout& layout, std::uint64_t seed, const Training& training, at::ScalarType type) {
  Model model = tiny_model(layout.shape, seed, type);
  Optimizer optimizer = make_optimizer(model.weights, all_parts(model.weights));
  Outcome outcome = empty_outcome(model.weights);
  for (std::size_t k = 0; k < training.mini_batches.size(); ++k) {
    MiniBatchResult result;
    clear_gradients(model.weights);
    const control::MiniBatch& mini_batch = training.mini_batches[k];
    for (const auto& replica :
         distribute_to_replicas(mini_batch.sequences, mini_batch.kept_together, layout.replicas.size(), microbatches))
      for (const std::vector<std::size_t>& ids : replica)
        if (!ids.empty())
          add_gradients(model, {mini_batch.sequences, ids}, 1, llm::Recomputation::none,
                        [&](auto of, auto scores) { return slopes_of(of, scores, result.sums); });
    join_tied_gradients(model.weights);
    result.norm = global_norm(model.weights);
    outcome.results.push_back(result);
    const StepDecision decision = *training.decide(k, result.norm, result.sums);
    if (decision.step) step(optimizer, model.weights, *decision.step);
  }
  for (std::size_t i = 0; i < model.weights.parameters.size(); ++i) {
    outcome.weights[i].copy_(model.weights.parameters[i].value);
    if (!model.weights.parameters[i].shared) outcome.gradients[i].copy_(model.weights.parameters[i].gradient);
  }
  return outcome;
}

pipeline::Problem problem_of(const Case& of, int minibatches) {
  std::vector<pipeline::Model> models;
  for (const RoleLayout& role : of.roles) {
    pipeline::Model model = test::chain_model("m" + std::to_string(models.size()), role.replicas.front(), microbatches,
                                              3, role.is_split ? 3 : 6);
    model.replicas.clear();
    for (const auto& replica : role.replicas) model.replicas.push_back(pipeline::device_list(replica));
    model.minibatches = minibatches;
    if (role.is_split) {
      model.weight_gradient.assign(role.ends.size(), base::Ticks(2));
      model.weight_activation = model.activation;
    }
    model.step.assign(role.ends.size(), base::Ticks(1));
    model.step_after = pipeline::StepAfter::model;
    model.step_before = role.is_sharded ? pipeline::StepBefore::replicas : pipeline::StepBefore::own;
    models.push_back(std::move(model));
  }
  return test::problem_of(of.ranks, std::move(models));
}

/// Returns the states of one rank's stages, by model of the program.
std::vector<std::vector<StageState>> states_of(const pipeline::Program& program, const Case& of, at::ScalarType type) {
  std::vector<std::vector<StageState>> states(of.roles.size());
  for (const pipeline::ProgramStage& stage : program.stages) {
    const std::size_t m = stage.model.index();
    const RoleLayout& role = of.roles[m];
    const Model whole = tiny_model(role.shape, m + 1, type);
    const std::size_t s = stage.stage.index();
    Model model(stage_of(whole.weights, {s == 0 ? 0 : role.ends[s - 1], role.ends[s]}));
    make_gradients(model.weights);
    std::vector<int> ranks;
    for (const auto& replica : role.replicas) ranks.push_back(replica[s]);
    std::sort(ranks.begin(), ranks.end());
    const auto share = static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), program.rank) - ranks.begin());
    Optimizer optimizer =
        make_optimizer(model.weights, role.is_sharded ? parts_of_share(model.weights, ranks.size(), share)
                                                      : parts_of_share(model.weights, 1, 0));
    states[m].push_back(
        {stage.replica.index(), s, std::move(model), std::move(optimizer), llm::Recomputation::none, role.is_sharded});
  }
  return states;
}

/// Copies a rank's results for a role.
void add_to(Outcome& outcome, const StageState& state) {
  for (const WeightPart& part : state.optimizer.parts) {
    const Parameter& parameter = state.model.weights.parameters[part.parameter];
    const auto cut = [&](const Tensor& tensor) {
      return tensor.view({-1}).narrow(0, part.begin, part.end - part.begin);
    };
    if (parameter.is.tied) continue;
    cut(outcome.gradients[parameter.place]).copy_(cut(parameter.gradient));
  }
  for (const Parameter& parameter : state.model.weights.parameters)
    outcome.weights[parameter.place].copy_(parameter.value);
}

/// Transport and collectives between ranks that are threads.
enum class Carrier { host, devices };

/// Runs one rank's part of a phase.
base::Result<PhaseResult> train_on_rank(const pipeline::Program& program, std::span<const PhaseRole> roles,
                                        std::unique_ptr<transport::Transport>& end, ThreadDevices* devices) {
  if (devices == nullptr) return run_training_phase(program, roles, *end, {60s, 0});
  end = make_device_transport(std::move(end), devices->of_rank(program.rank), nullptr);
  const auto sums = make_device_collectives(*end, devices->of_rank(program.rank));
  std::set<std::vector<int>> groups;
  for (const pipeline::Reduction& reduction : program.reductions) groups.insert(reduction.ranks);
  const transport::Deadline soon = transport::Clock::now() + 60s;
  DOVETAIL_CHECK(end->open(execute::channels_of(program), soon));
  DOVETAIL_CHECK(sums->open({groups.begin(), groups.end()}, soon));
  return run_training_phase(program, roles, *end, {60s, 0, sums.get()});
}

std::vector<Outcome> train_on_ranks(const Case& of, const pipeline::Schedule& schedule,
                                    const std::vector<Training>& trainings, at::ScalarType type,
                                    Carrier carrier = Carrier::host) {
  const pipeline::Placement placement = rank_per_device(schedule.problem);
  std::vector<pipeline::Exchanges> exchanges = exchanges_of(schedule.problem);
  for (std::size_t m = 0; m < of.roles.size(); ++m) exchanges[m].tied = of.roles[m].shape.tied;
  const std::vector<pipeline::Program> programs = *pipeline::compile(schedule, placement, exchanges);
  for (const pipeline::Delivery delivery : pipeline::deliveries) EXPECT_FALSE(pipeline::check(programs, delivery));
  auto ends = transport::connect_threads(of.ranks);
  ThreadDevices devices;
  std::vector<std::vector<std::vector<StageState>>> states(programs.size());
  std::vector<std::optional<base::Result<PhaseResult>>> results(programs.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < programs.size(); ++r)
    threads.emplace_back([&, r] {
      const c10::InferenceMode no_autograd;
      use_threads(1);
      states[r] = states_of(programs[r], of, type);
      std::vector<PhaseRole> roles;
      for (std::size_t m = 0; m < trainings.size(); ++m) roles.push_back({&trainings[m], &states[r][m]});
      results[r] = train_on_rank(programs[r], roles, ends[r], carrier == Carrier::devices ? &devices : nullptr);
    });
  for (std::thread& thread : threads) thread.join();
  std::vector<Outcome> outcomes;
  for (std::size_t m = 0; m < trainings.size(); ++m) {
    outcomes.push_back(empty_outcome(tiny_model(of.roles[m].shape, m + 1, type).weights));
    for (std::size_t r = 0; r < programs.size(); ++r) {
      EXPECT_TRUE(results[r]->ok()) << results[r]->error().message;
      for (const StageState& state : states[r][m]) add_to(outcomes[m], state);
      if (!(*results[r])->roles[m].empty()) outcomes[m].results = (*results[r])->roles[m];
    }
  }
  return outcomes;
}

/// Returns the norm of the difference divided by the norm.
double distance(const Tensor& found, const Tensor& expected) {
  const double norm = expected.to(at::kDouble).norm().item<double>();
  const double difference = found.to(at::kDouble).sub(expected.to(at::kDouble)).norm().item<double>();
  return norm > 0 ? difference / norm : difference;
}

std::vector<pipeline::Schedule> schedules_of(const Case& of, const pipeline::Problem& problem) {
  std::vector<pipeline::Schedule> schedules;
  for (const std::string& solver : of.solvers) {
    auto solved = fuse::solve(problem, solver);
    EXPECT_TRUE(solved.ok()) << solver << ": " << solved.error().message;
    if (solved.ok()) schedules.push_back(std::move(solved->schedule));
  }
  for (const std::uint64_t seed : {1U, 2U, 3U}) schedules.push_back(test::random_schedule(problem, seed));
  return schedules;
}

class TrainingPhases : public testing::TestWithParam<Case> {
 protected:
  void run(at::ScalarType type, double gradients, double weights, bool ends_with_step) {
    const c10::InferenceMode no_autograd;
    use_threads(1);
    const Case& of = GetParam();
    const int minibatches = 2;
    std::vector<Training> trainings;
    std::vector<Outcome> expected;
    for (std::size_t m = 0; m < of.roles.size(); ++m) {
      trainings.push_back(training_of(100 * (m + 1), minibatches, ends_with_step));
      expected.push_back(train_alone(of.roles[m], m + 1, trainings[m], type));
    }
    std::vector<Outcome> first;
    for (const pipeline::Schedule& schedule : schedules_of(of, problem_of(of, minibatches))) {
      std::vector<Outcome> found = train_on_ranks(of, schedule, trainings, type);
      for (std::size_t m = 0; m < found.size(); ++m) {
        expect_near(found[m], expected[m], of.roles[m].shape.tied, gradients, weights);
        if (!first.empty()) expect_same_bits(found[m], first[m]);
      }
      if (first.empty()) first = std::move(found);
    }
  }

  void expect_near(const Outcome& found, const Outcome& expected, bool tied, double gradients, double weights) {
    for (std::size_t i = 0; i < expected.weights.size(); ++i) {
      EXPECT_LE(distance(found.weights[i], expected.weights[i]), weights) << i;
      if (tied) continue;
      EXPECT_LE(distance(found.gradients[i], expected.gradients[i]), gradients) << i;
    }
    ASSERT_EQ(found.results.size(), expected.results.size());
    for (std::size_t k = 0; k < expected.results.size(); ++k) {
      EXPECT_NEAR(found.results[k].norm, expected.results[k].norm, 10 * gradients * expected.results[k].norm);
      EXPECT_EQ(found.results[k].sums.weight, expected.results[k].sums.weight);
      EXPECT_NEAR(found.results[k].sums.loss, expected.results[k].sums.loss, 100 * gradients);
    }
  }

  static void expect_same_bits(const Outcome& found, const Outcome& first) {
    for (std::size_t i = 0; i < first.weights.size(); ++i) {
      EXPECT_TRUE(found.weights[i].equal(first.weights[i])) << i;
      EXPECT_TRUE(found.gradients[i].equal(first.gradients[i])) << i;
    }
    for (std::size_t k = 0; k < first.results.size(); ++k) EXPECT_EQ(found.results[k].norm, first.results[k].norm);
  }
};

/// The simulated devices sum in rank order, so results are bit-equal.
TEST_P(TrainingPhases, AreBitEqualBetweenDevices) {
  const c10::InferenceMode no_autograd;
  use_threads(1);
  const Case& of = GetParam();
  std::vector<Training> trainings;
  for (std::size_t m = 0; m < of.roles.size(); ++m) trainings.push_back(training_of(100 * (m + 1), 2, true));
  for (const pipeline::Schedule& schedule : schedules_of(of, problem_of(of, 2))) {
    const std::vector<Outcome> by_host = train_on_ranks(of, schedule, trainings, at::kFloat);
    const std::vector<Outcome> between_devices = train_on_ranks(of, schedule, trainings, at::kFloat, Carrier::devices);
    for (std::size_t m = 0; m < by_host.size(); ++m) expect_same_bits(between_devices[m], by_host[m]);
  }
}

TEST_P(TrainingPhases, MatchTheGradientsOfOneProcess) { run(at::kDouble, 1e-12, 1e-10, false); }
TEST_P(TrainingPhases, MatchItsWeightsAfterTheLastStep) { run(at::kDouble, 1e-12, 1e-10, true); }
TEST_P(TrainingPhases, MatchInSinglePrecision) { run(at::kFloat, 2e-6, 2e-6, false); }

const TinyShape four{.layers = 4};
const TinyShape eight{.layers = 8};
const TinyShape tied{.tied = true, .layers = 4};
const TinyShape critic{.head = llm::Head::scalar, .layers = 4};

INSTANTIATE_TEST_SUITE_P(
    Layouts, TrainingPhases,
    testing::Values(
        Case{"one rank", 1, {{four, {{0}}, {4}}}, {"1f1b", "gpipe"}},
        Case{"two replicas", 2, {{four, {{0}, {1}}, {4}}}, {"1f1b"}},
        Case{"two stages", 2, {{four, {{0, 1}}, {2, 4}}}, {"1f1b", "gpipe"}},
        Case{"uneven stages", 2, {{four, {{0, 1}}, {3, 4}}}, {"1f1b"}},
        Case{"tied over two stages", 2, {{tied, {{0, 1}}, {2, 4}}}, {"1f1b"}},
        Case{"tied in two replicas of two stages", 4, {{tied, {{0, 1}, {3, 2}}, {1, 4}}}, {"1f1b"}},
        Case{"tied in one replica of a stage", 2, {{tied, {{0}, {1}}, {4}}}, {"1f1b"}},
        Case{"two replicas of four stages", 8, {{eight, {{0, 1, 2, 3}, {4, 5, 6, 7}}, {1, 3, 6, 8}}}, {"1f1b"}},
        Case{"four replicas of two stages", 8, {{four, {{0, 1}, {2, 3}, {4, 5}, {6, 7}}, {1, 4}}}, {"1f1b"}},
        Case{"two replicas that step alike", 2, {{four, {{0}, {1}}, {4}, false, false}}, {"1f1b"}},
        Case{"tied in replicas that step alike", 4, {{tied, {{0, 1}, {3, 2}}, {1, 4}, false, false}}, {"1f1b"}},
        Case{"interleaved", 2, {{four, {{0, 1, 0, 1}}, {1, 2, 3, 4}}}, {"greedy"}},
        Case{"a V with split backwards", 2, {{tied, {{0, 1, 1, 0}}, {1, 2, 3, 4}, true}}, {"list"}},
        Case{"a V on one rank", 1, {{tied, {{0, 0}}, {2, 4}}}, {"list"}},
        Case{"two roles in opposite directions",
             2,
             {{four, {{0, 1}}, {2, 4}}, {critic, {{1, 0}}, {1, 4}}},
             {"1f1b", "greedy"}},
        Case{"two roles in unlike layouts",
             4,
             {{tied, {{0, 1}, {2, 3}}, {2, 4}}, {critic, {{3, 2, 1, 0}}, {1, 2, 3, 4}, true}},
             {"1f1b", "greedy"}}),
    [](const testing::TestParamInfo<Case>& of) {
      std::string name = of.param.name;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

}  // namespace
}  // namespace dovetail::runtime
