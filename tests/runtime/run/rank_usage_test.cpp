#include "runtime/run/rank_usage.h"

#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "control/run/metrics.h"
#include "runtime/model/tensor.h"
#include "workflow/workflow_file.h"

namespace dovetail::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

workflow::Workflow ppo() {
  const base::Document document = base::parse_yaml("ppo", "algorithm").value();
  return workflow::read_algorithm(document.root()).value();
}

std::string message_of(const MemoryAccount& account, const std::function<base::Status()>& work) {
  const base::Status status = within_memory(account, ppo(), work);
  EXPECT_FALSE(status.ok());
  return status.ok() ? "" : to_text(status.error());
}

base::Status run_out() { throw std::bad_alloc(); }

TEST(WithinMemory, ReportsMemoryHeldAndSettingToChange) {
  constexpr std::int64_t gibibyte = std::int64_t{1} << 30;
  MemoryAccount account{3, "actor_train", 4 * gibibyte, 2 * gibibyte, 8 * gibibyte, gibibyte, 20 * gibibyte};
  EXPECT_THAT(message_of(account, run_out),
              AllOf(HasSubstr("out of memory in actor_train of iteration 3: weights hold 4.00 GiB, gradients 2.00 GiB, "
                              "the optimizer 8.00 GiB, the KV cache up to 1.00 GiB"),
                    HasSubstr("the plan predicts 20.00 GiB"), HasSubstr("`micro_batch` of actor_train"),
                    HasSubstr("`recompute: full`")));
  account.phase = "actor_generate";
  EXPECT_THAT(message_of(account, run_out), HasSubstr("`max_num_seqs`"));
  account.phase = "evaluate";
  EXPECT_THAT(message_of(account, run_out), HasSubstr("`max_num_seqs`"));
  account.phase = "critic_infer";
  EXPECT_THAT(message_of(account, run_out), HasSubstr("`micro_batch` of critic_infer"));
  EXPECT_THAT(message_of({}, run_out), AllOf(HasSubstr("while reading the models"), HasSubstr("a smaller model")));
}

TEST(WithinMemory, RecognizesLibtorchErrors) {
  const auto ask_for_too_much = [] {
    (void)at::empty({std::int64_t{1} << 58}, at::kByte);
    return base::Status();
  };
  EXPECT_THAT(message_of({.iteration = 1, .phase = "actor_train"}, ask_for_too_much),
              HasSubstr("out of memory in actor_train"));
}

TEST(WithinMemory, PassesOtherLibtorchErrorsThrough) {
  const auto wrong_shapes = [] {
    (void)at::empty({2, 3}, at::kFloat).view({5});
    return base::Status();
  };
  EXPECT_ANY_THROW((void)within_memory({}, ppo(), wrong_shapes));
}

TEST(WithinMemory, PassesOtherResultsThrough) {
  EXPECT_TRUE(within_memory({}, ppo(), [] { return base::Status(); }).ok());
  const base::Status status = within_memory({}, ppo(), [] { return base::Status(base::bad_input("mine")); });
  EXPECT_THAT(to_text(status.error()), HasSubstr("mine"));
  EXPECT_THROW((void)within_memory({}, ppo(), []() -> base::Status { throw std::logic_error("ours"); }),
               std::logic_error);
}

/// Uses this much processor time, however long that takes.
void compute() {
  const double begin = control::processor_seconds();
  while (control::processor_seconds() == begin) {
  }
}

TEST(UsageMeter, CountsOnlyTasks) {
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

TEST(UsageMeter, TasksAddUpUntilTaken) {
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

TEST(UsageMeter, MemoryCountsTraining) {
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
