// Engines with quantized weights and KV cache, checked against sums by hand.
#include <gtest/gtest.h>

#include "cost/generation.h"
#include "llm/bundled_models.h"
#include "predict/closed_form/activity_seconds.h"
#include "predict/closed_form/scenario.h"
#include "predict/closed_form/working_memory.h"
#include "support/jobs.h"

namespace dovetail::predict {
namespace {

cost::ModelFacts facts_with(const char* model, int weight_bits, int key_value_bits = 0) {
  cost::ModelFacts facts = cost::facts_of(llm::find_bundled_model(model).value());
  plan::Software settings;
  settings.engine_weight_bits = weight_bits;
  settings.key_value_bits = key_value_bits;
  take_engine_bits(settings, facts);
  return facts;
}

TEST(EngineBits, DefaultToTheUsualPrecision) {
  const cost::ModelFacts facts = facts_with("qwen3-30b-a3b", 0);
  EXPECT_EQ(facts.engine_layer_bytes, 2);
  EXPECT_EQ(facts.engine_expert_bytes, 2);
  const llm::Layout layout;
  EXPECT_EQ(engine_weight_bytes(facts, layout), cost::weight_bytes(facts, layout));
  EXPECT_EQ(cost::touched_bytes(facts, 3), 2 * cost::touched_parameters(facts, 3));
  EXPECT_EQ(facts.key_value_element_bytes, 2);
}

TEST(EngineBits, EightBitsApplyToAllLayers) {
  const cost::ModelFacts facts = facts_with("qwen3-8b", 8);
  const llm::ParameterCounts& counts = facts.parameters;
  const double ends = static_cast<double>(counts.embedding + counts.head);
  const double bytes = static_cast<double>(counts.all) - ends + 2 * ends;
  llm::Layout layout;
  layout.tensor = 2;
  EXPECT_NEAR(static_cast<double>(engine_weight_bytes(facts, layout)), bytes / 2, 1);
}

TEST(EngineBits, FourBitsApplyToRoutedExpertsOnly) {
  const cost::ModelFacts facts = facts_with("qwen3-30b-a3b", 4);
  const double experts = 48.0 * 128 * 3 * 2048 * 768;
  const auto all = static_cast<double>(facts.parameters.all);
  // Half a byte each, and 2 bytes per 32 weights.
  EXPECT_NEAR(static_cast<double>(engine_weight_bytes(facts, {})), experts * (0.5 + 1.0 / 16) + 2 * (all - experts), 1);
  // A single token uses 8 of the 128 experts, and all other weights, which have 16 bits.
  const double rest = all - experts - static_cast<double>(facts.parameters.embedding);
  EXPECT_NEAR(cost::touched_bytes(facts, 1), experts / 16 * (0.5 + 1.0 / 16) + 2 * rest, 1e3);
  const cost::ModelFacts dense = facts_with("qwen3-8b", 4);
  EXPECT_LT(engine_weight_bytes(dense, {}), engine_weight_bytes(facts_with("qwen3-8b", 8), {}));
}

TEST(EngineBits, AllowMoreSequencesAndShorterSteps) {
  plan::Job job = test::grpo_job();
  const plan::Plan plan = test::co_located(job);
  const std::size_t task = workflow::find_task(job.workflow, "actor_generate")->index();
  struct Seen {
    std::int64_t weights = 0;
    std::int64_t keys_and_values = 0;
    double step = 0;
    double of_a_token = 0;
  };
  const auto seen = [&](int weight_bits, int key_value_bits) {
    job.software.engine_weight_bits = weight_bits;
    job.software.key_value_bits = key_value_bits;
    const Scenario scenario = scenario_of(job, software_of(job).value());
    Seen found;
    for (const MemoryPart& part : working_memory(scenario, task, plan.tasks[task])) {
      if (part.kind == MemoryKind::engine_weights) found.weights = part.bytes;
      if (part.kind == MemoryKind::keys_and_values) found.keys_and_values = part.bytes;
    }
    const cost::Machine machine = cost::machine_of(job.cluster, plan.tasks[task].mesh, scenario.software.efficiency);
    const cost::ModelFacts& facts = facts_of(scenario, task);
    found.step = cost::decode_step_seconds(facts, plan.tasks[task].layout, 1, 1, machine, scenario.software.efficiency);
    found.of_a_token = cost::key_value_bytes(facts, plan.tasks[task].layout);
    return found;
  };
  const Seen usual = seen(0, 0);
  const Seen weights = seen(8, 0);
  EXPECT_LT(weights.weights, usual.weights);
  EXPECT_EQ(weights.weights + weights.keys_and_values, usual.weights + usual.keys_and_values)
      << "the engine's share of the memory is the same";
  EXPECT_LE(weights.step, usual.step);
  EXPECT_EQ(weights.of_a_token, usual.of_a_token);
  const Seen both = seen(8, 8);
  EXPECT_EQ(both.of_a_token * 2, usual.of_a_token);
  EXPECT_EQ(both.keys_and_values, weights.keys_and_values) << "more tokens in the same memory";
}

TEST(EngineBits, DropStepsMeasuredAtOtherPrecision) {
  cost::ModelFacts facts = cost::facts_of(llm::find_bundled_model("qwen3-8b").value());
  facts.profiles.emplace_back();
  facts.profiles.back().decode = {cost::ProfileCurve{100, {{1, 0.01}}}};
  plan::Software settings;
  take_engine_bits(settings, facts);
  EXPECT_FALSE(facts.profiles.back().decode.empty());
  settings.engine_weight_bits = 8;
  take_engine_bits(settings, facts);
  EXPECT_TRUE(facts.profiles.back().decode.empty());
}

}  // namespace
}  // namespace dovetail::predict
