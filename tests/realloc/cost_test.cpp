// The time of a reallocation: known cases, and never less than the lower bound.
#include "realloc/cost.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "llm/bundled_models.h"
#include "llm/counts.h"
#include "realloc/random_sides.h"

namespace dovetail::realloc {
namespace {

using test::cluster_of;
using test::layout_of;
using test::side_of;

cluster::Links links_of(const cluster::Cluster& cluster, const Side& source, const Side& destination) {
  return cluster::links_of(cluster, cluster::hull_of(source.mesh, destination.mesh));
}

TEST(ReallocationSeconds, OneDeviceToAnotherTakesTheTimeOfTheLink) {
  const llm::Transformer model = llm::find_bundled_model("llama-2-7b").value();
  const Side source = side_of(model, {}, 0);
  const Side destination = side_of(model, {}, 1);
  const Plan plan = plan_reallocation(cluster_of(2, 1), source, destination);
  const cluster::Links links{.inside = {.bandwidth = 200e9, .latency = 1e-6, .half_size = 0},
                             .between = {.bandwidth = 20e9, .latency = 1e-5, .half_size = 1e6}};
  const auto bytes = static_cast<double>(2 * llm::count_parameters(model).all);
  const double messages = 201;  // of 64 MiB
  const double link = messages * 1e-5 + (bytes + messages * 1e6) / 20e9;
  const double pieces = 32 * 9 + 3;
  const ReallocationSeconds answer = reallocation_seconds(plan, links, {.seconds_per_block = 1e-6});
  EXPECT_NEAR(answer.seconds, link + pieces * 1e-6, 1e-9);
  EXPECT_NEAR(answer.lower_bound, link, 1e-9);
}

TEST(ReallocationSeconds, NoTransferTakesNoTime) {
  const llm::Transformer model = llm::find_bundled_model("llama-2-7b").value();
  const Side side = side_of(model, layout_of(2, 2, 2), 0);
  const cluster::Cluster cluster = cluster_of(1, 8);
  const ReallocationSeconds answer =
      reallocation_seconds(plan_reallocation(cluster, side, side), links_of(cluster, side, side));
  EXPECT_EQ(answer.seconds, 0);
  EXPECT_EQ(answer.lower_bound, 0);
  EXPECT_EQ(answer.gap(), 0);
}

TEST(ReallocationSeconds, IsNearTheBoundForCommonLayouts) {
  const llm::Transformer model = llm::find_bundled_model("llama-2-70b").value();
  llm::Layout sharded = layout_of(16, 8, 1);
  sharded.zero = 3;
  const struct {
    const char* name;
    Side source;
    Side destination;
  } cases[] = {
      {"tp8 pp4 to tp8", side_of(model, layout_of(4, 8, 4), 0), side_of(model, layout_of(16, 8, 1), 0)},
      {"tp8 pp8 to tp4 pp2", side_of(model, layout_of(2, 8, 8), 0), side_of(model, layout_of(16, 4, 2), 0)},
      {"tp8 pp16 to dp128", side_of(model, layout_of(1, 8, 16), 0), side_of(model, layout_of(128, 1, 1), 0)},
      {"zero 3 to tp4", side_of(model, sharded, 0), side_of(model, layout_of(32, 4, 1), 0)},
      {"tp8 pp8 to other nodes", side_of(model, layout_of(1, 8, 8), 0), side_of(model, layout_of(8, 8, 1), 64)},
      {"tp8 to 15 other nodes", side_of(model, layout_of(1, 8, 1), 0), side_of(model, layout_of(15, 8, 1), 8)},
      {"tp1 to 15 other nodes", side_of(model, layout_of(1, 1, 1), 0), side_of(model, layout_of(15, 8, 1), 8)},
      {"tp8 pp2 to tp4 pp4", side_of(model, layout_of(1, 8, 2), 0), side_of(model, layout_of(1, 4, 4), 0)},
      {"tp8 to dp8 in a node", side_of(model, layout_of(1, 8, 1), 0), side_of(model, layout_of(8, 1, 1), 0)},
      {"tp2 dp4 to tp8 in a node", side_of(model, layout_of(4, 2, 1), 0), side_of(model, layout_of(1, 8, 1), 0)}};
  const cluster::Cluster cluster = cluster_of(16, 8);
  for (const auto& each : cases) {
    const Plan plan = plan_reallocation(cluster, each.source, each.destination);
    const ReallocationSeconds answer =
        reallocation_seconds(plan, links_of(cluster, each.source, each.destination), {.seconds_per_block = 0});
    RecordProperty(each.name, std::to_string(answer.gap()));
    EXPECT_LT(answer.gap(), 0.12) << each.name << ": " << answer.seconds << " s, bound " << answer.lower_bound;
  }
}

RC_GTEST_PROP(ReallocationSeconds, NeverBeatTheirBound, ()) {
  const test::Case made = test::random_case(32);
  PlanOptions options;
  options.min_share = *rc::gen::element<std::int64_t>(1, 64, 4096);
  options.bucket = *rc::gen::element<std::int64_t>(1, 100, 10'000);
  const Plan plan = plan_reallocation(made.cluster, made.source, made.destination, options);
  const auto link = [] {
    return cluster::Link{.bandwidth = static_cast<double>(*rc::gen::inRange(1, 100)),
                         .latency = *rc::gen::inRange(0, 5) * 0.1,
                         .half_size = static_cast<double>(*rc::gen::inRange(0, 100))};
  };
  const cluster::Links links{.inside = link(), .between = link()};
  const ReallocationSeconds answer =
      reallocation_seconds(plan, links, {.seconds_per_block = *rc::gen::inRange(0, 2) * 0.01});
  RC_ASSERT(answer.seconds >= answer.lower_bound * (1 - 1e-12));
  RC_ASSERT(min_bytes_between(plan) == summarize(plan).bytes_between);
}

}  // namespace
}  // namespace dovetail::realloc
