#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "pipeline/published_traces.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::pipeline {
namespace {

using testing::HasSubstr;

TEST(FlexFusionTraceWrite, RoundTrip) {
  for (const PublishedTrace& trace : published_traces()) {
    SCOPED_TRACE(trace.instance);
    const Problem& problem = find_instance(trace.instance)->problem;
    auto file = parse_trace(read_trace(trace), "t", &problem);
    ASSERT_TRUE(file.ok());
    const auto text = schedule_to_trace(file->schedule);
    ASSERT_TRUE(text.ok());
    const auto again = parse_trace(*text, "t", &problem);
    ASSERT_TRUE(again.ok()) << to_text(again.error());
    EXPECT_EQ(again->schedule.devices, file->schedule.devices);
    EXPECT_FALSE(again->activation_mismatch);
    EXPECT_FALSE(validate(again->schedule)) << "written exactly, without a float's drift";
  }
}

TEST(FlexFusionTraceWrite, WritesTheSummary) {
  auto file = parse_trace(read_trace({"exp2", false}), "t", &find_instance("exp2")->problem);
  const std::string ours =
      "\nOurs:\nE2E time usage: 225\nPeak memory usage: 15.600000\nUtilization: 74.67%\nBubble rate: 25.33%\n";
  EXPECT_TRUE(schedule_to_trace(file->schedule)->ends_with("0.000000]\n" + ours));
  file->schedule.claims.bound_makespan = Ticks(225);
  file->schedule.claims.bound_peak_activation = Memory(15'600'000);
  EXPECT_THAT(
      *schedule_to_trace(file->schedule),
      HasSubstr("0.000000]\n\nTheoretically best:\nE2E time usage: 225\nPeak memory usage: 15.600000\n" + ours));
}

TEST(FlexFusionTraceWrite, TimesOfAProblemWithAUnitAreItsDecimals) {
  Problem problem = find_instance("exp2")->problem;
  problem.time_unit = TimeUnit::us;
  auto file = parse_trace(read_trace({"exp2", false}), "t", &problem);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->schedule.devices[0][0].end, Ticks(5'000));
  for (auto& device : file->schedule.devices)
    for (ScheduledOp& op : device) {
      op.start = Ticks(op.start.count() / 10);
      op.end = Ticks(op.end.count() / 10);
    }
  file->schedule.claims = {};
  for (Model& model : file->schedule.problem.models)
    for (std::size_t stage = 0; stage < model.forward.size(); ++stage) {
      model.forward[stage] = Ticks(model.forward[stage].count() * 100);
      model.backward[stage] = Ticks(model.backward[stage].count() * 100);
    }
  ASSERT_FALSE(validate(file->schedule));
  const auto text = schedule_to_trace(file->schedule);
  EXPECT_THAT(*text, HasSubstr("[0, 0, 0, 0, 0.5, 1.950000]"));
  EXPECT_THAT(*text, HasSubstr("E2E time usage: 22.5\n"));
  EXPECT_EQ(parse_trace(*text, "t", &file->schedule.problem)->schedule.devices, file->schedule.devices);
}

/// A model with one stage on each of the devices given, one micro-batch, all times one tick.
Problem one_microbatch(std::vector<DeviceId> devices, int device_count) {
  const std::size_t stages = devices.size();
  Model model;
  model.name = "m";
  model.replicas = {std::move(devices)};
  model.forward.assign(stages, Ticks(1));
  model.backward.assign(stages, Ticks(1));
  model.activation.assign(stages, Memory(1));
  model.transfer_forward.resize(stages - 1);
  model.transfer_backward.resize(stages - 1);
  model.step.resize(stages);
  Problem problem;
  problem.devices = device_count;
  problem.resident.resize(static_cast<std::size_t>(device_count));
  problem.models = {model};
  return problem;
}

std::string write_error(const Problem& problem, BackwardForm form) {
  const OpGraph graph = lower(problem, form).graph;
  Order order;
  order.devices.resize(static_cast<std::size_t>(problem.devices));
  for (const OpId op : topological_order(graph)) order.devices[graph.device[op.index()].index()].push_back(op);
  const auto text = schedule_to_trace(to_schedule(problem, graph, *evaluate(graph, order)));
  return text.ok() ? "no error" : to_text(text.error());
}

TEST(FlexFusionTraceWrite, WhatItCannotSayIsRefused) {
  const std::string before = "a FlexFusion trace cannot hold this schedule: ";
  const std::string after = "; a dovetail/schedule@1 file can";
  const Problem plain = one_microbatch({DeviceId(0), DeviceId(1)}, 2);
  EXPECT_EQ(write_error(plain, BackwardForm::whole), "no error");
  EXPECT_EQ(write_error(one_microbatch({DeviceId(0), DeviceId(0)}, 1), BackwardForm::whole),
            before + "model m has several stages on one device" + after);
  EXPECT_EQ(write_error(one_microbatch({DeviceId(0)}, 2), BackwardForm::whole), before + "device 1 has no ops" + after);
  Problem with_steps = plain;
  with_steps.models[0].step.assign(2, Ticks(1));
  EXPECT_EQ(write_error(with_steps, BackwardForm::whole), before + "model m has optimizer steps" + after);
  Problem split = plain;
  split.models[0].weight_gradient.assign(2, Ticks(1));
  split.models[0].weight_activation.assign(2, Memory(0));
  EXPECT_EQ(write_error(split, BackwardForm::split), before + "I0 of m stage 0 is half of a split backward" + after);
  EXPECT_EQ(write_error(split, BackwardForm::whole), "no error");
}

}  // namespace
}  // namespace dovetail::pipeline
