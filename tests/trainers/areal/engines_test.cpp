#include "trainers/areal/engines.h"

#include <gtest/gtest.h>

#include <string_view>

namespace dovetail::trainers {
namespace {

ArealAllocation allocated(std::string_view text) {
  const auto read = parse_areal_backend(text);
  EXPECT_TRUE(read.ok()) << text << (read.ok() ? "" : base::to_text(read.error()));
  return read.ok() ? *read : ArealAllocation{};
}

TEST(ArealAllocationText, HasBackendAndDegreesInAnyOrder) {
  const ArealAllocation megatron = allocated("megatron:d2p3t4c5e2");
  EXPECT_EQ(megatron, (ArealAllocation{.backend = "megatron",
                                       .name = {},
                                       .data = 2,
                                       .tensor = 4,
                                       .pipeline = 3,
                                       .context = 5,
                                       .expert = 2,
                                       .expert_tensor = 1}));
  EXPECT_EQ(megatron.devices(), 120);
  EXPECT_EQ(allocated(" sglang : t2 d4 ").devices(), 8);
  EXPECT_EQ(allocated("fsdp[actor]:d4").name, "actor");
  EXPECT_EQ(allocated("vllm:d1p1t2").tensor, 2);
  EXPECT_EQ(allocated("archon:d8").backend, "archon");
}

TEST(ArealAllocationText, FoldsExpertsOntoTheGpusOfAttention) {
  for (const char* text : {"megatron:(attn:d4p2t2c2|ffn:d2p2t4e2)", "megatron:attn:d4p2t2c2|ffn:p2t4e2",
                           "megatron:(attn:d4p2t2c2|ffn:t4e2)"}) {
    const ArealAllocation folded = allocated(text);
    EXPECT_EQ(folded.devices(), 32) << text;
    EXPECT_EQ(folded.expert, 2) << text;
    EXPECT_EQ(folded.expert_tensor, 4) << text;
    EXPECT_EQ(folded.tensor, 2) << text;
  }
  EXPECT_EQ(allocated("megatron:(attn:d1p12t4|ffn:d1p12e4)").expert_tensor, 1);
}

TEST(ArealAllocationText, RejectsInvalidStrings) {
  for (const char* wrong : {"",
                            "d4",
                            "fsdp",
                            "fsdp:",
                            "fsdp:4",
                            "fsdp:d",
                            "fsdp:d0",
                            "fsdp:d4x2",
                            "fsdp:d4p2",
                            "fsdp:d4e2",
                            "sglang:d4c2",
                            "sglang:d4e2",
                            "sglang.d4",
                            "sglang:d4+fsdp:d4",
                            "tgi:d4",
                            "megatron:d2e4",
                            "megatron:(attn:d4|ffn:e3)",
                            "megatron:(attn:d4p2|ffn:d2p4)",
                            "megatron:(attn:d4p2|ffn:d4p2e2)",
                            "megatron:(attn:d4|ffn:e4",
                            "megatron:(attn:d4e2|ffn:e4)",
                            "fsdp:d99999999999999999999",
                            "megatron:d65536t65536p65536c65536",
                            "fsdp[actor:d4",
                            "[actor]:d4",
                            "fsdp:m4"}) {
    const auto read = parse_areal_backend(wrong);
    ASSERT_FALSE(read.ok()) << wrong;
    EXPECT_NE(read.error().message.find("accepted: BACKEND:DEGREES"), std::string::npos) << read.error().message;
  }
}

TEST(ArealAllocationText, AcceptsEveryVersionOfOneStringForAllEngines) {
  struct Case {
    const char* text;
    const char* trains;
    int rollout;
    int actor;
    bool colocated;
  };
  for (const Case& each :
       {Case{"sglang.d4p1t1+d4p1t1", "fsdp", 4, 4, false}, Case{"sglang:d4+d2p2", "megatron", 4, 4, false},
        Case{"sglang.d4p1m1+d2p2m2", "megatron", 4, 8, false}, Case{"vllm:d4t2 + archon:d8", "archon", 8, 8, false},
        Case{"fsdp:d2+sglang:d6", "fsdp", 6, 2, false}, Case{"sglang:d4|fsdp[actor]:d4", "fsdp", 4, 4, true},
        Case{"sglang:d4t8+megatron:(attn:d1p12t4|ffn:d1p12e4)", "megatron", 32, 48, false},
        Case{"sglang.d2t4+attn:d4p2|ffn:e4", "megatron", 8, 8, false}}) {
    const auto read = parse_areal_mode(each.text);
    ASSERT_TRUE(read.ok()) << each.text << base::to_text(read.error());
    EXPECT_EQ(read->actor.backend, each.trains) << each.text;
    EXPECT_EQ(read->rollout.devices(), each.rollout) << each.text;
    EXPECT_EQ(read->actor.devices(), each.actor) << each.text;
    EXPECT_EQ(read->colocated, each.colocated) << each.text;
  }
  for (const char* wrong : {"sglang:d4", "d8p1t1", "sglang:d4+eval", "sglang:d4+fsdp:d2+fsdp:d2", "sglang:d4|fsdp:d2",
                            "sglang:d4+vllm:d4", "sglang:d4+", "+", "sglang:d4,fsdp:d4"})
    EXPECT_FALSE(parse_areal_mode(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace dovetail::trainers
