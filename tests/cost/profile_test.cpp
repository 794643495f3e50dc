// Measured layers that replace the roofline.
#include "cost/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "cost/clusters.h"
#include "cost/generation.h"
#include "cost/passes.h"
#include "cost/training.h"
#include "llm/bundled_models.h"

namespace dovetail::cost {
namespace {

using testing::HasSubstr;

Machine test_machine() { return test::h100_machine(1); }

const ModelFacts& bare_facts() {
  static const ModelFacts facts = test::facts_of_bundled("llama-2-7b");
  return facts;
}

constexpr StageLayers one_layer{1, 0, false, false};

/// Returns one layer's computation by the roofline.
double roofline_layer(bool backward, double tokens, double length, int tensor) {
  llm::Layout layout;
  layout.tensor = tensor;
  const llm::Tokens micro_batch{tokens, tokens * length};
  const auto pass = backward ? backward_pass : forward_pass;
  return pass(bare_facts(), layout, one_layer, micro_batch, test_machine(), {}).compute;
}

/// Returns a profile generated from the roofline, `factor` times as slow.
ModelFacts profiled_facts(double factor, int tensor) {
  LayerProfile layer;
  layer.gpu = "H100-80";
  layer.model = bare_facts().model;
  layer.tensor = tensor;
  llm::Layout layout;
  layout.tensor = tensor;
  for (const double length : {512.0, 1024.0, 4096.0}) {
    ProfileCurve forward{length, {}};
    ProfileCurve backward{length, {}};
    for (const double tokens : {1024.0, 4096.0, 65536.0}) {
      forward.points.push_back({tokens, factor * roofline_layer(false, tokens, length, tensor)});
      backward.points.push_back({tokens, factor * roofline_layer(true, tokens, length, tensor)});
    }
    layer.forward.push_back(forward);
    layer.backward.push_back(backward);
  }
  for (const double context : {128.0, 4096.0}) {
    ProfileCurve curve{context, {}};
    for (const double sequences : {1.0, 64.0, 256.0})
      curve.points.push_back(
          {sequences, factor * decode_step_seconds(bare_facts(), layout, sequences, context, test_machine(), {})});
    layer.decode.push_back(curve);
  }
  ModelFacts facts = bare_facts();
  facts.profiles = profiles_of({"roofline", {layer}, {}}, facts.model, 2);
  return facts;
}

RC_GTEST_PROP(Profile, AProfileOfTheRooflineGivesTheRoofline, ()) {
  const int tensor = *rc::gen::element(1, 2, 8);
  const double tokens = *rc::gen::inRange(1, 200'000);
  const double length = *rc::gen::inRange(1, 20'000);
  llm::Layout layout;
  layout.tensor = tensor;
  layout.recomputation = *rc::gen::element(llm::Recomputation::none, llm::Recomputation::full);
  const StageLayers stage{16, 0, true, *rc::gen::arbitrary<bool>()};
  const llm::Tokens micro_batch{tokens, tokens * length};
  const ModelFacts facts = profiled_facts(1, tensor);
  const PassSeconds forward = forward_pass(facts, layout, stage, micro_batch, test_machine(), {});
  const PassSeconds backward = backward_pass(facts, layout, stage, micro_batch, test_machine(), {});
  const double expected_forward = forward_pass(bare_facts(), layout, stage, micro_batch, test_machine(), {}).sum();
  const double expected_backward = backward_pass(bare_facts(), layout, stage, micro_batch, test_machine(), {}).sum();
  RC_ASSERT(std::abs(forward.sum() - expected_forward) <= 1e-9 * expected_forward);
  RC_ASSERT(std::abs(backward.sum() - expected_backward) <= 1e-9 * expected_backward);
}

TEST(Profile, TwiceAsSlowDoublesTheComputation) {
  llm::Layout layout;
  layout.tensor = 2;
  const StageLayers stage{16, 0, false, false};
  for (const double tokens : {100.0, 3000.0, 500'000.0}) {
    const llm::Tokens micro_batch{tokens, tokens * 700};
    const PassSeconds slow = backward_pass(profiled_facts(2, 2), layout, stage, micro_batch, test_machine(), {});
    const PassSeconds usual = backward_pass(bare_facts(), layout, stage, micro_batch, test_machine(), {});
    EXPECT_NEAR(slow.compute, 2 * usual.compute, 1e-9 * usual.compute);
    EXPECT_EQ(slow.communication, usual.communication);
  }
  for (const double sequences : {1.0, 64.0, 1000.0})
    for (const double context : {16.0, 128.0, 4096.0, 100'000.0}) {
      const double usual = decode_step_seconds(bare_facts(), layout, sequences, context, test_machine(), {});
      EXPECT_NEAR(decode_step_seconds(profiled_facts(2, 2), layout, sequences, context, test_machine(), {}), 2 * usual,
                  1e-9 * usual);
    }
}

TEST(Profile, AppliesOnlyToItsGpuDegreeAndShape) {
  const ModelFacts facts = profiled_facts(3, 2);
  const llm::Tokens micro_batch{4096, 4096.0 * 1024};
  const auto forward = [&](const ModelFacts& of, const llm::Layout& layout, const Machine& machine) {
    return forward_pass(of, layout, one_layer, micro_batch, machine, {}).sum();
  };
  llm::Layout layout;
  layout.tensor = 4;
  EXPECT_EQ(forward(facts, layout, test_machine()), forward(bare_facts(), layout, test_machine()));
  layout.tensor = 2;
  EXPECT_GT(forward(facts, layout, test_machine()), forward(bare_facts(), layout, test_machine()));
  Machine other = test_machine();
  other.gpu.name = "mine";
  EXPECT_EQ(forward(facts, layout, other), forward(bare_facts(), layout, other));
  layout.context = 2;
  EXPECT_EQ(forward(facts, layout, test_machine()), forward(bare_facts(), layout, test_machine()));

  const llm::Transformer critic = llm::with_scalar_head(bare_facts().model);
  const std::vector<LayerProfile> of_critic = profiles_of({"", facts.profiles, {}}, critic, 2);
  ASSERT_EQ(of_critic.size(), 1U);
  EXPECT_TRUE(of_critic[0].decode.empty()) << "a different head makes a different model";
  EXPECT_TRUE(profiles_of({"", facts.profiles, {}}, llm::find_bundled_model("llama-2-13b").value(), 2).empty());
}

TEST(Profile, InterpolatesBetweenPoints) {
  const ProfileTable table{{100, {{10, 1}, {20, 3}}}, {300, {{10, 5}, {20, 7}, {40, 11}}}};
  const auto never = [](double, double) -> double { return 0; };
  EXPECT_EQ(profiled_seconds(table, 10, 100, never), 1);
  EXPECT_EQ(profiled_seconds(table, 15, 100, never), 2);
  EXPECT_EQ(profiled_seconds(table, 15, 200, never), 4);
  EXPECT_EQ(profiled_seconds(table, 30, 300, never), 9);
  const auto product = [](double amount, double length) { return amount * length; };
  EXPECT_EQ(profiled_seconds(table, 40, 100, product), 6);
  EXPECT_EQ(profiled_seconds(table, 5, 100, product), 0.5);
  EXPECT_EQ(profiled_seconds(table, 40, 600, product), 22);
  EXPECT_TRUE(is_within(table, 15, 200));
  EXPECT_FALSE(is_within(table, 40, 200));
  EXPECT_TRUE(is_within(table, 40, 300));
  EXPECT_FALSE(is_within(table, 15, 99));
  EXPECT_FALSE(is_within({}, 15, 99));
}

constexpr const char* file = R"(format: dovetail/profile@1
name: mine
layers:
  - model: llama-2-7b
    gpu: A100
    tensor: 2
    forward:
      - {length: 2048, tokens: [2048, 4096], seconds: [0.001, 0.002]}
      - {length: 1024, tokens: [1024], seconds: [0.0005]}
    decode: [{context: 512, sequences: [1, 64], seconds: [0.01, 0.012]}]
)";

TEST(ProfileFile, ParsesAllKeys) {
  const Profile profile = parse_profile(file, "profile.yaml").value();
  EXPECT_EQ(profile.name, "mine");
  ASSERT_EQ(profile.layers.size(), 1U);
  EXPECT_EQ(profile.layers[0].gpu, "A100-80");
  EXPECT_EQ(profile.layers[0].tensor, 2);
  EXPECT_FALSE(profile.layers[0].with_experts);
  const ProfileTable sorted{{1024, {{1024, 0.0005}}}, {2048, {{2048, 0.001}, {4096, 0.002}}}};
  EXPECT_EQ(profile.layers[0].forward, sorted);
  EXPECT_TRUE(profile.layers[0].backward.empty());
  EXPECT_EQ(profile.layers[0].decode, (ProfileTable{{512, {{1, 0.01}, {64, 0.012}}}}));
}

/// Returns the error of the file with `from` replaced by `to`.
std::string error_with(const std::string& from, const std::string& to) {
  std::string text = file;
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  const auto read = parse_profile(text.replace(place, from.size(), to), "profile.yaml");
  return read.ok() ? "" : base::to_text(read.error());
}

TEST(ProfileFile, ErrorsHaveLineAndColumn) {
  EXPECT_THAT(error_with("profile@1", "profile@3"), HasSubstr("profile.yaml:1:9: `format` is"));
  EXPECT_THAT(error_with("    tensor: 2\n", "    optimizer: 1GB/s\n"), HasSubstr("unknown key `optimizer`"))
      << "not in the first version";
  EXPECT_THAT(error_with("tensor: 2", "tensors: 2"), HasSubstr("profile.yaml:6:5: unknown key `tensors`"));
  EXPECT_THAT(error_with("tensor: 2", "tensor: 0"), HasSubstr("profile.yaml:6:13: `tensor`"));
  EXPECT_THAT(error_with("llama-2-7b", "llama-2-7c"), HasSubstr("profile.yaml:4:12: "));
  EXPECT_THAT(error_with("[2048, 4096]", "[4096, 2048]"),
              HasSubstr("profile.yaml:8:39: `tokens` must be in ascending order"));
  EXPECT_THAT(error_with("[2048, 4096]", "[2048]"),
              HasSubstr("the number of values is 1 in `tokens` and 2 in `seconds`"));
  EXPECT_THAT(error_with("0.001,", "-1,"), HasSubstr("`seconds` must be a number"));
  EXPECT_THAT(error_with("length: 1024", "length: 2048"), HasSubstr("profile.yaml:9:9: length 2048 appears twice"));
  EXPECT_THAT(error_with("    tensor: 2\n", "    experts: true\n"),
              HasSubstr("profile.yaml:6:14: `experts` is true, but the model has no experts"));
  EXPECT_THAT(error_with("layers:", "layers: []\nlayer:"), HasSubstr("unknown key `layer`"));
}

constexpr const char* second_file = R"(format: dovetail/profile@2
name: mine
layers:
  - model: llama-2-7b
    gpu: H100
    precision: fp32
    forward: [{length: 1024, tokens: [1024], seconds: [0.001]}]
    backward: [{length: 1024, tokens: [1024], seconds: [0.002]}]
    embedding: {tokens: [1024], forward: [0.0001], backward: [0.0002]}
    head: {tokens: [1024, 2048], forward: [0.01, 0.03], backward: [0.02, 0.06]}
    optimizer: 60GB/s
links:
  - {bytes: [1000, 1000000], seconds: [0.001, 0.003]}
  - {work: all_reduce, ranks: 4, bytes: [1000], seconds: [0.006]}
cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}
)";

std::string second_error_with(const std::string& from, const std::string& to) {
  std::string text = second_file;
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  const auto read = parse_profile(text.replace(place, from.size(), to), "profile.yaml");
  return read.ok() ? "" : base::to_text(read.error());
}

TEST(ProfileFile, SecondVersionHasEndsOptimizerAndLinks) {
  const Profile profile = parse_profile(second_file, "profile.yaml").value();
  const LayerProfile& layer = profile.layers.at(0);
  EXPECT_EQ(layer.element_bytes, 4);
  EXPECT_EQ(layer.embedding, (EndProfile{{{1024, 0.0001}}, {{1024, 0.0002}}}));
  EXPECT_EQ(layer.head, (EndProfile{{{1024, 0.01}, {2048, 0.03}}, {{1024, 0.02}, {2048, 0.06}}}));
  EXPECT_EQ(layer.optimizer_bandwidth, 60e9);
  ASSERT_EQ(profile.links.size(), 2U);
  EXPECT_EQ(profile.links[1].work, LinkWork::all_reduce);
  EXPECT_EQ(profile.links[1].ranks, 4);
}

TEST(ProfileFile, ErrorsOfTheSecondVersionHaveLineAndColumn) {
  EXPECT_THAT(second_error_with("fp32", "fp8"), HasSubstr("profile.yaml:6:16: `precision` is"));
  EXPECT_THAT(second_error_with("60GB/s", "60GB"), HasSubstr("profile.yaml:11:16: `optimizer`"));
  EXPECT_THAT(second_error_with("[1024, 2048]", "[2048, 1024]"), HasSubstr("ascending order"));
  EXPECT_THAT(second_error_with("[0.01, 0.03]", "[0.01]"),
              HasSubstr("the number of values is 2 in `tokens` and 1 in `forward`"));
  EXPECT_THAT(second_error_with(", forward: [0.0001], backward: [0.0002]", ""),
              HasSubstr("`embedding` has no measurements"));
  EXPECT_THAT(second_error_with("work: all_reduce", "work: gossip"), HasSubstr("profile.yaml:14:12: `work`"));
  EXPECT_THAT(second_error_with("ranks: 4", "ranks: 1"), HasSubstr("`ranks`"));
  EXPECT_THAT(second_error_with("work: all_reduce, ranks: 4", "ranks: 3"), HasSubstr("accepted: 2"));
  EXPECT_EQ(second_error_with("1000000]", "1073741824]"), "") << "link messages may be larger than any token count";
  EXPECT_THAT(second_error_with("nodes: 1", "nodes: 0"), HasSubstr("profile.yaml:15:18: "));
}

TEST(Profile, AppliesOnlyToItsPrecision) {
  const Profile profile = parse_profile(second_file, "profile.yaml").value();
  EXPECT_EQ(profiles_of(profile, bare_facts().model, 4).size(), 1U);
  EXPECT_TRUE(profiles_of(profile, bare_facts().model, 2).empty());
  // An item with a precision precedes one without.
  Profile both = profile;
  both.layers.insert(both.layers.begin(), profile.layers[0]);
  both.layers[0].element_bytes.reset();
  const std::vector<LayerProfile> found = profiles_of(both, bare_facts().model, 4);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].element_bytes, 4);
  EXPECT_EQ(profiles_of(both, bare_facts().model, 2).size(), 1U);
}

TEST(Profile, IncludesEmbeddingAndHead) {
  const Profile profile = parse_profile(second_file, "profile.yaml").value();
  ModelFacts facts = bare_facts();
  facts.profiles = profiles_of(profile, facts.model, 4);
  Efficiency efficiency;
  efficiency.slot = 0;
  const auto seconds = [&](const ModelFacts& of, bool backward, bool first, bool last, double tokens) {
    const auto pass = backward ? backward_pass : forward_pass;
    return pass(of, {}, {2, 0, first, last}, {tokens, tokens * 1024}, test_machine(), efficiency).compute;
  };
  EXPECT_DOUBLE_EQ(seconds(facts, false, false, false, 1024), 0.002);
  EXPECT_DOUBLE_EQ(seconds(facts, false, true, true, 1024), 0.0121);
  EXPECT_DOUBLE_EQ(seconds(facts, true, true, true, 1024), 0.0242);
  // Beyond its points the head scales with the tokens.
  EXPECT_DOUBLE_EQ(seconds(facts, false, false, true, 4096) - seconds(facts, false, false, false, 4096), 0.06);
  // A critic has a different head and the same embedding.
  const llm::Transformer critic = llm::with_scalar_head(facts.model);
  ModelFacts of_critic = facts_of(critic);
  of_critic.profiles = profiles_of(profile, critic, 4);
  ASSERT_EQ(of_critic.profiles.size(), 1U);
  EXPECT_TRUE(of_critic.profiles[0].head.forward.empty());
  EXPECT_NEAR(seconds(of_critic, false, true, true, 1024), 0.0021, 1e-6);
}

TEST(Profile, UsesTheMeasuredOptimizerBandwidth) {
  ModelFacts facts = bare_facts();
  llm::Layout layout;
  const auto optimizer = [&] {
    return training_seconds(facts, layout, batch_of(64, workflow::LengthDistribution::fixed(512)), {}, test_machine(),
                            {})
        .optimizer;
  };
  const double roofline = optimizer();
  facts.profiles = profiles_of(parse_profile(second_file, "profile.yaml").value(), facts.model, 4);
  EXPECT_DOUBLE_EQ(optimizer(), static_cast<double>(facts.parameters.all) * 30 / 60e9);
  EXPECT_GT(optimizer(), roofline);
}

TEST(MeasuredLink, RecoversLatencyAndBandwidth) {
  EXPECT_FALSE(measured_link({"none", {}, {}}));
  const double latency = 3e-5;
  const double bandwidth = 2e9;
  const cluster::Links links{{bandwidth, latency, 0}, {bandwidth, latency, 0}};
  LinkProfile messages{LinkWork::message, 2, {}};
  LinkProfile sums{LinkWork::all_reduce, 4, {}};
  for (const double bytes : {1e3, 1e5, 1e7}) {
    messages.points.push_back({bytes, cluster::send_seconds(links.inside, bytes)});
    sums.points.push_back({bytes, cluster::all_reduce_seconds(links, {4, 4}, bytes)});
  }
  const auto link = measured_link({"", {}, {messages, sums}});
  ASSERT_TRUE(link);
  EXPECT_NEAR(link->latency, latency, 1e-3 * latency);
  EXPECT_NEAR(link->bandwidth, bandwidth, 1e-3 * bandwidth);
  // All-reduces replace messages if any were measured.
  for (ProfilePoint& point : messages.points) point.seconds /= 10;
  const auto of_sums = measured_link({"", {}, {messages, sums}});
  ASSERT_TRUE(of_sums);
  EXPECT_NEAR(of_sums->bandwidth, bandwidth, 1e-3 * bandwidth);
  // Messages of one size determine only the bandwidth.
  const auto one = measured_link({"", {}, {{LinkWork::message, 2, {{1e6, 1e-3}}}}});
  ASSERT_TRUE(one);
  EXPECT_NEAR(one->bandwidth, 1e9, 1e3);
  EXPECT_EQ(one->latency, 0);
  for (double seconds = 1e-6; seconds < 1; seconds *= 1.1) {
    const auto alone = measured_link({"", {}, {{LinkWork::message, 2, {{1e6, seconds}}}}});
    ASSERT_TRUE(alone);
    EXPECT_NEAR(alone->bandwidth, 1e6 / seconds, 1e-6 * alone->bandwidth);
  }
  // Noise: a large message no slower than a small one, and a small one that took almost no time.
  const auto flat = measured_link({"", {}, {{LinkWork::message, 2, {{1e3, 1e-3}, {1e6, 0.9e-3}}}}});
  ASSERT_TRUE(flat);
  EXPECT_NEAR(flat->latency, 1e-3, 1e-4);
  EXPECT_GT(flat->bandwidth, 1e12);
  const auto steep = measured_link({"", {}, {{LinkWork::message, 2, {{1e3, 1e-7}, {1e6, 1e-3}}}}});
  ASSERT_TRUE(steep);
  EXPECT_EQ(steep->latency, 0);
  EXPECT_GT(steep->bandwidth, 1e8);
}

}  // namespace
}  // namespace dovetail::cost
