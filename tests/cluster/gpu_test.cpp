#include "cluster/gpu.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

namespace dovetail::cluster {
namespace {

TEST(FindGpu, FindsCommonNames) {
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

TEST(FindGpu, AcceptsTheNamesOfNvidiaSmi) {
  const std::pair<const char*, const char*> names[] = {
      {"NVIDIA A100-SXM4-40GB", "A100-40"},
      {"NVIDIA A100-SXM4-80GB", "A100-80"},
      {"NVIDIA A100 80GB PCIe", "A100-PCIe"},
      {"NVIDIA A800-SXM4-80GB", "A800-80"},
      {"NVIDIA H100 80GB HBM3", "H100-80"},
      {"NVIDIA H100 PCIe", "H100-PCIe"},
      {"NVIDIA H200", "H200"},
      {"NVIDIA H20", "H20-96"},
      {"NVIDIA H20-3e", "H20-141"},
      {"NVIDIA GH200 480GB", "GH200"},
      {"NVIDIA GB200", "GB200"},
      {"NVIDIA B300 SXM6 AC", "B300"},
      {"NVIDIA L4", "L4"},
      {"NVIDIA A10", "A10"},
      {"NVIDIA GeForce RTX 5090", "RTX-5090"},
      {"NVIDIA RTX A6000", "A6000-48"},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000"},
      {"Tesla V100-SXM2-32GB", "V100-32"},
      {"AMD Instinct MI300X", "MI300X"},
  };
  for (const auto& [printed, name] : names) EXPECT_EQ(find_gpu(printed)->name, name) << printed;
}

TEST(FindGpu, SuggestsTheNearest) {
  const std::string accepted = fmt::format("accepted: {}", fmt::join(gpu_names(), ", "));
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
    EXPECT_GT(gpu.fp16, 50e12) << name;
    EXPECT_TRUE(gpu.bf16 == gpu.fp16 || gpu.bf16 == 0) << name;
    EXPECT_TRUE(gpu.fp8 == 0 || (gpu.fp8 > 1.99 * gpu.bf16 && gpu.fp8 < 2.03 * gpu.bf16))
        << name << ": dense, twice as fast as bf16";
    EXPECT_GE(gpu.link_bandwidth, gpu.network_bandwidth) << name;
    // The network cards of B300 contain the PCIe 6 switch, so they are not limited by the link to the host.
    const double pcie = name == "B300" ? 128e9 : gpu.host_bandwidth;
    EXPECT_GE(pcie, gpu.network_bandwidth) << name << ": network cards use PCIe, too";
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
