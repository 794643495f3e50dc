#include "cluster/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dovetail::cluster {
namespace {

using testing::ElementsAre;

TEST(FindGpu, FindsCommonNames) {
  EXPECT_THAT(gpu_names(), ElementsAre("A100-40", "A100-80", "A800-80", "H100-80", "H800-80", "H200", "H20-96", "B200",
                                       "GB200", "L40S", "RTX-4090", "A6000-48", "V100-32", "MI300X"));
  for (const std::string_view name : gpu_names()) EXPECT_EQ(find_gpu(name)->name, name);
}

TEST(FindGpu, IgnoresSpellingVariants) {
  for (const char* name : {"H100-80", "H100", "h100", "h100 80gb", "H100-80GB", "h100_sxm"})
    EXPECT_EQ(find_gpu(name)->name, "H100-80") << name;
  for (const char* name : {"A100", "a100-80", "A100_80GB"}) EXPECT_EQ(find_gpu(name)->name, "A100-80") << name;
  EXPECT_EQ(find_gpu("a100-40gb")->name, "A100-40");
  EXPECT_EQ(find_gpu("4090")->name, "RTX-4090");
  EXPECT_EQ(find_gpu("rtx4090")->name, "RTX-4090");
  EXPECT_EQ(find_gpu("RTX A6000")->name, "A6000-48");
  EXPECT_EQ(find_gpu("h20")->name, "H20-96");
  EXPECT_EQ(find_gpu("v100")->name, "V100-32");
}

TEST(FindGpu, SuggestsTheNearest) {
  const std::string accepted =
      "accepted: A100-40, A100-80, A800-80, H100-80, H800-80, H200, H20-96, B200, GB200, L40S, RTX-4090, A6000-48, "
      "V100-32, MI300X";
  EXPECT_EQ(find_gpu("mi300").error().message, "unknown GPU `mi300`; did you mean `MI300X`? " + accepted);
  EXPECT_EQ(find_gpu("v100-16").error().message, "unknown GPU `v100-16`; did you mean `V100-32`? " + accepted);
  EXPECT_EQ(find_gpu("TPU").error().message, "unknown GPU `TPU`; " + accepted);
  EXPECT_EQ(find_gpu("").error().message, "unknown GPU ``; " + accepted);
  EXPECT_EQ(find_gpu("gb").error().message, "unknown GPU `gb`; " + accepted);
}

TEST(FindGpu, HasPublishedSpecifications) {
  const Gpu h100 = find_gpu("H100").value();
  EXPECT_EQ(h100.memory, 85'520'809'984) << "81559 MiB";
  EXPECT_EQ(h100.usable_memory, 84'178'632'704) << "78.4 GiB";
  EXPECT_EQ(h100.memory_bandwidth, 3.35e12);
  EXPECT_EQ(h100.bf16, 989e12);
  EXPECT_EQ(h100.fp16, 989e12);
  EXPECT_EQ(h100.fp8, 1979e12);
  EXPECT_EQ(h100.link_bandwidth, 450e9);
  EXPECT_EQ(h100.host_bandwidth, 64e9);
  EXPECT_EQ(h100.network_bandwidth, 50e9);
  EXPECT_EQ(find_gpu("A100")->network_bandwidth, 25e9);
  EXPECT_EQ(find_gpu("A100")->fp8, 0);
  EXPECT_EQ(find_gpu("V100")->bf16, 0);
}

TEST(FindGpu, SpecificationsArePlausible) {
  for (const std::string_view name : gpu_names()) {
    const Gpu gpu = find_gpu(name).value();
    EXPECT_GT(gpu.memory, std::int64_t{20} << 30) << name;
    EXPECT_LT(gpu.usable_memory, gpu.memory) << name;
    EXPECT_GT(gpu.usable_memory, gpu.memory / 10 * 9) << name;
    EXPECT_GT(gpu.fp16, 100e12) << name;
    EXPECT_TRUE(gpu.bf16 == gpu.fp16 || gpu.bf16 == 0) << name;
    EXPECT_TRUE(gpu.fp8 == 0 || (gpu.fp8 > 1.99 * gpu.bf16 && gpu.fp8 < 2.03 * gpu.bf16))
        << name << ": dense, twice as fast as bf16";
    EXPECT_GE(gpu.link_bandwidth, gpu.network_bandwidth) << name;
    EXPECT_GE(gpu.host_bandwidth, gpu.network_bandwidth) << name << ": network cards use PCIe, too";
    EXPECT_GT(gpu.memory_bandwidth, gpu.link_bandwidth) << name;
  }
}

TEST(UsableOf, KeepsAtLeastHalf) {
  EXPECT_EQ(usable_of(std::int64_t{80} << 30), std::int64_t{80 * 1024 - 1280} << 20);
  EXPECT_EQ(usable_of(1000), 500);
  EXPECT_EQ(usable_of(1), 0);
}

}  // namespace
}  // namespace dovetail::cluster
