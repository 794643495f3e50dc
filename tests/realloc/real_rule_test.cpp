// ReaL's rule gives the values of an independent derivation, and our plans never move more.
#include "realloc/real_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "llm/bundled_models.h"
#include "realloc/plan.h"
#include "realloc/random_sides.h"

namespace dovetail::realloc {
namespace {

using testing::ElementsAre;

/// A model with as many key-value heads as heads, which ReaL's table assumes for all models.
llm::Transformer multi_head(const std::string& name) {
  llm::Transformer model = llm::find_bundled_model(name).value();
  model.key_value_heads = model.heads;
  return model;
}

/// Degrees in ReaL's order: pipeline, tensor, data.
struct Degrees {
  int pipeline;
  int tensor;
  int data;
};

/// The source on the first devices and the destination on the last, of as many devices as the larger one has.
struct Sides {
  Side source;
  Side destination;
  cluster::Cluster cluster;
};

Sides sides_of(const llm::Transformer& model, const Degrees& from, const Degrees& to) {
  Sides sides{test::side_of(model, test::real_layout(model, from.data, from.tensor, from.pipeline), 0),
              test::side_of(model, test::real_layout(model, to.data, to.tensor, to.pipeline), 0),
              {}};
  const int devices = std::max(sides.source.mesh.count, sides.destination.mesh.count);
  sides.destination.mesh.first = devices - sides.destination.mesh.count;
  sides.cluster = test::cluster_of((devices + 7) / 8, 8);
  return sides;
}

TEST(RealRule, SplitsStagesByParameters) {
  const llm::Transformer small = multi_head("llama-2-7b");
  EXPECT_THAT(test::real_stage_split(small, 2), ElementsAre(0, 17, 34));
  EXPECT_THAT(test::real_stage_split(small, 4), ElementsAre(0, 9, 17, 25, 34));
  EXPECT_THAT(test::real_stage_split(small, 8), ElementsAre(0, 5, 9, 13, 17, 21, 25, 29, 34));
  EXPECT_THAT(test::real_stage_split(multi_head("llama-2-13b"), 8), ElementsAre(0, 6, 11, 16, 21, 26, 31, 36, 42));
  EXPECT_THAT(test::real_stage_split(multi_head("llama-2-70b"), 8), ElementsAre(0, 11, 21, 31, 41, 51, 61, 71, 82));
}

TEST(RealRule, MatchesItsTableAndOurPlansMoveNoMore) {
  struct Known {
    std::string model;
    Degrees from;
    Degrees to;
    std::int64_t microseconds;
    double max_received = 0;  // GiB
    double received = 0;      // GiB
    int broadcasts = 0;
  };
  const Known table[] = {{"llama-2-7b", {1, 8, 1}, {1, 1, 8}, 295'798, 10.99, 87.88, 8},
                         {"llama-2-7b", {1, 4, 2}, {2, 1, 4}, 147'895, 4.71, 37.66, 8},
                         {"llama-2-7b", {1, 2, 4}, {8, 1, 1}, 77'839, 0.88, 6.28, 16},
                         {"llama-2-7b", {1, 2, 2}, {2, 1, 4}, 101'839, 6.28, 43.93, 4},
                         {"llama-2-7b", {2, 8, 1}, {1, 8, 1}, 91'386, 0.785, 6.28, 16},
                         {"llama-2-7b", {1, 8, 1}, {2, 8, 1}, 61'387, 0.785, 6.28, 16},
                         {"llama-2-13b", {2, 4, 2}, {2, 1, 8}, 173'880},
                         {"codellama-34b", {4, 8, 1}, {4, 2, 4}, 171'625},
                         {"llama-2-70b", {8, 8, 1}, {8, 2, 4}, 171'710}};
  for (const Known& known : table) {
    const Sides sides = sides_of(multi_head(known.model), known.from, known.to);
    SCOPED_TRACE(known.model + ": " + llm::to_text(sides.source.layout) + " to " +
                 llm::to_text(sides.destination.layout));
    const test::RealPlan real = test::real_rule(sides.source, sides.destination);
    EXPECT_EQ(real.microseconds, known.microseconds);
    const double gibibyte = 1024.0 * 1024 * 1024;
    if (known.broadcasts > 0) {
      EXPECT_NEAR(static_cast<double>(real.max_received) / gibibyte, known.max_received, 0.005);
      EXPECT_NEAR(static_cast<double>(real.received) / gibibyte, known.received, 0.005);
      EXPECT_EQ(real.broadcasts, known.broadcasts);
    }
    const Summary ours = summarize(plan_reallocation(sides.cluster, sides.source, sides.destination));
    EXPECT_LE(ours.bytes, real.received);
    EXPECT_LE(ours.max_received, real.max_received);
    EXPECT_LE(ours.bytes_between, real.between);
  }
}

RC_GTEST_PROP(RealRule, OurPlansNeverMoveMore, ()) {
  llm::Transformer model = multi_head("llama-2-7b");
  model.layers = *rc::gen::inRange(4, 20);
  const auto degrees = [&] {
    return Degrees{*rc::gen::inRange(1, 5), 1 << *rc::gen::inRange(0, 4), *rc::gen::inRange(1, 5)};
  };
  const Sides sides = sides_of(model, degrees(), degrees());
  const test::RealPlan real = test::real_rule(sides.source, sides.destination);
  const Summary ours = summarize(plan_reallocation(sides.cluster, sides.source, sides.destination));
  RC_ASSERT(ours.bytes <= real.received);
  RC_ASSERT(ours.max_received <= real.max_received);
  RC_ASSERT(ours.bytes_between <= real.between);
}

}  // namespace
}  // namespace dovetail::realloc
