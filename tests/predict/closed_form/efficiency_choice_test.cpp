#include "predict/closed_form/efficiency_choice.h"

#include <gtest/gtest.h>

#include "support/jobs.h"

namespace dovetail::predict {
namespace {

EfficiencyChoice choice_of(const std::string& cluster, const std::string& software = "") {
  return software_of(test::ppo_job(cluster, software.empty() ? "" : "software: {" + software + "}\n")).value().choice;
}

TEST(ChooseEfficiency, SaysWhy) {
  const std::string node = "nodes: 1, gpus_per_node: 8, gpu: ";
  EXPECT_EQ(choice_of(node + "H100").reason, EfficiencyReason::fitted);
  EXPECT_EQ(choice_of(node + "H100").efficiency, "h100/megatron-vllm");
  EXPECT_EQ(choice_of(node + "H100", "training: nemo-rl-megatron").reason, EfficiencyReason::fitted);
  EXPECT_EQ(choice_of(node + "H100", "training: verl-fsdp").reason, EfficiencyReason::gpu_fitted);
  const std::string cpu =
      "nodes: 1, gpus_per_node: 1, gpu: {name: CPU, memory: 900GiB, bandwidth: 40GB/s, bf16: 130GFLOP/s}";
  EXPECT_EQ(choice_of(cpu, "framework: dovetail").reason, EfficiencyReason::fitted);
  EXPECT_EQ(choice_of(cpu, "framework: dovetail").efficiency, "cpu/dovetail");
  EXPECT_EQ(choice_of("nodes: 1, gpus_per_node: 1, gpu: H100", "framework: dovetail").reason,
            EfficiencyReason::training_fitted);
  EXPECT_EQ(choice_of(cpu).reason, EfficiencyReason::custom_gpu);
  EXPECT_EQ(choice_of(node + "H200").reason, EfficiencyReason::unmeasured);
  EXPECT_EQ(choice_of(node + "H200").efficiency, "assumed");
  EXPECT_EQ(choice_of(node + "H200", "efficiency: h100/megatron-vllm").reason, EfficiencyReason::named);
  const std::string own = "{name: mine, memory: 60GiB, bandwidth: 3TB/s, bf16: 900TFLOP/s, link: 450GB/s}";
  EXPECT_EQ(choice_of(node + own).reason, EfficiencyReason::custom_gpu);
  EXPECT_EQ(choice_of(node + own).gpus, std::vector<std::string>{"mine"});
  EXPECT_EQ(
      choice_of("groups: [{nodes: 1, gpus_per_node: 8, gpu: H100}, {nodes: 1, gpus_per_node: 8, gpu: A100}]").reason,
      EfficiencyReason::mixed_gpus);
}

}  // namespace
}  // namespace dovetail::predict
