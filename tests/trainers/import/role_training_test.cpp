#include "trainers/import/role_training.h"

#include <gtest/gtest.h>

#include <optional>

namespace dovetail::trainers {
namespace {

TEST(NamedBits, AreReadFromTheEndOfAPath) {
  EXPECT_EQ(named_bits("fp8"), 8);
  EXPECT_EQ(named_bits("fp8_e5m2"), 8);
  EXPECT_EQ(named_bits("/models/Qwen3-8B-FP8/"), 8);
  EXPECT_EQ(named_bits("Qwen/Qwen3-8B-AWQ"), 4);
  EXPECT_EQ(named_bits("/root/Qwen3-30B-A3B-INT4/"), 4);
  EXPECT_EQ(named_bits("Qwen2.5-7B-Instruct-GPTQ-Int8"), 8) << "the name states the bits";
  EXPECT_EQ(named_bits("w4afp8"), 4);
  EXPECT_EQ(named_bits("modelopt_fp4"), 4);
}

TEST(NamedBits, AreAbsentInOtherNames) {
  for (const char* const name : {"", "/", "bfloat16", "torchao", "Qwen3-8B", "/data/checkpoint400/Qwen3-8B",
                                 "/data/fp8-runs/Qwen3-8B", "Qwen3-int4ever"})
    EXPECT_EQ(named_bits(name), std::nullopt) << name;
}

}  // namespace
}  // namespace dovetail::trainers
