#include "control/run/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "control/fake_run.h"

namespace dovetail::control {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Lt;
using testing::SizeIs;

/// Two answers: the first is worth 1, the second -1. Either ends the response.
FakeRun two_answers(const std::string& algorithm = "ppo", const std::string& workload = {}) {
  FakeRun run(
      algorithm,
      workload.empty() ? "{prompts: 64, prompt_length: 1, response_length: 1, mini_batches: 2, epochs: 2}" : workload,
      3);
  run.prompt_with(1);
  run.inputs.ends = {1, 2};
  for (const char* role : {"actor", "reference"})
    if (run.models.roles.count(role) > 0) run.models.roles[role].weights[0] = -40;  // never the prompt again
  run.models.roles["reward"].judge = [](std::span<const TokenId> tokens) { return tokens.back() == 1 ? 1.0 : -1.0; };
  return run;
}

/// Longer responses, some truncated, over several prompts, judged by their number of "b" tokens.
FakeRun letters(const std::string& algorithm, const std::string& workload) {
  FakeRun run(algorithm, workload, 4);
  run.prompt_with(3);
  run.inputs.ends = {3};
  if (run.models.roles.count("reward") > 0 && run.job.workflow.name != "reward_model")
    run.models.roles["reward"].judge = [](std::span<const TokenId> tokens) {
      return static_cast<double>(std::count(tokens.begin() + 1, tokens.end(), 1));
    };
  run.settings.iterations = 3;
  return run;
}

class KlLaw : public testing::TestWithParam<double> {};

// max E[r] - b KL(p | reference): p is proportional to reference * exp(r / b), so here 1 / (1 + exp(-2 / b)).
TEST_P(KlLaw, PpoReachesTheKnownOptimum) {
  FakeRun run = two_answers();
  run.settings.iterations = 150;
  run.settings.loss.kl.coefficient = GetParam();
  run.settings.loss.advantage = AdvantageScale::none;
  run.settings.optimizer["actor"].schedule = {learn::RateShape::linear, 0, 0.02};
  const RunTale tale = run.run();
  const double share = 1 / (1 + std::exp(-2 / GetParam()));
  EXPECT_THAT(run.models.probability("actor", 0, 1), DoubleNear(share, 0.03));
  const double divergence = std::log(2) + share * std::log(share) + (1 - share) * std::log(1 - share);
  EXPECT_THAT(tale.last("kl_token"), DoubleNear(divergence, 0.12));
}
INSTANTIATE_TEST_SUITE_P(OfCoefficients, KlLaw, testing::Values(1.0, 2.0));

TEST(Run, PpoWithThePenaltyInTheLossReachesTheSameOptimum) {
  FakeRun run = two_answers();
  run.settings.iterations = 150;
  run.settings.loss.kl = {.in = KlPlace::loss, .estimator = learn::KlEstimator::k2, .coefficient = 1};
  run.settings.loss.advantage = AdvantageScale::none;
  run.settings.optimizer["actor"].schedule = {learn::RateShape::linear, 0, 0.02};
  run.run();
  EXPECT_THAT(run.models.probability("actor", 0, 1), DoubleNear(1 / (1 + std::exp(-2.0)), 0.03));
}

TEST(Run, GrpoFindsTheBetterAnswer) {
  FakeRun run = two_answers("grpo",
                            "{prompts: 8, samples_per_prompt: 8, prompt_length: 1, response_length: 1, mini_batches: "
                            "2, epochs: 1}");
  run.settings.iterations = 60;
  run.settings.loss.kl.coefficient = 0;
  const RunTale tale = run.run();
  EXPECT_GT(run.models.probability("actor", 0, 1), 0.95);
  EXPECT_GT(tale.last("equal_groups"), tale.metric(0, "equal_groups"));
  EXPECT_THAT(tale.metric(0, "sampler_gap_max"), Lt(1e-6));
}

TEST(Run, SupervisedTrainingLearnsTheNextTokens) {
  FakeRun run("sft", "{prompts: 2, prompt_length: 1, response_length: 3}", 4);
  run.inputs.train.examples = {{{{0, 1, 2, 3}, 1}, {true, true, true}}, {{{0, 1, 1, 3}, 1}, {true, false, true}}};
  run.settings.iterations = 200;
  const RunTale tale = run.run();
  EXPECT_GT(run.models.probability("actor", 0, 1), 0.95);
  // After "b", both "c" and "d" were learned. "b" itself was not.
  EXPECT_THAT(run.models.probability("actor", 1, 2), DoubleNear(0.5, 0.05));
  EXPECT_THAT(run.models.probability("actor", 1, 3), DoubleNear(0.5, 0.05));
  EXPECT_LT(tale.last("actor_loss"), tale.metric(0, "actor_loss"));
  EXPECT_THAT(tale.metric(0, "actor_loss"), DoubleNear(std::log(4), 1e-12));
  EXPECT_THAT(tale.metric(0, "actor_perplexity"), DoubleNear(4, 1e-9));
  EXPECT_EQ(tale.metric(0, "actor_tokens"), 5);
  EXPECT_THAT(tale.samples, IsEmpty());
}

TEST(Run, ARewardModelOrdersPairs) {
  FakeRun run("reward_model", "{prompts: 2, prompt_length: 1, response_length: 2}", 4);
  run.inputs.train.pairs = {{{{0, 1, 3}, 1}, {{0, 2}, 1}}, {{{0, 3}, 1}, {{0, 1}, 1}}};
  run.inputs.validation.pairs = {{{{0, 3}, 1}, {{0, 2}, 1}}, {{{0, 2}, 1}, {{0, 3}, 1}}};
  run.settings.evaluate.every = 1;
  run.settings.iterations = 100;
  const RunTale tale = run.run();
  EXPECT_EQ(tale.metric(0, "reward_accuracy"), 0);
  EXPECT_EQ(tale.last("reward_accuracy"), 1);
  EXPECT_THAT(tale.metric(0, "reward_loss"), DoubleNear(std::log(2), 1e-12));
  EXPECT_EQ(find_metric(tale.evaluations.back(), "accuracy")->value, 0.5);
  EXPECT_THAT(find_metric(tale.evaluations.back(), "margin")->value, DoubleNear(0, 1e-12));
}

void expect_equal(const FakeRole& a, const FakeRole& b) {
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.first_moments, b.first_moments);
  EXPECT_EQ(a.second_moments, b.second_moments);
}

void expect_equal(const std::vector<Metrics>& a, const std::vector<Metrics>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t row = 0; row < a.size(); ++row) {
    ASSERT_EQ(a[row].size(), b[row].size());
    for (std::size_t column = 0; column < a[row].size(); ++column) {
      EXPECT_EQ(a[row][column].name, b[row][column].name);
      EXPECT_EQ(a[row][column].value, b[row][column].value) << a[row][column].name;
    }
  }
}

/// Stops the run at piece of work `stop`, and continues with another run from the saved state. Returns whether there
/// was this much work.
bool stop_and_go_on(const std::function<FakeRun()>& make, std::int64_t stop, const RunTale& whole,
                    const FakeRun& undisturbed) {
  SCOPED_TRACE(stop);
  RunTale tale;
  FakeRun first = make();
  parallel::Cancellation cancellation;
  first.models.on_work = [&, left = stop]() mutable {
    if (left-- == 0) cancellation.request();
  };
  RunState state = initial_state(first.settings);
  const base::Status status = first.continue_run(state, tale, &cancellation);
  if (status.ok()) return false;
  EXPECT_EQ(status.error().failure, base::Failure::interrupted);
  EXPECT_EQ(tale.reasons.back(), CheckpointReason::interrupted);
  FakeRun second = make();
  second.models.roles = tale.kept.back();
  RunState kept = parse_state(tale.states.back(), "state.json").value();
  EXPECT_EQ(state_to_json(kept), tale.states.back());
  EXPECT_TRUE(second.continue_run(kept, tale).ok());
  expect_equal(tale.metrics, whole.metrics);
  expect_equal(tale.evaluations, whole.evaluations);
  EXPECT_EQ(tale.warnings, whole.warnings);
  EXPECT_EQ(tale.samples.size(), whole.samples.size());
  for (std::size_t i = 0; i < tale.samples.size() && i < whole.samples.size(); ++i)
    for (std::size_t s = 0; s < whole.samples[i].second.size(); ++s) {
      EXPECT_EQ(tale.samples[i].second[s].sequence.tokens, whole.samples[i].second[s].sequence.tokens);
      EXPECT_EQ(tale.samples[i].second[s].advantages, whole.samples[i].second[s].advantages);
    }
  for (const auto& [role, weights] : undisturbed.models.roles) expect_equal(second.models.roles[role], weights);
  return !testing::Test::HasFailure();
}

void expect_equal_wherever_it_stops(const std::function<FakeRun()>& make) {
  FakeRun undisturbed = make();
  std::int64_t work = 0;
  undisturbed.models.on_work = [&work] { ++work; };
  const RunTale whole = undisturbed.run();
  ASSERT_GT(work, 10);
  std::int64_t stop = 0;
  while (stop < work && stop_and_go_on(make, stop, whole, undisturbed)) ++stop;
  EXPECT_EQ(stop, work);
}

TEST(Run, ResumesToTheSameNumbersFromAnyInterruption) {
  expect_equal_wherever_it_stops([] {
    FakeRun run = letters("{name: ppo, policy_log_probabilities: trainer, reference: averaged, reference_decay: 0.5}",
                          "{prompts: 5, prompt_length: 1, response_length: 4, mini_batches: 2, epochs: 2}");
    run.settings.loss.reward_norm = Norm::running;
    run.settings.loss.entropy = 0.01;
    run.settings.loss.kl.target = 0.01;
    run.settings.loss.kl.horizon = 20;
    run.settings.loss.early_stop_kl = 1e-3;
    run.settings.evaluate = {.every = 2, .samples = 3, .temperature = 1};
    run.inputs.validation = run.inputs.train;
    return run;
  });
  expect_equal_wherever_it_stops([] {
    FakeRun run = letters("grpo", "{prompts: 2, samples_per_prompt: 3, prompt_length: 1, response_length: 4}");
    run.settings.loss.advantage = AdvantageScale::batch;
    return run;
  });
  expect_equal_wherever_it_stops([] {
    FakeRun run = letters("sft", "{prompts: 4, prompt_length: 1, response_length: 3, mini_batches: 2, epochs: 2}");
    run.inputs.train = {};
    for (TokenId token = 0; token < 5; ++token)
      run.inputs.train.examples.push_back({{{0, token % 3, 3}, 1}, {true, true}});
    return run;
  });
}

TEST(Run, AFusedTrainingIsNotInterruptedHalfway) {
  expect_equal_wherever_it_stops([] {
    FakeRun run = letters("ppo", "{prompts: 5, prompt_length: 1, response_length: 4, mini_batches: 2, epochs: 2}");
    const std::vector<workflow::TaskId>& order = run.job.workflow.order;
    run.plan.fusion.training = plan::TrainPair{order[order.size() - 2].index(), order.back().index()};
    run.settings.evaluate = {.every = 2, .samples = 3, .temperature = 1};
    run.inputs.validation = run.inputs.train;
    return run;
  });
}

TEST(Run, ResumesFromEachCheckpointToTheSameNumbers) {
  const auto make = [] {
    FakeRun run = letters("ppo", "{prompts: 5, prompt_length: 1, response_length: 4, mini_batches: 2}");
    run.settings.iterations = 5;
    run.settings.checkpoint.every = 1;
    run.settings.evaluate = {.every = 2, .samples = 3, .temperature = 1};
    run.inputs.validation = run.inputs.train;
    return run;
  };
  FakeRun undisturbed = make();
  const RunTale whole = undisturbed.run();
  ASSERT_THAT(whole.states, SizeIs(5));
  for (std::size_t done = 1; done < 5; ++done) {
    FakeRun run = make();
    run.models.roles = whole.kept[done - 1];
    RunState state = parse_state(whole.states[done - 1], "state.json").value();
    RunTale tail;
    EXPECT_TRUE(run.continue_run(state, tail).ok());
    expect_equal(tail.metrics, {whole.metrics.begin() + static_cast<std::ptrdiff_t>(done), whole.metrics.end()});
    for (const Metrics& metrics : tail.evaluations) EXPECT_GT(metrics.front().value, static_cast<double>(done));
    for (const auto& [role, weights] : undisturbed.models.roles) expect_equal(run.models.roles[role], weights);
  }
}

TEST(Run, ARowIncludesTimesBeforeAnInterruption) {
  FakeRun run = letters("ppo", "{prompts: 5, prompt_length: 1, response_length: 4, mini_batches: 2}");
  run.settings.iterations = 2;
  const RunTale whole = run.run();
  RunState state = initial_state(run.settings);
  RunTale tale;
  parallel::Cancellation cancellation;
  std::int64_t left = 20;
  run.models.on_work = [&] {
    if (left-- == 0) cancellation.request();
  };
  ASSERT_FALSE(run.continue_run(state, tale, &cancellation).ok());
  RunState kept = parse_state(tale.states.back(), "state.json").value();
  ASSERT_GT(kept.tasks_done, 0U);
  ASSERT_GE(kept.phase_seconds.size(), kept.tasks_done);
  EXPECT_GT(kept.seconds, 0);
  kept.seconds += 1000;
  for (auto& [task, seconds] : kept.phase_seconds) seconds += 100;
  const std::map<std::string, double> before = kept.phase_seconds;
  EXPECT_TRUE(run.continue_run(kept, tale).ok());
  ASSERT_EQ(tale.timings.size(), whole.timings.size());
  for (std::size_t row = 0; row < tale.timings.size(); ++row) {
    ASSERT_EQ(tale.timings[row].size(), whole.timings[row].size());
    for (std::size_t i = 0; i < tale.timings[row].size(); ++i)
      EXPECT_EQ(tale.timings[row][i].name, whole.timings[row][i].name);
  }
  EXPECT_GE(find_metric(tale.timings[0], "seconds")->value, 1000);
  for (const auto& [task, seconds] : before) EXPECT_GE(find_metric(tale.timings[0], task + "_seconds")->value, seconds);
  EXPECT_LT(find_metric(tale.timings[1], "seconds")->value, 100) << "the next row starts from zero";
}

TEST(Run, FinishedResponsesAreNotSampledAgain) {
  const auto make = [] { return letters("ppo", "{prompts: 5, prompt_length: 1, response_length: 4}"); };
  FakeRun run = make();
  run.settings.iterations = 1;
  parallel::Cancellation cancellation;
  run.models.on_work = [&, left = 3]() mutable {
    if (left-- == 0) cancellation.request();
  };
  RunState state = initial_state(run.settings);
  RunTale tale;
  EXPECT_FALSE(run.continue_run(state, tale, &cancellation).ok());
  EXPECT_EQ(run.models.sampled, 3U);
  run.models.on_work = {};
  EXPECT_TRUE(run.continue_run(state, tale).ok());
  EXPECT_EQ(run.models.sampled, 5U);
}

TEST(Run, RolesShareMiniBatchesShuffledPerEpoch) {
  FakeRun run("ppo", "{prompts: 12, prompt_length: 1, response_length: 1, mini_batches: 2, epochs: 2}", 12);
  run.prompt_with(12);
  run.settings.data.shuffle = false;
  run.settings.iterations = 2;
  run.run();
  const auto prompts_of = [&](const char* role, std::size_t number) {
    std::vector<TokenId> prompts;
    for (const TokenSequence& sequence : run.models.mini_batches[role].at(number))
      prompts.push_back(sequence.tokens[0]);
    return prompts;
  };
  std::set<std::vector<TokenId>> orders;
  for (std::size_t number = 0; number < 8; number += 2) {
    std::vector<TokenId> both = prompts_of("actor", number);
    EXPECT_THAT(both, SizeIs(6));
    EXPECT_EQ(both, prompts_of("critic", number));
    const std::vector<TokenId> second = prompts_of("actor", number + 1);
    both.insert(both.end(), second.begin(), second.end());
    orders.insert(both);
    EXPECT_THAT(std::set<TokenId>(both.begin(), both.end()), SizeIs(12)) << "each sample once per epoch";
  }
  EXPECT_THAT(orders, SizeIs(4));
}

TEST(Run, AnAveragedReferenceFollowsTheActor) {
  FakeRun run = letters("{name: ppo, reference: averaged, reference_decay: 0.75}",
                        "{prompts: 4, prompt_length: 1, response_length: 2}");
  run.settings.iterations = 1;
  run.models.roles["reference"].weights.assign(16, 1);
  run.run();
  for (std::size_t index = 0; index < 16; ++index)
    EXPECT_DOUBLE_EQ(run.models.roles["reference"].weights[index],
                     0.75 + 0.25 * run.models.roles["actor"].weights[index]);
}

TEST(Run, MicroBatchesDoNotChangeTheNumbers) {
  const auto weights_with = [](double sequences) {
    FakeRun run = letters("ppo", "{prompts: 9, prompt_length: 1, response_length: 5, mini_batches: 2, epochs: 2}");
    for (plan::TaskPlan& task : run.plan.tasks) task.micro_batching.sequences = sequences;
    run.run();
    return run.models.roles["actor"].weights;
  };
  const std::vector<double> one = weights_with(1);
  const std::vector<double> many = weights_with(100);
  for (std::size_t index = 0; index < one.size(); ++index) EXPECT_NEAR(one[index], many[index], 1e-12);
}

TEST(Run, SkipsNonFiniteStepsAndEndsAfterThreeOfARole) {
  FakeRun run = letters("ppo", "{prompts: 4, prompt_length: 1, response_length: 2}");
  run.settings.iterations = 9;
  std::int64_t calls = 0;
  run.models.on_norm = [&](const std::string& role, double norm) {
    if (role == "actor" && ++calls > 2) return std::numeric_limits<double>::quiet_NaN();
    return norm;
  };
  RunState state = initial_state(run.settings);
  RunTale tale;
  const base::Status status = run.continue_run(state, tale);
  ASSERT_FALSE(status.ok()) << "the critic's steps in between do not count";
  EXPECT_EQ(status.error().failure, base::Failure::invalid);
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("actor"), HasSubstr("iteration 5"), HasSubstr("samples")));
  EXPECT_EQ(run.models.roles["actor"].steps, 2) << "no moments without a step";
  EXPECT_EQ(tale.metric(2, "actor_skipped"), 1);
  EXPECT_EQ(tale.metric(1, "actor_skipped"), 0);
  EXPECT_THAT(tale.warnings, testing::Contains(HasSubstr("skipped")));
}

TEST(Run, NonConsecutiveSkippedStepsDoNotEndTheRun) {
  FakeRun run = letters("ppo", "{prompts: 4, prompt_length: 1, response_length: 2}");
  run.settings.iterations = 8;
  run.settings.guards.in_a_row = 2;
  run.models.on_norm = [left = 0](const std::string& role, double norm) mutable {
    return role == "actor" && ++left % 2 == 0 ? std::nan("") : norm;
  };
  run.run();
  EXPECT_EQ(run.models.roles["actor"].steps, 4);
}

TEST(Run, StopsAtTheFirstNonFiniteStepIfConfigured) {
  FakeRun run = letters("grpo", "{prompts: 2, samples_per_prompt: 2, prompt_length: 1, response_length: 2}");
  run.settings.guards.non_finite = NonFinite::stop;
  run.models.on_norm = [](const std::string&, double) { return std::numeric_limits<double>::infinity(); };
  RunState state = initial_state(run.settings);
  RunTale tale;
  EXPECT_FALSE(run.continue_run(state, tale).ok());
  EXPECT_THAT(tale.metrics, IsEmpty());
  EXPECT_EQ(run.models.roles["actor"].steps, 0);
}

TEST(Run, TakesNoStepBeyondTheDivergenceLimit) {
  const std::string workload = "{prompts: 32, prompt_length: 1, response_length: 1, mini_batches: 4, epochs: 3}";
  FakeRun run = two_answers("ppo", workload);
  run.settings.iterations = 1;
  run.settings.optimizer["actor"].learning_rate = 0.5;
  run.settings.loss.early_stop_kl = 1e-6;
  const RunTale tale = run.run();
  // The first mini-batch steps. The second one shows the divergence, and no other is computed.
  EXPECT_EQ(tale.last("actor_steps"), 1);
  EXPECT_THAT(run.models.mini_batches["actor"], SizeIs(2));
  EXPECT_EQ(run.models.roles["actor"].steps, 1);
  EXPECT_EQ(tale.last("critic_steps"), 12);
}

TEST(Run, FollowsTheDivergenceWithItsCoefficient) {
  const auto coefficient_with = [](double target) {
    FakeRun run = two_answers();
    run.settings.iterations = 20;
    run.settings.loss.kl.target = target;
    run.settings.loss.kl.horizon = 640;
    const RunTale tale = run.run();
    EXPECT_EQ(tale.metric(0, "kl_coefficient"), 0.1);
    return tale.last("kl_coefficient");
  };
  EXPECT_GT(coefficient_with(1e-3), 0.1);
  EXPECT_LT(coefficient_with(10), 0.1);
}

TEST(Run, RatesFollowTheirScheduleAndGradientsAreClipped) {
  FakeRun run = letters("grpo", "{prompts: 2, samples_per_prompt: 3, prompt_length: 1, response_length: 4}");
  run.settings.iterations = 6;
  run.settings.optimizer["actor"].schedule = {learn::RateShape::linear, 2, 0.25};
  run.settings.optimizer["actor"].clip = 1e-3;
  double norm_of_first = 0;
  run.models.on_norm = [&](const std::string&, double norm) {
    if (norm_of_first == 0) norm_of_first = norm;
    return norm;
  };
  const RunTale tale = run.run();
  ASSERT_THAT(run.models.taken, SizeIs(6));
  EXPECT_DOUBLE_EQ(run.models.taken[0].rate_part, 1.0 / 3);
  EXPECT_DOUBLE_EQ(run.models.taken[1].rate_part, 2.0 / 3);
  EXPECT_DOUBLE_EQ(run.models.taken[2].rate_part, 1);
  EXPECT_DOUBLE_EQ(run.models.taken[5].rate_part, 0.25);
  EXPECT_DOUBLE_EQ(tale.metric(5, "actor_learning_rate"), 0.05 * 0.25);
  EXPECT_DOUBLE_EQ(run.models.taken[0].clip_factor, 1e-3 / norm_of_first);
}

TEST(Run, SavesTheBestAndDueCheckpoints) {
  FakeRun run = two_answers();
  run.models.roles["actor"].weights[1] = 0.01;  // the better answer is more likely from the start
  run.settings.iterations = 6;
  run.settings.checkpoint = {.every = 4, .keep = 2, .best = BestBy::reward};
  run.settings.evaluate = {.every = 3, .samples = 1, .temperature = 0};
  run.inputs.validation = run.inputs.train;
  const RunTale tale = run.run();
  std::vector<double> iterations;
  for (const Metrics& metrics : tale.evaluations) iterations.push_back(metrics.front().value);
  EXPECT_THAT(iterations, ElementsAre(0, 3, 6));
  EXPECT_THAT(tale.reasons, ElementsAre(CheckpointReason::due, CheckpointReason::due, CheckpointReason::end));
  EXPECT_THAT(tale.best, ElementsAre(true, false, false)) << "an equal one is not better";
}

TEST(Run, KeepsWorkDoneBeforeAnErrorOfTheModels) {
  const auto make = [] { return letters("ppo", "{prompts: 4, prompt_length: 1, response_length: 2}"); };
  FakeRun run = make();
  const RunTale whole = run.run();
  FakeRun broken = make();
  broken.models.broken = "critic";
  RunState state = initial_state(broken.settings);
  RunTale tale;
  EXPECT_THAT(broken.continue_run(state, tale).error().message, HasSubstr("out of memory"));
  ASSERT_THAT(tale.states, SizeIs(1));
  RunState kept = parse_state(tale.states.back(), "state.json").value();
  EXPECT_THAT(kept.samples, SizeIs(4));
  EXPECT_TRUE(kept.samples[0].is_sampled);
  broken.models.broken.clear();
  EXPECT_TRUE(broken.continue_run(kept, tale).ok());
  expect_equal(tale.metrics, whole.metrics);
}

/// Judges responses by a program: the number of "b" tokens, plus one if the answer equals the prompt.
RewardProcesses reward_processes(const std::string& reward) {
  const std::string program =
      "import json,sys\n"
      "for line in sys.stdin:\n"
      "  r = json.loads(line)\n"
      "  print(json.dumps({'id': r['id'], 'reward': " +
      reward + "}), flush=True)\n";
  return RewardProcesses::start({{"python3", "-c", program}, 1, 10}).value();
}

TEST(Run, JudgesResponsesByTheRule) {
  const auto make = [] {
    FakeRun run = letters("{name: grpo, reward: rule}",
                          "{prompts: 2, samples_per_prompt: 3, prompt_length: 1, response_length: 4}");
    for (PromptTokens& prompt : run.inputs.train.prompts) prompt.answer = "\"a\"";
    run.settings.iterations = 2;
    return run;
  };
  RewardProcesses rewards = reward_processes("r['response'].count('b') + (r['prompt'] == r['answer'])");
  FakeRun run = make();
  run.rewards = &rewards;
  const RunTale whole = run.run();
  for (const auto& [iteration, samples] : whole.samples)
    for (const Sample& sample : samples) {
      const auto& tokens = sample.sequence.tokens;
      EXPECT_EQ(sample.reward, std::count(tokens.begin() + 1, tokens.end(), 1) + (tokens.front() == 0 ? 1 : 0));
      EXPECT_EQ(sample.text, run.inputs.tokenizer.decode(std::span(tokens).subspan(1)));
    }

  RewardProcesses nonsense = reward_processes("'good'");
  FakeRun broken = make();
  broken.rewards = &nonsense;
  RunState state = initial_state(broken.settings);
  RunTale tale;
  EXPECT_THAT(broken.continue_run(state, tale).error().message, HasSubstr("good"));
  ASSERT_THAT(tale.states, SizeIs(1)) << "samples are kept";
  RunState kept = parse_state(tale.states.back(), "state.json").value();
  broken.rewards = &rewards;
  EXPECT_TRUE(broken.continue_run(kept, tale).ok());
  EXPECT_EQ(broken.models.sampled, 12U);
  expect_equal(tale.metrics, whole.metrics);
}

TEST(Run, EndsIfARewardIsNotFinite) {
  FakeRun run = letters("ppo", "{prompts: 4, prompt_length: 1, response_length: 2}");
  run.models.roles["reward"].judge = [](std::span<const TokenId>) { return std::nan(""); };
  RunState state = initial_state(run.settings);
  RunTale nothing;
  const base::Status rejected = run.continue_run(state, nothing);
  ASSERT_FALSE(rejected.ok());
  EXPECT_THAT(rejected.error().message, HasSubstr("reward returned nan for response 1 to prompt"));
  EXPECT_THAT(nothing.states, IsEmpty()) << "a resumed run would end there again";
}

TEST(Run, RejectsAStateOfAnotherWorkloadOrData) {
  FakeRun run = letters("ppo", "{prompts: 4, prompt_length: 1, response_length: 2}");
  parallel::Cancellation cancellation;
  run.models.on_work = [&, left = 6]() mutable {
    if (left-- == 0) cancellation.request();
  };
  RunState state = initial_state(run.settings);
  RunTale tale;
  ASSERT_FALSE(run.continue_run(state, tale, &cancellation).ok());
  FakeRun other = letters("ppo", "{prompts: 5, prompt_length: 1, response_length: 2}");
  RunState of_other = state;
  EXPECT_EQ(other.continue_run(of_other, tale).error().failure, base::Failure::bad_input);
  run.inputs.train.prompts.resize(1);
  EXPECT_EQ(run.continue_run(state, tale).error().failure, base::Failure::bad_input);
}

}  // namespace
}  // namespace dovetail::control
