#include "runtime/run/usage_meter.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "control/run/metrics.h"
#include "runtime/model/memory_count.h"

namespace dovetail::runtime {
namespace {

/// Takes processor time, however long that takes.
void compute() {
  const double begin = control::processor_seconds();
  while (control::processor_seconds() == begin) {
  }
}

TEST(UsageMeter, CountsWhatTasksTakeAndNothingElse) {
  UsageMeter meter;
  compute();
  EXPECT_EQ(meter.take().processor_seconds, 0);
  {
    const UsageMeter::Task task(meter);
    compute();
  }
  const UsageMeter before = meter;
  compute();
  const double of_one = meter.take().processor_seconds;
  EXPECT_GT(of_one, 0);
  EXPECT_EQ(of_one, UsageMeter(before).take().processor_seconds);
  EXPECT_EQ(meter.take().processor_seconds, 0);
}

TEST(UsageMeter, TasksAddUpUntilTheyAreAskedFor) {
  UsageMeter meter;
  {
    const UsageMeter::Task task(meter);
    compute();
  }
  const double of_one = UsageMeter(meter).take().processor_seconds;
  {
    const UsageMeter::Training training(meter);
    compute();
  }
  EXPECT_GT(meter.take().processor_seconds, of_one);
}

TEST(UsageMeter, MemoryIsThatOfTrainings) {
  constexpr std::int64_t bytes = 1 << 20;
  count_memory();
  UsageMeter meter;
  {
    const UsageMeter::Task task(meter);
    const at::Tensor tensor = at::empty({bytes}, at::kByte);
  }
  EXPECT_EQ(meter.take().live, 0);
  {
    const UsageMeter::Training training(meter);
    const at::Tensor tensor = at::empty({2 * bytes}, at::kByte);
  }
  {
    const UsageMeter::Training training(meter);
    const at::Tensor tensor = at::empty({bytes}, at::kByte);
  }
  const std::int64_t live = meter.take().live;
  EXPECT_GE(live, 2 * bytes);
  EXPECT_EQ(meter.take().live, 0);
}

}  // namespace
}  // namespace dovetail::runtime
