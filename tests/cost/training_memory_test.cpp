// Peak memory of training: answers computed by hand, and properties of all models and layouts.
#include "cost/training_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "llm/bundled_models.h"
#include "llm/counts.h"
#include "llm/random_transformer.h"

namespace dovetail::cost {
namespace {

llm::Transformer bundled(std::string_view name) { return llm::find_bundled_model(name).value(); }
Conventions conventions(std::string_view name) { return find_conventions(name).value(); }

llm::Layout layout_of(int data, int tensor, int pipeline, int zero) {
  llm::Layout layout;
  layout.data = data;
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  layout.zero = zero;
  return layout;
}

TrainingShape shape_of(std::int64_t length, std::int64_t sequences, std::int64_t micro_batches) {
  TrainingShape shape;
  shape.sequence_length = length;
  shape.sequences = sequences;
  shape.micro_batches = micro_batches;
  return shape;
}

TEST(TrainingMemory, Llama70BOnTwoStagesByHand) {
  llm::Transformer model = bundled("llama-3-70b");
  model.layers = 12;
  const Conventions megatron = conventions("megatron");
  const TrainingMemory memory = training_memory(model, layout_of(4, 1, 2, 1), shape_of(4096, 1, 8), megatron);
  const std::int64_t layer = 2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672 + 2 * 8192;
  const std::int64_t each = 12 * 8192 + 4 * 1024 + 6 * 28672 + 4 * 64;
  const std::int64_t first = 6 * layer + 128'256 * 8192;
  const MemoryParts& stage = memory.stages[0].parts;
  EXPECT_EQ(stage.weights, 2 * first);
  EXPECT_EQ(stage.gradients, 4 * first);
  EXPECT_EQ(stage.optimizer, 12 * first / 4);
  EXPECT_EQ(stage.activations, 2 * 6 * each * 4096);  // two micro-batches in flight
  EXPECT_EQ(stage.logits, 0);
  EXPECT_EQ(stage.gathered, 0);
  EXPECT_EQ(stage.workspace, 2 * layer + megatron.overhead + (2 * 8192 + 6 * 28672) * 4096);
  const MemoryParts& last = memory.stages[1].parts;
  EXPECT_EQ(last.weights, 2 * (first + 8192));
  EXPECT_EQ(last.activations, 6 * each * 4096);
  EXPECT_EQ(last.logits, std::int64_t{6 * 128'256 + 4 * 8192} * 4096);
  EXPECT_EQ(last.workspace, 2 * layer + megatron.overhead);
  EXPECT_EQ(memory.worst, 0);
  EXPECT_NEAR(static_cast<double>(memory.peak().reserved),
              megatron.reserved_factor * static_cast<double>(memory.peak().allocated()), 1);
}

TEST(TrainingMemory, MicroBatchesInFlight) {
  llm::Transformer model = bundled("llama-3.1-8b");
  llm::Layout layout = layout_of(1, 1, 4, 0);
  TrainingShape shape = shape_of(1, 1, 3);
  EXPECT_EQ(micro_batches_in_flight(model, layout, shape, 0), 3);
  EXPECT_EQ(micro_batches_in_flight(model, layout, shape, 2), 2);
  EXPECT_EQ(micro_batches_in_flight(model, layout, shape, 3), 1);
  shape.micro_batches = 64;
  EXPECT_EQ(micro_batches_in_flight(model, layout, shape, 0), 4);
  layout.virtual_stages = 8;
  EXPECT_EQ(micro_batches_in_flight(model, layout, shape, 3), (7 * 4 + 1) / 8.0);
  EXPECT_EQ(micro_batches_in_flight(model, layout, shape, 0), (7 * 4 + 1 + 6) / 8.0);
  // Chunks of three and two layers on the first stage. Its 24th forward is in the first chunk, after a backward of the
  // second has ended.
  model.layers = 36;
  layout.pipeline = 8;
  layout.virtual_stages = 2;
  EXPECT_EQ(micro_batches_in_flight(model, layout, shape, 0), (16 * 3 + 7 * 2) / 5.0);
  layout.pipeline = 4;
  shape.all_forwards_first = true;
  EXPECT_EQ(micro_batches_in_flight(model, layout, shape, 3), 64);
  shape.in_flight = {1, 2.5, 3, 4};
  EXPECT_EQ(micro_batches_in_flight(model, layout, shape, 1), 2.5);
}

TEST(TrainingMemory, PeaksOfAScheduleOverrideTheRule) {
  const llm::Transformer model = bundled("llama-2-7b");
  TrainingShape shape = shape_of(2048, 1, 8);
  const std::int64_t rule =
      training_memory(model, layout_of(1, 1, 4, 1), shape, conventions("megatron")).stages[0].parts.activations;
  shape.in_flight = {6, 3, 2, 1};
  const TrainingMemory memory = training_memory(model, layout_of(1, 1, 4, 1), shape, conventions("megatron"));
  EXPECT_EQ(memory.stages[0].parts.activations * 4, rule * 6);
}

TEST(TrainingMemory, EachZeroStageShardsOneMore) {
  const llm::Transformer model = bundled("llama-2-7b");
  const std::int64_t all = llm::count_parameters(model).all;
  const Conventions megatron = conventions("megatron");
  for (int zero = 0; zero <= 3; ++zero) {
    const MemoryParts parts = static_memory(model, layout_of(8, 1, 1, zero), megatron, 0);
    EXPECT_EQ(parts.optimizer, 12 * all / (zero >= 1 ? 8 : 1));
    EXPECT_EQ(parts.gradients, 4 * all / (zero >= 2 ? 8 : 1));
    EXPECT_EQ(parts.weights, 2 * all / (zero >= 3 ? 8 : 1));
  }
}

TEST(TrainingMemory, ContextParallelRanksShareTheOptimizer) {
  llm::Layout layout = layout_of(2, 1, 1, 1);
  layout.context = 4;
  const llm::Transformer model = bundled("llama-2-7b");
  EXPECT_EQ(static_memory(model, layout, conventions("megatron"), 0).optimizer,
            12 * llm::count_parameters(model).all / 8);
}

TEST(TrainingMemory, ExpertsAreSharedByTheirOwnReplicas) {
  const llm::Transformer model = bundled("mixtral-8x7b");
  llm::Layout layout = layout_of(8, 2, 4, 1);
  layout.expert = 8;
  layout.sequence_parallel = true;
  const MemoryParts parts = static_memory(model, layout, conventions("megatron"), 1);
  // Eight layers: attention split in two, norms and router replicated, one expert with 16 ranks / 8 groups = 2
  // replicas.
  const std::int64_t own = 8 * ((2 * 4096 * 4096 + 2 * 4096 * 1024) / 2 + 2 * 4096 + 8 * 4096);
  const std::int64_t experts = std::int64_t{8} * 3 * 4096 * 14336;
  EXPECT_EQ(parts.weights, 2 * (own + experts));
  EXPECT_EQ(parts.optimizer, 12 * (own / 8 + experts / 2));
}

TEST(TrainingMemory, AFrozenBaseHasNoGradientsAndNoOptimizer) {
  llm::Transformer model = bundled("llama-2-7b");
  model.adapter_rank = 16;
  const llm::ParameterCounts counts = llm::count_parameters(model);
  const MemoryParts parts = static_memory(model, layout_of(1, 1, 1, 0), conventions("megatron"), 0);
  EXPECT_EQ(parts.weights, 2 * (counts.all + counts.adapters));
  EXPECT_EQ(parts.gradients, 4 * counts.adapters);
  EXPECT_EQ(parts.optimizer, 12 * counts.adapters);
}

TEST(TrainingMemory, ATiedHeadIsCopiedToTheLastStage) {
  const llm::Transformer model = bundled("qwen3-0.6b");
  const Conventions nanotron = conventions("nanotron");
  EXPECT_EQ(static_memory(model, layout_of(1, 1, 1, 0), nanotron, 0).weights, 2 * llm::count_parameters(model).all);
  const std::int64_t both = static_memory(model, layout_of(1, 1, 2, 0), nanotron, 0).weights +
                            static_memory(model, layout_of(1, 1, 2, 0), nanotron, 1).weights;
  EXPECT_EQ(both, 2 * (llm::count_parameters(model).all + model.vocabulary * model.hidden));
}

TEST(TrainingMemory, Fsdp2GathersLayerByLayerOrWholeStagesInAPipeline) {
  const llm::Transformer model = bundled("llama-3-8b");
  const Conventions fsdp = conventions("fsdp2");
  const std::int64_t layer = llm::count_parameters(model).dense_layer;
  const std::int64_t ends = 2 * 128'256 * 4096 + 4096;
  const MemoryParts alone = training_memory(model, layout_of(8, 1, 1, 3), shape_of(8192, 1, 1), fsdp).peak().parts;
  EXPECT_EQ(alone.gathered, 2 * (ends + layer));  // at the loss
  EXPECT_EQ(alone.gradients, 0);                  // no backward has created them yet
  EXPECT_GT(training_memory(model, layout_of(8, 1, 1, 3), shape_of(8192, 1, 2), fsdp).peak().parts.gradients, 0);
  const MemoryParts piped = training_memory(model, layout_of(8, 1, 4, 3), shape_of(8192, 1, 8), fsdp).stages[1].parts;
  EXPECT_EQ(piped.gathered, (2 + 4) * 8 * layer);
  EXPECT_EQ(piped.gradients, 0);
}

TEST(TrainingMemory, DeepSpeedGathersEmbeddingAndHeadOnlyForUse) {
  const llm::Transformer model = bundled("llama-3-8b");
  const llm::Layout layout = layout_of(8, 1, 1, 3);
  const std::int64_t layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096;
  const std::int64_t embedding = 128'256 * 4096;
  const std::int64_t head = embedding + 4096;
  EXPECT_EQ(gathered_in_forward(model, layout, conventions("deepspeed-zero")), 2 * (head + layer));
  EXPECT_EQ(gathered_in_forward(model, layout, conventions("verl-fsdp")), 2 * (embedding + head + 2 * layer));
  EXPECT_EQ(gathered_in_forward(model, layout_of(8, 1, 1, 2), conventions("verl-fsdp")), 0);
}

TEST(TrainingMemory, DeepSpeedKeepsZero3GradientsAndItsBucketNeedsSeveralRanks) {
  const llm::Transformer model = bundled("llama-3-8b");
  const Conventions deepspeed = conventions("deepspeed-zero");
  const std::int64_t parameters = 8'030'261'248;
  EXPECT_EQ(static_memory(model, layout_of(8, 1, 1, 2), deepspeed, 0).gradients, 0);
  EXPECT_EQ(static_memory(model, layout_of(8, 1, 1, 3), deepspeed, 0).gradients, 2 * parameters / 8);
  EXPECT_EQ(static_memory(model, layout_of(1, 1, 1, 2), deepspeed, 0).workspace, deepspeed.overhead);
  EXPECT_EQ(static_memory(model, layout_of(8, 1, 1, 2), deepspeed, 0).workspace, deepspeed.overhead + deepspeed.bucket);
}

TEST(TrainingMemory, UnevenStagesHaveTheirOwnLayers) {
  llm::Layout layout = layout_of(1, 1, 2, 0);
  layout.stage_layers = {20, 12};
  const llm::Transformer model = bundled("llama-2-7b");
  const TrainingMemory memory = training_memory(model, layout, shape_of(1024, 1, 1), conventions("nanotron"));
  EXPECT_EQ(memory.stages[0].parts.activations * 12, memory.stages[1].parts.activations * 20);
}

/// Returns a valid layout of `model` without sequence parallelism, on at most 64 devices.
llm::Layout random_layout(const llm::Transformer& model) {
  llm::Layout layout = layout_of(*rc::gen::element(1, 2, 4), *rc::gen::element(1, 2, 4), *rc::gen::inRange(1, 4),
                                 *rc::gen::inRange(0, 4));
  layout.context = *rc::gen::element(1, 2);
  layout.recomputation =
      *rc::gen::element(llm::Recomputation::none, llm::Recomputation::selective, llm::Recomputation::full);
  if (model.experts) {
    layout.expert = *rc::gen::element(1, 2, 4);
    layout.expert_tensor = *rc::gen::element(1, 2);
  }
  RC_PRE(!llm::find_fault(layout, model));
  return layout;
}

TrainingShape random_shape() {
  return shape_of(*rc::gen::inRange(1, 200), *rc::gen::inRange(1, 5), *rc::gen::inRange(1, 9));
}

Conventions random_conventions() {
  const auto names = conventions_names();
  return conventions(names[*rc::gen::inRange<std::size_t>(0, names.size())]);
}

/// Returns the total bytes of llm::tensors_of_rank on the first rank of a stage.
std::int64_t elements_held(const llm::Transformer& model, const llm::Layout& layout, int stage, bool trained_only) {
  std::int64_t sum = 0;
  for (const llm::HeldTensor& held : llm::tensors_of_rank(layout, model, llm::rank_of(layout, {stage, 0, 0, 0})))
    if (!trained_only || model.adapter_rank == 0 || held.tensor.adapter) sum += held.slice.elements();
  return sum;
}

RC_GTEST_PROP(TrainingMemoryProperty, StaticMemoryIsTheTensorsOfARank, ()) {
  llm::Transformer model = *llm::test::random_transformer();
  llm::Layout layout = random_layout(model);
  layout.zero = 0;
  const Conventions made = random_conventions();
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    const MemoryParts parts = static_memory(model, layout, made, stage);
    llm::Transformer padded = model;
    padded.vocabulary = padded_vocabulary(model, layout, made);
    const std::int64_t trained = elements_held(padded, layout, stage, true);
    RC_ASSERT(parts.weights == made.weight_bytes * elements_held(padded, layout, stage, false));
    RC_ASSERT(parts.gradients == (made.transient_gradients ? 0 : made.gradient_bytes * trained));
    RC_ASSERT(parts.optimizer == (made.moment_bytes + made.master_bytes) * trained);
  }
}

RC_GTEST_PROP(TrainingMemoryProperty, PartsAddUpAndTheWorstStageIsThePeak, ()) {
  const llm::Transformer model = *llm::test::random_transformer();
  const llm::Layout layout = random_layout(model);
  const TrainingMemory memory = training_memory(model, layout, random_shape(), random_conventions());
  RC_ASSERT(memory.stages.size() == static_cast<std::size_t>(layout.pipeline));
  for (const StageMemory& stage : memory.stages) {
    const MemoryParts& parts = stage.parts;
    for (const std::int64_t part : {parts.weights, parts.gradients, parts.optimizer, parts.activations, parts.logits,
                                    parts.gathered, parts.workspace})
      RC_ASSERT(part >= 0);
    RC_ASSERT(stage.allocated() == parts.weights + parts.gradients + parts.optimizer + parts.activations +
                                       parts.logits + parts.gathered + parts.workspace);
    RC_ASSERT(stage.allocated() <= memory.peak().allocated());
  }
}

RC_GTEST_PROP(TrainingMemoryProperty, MoreTokensAndMoreMicroBatchesNeverTakeLess, ()) {
  const llm::Transformer model = *llm::test::random_transformer();
  const llm::Layout layout = random_layout(model);
  const Conventions made = random_conventions();
  const TrainingShape shape = random_shape();
  const std::int64_t before = training_memory(model, layout, shape, made).peak().allocated();
  TrainingShape more = shape;
  more.sequence_length += *rc::gen::inRange(1, 100);
  RC_ASSERT(training_memory(model, layout, more, made).peak().allocated() >= before);
  more = shape;
  more.sequences += 1;
  RC_ASSERT(training_memory(model, layout, more, made).peak().allocated() >= before);
  more = shape;
  more.micro_batches += 1;
  RC_ASSERT(training_memory(model, layout, more, made).peak().allocated() >= before);
}

RC_GTEST_PROP(TrainingMemoryProperty, MoreRanksNeverTakeMore, ()) {
  const llm::Transformer model = *llm::test::random_transformer();
  const llm::Layout layout = random_layout(model);
  const Conventions made = random_conventions();
  const TrainingShape shape = random_shape();
  const std::int64_t before = training_memory(model, layout, shape, made).peak().allocated();
  for (int llm::Layout::* degree : {&llm::Layout::tensor, &llm::Layout::data, &llm::Layout::context}) {
    llm::Layout more = layout;
    more.*degree *= 2;
    if (!llm::find_fault(more, model))
      RC_ASSERT(training_memory(model, more, shape, made).peak().allocated() <= before);
  }
}

RC_GTEST_PROP(TrainingMemoryProperty, RecomputationAndZeroNeverTakeMore, ()) {
  const llm::Transformer model = *llm::test::random_transformer();
  llm::Layout layout = random_layout(model);
  layout.recomputation = llm::Recomputation::none;
  layout.zero = 0;
  const Conventions made = random_conventions();
  const TrainingShape shape = random_shape();
  const std::int64_t before = training_memory(model, layout, shape, made).peak().allocated();
  llm::Layout other = layout;
  other.recomputation = *rc::gen::element(llm::Recomputation::selective, llm::Recomputation::full);
  RC_ASSERT(training_memory(model, other, shape, made).peak().allocated() <= before);
  other = layout;
  other.zero = *rc::gen::element(1, 2);  // ZeRO 3 may gather more than it shards
  RC_ASSERT(training_memory(model, other, shape, made).peak().allocated() <= before);
}

TEST(TrainingMemory, MoreTensorParallelRanksTakeLessOfPublishedModels) {
  for (const char* name : {"llama-2-7b", "llama-3-70b", "qwen3-8b", "deepseek-v2", "mixtral-8x7b", "opt-13b"}) {
    const llm::Transformer model = bundled(name);
    for (const std::string_view framework : {"megatron", "nanotron", "deepspeed-3d"}) {
      std::int64_t before = 0;
      for (int tensor = 1; tensor <= 8; tensor *= 2) {
        llm::Layout layout = layout_of(1, tensor, 1, 1);
        layout.sequence_parallel = true;
        const std::int64_t now =
            training_memory(model, layout, shape_of(4096, 1, 1), conventions(framework)).peak().allocated();
        if (tensor > 1) {
          EXPECT_LT(now, before) << name << " " << framework << " " << tensor;
        }
        before = now;
      }
    }
  }
}

}  // namespace
}  // namespace dovetail::cost
