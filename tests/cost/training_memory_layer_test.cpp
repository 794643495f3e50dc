// Memory of a layer for one micro-batch: answers computed by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "cost/training_memory.h"
#include "llm/bundled_models.h"

namespace dovetail::cost {
namespace {

constexpr std::int64_t tokens = 4096;

llm::Transformer bundled(std::string_view name) { return llm::find_bundled_model(name).value(); }
Conventions conventions(std::string_view name) { return find_conventions(name).value(); }

llm::Layout tensor_parallel(int tensor, bool sequence_parallel) {
  llm::Layout layout;
  layout.tensor = tensor;
  layout.sequence_parallel = sequence_parallel;
  return layout;
}

TrainingShape one_sequence() {
  TrainingShape shape;
  shape.sequence_length = tokens;
  return shape;
}

std::int64_t kept(const llm::Transformer& model, const llm::Layout& layout, const Conventions& made,
                  bool with_experts = false) {
  return layer_memory(model, layout, one_sequence(), made, with_experts).kept;
}

TEST(TrainingMemoryLayer, GatedNetworkAndGroupedQueries) {
  // 12h + 4 kv + 6f, and the log-sums of 64 heads in fp32.
  const std::int64_t each = 12 * 8192 + 4 * 1024 + 6 * 28672 + 4 * 64;
  EXPECT_EQ(kept(bundled("llama-3-70b"), tensor_parallel(1, false), conventions("megatron")), tokens * each);
  EXPECT_EQ(kept(bundled("llama-3-70b"), tensor_parallel(8, true), conventions("megatron")), tokens * each / 8);
}

TEST(TrainingMemoryLayer, PlainNetworkWithDropoutAndNoSequenceParallelism) {
  llm::Transformer model = bundled("opt-6.7b");
  Conventions made = conventions("megatron");
  made.dropout_masks = 2;
  // Four tensors of hidden size and two masks on each rank. Queries, keys, values, output and 4f are split.
  const std::int64_t each = 10 * 4096 + (4 * 4096 + 4 * 4096 + 4 * 16384 + 4 * 32) / 4;
  EXPECT_EQ(kept(model, tensor_parallel(4, false), made), tokens * each);
}

TEST(TrainingMemoryLayer, NanotronKeepsTwoGatheredInputs) {
  llm::Transformer model = bundled("llama-2-7b");
  model.width = 2 * model.hidden;
  // 34h split and 4h replicated: section 7 of the measured rows.
  EXPECT_EQ(kept(model, tensor_parallel(4, true), conventions("nanotron")),
            tokens * ((34 * 4096 + 4 * 32) / 4 + 4 * 4096));
}

TEST(TrainingMemoryLayer, KeyValueHeadsAreReplicatedIfFewerThanRanks) {
  const std::int64_t eight = kept(bundled("llama-3-8b"), tensor_parallel(8, true), conventions("megatron"));
  const std::int64_t sixteen = kept(bundled("llama-3-8b"), tensor_parallel(16, true), conventions("megatron"));
  EXPECT_EQ(sixteen - eight / 2, tokens * 2 * 128 * 2 / 2);  // half of a rank's keys and values
}

TEST(TrainingMemoryLayer, LatentAttention) {
  const llm::Transformer model = bundled("deepseek-v3");
  const std::int64_t attention = 8 * 7168 + 2 * (2 * 1536 + 2 * 512 + 64) + 2 * 128 * (192 + 192 + 128 + 128) + 4 * 128;
  EXPECT_EQ(kept(model, tensor_parallel(1, false), conventions("megatron")), tokens * (attention + 6 * 18432));
  // Eight of 256 experts, a shared expert, scores and probabilities.
  const std::int64_t network = 8 * (2 * 7168 + 6 * 2048) + 6 * 2048 + 8 * 256;
  EXPECT_EQ(kept(model, tensor_parallel(1, false), conventions("megatron"), true), tokens * (attention + network));
}

TEST(TrainingMemoryLayer, NormalizationsOfHeadsKeepTheirInputs) {
  llm::Transformer model = bundled("qwen3-8b");
  const std::int64_t with = kept(model, tensor_parallel(1, false), conventions("megatron"));
  model.query_key_norm = false;
  EXPECT_EQ(with - kept(model, tensor_parallel(1, false), conventions("megatron")), tokens * 2 * (4096 + 1024));
}

TEST(TrainingMemoryLayer, ExpertsTakeTheirShareOfTokens) {
  const llm::Transformer model = bundled("mixtral-8x7b");
  llm::Layout layout = tensor_parallel(2, true);
  TrainingShape shape = one_sequence();
  EXPECT_EQ(routed_tokens(model, layout, shape), tokens / 2 * 2);
  layout.expert_tensor = 2;  // ranks that share an expert process the tokens of both
  EXPECT_EQ(routed_tokens(model, layout, shape), tokens * 2);
  shape.expert_capacity = 1.5;
  EXPECT_EQ(routed_tokens(model, layout, shape), tokens * 3);
  shape.sequence_length = 10;  // 5 tokens of a rank, each to 2 experts: 1.875 per expert, rounded up
  EXPECT_EQ(routed_tokens(model, layout, shape), 2 * 8 * 2);
}

TEST(TrainingMemoryLayer, ContextParallelRanksSplitASequence) {
  llm::Layout layout;
  layout.context = 8;
  TrainingShape shape = one_sequence();
  EXPECT_EQ(tokens_of_rank(layout, shape), tokens / 8);
  shape.sequences = 3;
  EXPECT_EQ(tokens_of_rank(layout, shape), 3 * tokens / 8);
  shape.packed_tokens = 1001;
  EXPECT_EQ(tokens_of_rank(layout, shape), 126);
}

TEST(TrainingMemoryLayer, FullRecomputationKeepsTheInput) {
  llm::Layout layout = tensor_parallel(4, true);
  const LayerMemory none = layer_memory(bundled("llama-2-7b"), layout, one_sequence(), conventions("megatron"), false);
  layout.recomputation = llm::Recomputation::full;
  const LayerMemory full = layer_memory(bundled("llama-2-7b"), layout, one_sequence(), conventions("megatron"), false);
  EXPECT_EQ(full.kept, tokens * 2 * 4096 / 4);
  EXPECT_EQ(full.workspace - none.workspace, none.kept - full.kept);
}

TEST(TrainingMemoryLayer, ExpertsAreRecomputedFromTheirInput) {
  const llm::Transformer model = bundled("qwen3-30b-a3b");
  llm::Layout layout;
  const LayerMemory none = layer_memory(model, layout, one_sequence(), conventions("megatron"), true);
  layout.recomputation = llm::Recomputation::experts;
  const LayerMemory experts = layer_memory(model, layout, one_sequence(), conventions("megatron"), true);
  // Router scores and probabilities, and a token's input, gate, up and product in 8 experts.
  EXPECT_EQ(none.kept - experts.kept, tokens * (8 * 128 + 8 * (2 * 2048 + 3 * 2 * 768)));
  EXPECT_EQ(experts.workspace - none.workspace, none.kept - experts.kept);
  layout.recomputation = llm::Recomputation::full;
  EXPECT_LT(layer_memory(model, layout, one_sequence(), conventions("megatron"), true).kept, experts.kept);
  layout.recomputation = llm::Recomputation::experts;
  EXPECT_EQ(kept(bundled("llama-3-8b"), layout, conventions("megatron")),
            kept(bundled("llama-3-8b"), llm::Layout{}, conventions("megatron")));
}

TEST(TrainingMemoryLayer, SelectivePerOperatorKeepsEverySecondProduct) {
  llm::Layout layout;
  layout.recomputation = llm::Recomputation::selective;
  // Input, q, v, output of attention, gate and down.
  EXPECT_EQ(kept(bundled("llama-3-8b"), layout, conventions("torchtitan")),
            tokens * (8 * 4096 + 2 * 1024 + 2 * 14336 + 4 * 32));
  // Flash attention leaves nothing else to recompute.
  EXPECT_EQ(kept(bundled("llama-3-8b"), layout, conventions("megatron")),
            kept(bundled("llama-3-8b"), llm::Layout{}, conventions("megatron")));
}

TEST(TrainingMemoryLayer, LogitsOfTheLoss) {
  const llm::Transformer model = bundled("llama-3-70b");
  const llm::Layout layout = tensor_parallel(2, true);
  const std::int64_t inputs = tokens * 4 * 8192 / 2;
  EXPECT_EQ(padded_vocabulary(model, layout, conventions("megatron")), 128'256);
  EXPECT_EQ(padded_vocabulary(bundled("llama-2-70b"), tensor_parallel(8, true), conventions("megatron")), 32'768);
  EXPECT_EQ(loss_bytes(model, layout, one_sequence(), conventions("megatron")), inputs + tokens * 6 * 128'256 / 2);
  EXPECT_EQ(loss_bytes(llm::with_scalar_head(model), layout, one_sequence(), conventions("megatron")), inputs);
}

TEST(TrainingMemoryLayer, TheHeadsDummyGradientIsLargerThanFewLogits) {
  TrainingShape shape;
  shape.sequence_length = 16;
  const llm::Transformer model = bundled("llama-3-70b");
  EXPECT_EQ(loss_bytes(model, llm::Layout{}, shape, conventions("megatron")),
            16 * 4 * 8192 + 2 * 128'256 * (16 + 8192));
}

}  // namespace
}  // namespace dovetail::cost
