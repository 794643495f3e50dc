#include "runtime/run/torch_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "runtime/model/weight_files.h"
#include "runtime/tiny_model.h"
#include "support/temporary_folder.h"

namespace dovetail::runtime {
namespace {

namespace fs = std::filesystem;
using control::Scores;
using control::ScoreSlopes;
using control::TokenSequence;

/// Actor with random weights, a reference with the same weights, and a critic with its layers and a new head.
std::vector<RoleSetup> setups() {
  const llm::Transformer shape = tiny_model({.bias = true}, 1, at::kFloat).weights.shape;
  std::vector<RoleSetup> all(3);
  for (RoleSetup& setup : all) {
    setup.shape = shape;
    setup.like = "actor";
    setup.trained = true;
    setup.seed = 3;
  }
  all[0].name = "actor";
  all[0].like = "";
  all[1].name = "reference";
  all[1].trained = false;
  all[2].name = "critic";
  all[2].shape = llm::with_scalar_head(shape);
  return all;
}

std::vector<TokenSequence> random_sequences(std::size_t count) {
  base::Random random(5, 5);
  std::vector<TokenSequence> sequences(count);
  for (TokenSequence& sequence : sequences) {
    for (std::uint32_t i = 0, tokens = 3 + random.below(12); i < tokens; ++i)
      sequence.tokens.push_back(static_cast<control::TokenId>(random.below(tiny_vocabulary)));
    sequence.first_scored = 2;
  }
  return sequences;
}

/// Gradient that differs for each sequence and token.
std::vector<ScoreSlopes> slopes_of(std::span<const std::size_t> ids, std::span<const Scores> scores) {
  std::vector<ScoreSlopes> slopes(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    for (std::size_t t = 0; t < scores[i].values.size(); ++t)
      slopes[i].values.push_back(std::sin(static_cast<double>(ids[i] + t)));
  return slopes;
}

constexpr std::int64_t cache_bytes = 1 << 20;

/// Trains on one mini-batch and returns the norm of its gradients.
base::Result<double> train(TorchModels& models, const std::string& role, const std::vector<TokenSequence>& sequences,
                           const control::PassSettings& settings, bool steps) {
  double norm = 0;
  control::Training training{.role = role, .mini_batches = {}, .settings = settings, .decide = {}};
  training.mini_batches.push_back(
      {sequences, 1, [](std::span<const std::size_t> ids, std::span<const Scores> scores, control::TrainingSums&) {
         return slopes_of(ids, scores);
       }});
  training.decide = [&](std::size_t, double found, const control::TrainingSums&) {
    norm = found;
    return control::StepDecision{steps ? std::optional(control::StepSettings{}) : std::nullopt, false};
  };
  DOVETAIL_CHECK(models.train({&training, 1}));
  return norm;
}

TEST(TorchModels, GradientsDoNotDependOnMicroBatches) {
  const std::vector<TokenSequence> sequences = random_sequences(12);
  TorchModels models(setups(), cache_bytes);
  for (const std::string role : {"actor", "critic"}) {
    control::PassSettings settings;
    const double whole = *train(models, role, sequences, settings, false);
    settings.micro_batching.tokens = 20;
    EXPECT_NEAR(*train(models, role, sequences, settings, false), whole, 1e-5 * whole);
    settings.micro_batching = {.sequences = 0, .tokens = 0, .count = 5};
    EXPECT_NEAR(*train(models, role, sequences, settings, false), whole, 1e-5 * whole);
  }
}

TEST(TorchModels, ACopiedRoleScoresTheSame) {
  const std::vector<TokenSequence> sequences = random_sequences(6);
  TorchModels models(setups(), cache_bytes);
  const std::vector<Scores> actor = *models.score("actor", sequences, {});
  const std::vector<Scores> reference = *models.score("reference", sequences, {});
  for (std::size_t i = 0; i < sequences.size(); ++i) EXPECT_EQ(actor[i].values, reference[i].values);
  const std::vector<Scores> critic = *models.score("critic", sequences, {});
  for (const Scores& scores : critic) EXPECT_THAT(scores.values, testing::Each(testing::Eq(0)));
}

TEST(TorchModels, ResumeBitEqualFromSavedState) {
  const test::TemporaryFolder folder;
  const std::vector<TokenSequence> sequences = random_sequences(6);
  TorchModels models(setups(), cache_bytes);
  const auto train_both = [&](TorchModels& trained, int steps) {
    for (int i = 0; i < steps; ++i)
      for (const std::string role : {"actor", "critic"}) {
        ASSERT_TRUE(train(trained, role, sequences, {}, true).ok());
      }
    trained.average("reference", "actor", 0.9);
  };
  train_both(models, 2);
  ASSERT_TRUE(models.save(folder.path()).ok());
  TorchModels others(setups(), cache_bytes);
  ASSERT_TRUE(others.load(folder.path()).ok());
  train_both(models, 2);
  train_both(others, 2);
  for (const std::string role : {"actor", "critic", "reference"}) {
    const std::vector<Scores> expected = *models.score(role, sequences, {});
    const std::vector<Scores> found = *others.score(role, sequences, {});
    for (std::size_t i = 0; i < sequences.size(); ++i) EXPECT_EQ(found[i].values, expected[i].values);
  }
}

void expect_near(const std::vector<Scores>& found, const std::vector<Scores>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_THAT(found[i].values, testing::Pointwise(testing::DoubleNear(tolerance), expected[i].values));
    EXPECT_THAT(found[i].entropies, testing::Pointwise(testing::DoubleNear(tolerance), expected[i].entropies));
  }
}

TEST(TorchModels, AGpuMatchesTheCpu) {
  const auto gpu = find_device("cuda");
  if (!gpu.ok()) GTEST_SKIP() << gpu.error().message;
  const std::vector<TokenSequence> sequences = random_sequences(24);
  TorchModels expected(setups(), cache_bytes);
  TorchModels found(setups(), cache_bytes, Stepping::here, *gpu);
  for (int step = 0; step < 4; ++step)
    for (const std::string role : {"actor", "critic"}) {
      expect_near(*found.score(role, sequences, {}), *expected.score(role, sequences, {}), 1e-5);
      const double norm = *train(expected, role, sequences, {}, true);
      EXPECT_NEAR(*train(found, role, sequences, {}, true), norm, 1e-4 * norm);
    }
  std::vector<control::GenerationRequest> requests;
  for (std::size_t i = 0; i < 16; ++i)
    requests.push_back({sequences[i / 2].tokens, static_cast<std::int64_t>(i / 2), {}});
  control::GenerationSettings settings;
  settings.max_tokens = 40;
  settings.limits.temperature = 0;
  const auto greedy = [&](TorchModels& models) { return *models.generate("actor", requests, settings, nullptr, {}); };
  const std::vector<control::GeneratedResponse> texts = greedy(expected);
  const std::vector<control::GeneratedResponse> of_gpu = greedy(found);
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(of_gpu[i].tokens, texts[i].tokens);
}

/// Each continues from the state that the other one saved.
TEST(TorchModels, ACheckpointIsOfNoDevice) {
  const auto gpu = find_device("cuda");
  if (!gpu.ok()) GTEST_SKIP() << gpu.error().message;
  const std::vector<TokenSequence> sequences = random_sequences(6);
  for (const auto& [from, to] : {std::pair(at::Device(at::kCPU), *gpu), std::pair(*gpu, at::Device(at::kCPU))}) {
    const test::TemporaryFolder folder;
    TorchModels models(setups(), cache_bytes, Stepping::here, from);
    TorchModels others(setups(), cache_bytes, Stepping::here, to);
    ASSERT_TRUE(train(models, "actor", sequences, {}, true).ok());
    ASSERT_TRUE(models.save(folder.path()).ok());
    ASSERT_TRUE(others.load(folder.path()).ok());
    for (TorchModels* const each : {&models, &others}) ASSERT_TRUE(train(*each, "actor", sequences, {}, true).ok());
    expect_near(*others.score("actor", sequences, {}), *models.score("actor", sequences, {}), 1e-5);
  }
}

TEST(TorchModels, LoadFailsIfATensorIsMissing) {
  const test::TemporaryFolder folder;
  TorchModels models(setups(), cache_bytes);
  const base::Status status = models.load(folder.path());
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().path, testing::HasSubstr("actor.safetensors"));
}

TEST(TorchModels, AnExportIsAModelFolder) {
  const test::TemporaryFolder folder;
  const std::vector<TokenSequence> sequences = random_sequences(6);
  TorchModels models(setups(), cache_bytes);
  ASSERT_TRUE(train(models, "critic", sequences, {}, true).ok());
  for (const std::string role : {"actor", "critic"}) {
    const std::string out = folder.file(role);
    ASSERT_TRUE(models.export_role(role, out).ok());
    std::vector<RoleSetup> again = setups();
    RoleSetup setup = std::move(again[role == "actor" ? 0 : 2]);
    auto checkpoint = weights::Checkpoint::open(out);
    ASSERT_TRUE(checkpoint.ok());
    setup.checkpoint = std::move(*checkpoint);
    std::vector<RoleSetup> one;
    one.push_back(std::move(setup));
    TorchModels read(std::move(one), cache_bytes);
    const std::vector<Scores> expected = *models.score(role, sequences, {});
    const std::vector<Scores> found = *read.score(role, sequences, {});
    for (std::size_t i = 0; i < sequences.size(); ++i) EXPECT_EQ(found[i].values, expected[i].values);
    EXPECT_THAT(test::content_of(out + "/config.json"),
                testing::HasSubstr(role == "actor" ? "ForCausalLM" : "ForSequenceClassification"));
  }
}

TEST(TorchModels, AnInterruptionIsAnError) {
  const std::vector<TokenSequence> sequences = random_sequences(6);
  TorchModels models(setups(), cache_bytes);
  parallel::Cancellation cancellation;
  cancellation.request();
  control::PassSettings settings;
  settings.cancellation = &cancellation;
  EXPECT_EQ(models.score("actor", sequences, settings).error().failure, base::Failure::interrupted);
  EXPECT_EQ(train(models, "actor", sequences, settings, true).error().failure, base::Failure::interrupted);
}

}  // namespace
}  // namespace dovetail::runtime
