#include "runtime/run/rank_models.h"

#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "pipeline/schedule/validate.h"
#include "plan/job_file.h"
#include "runtime/model/device.h"
#include "runtime/ranks/device_transport.h"
#include "runtime/ranks/thread_devices.h"
#include "runtime/tiny_model.h"
#include "support/temporary_folder.h"
#include "transport/threads.h"

namespace dovetail::runtime {
namespace {

using namespace std::chrono_literals;
using control::GenerationRequest;
using control::Scores;
using control::ScoreSlopes;
using control::TokenSequence;
using control::Training;
using control::TrainingSums;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr std::int64_t cache_bytes = 1 << 20;
constexpr int minibatches = 2;
/// More runs than the schedule needs to be solved again from measurements.
constexpr std::uint64_t training_iterations = 7;

const char* const config = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 12,
  "num_hidden_layers": 4, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 20,
  "vocab_size": 11, "rms_norm_eps": 1e-5, "tie_word_embeddings": true, "hidden_act": "silu",
  "max_position_embeddings": 64})";

/// PPO of a tiny actor with tied embeddings and a critic of the same shape.
plan::Job tiny_job(const std::string& folder, int devices) {
  const std::string path = folder + "/config.json";
  std::ofstream(path) << config;
  const std::string text =
      "format: dovetail/job@1\nname: tiny\nalgorithm: {name: ppo, reward: rule, reward_seconds: 0.001}\n"
      "models: {actor: " +
      path +
      "}\nworkload: {prompts: 12, mini_batches: 2, prompt_length: 3, response_length: 6}\n"
      "cluster: {nodes: 1, gpus_per_node: " +
      std::to_string(devices) + ", gpu: {name: CPU, memory: 16GiB, bandwidth: 40GB/s, bf16: 130GFLOP/s}}\n";
  auto job = plan::parse_job(text, folder + "/job.yaml");
  EXPECT_TRUE(job.ok()) << base::to_text(job.error());
  return std::move(job).value();
}

/// Layouts of both roles on a number of ranks.
struct Ranks {
  std::string name;
  int ranks;
  llm::Layout actor;
  llm::Layout critic;
  bool fused = false;
};

llm::Layout layout(int data, int pipeline, int virtual_stages = 1, std::vector<int> stage_layers = {}) {
  llm::Layout layout;
  layout.data = data;
  layout.pipeline = pipeline;
  layout.virtual_stages = virtual_stages;
  layout.zero = data > 1 ? 1 : 0;
  layout.stage_layers = std::move(stage_layers);
  return layout;
}

llm::Layout with_zero(llm::Layout layout, int zero) {
  layout.zero = zero;
  return layout;
}

plan::Plan plan_of(const plan::Job& job, const Ranks& of) {
  plan::Plan plan;
  plan.placement = "custom";
  std::vector<std::size_t> trained;
  for (const workflow::Task& task : job.workflow.tasks) {
    plan::TaskPlan& planned = plan.tasks.emplace_back();
    planned.mesh = {0, of.ranks};
    planned.layout.data = of.ranks;
    if (task.kind != workflow::TaskKind::generate) planned.micro_batching.sequences = 2;
    if (task.kind != workflow::TaskKind::train) continue;
    planned.layout = task.role == "actor" ? of.actor : of.critic;
    trained.push_back(plan.tasks.size() - 1);
  }
  if (of.fused) plan.fusion.training = {trained[0], trained[1]};
  return plan;
}

std::vector<RoleSetup> setups(const plan::Job& job) {
  std::vector<RoleSetup> all;
  for (std::size_t i = 0; i < job.models.size(); ++i) {
    RoleSetup& setup = all.emplace_back();
    setup.name = job.workflow.roles[i].name;
    setup.shape = job.models[i];
    setup.seed = i + 1;
    setup.trained = setup.name != "reference";
  }
  return all;
}

std::vector<GenerationRequest> requests() {
  std::vector<GenerationRequest> all;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const auto token = static_cast<control::TokenId>(i % 5);
    all.push_back({{token, 1, 2}, static_cast<std::int64_t>(i / 2), {7, 0, i, 0, 0}});
  }
  return all;
}

std::vector<TokenSequence> random_sequences(std::uint64_t seed, std::size_t count) {
  base::Random random(seed, 5);
  std::vector<TokenSequence> sequences(count);
  for (TokenSequence& sequence : sequences) {
    for (std::uint32_t i = 0, tokens = 4 + random.below(6); i < tokens; ++i)
      sequence.tokens.push_back(static_cast<control::TokenId>(random.below(tiny_vocabulary)));
    sequence.first_scored = 2;
  }
  return sequences;
}

Training training_of(const std::string& role, std::uint64_t seed, std::vector<double>& norms) {
  Training training{.role = role, .mini_batches = {}, .settings = {}, .decide = {}};
  for (std::uint64_t k = 0; k < minibatches; ++k)
    training.mini_batches.push_back(
        {random_sequences(seed + k, 11), 1,
         [](std::span<const std::size_t> ids, std::span<const Scores> scores, TrainingSums& sums) {
           std::vector<ScoreSlopes> slopes(ids.size());
           for (std::size_t i = 0; i < ids.size(); ++i)
             for (std::size_t t = 0; t < scores[i].values.size(); ++t) {
               slopes[i].values.push_back(std::sin(scores[i].values[t] + static_cast<double>(ids[i] + t)));
               sums.loss -= std::cos(scores[i].values[t] + static_cast<double>(ids[i] + t));
             }
           return slopes;
         }});
  training.settings.micro_batching.sequences = 2;
  training.decide = [&norms](std::size_t, double norm, const TrainingSums& sums) {
    norms.push_back(norm);
    norms.push_back(sums.loss);
    control::StepSettings step;
    step.optimizer.learning_rate = 0.01;
    step.clip_factor = std::min(1.0, 2 / norm);
    return control::StepDecision{step, false};
  };
  return training;
}

/// Results of a run: tokens, scores, norms and losses of both roles.
struct RunResults {
  std::vector<std::vector<control::TokenId>> texts;
  std::vector<double> scores;
  std::vector<double> norms;
};

base::Status train(control::Models& models, std::uint64_t seed, bool fused, std::vector<double>& norms) {
  std::vector<double> of_critic;
  const std::vector<Training> both{training_of("actor", seed, norms), training_of("critic", seed + 10, of_critic)};
  if (fused) {
    DOVETAIL_CHECK(models.train(both));
  } else {
    for (const Training& each : both) DOVETAIL_CHECK(models.train({&each, 1}));
  }
  norms.insert(norms.end(), of_critic.begin(), of_critic.end());
  return {};
}

base::Status sample_and_score(control::Models& models, RunResults& results) {
  control::GenerationSettings settings;
  settings.max_tokens = 6;
  settings.ends = {0};
  const std::vector<GenerationRequest> prompts = requests();
  DOVETAIL_TRY(const auto responses, models.generate("actor", prompts, settings, nullptr, {}));
  for (const auto& response : responses) results.texts.push_back(response.tokens);
  for (const std::string role : {"actor", "critic", "reference"}) {
    control::PassSettings pass;
    pass.micro_batching.sequences = 3;
    DOVETAIL_TRY(const std::vector<Scores> scores, models.score(role, random_sequences(3, 7), pass));
    for (const Scores& of : scores) results.scores.insert(results.scores.end(), of.values.begin(), of.values.end());
  }
  return {};
}

base::Status run(control::Models& models, std::uint64_t seed, bool fused, RunResults& results) {
  DOVETAIL_CHECK(train(models, seed, fused, results.norms));
  models.average("reference", "actor", 0.5);
  return sample_and_score(models, results);
}

/// Work of one rank. on_ranks runs it on all ranks, as threads, and returns the first error.
using Work = std::function<base::Status(RankModels&, int rank)>;
base::Status on_ranks(const std::string& folder, const Ranks& of, const Work& work,
                      const parallel::Cancellation* stops_rank_1 = nullptr, ThreadDevices* devices = nullptr) {
  auto ends = transport::connect_threads(of.ranks);
  for (std::size_t r = 0; devices != nullptr && r < ends.size(); ++r)
    ends[r] = make_device_transport(std::move(ends[r]), devices->of_rank(static_cast<int>(r)), nullptr);
  std::vector<base::Status> results(static_cast<std::size_t>(of.ranks));
  const predict::Scenario scenario = [&] {
    const plan::Job job = tiny_job(folder, of.ranks);
    return predict::scenario_of(job, predict::software_of(job).value());
  }();
  const plan::Plan plan = plan_of(scenario.job, of);
  const auto fault = plan::find_fault(plan, scenario.job);
  EXPECT_FALSE(fault) << fault->message;
  const auto run_rank = [&](int rank) -> base::Status {
    const c10::InferenceMode no_autograd;
    use_threads(1);
    control::RankExchange rank_exchange(*ends[static_cast<std::size_t>(rank)], rank == 1 ? stops_rank_1 : nullptr, 60s);
    const std::unique_ptr<transport::Collectives> collectives =
        devices == nullptr ? std::make_unique<transport::OrderedCollectives>(rank_exchange.transport())
                           : make_device_collectives(rank_exchange.transport(), devices->of_rank(rank));
    DOVETAIL_TRY(const auto models,
                 RankModels::make(setups(scenario.job), cache_bytes, scenario, plan, {rank_exchange, *collectives}));
    return work(*models, rank);
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < of.ranks; ++rank)
    threads.emplace_back([&, rank] {
      const auto r = static_cast<std::size_t>(rank);
      results[r] = run_rank(rank);
      if (!results[r].ok()) ends[r]->fail(results[r].error());
    });
  for (std::thread& thread : threads) thread.join();
  for (const base::Status& status : results) DOVETAIL_CHECK(status);
  return {};
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << i;
}

class RankModelsTest : public testing::TestWithParam<Ranks> {};

TEST_P(RankModelsTest, MatchOneRank) {
  const test::TemporaryFolder folder;
  const c10::InferenceMode no_autograd;
  const Ranks& of = GetParam();
  TorchModels alone(setups(tiny_job(folder.path(), 1)), cache_bytes);
  RunResults expected;
  ASSERT_TRUE(run(alone, 1, false, expected).ok());
  std::vector<RunResults> results(static_cast<std::size_t>(of.ranks));
  const base::Status status = on_ranks(folder.path(), of, [&](RankModels& models, int rank) {
    return run(models, 1, of.fused, results[static_cast<std::size_t>(rank)]);
  });
  ASSERT_TRUE(status.ok()) << status.error().message;
  for (const RunResults& found : results) {
    EXPECT_EQ(found.texts, expected.texts);
    expect_near(found.scores, expected.scores, 1e-4);
    expect_near(found.norms, expected.norms, 1e-4);
    EXPECT_EQ(found.norms, results.front().norms);
    EXPECT_EQ(found.scores, results.front().scores);
  }
}

/// The simulated devices sum in rank order, so results are bit-equal.
TEST_P(RankModelsTest, AreBitEqualBetweenDevices) {
  const test::TemporaryFolder folder;
  const Ranks& of = GetParam();
  ThreadDevices devices;
  std::vector<RunResults> by_host(static_cast<std::size_t>(of.ranks));
  std::vector<RunResults> between_devices = by_host;
  const auto run_into = [&](std::vector<RunResults>& results) -> Work {
    return
        [&](RankModels& models, int rank) { return run(models, 1, of.fused, results[static_cast<std::size_t>(rank)]); };
  };
  base::Status status = on_ranks(folder.path(), of, run_into(by_host));
  ASSERT_TRUE(status.ok()) << status.error().message;
  status = on_ranks(folder.path(), of, run_into(between_devices), nullptr, &devices);
  ASSERT_TRUE(status.ok()) << status.error().message;
  for (std::size_t r = 0; r < by_host.size(); ++r) {
    EXPECT_EQ(between_devices[r].texts, by_host[r].texts);
    EXPECT_EQ(between_devices[r].scores, by_host[r].scores);
    EXPECT_EQ(between_devices[r].norms, by_host[r].norms);
  }
}

TEST_P(RankModelsTest, ResumeOnAnotherNumberOfRanks) {
  const test::TemporaryFolder folder;
  const c10::InferenceMode no_autograd;
  const Ranks& of = GetParam();
  const std::string kept = folder.file("kept");
  std::filesystem::create_directory(kept);
  RunResults expected;
  base::Status status = on_ranks(folder.path(), of, [&](RankModels& models, int rank) -> base::Status {
    RunResults results;
    DOVETAIL_CHECK(run(models, 1, of.fused, results));
    DOVETAIL_CHECK(models.save(rank == 0 ? kept : std::string()));
    results = {};
    DOVETAIL_CHECK(run(models, 4, of.fused, results));
    if (rank == 0) expected = results;
    return {};
  });
  ASSERT_TRUE(status.ok()) << status.error().message;
  TorchModels alone(setups(tiny_job(folder.path(), 1)), cache_bytes);
  status = alone.load(kept);
  ASSERT_TRUE(status.ok()) << status.error().message;
  RunResults results;
  ASSERT_TRUE(run(alone, 4, false, results).ok());
  expect_near(results.norms, expected.norms, 1e-4);
  expect_near(results.scores, expected.scores, 1e-4);
  const Ranks others{"others", 2, layout(1, 2, 1, {3, 1}), layout(2, 1)};
  status = on_ranks(folder.path(), others, [&](RankModels& models, int rank) -> base::Status {
    DOVETAIL_CHECK(models.load(kept));
    RunResults here;
    DOVETAIL_CHECK(run(models, 4, false, here));
    if (rank == 0) results = here;
    return {};
  });
  ASSERT_TRUE(status.ok()) << status.error().message;
  expect_near(results.norms, expected.norms, 1e-4);
  expect_near(results.scores, expected.scores, 1e-4);
}

TEST_P(RankModelsTest, ReportTrainingPhases) {
  const test::TemporaryFolder folder;
  const Ranks& of = GetParam();
  const base::Status status = on_ranks(folder.path(), of, [&](RankModels& models, int rank) -> base::Status {
    DOVETAIL_TRY(const auto schedule, models.fused_schedule());
    EXPECT_EQ(schedule.has_value(), of.fused);
    std::vector<double> norms;
    for (std::uint64_t i = 0; i < training_iterations; ++i) DOVETAIL_CHECK(train(models, 100 * i, of.fused, norms));
    const std::vector<records::TrainingPhase> phases = models.measured_phases();
    EXPECT_EQ(phases.size(), rank == 0 ? (of.fused ? 1U : 2U) : 0U);
    for (const records::TrainingPhase& phase : phases) {
      for (const pipeline::Schedule* const each : {&phase.planned, &phase.measured}) {
        const auto violation = pipeline::validate(*each);
        EXPECT_FALSE(violation) << violation->message;
        EXPECT_EQ(each->problem.models.size(), of.fused ? 2U : 1U);
        EXPECT_EQ(each->problem.devices, of.ranks);
      }
      EXPECT_NE(phase.measured.problem, phase.planned.problem);
      EXPECT_EQ(phase.trace.lanes.size(), static_cast<std::size_t>(of.ranks));
    }
    DOVETAIL_TRY(const auto now, models.fused_schedule());
    EXPECT_EQ(now.has_value(), of.fused);
    EXPECT_FALSE(now && pipeline::validate(*now));
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST_P(RankModelsTest, NumbersDoNotDependOnTheOrder) {
  Ranks of = GetParam();
  if (!of.fused) GTEST_SKIP() << "there is one order";
  const auto norms_of = [&of] {
    const test::TemporaryFolder folder;
    std::vector<double> norms;
    const base::Status status = on_ranks(folder.path(), of, [&](RankModels& models, int rank) -> base::Status {
      std::vector<double> own;
      for (std::uint64_t i = 0; i < training_iterations; ++i) DOVETAIL_CHECK(train(models, 100 * i, of.fused, own));
      if (rank == 0) norms = std::move(own);
      return {};
    });
    EXPECT_TRUE(status.ok()) << status.error().message;
    return norms;
  };
  const std::vector<double> fused = norms_of();
  of.fused = false;
  // Pipelines that are fused in another layout have other micro-batches.
  if (of.actor.data == of.critic.data) {
    EXPECT_EQ(fused, norms_of());
  } else {
    expect_near(fused, norms_of(), 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, RankModelsTest,
                         testing::Values(Ranks{"one", 1, layout(1, 1), layout(1, 1)},
                                         Ranks{"data", 2, layout(2, 1), layout(2, 1)},
                                         Ranks{"alike", 2, with_zero(layout(2, 1), 0), layout(2, 1)},
                                         Ranks{"stages", 2, layout(1, 2), layout(1, 2)},
                                         Ranks{"uneven", 2, layout(1, 2, 1, {3, 1}), layout(2, 1)},
                                         Ranks{"interleaved", 2, layout(1, 2, 2), layout(1, 2)},
                                         Ranks{"fused", 2, layout(1, 2), layout(1, 2), true},
                                         Ranks{"fused_unlike", 4, layout(2, 2), layout(1, 4), true},
                                         Ranks{"four", 4, layout(2, 2), layout(4, 1)}),
                         [](const testing::TestParamInfo<Ranks>& of) { return of.param.name; });

TEST(RankModels, AllStopWhenOneIsRequestedTo) {
  const test::TemporaryFolder folder;
  parallel::Cancellation stop;
  stop.request();
  std::vector<std::string> ended(2);
  const Ranks of{"data", 2, layout(2, 1), layout(2, 1)};
  const base::Status status = on_ranks(
      folder.path(), of,
      [&](RankModels& models, int rank) -> base::Status {
        const std::vector<GenerationRequest> prompts = requests();
        control::GenerationSettings settings;
        settings.max_tokens = 6;
        const auto responses = models.generate("actor", prompts, settings, nullptr, {});
        ended[static_cast<std::size_t>(rank)] = responses.ok() ? "done" : responses.error().message;
        return {};
      },
      &stop);
  ASSERT_TRUE(status.ok());
  EXPECT_THAT(ended, testing::Each(HasSubstr("interrupted")));
}

}  // namespace
}  // namespace dovetail::runtime
