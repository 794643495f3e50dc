#include "runtime/profile/measured_times.h"

#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <thread>

#include "cost/profile.h"
#include "runtime/model/device.h"
#include "runtime/profile/profile_command.h"
#include "transport/threads.h"

namespace dovetail::runtime {
namespace {

using namespace std::chrono_literals;

TEST(MachineTimes, ArePlausible) {
  const RankSpeed speed = measure_speed();
  EXPECT_GT(speed.bytes_per_second, 1e7);
  EXPECT_GT(speed.flops_per_second, 1e7);
}

TEST(MachineTimes, LinksUseTheSameWorkOnAllRanks) {
  for (const int ranks : {2, 3}) {
    const auto ends = transport::connect_threads(ranks);
    std::vector<std::vector<cost::LinkProfile>> found(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < found.size(); ++rank)
      threads.emplace_back([&, rank] {
        const auto links = measure_links(*ends[rank], 7, 60s);
        EXPECT_TRUE(links.ok()) << links.error().message;
        if (links.ok()) found[rank] = *links;
      });
    for (std::thread& thread : threads) thread.join();
    const std::vector<cost::LinkProfile>& links = found.front();
    ASSERT_EQ(links.size(), 2U);
    EXPECT_EQ(links[0].work, cost::LinkWork::message);
    EXPECT_EQ(links[1].ranks, ranks);
    EXPECT_EQ(links[0].points.size(), links[1].points.size());
    for (const cost::LinkProfile& link : links)
      for (const cost::ProfilePoint& point : link.points) EXPECT_GT(point.seconds, 0);
    EXPECT_TRUE(cost::measured_link({"", {}, links}));
  }
}

TEST(MachineTimes, OneRankHasNoLinks) {
  const auto end = transport::connect_threads(1);
  EXPECT_TRUE(measure_links(*end.front(), 0, 1s)->empty());
}

llm::Transformer small_shape() {
  llm::Transformer shape;
  shape.layers = 5;
  shape.hidden = 32;
  shape.heads = 2;
  shape.key_value_heads = 2;
  shape.head_size = 16;
  shape.width = 64;
  shape.vocabulary = 50;
  shape.positions = 128;
  return shape;
}

cost::LayerProfile measured() {
  const c10::InferenceMode no_autograd;
  use_threads(1);
  const auto profile = measure_model(small_shape(), {}, {{16, 64}, {1, 8}, 0.5, {1, 4}, {16}});
  EXPECT_TRUE(profile.ok()) << profile.error().message;
  return profile.ok() ? *profile : cost::LayerProfile();
}

TEST(ModelTimes, HaveAPointPerGridCell) {
  const cost::LayerProfile profile = measured();
  ASSERT_EQ(profile.forward.size(), 2U);
  ASSERT_EQ(profile.backward.size(), 2U);
  EXPECT_EQ(profile.forward[1].length, 64);
  EXPECT_EQ(profile.forward[1].points.back().amount, 512);
  ASSERT_EQ(profile.decode.size(), 1U);
  EXPECT_EQ(profile.decode[0].points[1].amount, 4);
  EXPECT_EQ(profile.head.forward.size(), 2U);
  EXPECT_EQ(profile.embedding.backward.size(), 2U);
  EXPECT_GT(profile.optimizer_bandwidth, 1e6);
  EXPECT_EQ(profile.element_bytes, 4);
  // Thirty-two times as many tokens take longer, whatever the load of the machine.
  for (const cost::ProfileTable* const table : {&profile.forward, &profile.backward})
    EXPECT_GT((*table)[1].points.back().seconds, (*table)[0].points.front().seconds);
}

TEST(ModelTimes, AModelThatDoesNotGenerateHasNoDecodeSteps) {
  const c10::InferenceMode no_autograd;
  const auto profile = measure_model(small_shape(), {}, {{16}, {1}, 1.0, {}, {}});
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_TRUE(profile->decode.empty());
}

TEST(ProfileText, RoundTrips) {
  MeasuredMachine machine;
  machine.profile = {"mine", {measured()}, {{cost::LinkWork::message, 2, {{1024, 1e-5}, {1 << 20, 1e-3}}}}};
  machine.computations = {llm::Computation()};
  machine.gpu = "CPU";
  machine.ranks = 2;
  machine.memory = std::int64_t{8} << 30;
  machine.speed = {2e10, 1e11};
  const auto read = cost::parse_profile(profile_text(machine), "profile.json");
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  const cost::LayerProfile& layer = read->layers.at(0);
  const cost::LayerProfile& was = machine.profile.layers[0];
  EXPECT_EQ(layer.gpu, "CPU");
  EXPECT_EQ(layer.element_bytes, 4);
  EXPECT_EQ(layer.model.layers, 5);
  EXPECT_EQ(layer.model.vocabulary, 50);
  ASSERT_EQ(layer.forward.size(), was.forward.size());
  EXPECT_NEAR(layer.forward[1].points[1].seconds, was.forward[1].points[1].seconds,
              1e-3 * was.forward[1].points[1].seconds);
  EXPECT_EQ(layer.decode.size(), was.decode.size());
  EXPECT_EQ(layer.head.backward.size(), was.head.backward.size());
  EXPECT_EQ(read->links.at(0).points.at(1).seconds, 1e-3);
}

}  // namespace

}  // namespace dovetail::runtime
