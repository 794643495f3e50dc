#include "runtime/model/device.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/model/tensor.h"

namespace dovetail::runtime {
namespace {

TEST(Device, FindsTheCpuOrAnAvailableGpu) {
  EXPECT_EQ(*find_device("cpu"), at::Device(at::kCPU));
  EXPECT_THAT(find_device("tpu").error().message, testing::HasSubstr("must be cpu or cuda"));
  const auto gpu = find_device("cuda");
  if (gpu.ok())
    EXPECT_EQ(*gpu, at::Device(at::kCUDA, 0));
  else
    EXPECT_THAT(gpu.error().message, testing::HasSubstr("DOVETAIL_CUDA"));
}

TEST(Device, ReportsPeakMemorySinceTheLastCall) {
  count_memory();
  for (const char* const name : {"cpu", "cuda"}) {
    const auto device = find_device(name);
    if (!device.ok()) continue;
    constexpr std::int64_t bytes = 1 << 22;
    (void)at::zeros({1}, at::TensorOptions(*device));
    (void)take_peak_of(*device);
    (void)at::empty({bytes}, at::TensorOptions(*device).dtype(at::kByte));
    EXPECT_GE(take_peak_of(*device), bytes);
    EXPECT_LT(take_peak_of(*device), bytes);
  }
}

}  // namespace
}  // namespace dovetail::runtime
