// Compatibility check with the memory formula of ReaL's planner (arXiv 2406.14088, estimator code). The golden values
// were computed from its rules, independently of this code.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "llm/bundled_models.h"

namespace dovetail::cost {
namespace {

/// A task under a layout, in ReaL's terms. The batch covers all ranks together.
struct RealTask {
  std::int64_t pipeline = 1;
  std::int64_t model = 1;
  std::int64_t data = 1;
  std::int64_t batch = 512;
  std::int64_t prompt = 128;
  std::int64_t generated = 128;
};

struct RealMemory {
  std::int64_t total = 0;
  std::int64_t fixed = 0;
};

/// Counts the embedding three times and every attention as multi-head.
std::int64_t real_parameters(const llm::Transformer& model) {
  return 3 * model.vocabulary * model.hidden +
         (3 * model.hidden * model.width + 4 * model.hidden * model.hidden) * model.layers;
}

RealMemory real_training(const llm::Transformer& model, const RealTask& task) {
  const std::int64_t parameters = real_parameters(model);
  const std::int64_t fixed =
      4 * parameters / (task.pipeline * task.model) + 20 * parameters / (task.pipeline * task.data * task.model);
  const std::int64_t micro = task.batch / (2 * task.pipeline * task.data);
  return {fixed + micro * task.prompt * model.hidden * task.pipeline * 2 / (task.pipeline * task.model), fixed};
}

RealMemory real_inference(const llm::Transformer& model, const RealTask& task) {
  const std::int64_t total = 4 * real_parameters(model) / (task.pipeline * task.model);
  return {total, total};
}

RealMemory real_generation(const llm::Transformer& model, const RealTask& task) {
  std::int64_t fixed = real_inference(model, task).fixed;
  if (task.data > 4 && task.data * task.model * task.pipeline <= 16) fixed = fixed * 5 / 4;
  const std::int64_t cache = 2 * (2 * task.batch * (task.generated + task.prompt) * model.hidden) * model.layers;
  return {fixed + cache / (task.pipeline * task.model * task.data), fixed};
}

llm::Transformer llama(const char* name) { return llm::find_bundled_model(name).value(); }

void expect_gibibytes(const RealMemory& memory, double total, double fixed) {
  constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;
  EXPECT_NEAR(static_cast<double>(memory.total) / gibibyte, total, 0.0006);
  EXPECT_NEAR(static_cast<double>(memory.fixed) / gibibyte, fixed, 0.0006);
}

TEST(RealMemory, Parameters) {
  EXPECT_EQ(real_parameters(llama("llama-2-7b")), 6'869'221'376);
  EXPECT_EQ(real_parameters(llama("llama-2-13b")), 13'179'289'600);
  EXPECT_EQ(real_parameters(llama("codellama-34b")), 39'642'464'256);
  EXPECT_EQ(real_parameters(llama("llama-2-70b")), 78'632'714'240);
}

TEST(RealMemory, Training) {
  expect_gibibytes(real_training(llama("llama-2-7b"), {1, 2, 2}), 44.845, 44.782);
  expect_gibibytes(real_training(llama("llama-2-7b"), {1, 4, 2}), 22.422, 22.391);
  expect_gibibytes(real_training(llama("llama-2-7b"), {2, 4, 1}), 19.224, 19.192);
  expect_gibibytes(real_training(llama("llama-2-13b"), {1, 4, 1}), 73.723, 73.645);
  expect_gibibytes(real_training(llama("codellama-34b"), {4, 4, 2}), 32.321, 32.305);
  expect_gibibytes(real_training(llama("llama-2-70b"), {8, 8, 1}), 27.470, 27.462);
}

TEST(RealMemory, Inference) { expect_gibibytes(real_inference(llama("llama-2-7b"), {1, 2, 1}), 12.795, 12.795); }

TEST(RealMemory, Generation) {
  expect_gibibytes(real_generation(llama("llama-2-7b"), {2, 1, 4}), 20.795, 12.795);
  expect_gibibytes(real_generation(llama("llama-2-7b"), {1, 1, 8, 128, 128, 896}), 39.987, 31.987);
  expect_gibibytes(real_generation(llama("llama-2-13b"), {2, 1, 4}), 37.048, 24.548);
  expect_gibibytes(real_generation(llama("codellama-34b"), {4, 1, 8}), 42.920, 36.920);
  expect_gibibytes(real_generation(llama("llama-2-70b"), {8, 1, 8}), 41.616, 36.616);
}

}  // namespace
}  // namespace dovetail::cost
