#include "cost/training.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "clusters.h"

namespace dovetail::cost {
namespace {

using workflow::LengthDistribution;

const char* random_model() { return *rc::gen::element("llama-3.1-8b", "qwen3-32b", "qwen3-30b-a3b"); }

llm::Layout random_layout() {
  llm::Layout layout = test::layout_of(1, 1 << *rc::gen::inRange(0, 4), 1 << *rc::gen::inRange(0, 3));
  layout.data = 32 / layout.devices();
  layout.sequence_parallel = layout.tensor > 1 && *rc::gen::arbitrary<bool>();
  layout.recomputation = *rc::gen::element(llm::Recomputation::none, llm::Recomputation::full);
  return layout;
}

TEST(Training, KnownAnswerOfOneDevice) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  Efficiency efficiency;
  efficiency.slot = 0;
  const auto lengths = LengthDistribution::fixed(1024);
  llm::Layout layout = test::layout_of(1, 1, 1);
  const Batch batch = batch_of(64, lengths);
  const Machine machine = machine_of(test::h100_nodes(1), {0, 1}, efficiency);
  const TrainingSeconds training = training_seconds(facts, layout, batch, {4, {.sequences = 2}}, machine, efficiency);
  EXPECT_EQ(training.micro_batches, 8);
  EXPECT_EQ(training.gradients, 0);
  const double scores = 32 * facts.scores * batch.tokens.squares;
  const double flops = 3 * llm::forward_flops(facts.model, batch.tokens) + 0.5 * scores;
  EXPECT_NEAR(training.pipeline.seconds, flops / (efficiency.matrix_products * 989e12), 1e-9);
  EXPECT_NEAR(training.optimizer, 4 * 8'030'261'248.0 * 30 / (efficiency.memory_bandwidth * 3350e9), 1e-9);
  const PipelineSeconds inference = inference_seconds(facts, layout, batch, {.sequences = 2}, machine, efficiency);
  EXPECT_NEAR(inference.seconds, llm::forward_flops(facts.model, batch.tokens) / (efficiency.matrix_products * 989e12),
              1e-9);
}

TEST(Training, HostAdamSharesTheNodesMemoryBandwidth) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  const Efficiency efficiency;
  const auto lengths = LengthDistribution::fixed(1024);
  llm::Layout layout = test::layout_of(8, 1, 1);
  layout.zero = 1;
  const Machine machine = machine_of(test::h100_nodes(1), {0, 8}, efficiency);
  Stepping stepping{4, {.sequences = 2}};
  stepping.host_share = 1;
  const auto seconds = [&] {
    return training_seconds(facts, layout, batch_of(64, lengths), stepping, machine, efficiency);
  };
  // One node steps all parameters of the model. Each of 8 devices has an eighth of the transfers in both directions.
  const double adam = 8'030'261'248.0 * 30 / 120e9;
  const double moved = 8'030'261'248.0 / 8 * 2;
  const double link = efficiency.host_bandwidth * machine.gpu.host_bandwidth;
  EXPECT_NEAR(seconds().optimizer, 4 * (adam + 2 * moved / link), 1e-6);
  stepping.gradients_follow = true;
  EXPECT_NEAR(seconds().optimizer, 4 * (adam + moved / link), 1e-6);
  // A quarter on the host: the device steps the rest first.
  const double on_host = seconds().optimizer;
  stepping.host_share = 0;
  const double on_device = seconds().optimizer;
  stepping.host_share = 0.25;
  EXPECT_NEAR(seconds().optimizer, on_host / 4 + on_device * 3 / 4, 1e-6);
}

TEST(Training, FourByteNumbersTakeTwiceTheLinkTime) {
  ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  const Efficiency efficiency;
  const Machine machine = machine_of(test::h100_nodes(1), {0, 8}, efficiency);
  llm::Layout layout = test::layout_of(4, 1, 2);
  layout.zero = 1;
  const auto lengths = LengthDistribution::fixed(1024);
  const Batch batch = batch_of(64, lengths);
  const Stepping stepping{1, {.sequences = 4}};
  const double parameters = parameters_of_rank(facts, layout, layers_of_stage(facts, layout, 1)).shared;
  for (const int bytes : {2, 4}) {
    facts.element_bytes = bytes;
    const double sent = cluster::reduce_scatter_seconds(machine.links, {4, 8}, stepping.reduced_bytes * parameters) +
                        cluster::all_gather_seconds(machine.links, {4, 8}, bytes * parameters);
    EXPECT_NEAR(training_seconds(facts, layout, batch, stepping, machine, efficiency).gradients,
                efficiency.exposed_gradients * sent, 0.05 * sent)
        << bytes;
    EXPECT_DOUBLE_EQ(training_passes(facts, layout, batch, stepping, machine, efficiency).hop,
                     next_stage_seconds(layout, machine, 4096.0 * bytes * 4 * 1024))
        << bytes;
  }
}

TEST(Training, ShardGroupsGatherWithinANode) {
  ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  const Efficiency efficiency;
  const auto lengths = LengthDistribution::fixed(1024);
  llm::Layout layout = test::layout_of(16, 1, 1);
  layout.zero = 3;
  const Machine machine = test::h100_machine(2);
  const auto seconds = [&] {
    return training_seconds(facts, layout, batch_of(64, lengths), {1, {.sequences = 4}}, machine, efficiency);
  };
  const TrainingSeconds all = seconds();
  facts.shard_group = 8;
  const TrainingSeconds groups = seconds();
  const double each = 8'030'261'248.0;
  // The eight devices of a node scatter and gather. The two nodes sum each eighth.
  const double sent = cluster::reduce_scatter_seconds(machine.links, {8, 8}, 4 * each) +
                      cluster::all_gather_seconds(machine.links, {8, 8}, 2 * each) +
                      cluster::all_reduce_seconds(machine.links, {2, 1}, 4 * each / 8);
  EXPECT_NEAR(groups.gradients, efficiency.exposed_gradients * sent, 1e-6 * sent);
  EXPECT_NEAR(groups.optimizer, 2 * all.optimizer, 1e-9) << "each rank updates an eighth";
  EXPECT_LE(groups.pipeline.seconds, all.pipeline.seconds);
  EXPECT_EQ(weight_bytes(facts, layout), static_cast<std::int64_t>(2 * each / 8));
  facts.shard_group = 0;
  EXPECT_EQ(weight_bytes(facts, layout), static_cast<std::int64_t>(2 * each / 16));
}

TEST(Training, TheSlowestRankDecides) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  const auto lengths = LengthDistribution::of({{200, 1}, {1800, 1}}).value();
  const llm::Layout layout = test::layout_of(8, 1, 1);
  const Machine machine = test::h100_machine(1);
  Batch batch = batch_of(64, lengths);
  const Stepping stepping{4, {.sequences = 1}};
  const double balanced = training_seconds(facts, layout, batch, stepping, machine, {}).pipeline.seconds;
  batch.balanced = false;
  // With 8 ranks of two sequences each, one rank almost always has two long ones: 3600 tokens instead of 2000.
  const double uneven = training_seconds(facts, layout, batch, stepping, machine, {}).pipeline.seconds;
  EXPECT_NEAR(uneven / balanced, 1.8, 0.15);
  const double scored = inference_seconds(facts, layout, batch, {.sequences = 1}, machine, {}).seconds;
  batch.balanced = true;
  EXPECT_GT(scored, 1.2 * inference_seconds(facts, layout, batch, {.sequences = 1}, machine, {}).seconds);
}

RC_GTEST_PROP(Training, MoreTokensAreNeverFaster, ()) {
  const ModelFacts facts = test::facts_of_bundled(random_model());
  const llm::Layout layout = random_layout();
  const Machine machine = test::h100_machine(4);
  const int length = *rc::gen::inRange(10, 4000);
  const auto shorter = LengthDistribution::fixed(length);
  const auto longer = LengthDistribution::fixed(length + *rc::gen::inRange(1, 96));
  // Longer sequences pack worse, and more micro-batches fill a pipeline better, so the counts stay fixed.
  const MicroBatching one_each{.sequences = 1};
  const double few = training_seconds(facts, layout, batch_of(256, shorter), {2, one_each}, machine, {}).sum();
  RC_ASSERT(training_seconds(facts, layout, batch_of(256, longer), {2, one_each}, machine, {}).sum() >=
            few * (1 - 1e-12));
  RC_ASSERT(training_seconds(facts, layout, batch_of(512, shorter), {2, one_each}, machine, {}).sum() >=
            few * (1 - 1e-12));
  RC_ASSERT(inference_seconds(facts, layout, batch_of(256, shorter), one_each, machine, {}).seconds <= few);
}

RC_GTEST_PROP(Training, ShardingWeightsIsNeverFaster, ()) {
  const ModelFacts facts = test::facts_of_bundled(random_model());
  llm::Layout layout = random_layout();
  const Machine machine = test::h100_machine(4);
  const auto lengths = LengthDistribution::fixed(*rc::gen::inRange(10, 4000));
  const Batch batch = batch_of(256, lengths);
  const MicroBatching packed{.tokens = 4096};
  const double kept = training_seconds(facts, layout, batch, {1, packed}, machine, {}).sum();
  layout.zero = 3;
  RC_ASSERT(training_seconds(facts, layout, batch, {1, packed}, machine, {}).sum() >= kept);
}

TEST(Training, UnevenStagesWaitForTheSlowest) {
  const ModelFacts facts = test::facts_of_bundled("llama-3.1-8b");
  const Machine machine = test::h100_machine(1);
  const auto lengths = LengthDistribution::fixed(2048);
  const Batch batch = batch_of(128, lengths);
  llm::Layout layout = test::layout_of(2, 1, 4);
  const auto seconds = [&](std::vector<int> stage_layers) {
    layout.stage_layers = std::move(stage_layers);
    return training_seconds(facts, layout, batch, {1, {.sequences = 1}}, machine, {}).pipeline.seconds;
  };
  const double even = seconds({8, 8, 8, 8});
  EXPECT_GT(seconds({2, 14, 8, 8}), 1.2 * even);
  EXPECT_LT(seconds({9, 9, 8, 6}), even) << "the last stage has the head, worth 2.4 layers";
}

}  // namespace
}  // namespace dovetail::cost
