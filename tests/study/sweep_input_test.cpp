#include "study/sweep_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/jobs.h"

namespace dovetail::study {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

std::string fault_of(SweepInput input, std::string_view text) {
  const auto values = parse_values(input, text);
  return values.ok() ? "" : values.error().message;
}

TEST(SweepInput, NamesLeadBack) {
  for (const std::string_view name : base::enum_names<SweepInput>()) {
    const std::optional<SweepInput> input = base::enum_named<SweepInput>(name);
    ASSERT_TRUE(input);
    EXPECT_EQ(base::enum_name(*input), name);
  }
  EXPECT_EQ(base::enum_named<SweepInput>("thresholds"), std::nullopt);
}

TEST(SweepInput, ValuesAreReadAsPeopleWriteThem) {
  EXPECT_THAT(parse_values(SweepInput::threshold, "20%,0.05").value(), ElementsAre(DoubleEq(0.05), DoubleEq(0.2)));
  EXPECT_THAT(parse_values(SweepInput::batch, "256,64,256").value(), ElementsAre(64, 256));
  EXPECT_THAT(parse_values(SweepInput::length, "0.5x,2").value(), ElementsAre(0.5, 2));
  EXPECT_THAT(parse_values(SweepInput::staleness, "0,1").value(), ElementsAre(0, 1));
}

TEST(SweepInput, WhatIsNoValueIsRefusedWithWhatIsAccepted) {
  EXPECT_THAT(fault_of(SweepInput::threshold, "100%"),
              HasSubstr("accepted: a share of the samples above 0% and below 100%"));
  EXPECT_THAT(fault_of(SweepInput::batch, "2.5"),
              HasSubstr("`2.5` is no value of batch; accepted: a whole number from 1"));
  EXPECT_THAT(fault_of(SweepInput::batch, "64,,128"), HasSubstr("`` is no value"));
  EXPECT_THAT(fault_of(SweepInput::length, "long"), HasSubstr("`long` is no value of length; accepted: a factor"));
  EXPECT_THAT(fault_of(SweepInput::length, "0"), HasSubstr("accepted: a factor from 0.001"));
  EXPECT_THAT(fault_of(SweepInput::nodes, "0"), HasSubstr("accepted: a whole number from 1"));
}

TEST(SweepInput, DefaultsHaveWhatTheJobSays) {
  const plan::Job job = test::grpo_job();
  const plan::Plan plan = test::co_located(job);
  for (const auto& [name, input, words] : names_of(SweepInput{})) {
    const std::vector<double> values = default_values(input, job, &plan);
    EXPECT_GE(values.size(), 2U) << name;
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
    for (const double value : values) EXPECT_EQ(find_value_fault(input, value), std::nullopt) << name << value;
    if (const auto own = own_value(input, job, &plan)) {
      EXPECT_TRUE(std::find(values.begin(), values.end(), *own) != values.end()) << name;
    }
  }
  EXPECT_THAT(default_values(SweepInput::batch, job, &plan), ElementsAre(8, 16, 32, 64, 128));
}

TEST(SweepInput, AValueChangesOneThing) {
  const plan::Job job = test::grpo_job();
  const plan::Plan plan = test::co_located(job);
  EXPECT_EQ(with_value(SweepInput::batch, 64, job, plan, std::nullopt)->job.workload.prompts, 64);
  EXPECT_EQ(with_value(SweepInput::samples, 4, job, plan, std::nullopt)->job.workload.samples_per_prompt, 4);
  EXPECT_EQ(with_value(SweepInput::mini_batch, 8, job, plan, std::nullopt)->job.workload.mini_batches, 8);
  EXPECT_EQ(with_value(SweepInput::staleness, 1, job, plan, std::nullopt)->job.workload.steps_off_policy, 1);
  EXPECT_EQ(with_value(SweepInput::length, 3, job, plan, std::nullopt)->job.workload.response_length.longest(), 1536);
  EXPECT_EQ(with_value(SweepInput::length, 3, job, plan, 1000)->job.workload.response_length.longest(), 1000);
  EXPECT_EQ(with_value(SweepInput::bandwidth, 0.5, job, plan, std::nullopt)->job.cluster.networks.front().bandwidth,
            job.cluster.networks.front().bandwidth / 2);
  const SweptJob doubled = with_value(SweepInput::micro_batch, 2, job, plan, std::nullopt).value();
  EXPECT_EQ(doubled.plan.tasks.back().micro_batching.sequences, 2 * plan.tasks.back().micro_batching.sequences);
  // Inference keeps its own.
  EXPECT_EQ(doubled.plan.tasks.front(), plan.tasks.front());
}

TEST(SweepInput, WhatCannotBeHadSaysWhy) {
  const plan::Job job = test::grpo_job();
  const plan::Plan plan = test::co_located(job);
  const auto steps = with_value(SweepInput::mini_batch, 1000, job, plan, std::nullopt);
  ASSERT_FALSE(steps.ok());
  EXPECT_THAT(steps.error().message,
              HasSubstr("1000 optimizer steps an epoch need as many samples, and there are 256"));
  const auto prompts = with_value(SweepInput::batch, 10'000'000, job, plan, std::nullopt);
  ASSERT_FALSE(prompts.ok());
  EXPECT_THAT(prompts.error().message, HasSubstr("are too many"));
}

}  // namespace
}  // namespace dovetail::study
