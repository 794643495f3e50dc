// The precedences that a walk keeps: few, and at most two on each side. The walk's own tests check that the times are
// the same.
#include "fuse/search/walk_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using pipeline::OpGraph;

OpGraph graph_of(const pipeline::Problem& problem) {
  return pipeline::lower(problem, pipeline::BackwardForm::split).graph;
}

/// Returns names such as "F0>F1", from the ops' kinds and stages.
std::vector<std::string> names_of(const WalkGraph& walk, const OpGraph& graph) {
  const auto name = [&](std::int32_t op) {
    const pipeline::OpLabel& label = graph.labels[static_cast<std::size_t>(op)];
    return pipeline::letter_of(label.kind) + std::to_string(label.stage.value);
  };
  std::vector<std::string> names;
  for (const WalkEdge& edge : walk.edges) names.push_back(name(edge.before) + ">" + name(edge.after));
  return names;
}

TEST(WalkGraph, OmitsTheForwardOfABackwardThatWaitsForTheNextStage) {
  const OpGraph graph = graph_of(test::problem_of(3, {test::chain_model("a", {0, 1, 2}, 1, 1, 2)}));
  const WalkGraph walk = walk_graph(graph);
  EXPECT_EQ(walk.nodes, 6);
  EXPECT_THAT(names_of(walk, graph), testing::UnorderedElementsAre("F0>F1", "F1>F2", "F2>B2", "B2>B1", "B1>B0"));
}

TEST(WalkGraph, KeepsAnEdgeLongerThanItsDetour) {
  const auto with_lag = [](std::int64_t lag) {
    const OpGraph made = graph_of(test::problem_of(3, {test::chain_model("a", {0, 1, 2}, 1, 1, 2)}));
    const auto op = [&](pipeline::OpKind kind, std::int32_t stage) {
      for (std::size_t i = 0; i < made.size(); ++i)
        if (made.labels[i].kind == kind && made.labels[i].stage.value == stage) return pipeline::OpId(i);
      return pipeline::OpId(0);
    };
    const pipeline::Precedence longer{op(pipeline::OpKind::F, 0), op(pipeline::OpKind::F, 2), base::Ticks(lag)};
    return pipeline::with_predecessors(made, {&longer, 1});
  };
  const auto keeps_edge = [](const OpGraph& made) {
    const auto names = names_of(walk_graph(made), made);
    return std::find(names.begin(), names.end(), "F0>F2") != names.end();
  };
  EXPECT_FALSE(keeps_edge(with_lag(0)));
  EXPECT_FALSE(keeps_edge(with_lag(1))) << "F1 takes as long";
  EXPECT_TRUE(keeps_edge(with_lag(2)));
}

RC_GTEST_PROP(WalkGraph, HasAtMostTwoEdgesOnASideAndOneLagFirst, ()) {
  const OpGraph graph = graph_of(*test::problems());
  const WalkGraph walk = walk_graph(graph);
  RC_ASSERT(walk.nodes >= static_cast<std::int32_t>(graph.size()));
  RC_ASSERT(std::is_sorted(walk.edges.begin(), walk.edges.end(),
                           [](const WalkEdge& a, const WalkEdge& b) { return a.lag > b.lag; }));
  std::map<std::int32_t, std::vector<std::int64_t>> before;
  std::map<std::int32_t, std::vector<std::int64_t>> after;
  for (const WalkEdge& edge : walk.edges) {
    after[edge.before].push_back(edge.lag);
    before[edge.after].push_back(edge.lag);
  }
  for (const auto& side : {before, after})
    for (const auto& [node, lags] : side) {
      RC_ASSERT(lags.size() <= 2U);
      if (lags.size() == 2) RC_ASSERT(lags[1] == 0);
    }
}

}  // namespace
}  // namespace dovetail::fuse
