// Layouts: ranks, stages, and the tensors of each rank.
#include "llm/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "llm/bundled_models.h"
#include "llm/random_transformer.h"

namespace dovetail::llm {
namespace {

Layout layout_of(int data, int tensor, int pipeline) {
  Layout layout;
  layout.data = data;
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  return layout;
}

TEST(Layout, TensorParallelRanksAreContiguous) {
  const Layout layout = layout_of(2, 4, 3);
  EXPECT_EQ(coordinates_of(layout, 0), (Coordinates{0, 0, 0, 0}));
  EXPECT_EQ(coordinates_of(layout, 3), (Coordinates{0, 0, 0, 3}));
  EXPECT_EQ(coordinates_of(layout, 4), (Coordinates{0, 1, 0, 0}));
  EXPECT_EQ(coordinates_of(layout, 8), (Coordinates{1, 0, 0, 0}));
  for (int rank = 0; rank < layout.devices(); ++rank) EXPECT_EQ(rank_of(layout, coordinates_of(layout, rank)), rank);
}

TEST(Layout, RemainingLayersGoToTheFirstStages) {
  Transformer model = find_bundled_model("llama-2-7b").value();
  model.layers = 10;
  const Layout layout = layout_of(1, 1, 4);
  EXPECT_THAT(chunks_of(layout, model, 0), testing::ElementsAre(Chunk{0, 3}));
  EXPECT_THAT(chunks_of(layout, model, 1), testing::ElementsAre(Chunk{3, 6}));
  EXPECT_THAT(chunks_of(layout, model, 3), testing::ElementsAre(Chunk{8, 10}));
}

TEST(Layout, VirtualStagesTakeTurns) {
  Transformer model = find_bundled_model("llama-2-7b").value();
  model.layers = 8;
  Layout layout = layout_of(1, 1, 2);
  layout.virtual_stages = 2;
  EXPECT_THAT(chunks_of(layout, model, 0), testing::ElementsAre(Chunk{0, 2}, Chunk{4, 6}));
  EXPECT_THAT(chunks_of(layout, model, 1), testing::ElementsAre(Chunk{2, 4}, Chunk{6, 8}));
}

TEST(Layout, UnevenStagesHaveTheGivenLayers) {
  const Transformer model = find_bundled_model("deepseek-v3").value();
  Layout layout = layout_of(1, 1, 16);
  layout.stage_layers.assign(16, 4);
  layout.stage_layers.front() = 3;
  layout.stage_layers.back() = 2;
  ASSERT_FALSE(find_fault(layout, model));
  EXPECT_EQ(chunks_of(layout, model, 0).front(), (Chunk{0, 3}));
  EXPECT_EQ(chunks_of(layout, model, 15).front(), (Chunk{59, 61}));
}

TEST(Layout, ReportsWhyAModelCannotHaveALayout) {
  const Transformer model = find_bundled_model("llama-2-7b").value();
  EXPECT_THAT(*find_fault(layout_of(1, 3, 1), model), testing::HasSubstr("32 heads of llama-2-7b"));
  EXPECT_THAT(*find_fault(layout_of(1, 1, 33), model), testing::HasSubstr("pp x vpp = 33 exceeds the 32 layers"));
  EXPECT_THAT(*find_fault(layout_of(0, 1, 1), model), testing::HasSubstr("dp is 0"));
  Layout layout = layout_of(4, 1, 1);
  layout.expert = 2;
  EXPECT_THAT(*find_fault(layout, model), testing::HasSubstr("no experts"));
  layout = layout_of(1, 1, 2);
  layout.stage_layers = {16, 15};
  EXPECT_THAT(*find_fault(layout, model), testing::HasSubstr("add up to 31"));
  layout = layout_of(3, 1, 1);
  layout.expert = 8;
  EXPECT_THAT(*find_fault(layout, find_bundled_model("mixtral-8x7b").value()),
              testing::HasSubstr("does not divide the 3 devices"));
}

TEST(Layout, ATiedHeadIsHeldOnceOnTheStageOfTheEmbedding) {
  const Transformer model = find_bundled_model("qwen3-0.6b").value();
  const auto holds_head = [&](const Layout& layout, int rank) {
    const std::vector<HeldTensor> held = tensors_of_rank(layout, model, rank);
    return held.back().tensor.name == "lm_head.weight";
  };
  EXPECT_FALSE(holds_head(layout_of(1, 1, 1), 0));
  EXPECT_TRUE(holds_head(layout_of(1, 1, 2), 1));
}

/// A random valid layout for `model` on at most 64 devices.
Layout random_layout(const Transformer& model) {
  Layout layout;
  do {
    layout.data = *rc::gen::inRange(1, 4);
    layout.context = *rc::gen::element(1, 1, 2);
    layout.tensor = *rc::gen::element(1, 2, 4, 8);
    layout.pipeline = *rc::gen::inRange(1, 4);
    layout.virtual_stages = *rc::gen::element(1, 1, 2);
    layout.expert = *rc::gen::element(1, 2, 4);
    layout.expert_tensor = *rc::gen::element(1, 1, 2);
  } while (find_fault(layout, model));
  return layout;
}

RC_GTEST_PROP(Layout, EveryReplicaHoldsEveryWeightOnce, ()) {
  const Transformer model = *test::random_transformer();
  const Layout layout = random_layout(model);
  // [tensor][replica] number of ranks of that replica that hold each element.
  std::map<std::string, std::map<std::pair<int, int>, std::vector<int>>> held;
  for (int rank = 0; rank < layout.devices(); ++rank) {
    const Coordinates place = coordinates_of(layout, rank);
    for (const HeldTensor& part : tensors_of_rank(layout, model, rank)) {
      const bool routed = part.tensor.expert >= 0;
      const std::pair<int, int> replica =
          routed ? std::pair{expert_place(layout, place).replica, 0} : std::pair{place.data, place.context};
      std::vector<int>& count = held[part.tensor.name][replica];
      count.resize(static_cast<std::size_t>(part.tensor.elements()));
      for (std::int64_t row = part.slice.row_begin; row < part.slice.row_end; ++row)
        for (std::int64_t column = part.slice.column_begin; column < part.slice.column_end; ++column)
          ++count[static_cast<std::size_t>(row * part.tensor.columns + column)];
    }
  }
  const int ranks_of_stage = layout.data * layout.context * layout.tensor;
  for (const Tensor& tensor : tensors_of(model)) {
    if (tensor.tied && layout.pipeline == 1) continue;
    const auto& replicas = held.at(tensor.name);
    const bool routed = tensor.expert >= 0;
    RC_ASSERT(replicas.size() == static_cast<std::size_t>(routed ? ranks_of_stage / layout.expert / layout.expert_tensor
                                                                 : layout.data * layout.context));
    // Unsplit tensors are on all tensor-parallel ranks. If there are fewer key-value heads than ranks, each is on
    // several.
    const int ranks = routed ? layout.expert_tensor : layout.tensor;
    const auto units = static_cast<int>((tensor.split == Split::rows ? tensor.rows : tensor.columns) / tensor.unit);
    const int times = tensor.split == Split::none ? ranks : std::max(1, ranks / units);
    for (const auto& [replica, count] : replicas) {
      RC_ASSERT(*std::min_element(count.begin(), count.end()) == times);
      RC_ASSERT(*std::max_element(count.begin(), count.end()) == times);
    }
  }
}

}  // namespace
}  // namespace dovetail::llm
