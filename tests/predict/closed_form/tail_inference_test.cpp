#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "predict/closed_form/inter_stage.h"

namespace dovetail::predict {
namespace {

InferenceLoad load_of(std::initializer_list<InferenceTask> tasks) {
  InferenceLoad load;
  for (const InferenceTask& task : tasks) load.add(task);
  return load;
}

/// Eight devices, of which two instances of four keep the tail. Work of 2 s on all devices takes 4 s on the freed ones.
constexpr TailDevices half{8, 4, 2};
const InferenceTask one_device{.passes = 2, .load = 0.2, .hand_over = 0.3, .last = 0.01, .replicas = 8};

TEST(TailInference, TasksRunInSequenceIfNothingIsFreed) {
  const InferenceLoad load = load_of({one_device, one_device});
  EXPECT_NEAR(inference_end({8, 4, 4}, {}, load).rest, 5, 1e-12);
  // A replica of all devices does not fit on half of them.
  InferenceTask widest = one_device;
  widest.replicas = 1;
  EXPECT_NEAR(inference_end(half, {{100, 1, 0, 1}}, load_of({widest})).rest, 2.5, 1e-12);
}

TEST(TailInference, ALongTailLeavesTheLastSample) {
  const InferenceEnd end = inference_end(half, {{100, 1, 0, 1}}, load_of({one_device}));
  EXPECT_DOUBLE_EQ(end.set_up, 0.5);
  EXPECT_NEAR(end.rest, 0.01, 1e-12);
}

TEST(TailInference, KeepersHelpAfterAShortTail) {
  // 0.5 s of 4 are done when the tail ends. The freed devices do another 0.5 s, then all do 3 s in half the time.
  EXPECT_NEAR(inference_end(half, {{1, 1, 0, 1}}, load_of({one_device})).rest, 2, 1e-12);
  // The freed devices finish the rest in less time than the keepers' set-up.
  EXPECT_NEAR(inference_end(half, {{4.25, 1, 0, 1}}, load_of({one_device})).rest, 0.25, 1e-12);
}

TEST(TailInference, SamplesAreScoredOnlyWhenFinished) {
  // 2 s are left, regardless of the length of the tail.
  EXPECT_NEAR(inference_end(half, {{100, 0.5, 0, 1}}, load_of({one_device})).rest, 1.25, 1e-12);
}

TEST(TailInference, AKeeperWithoutSamplesJoinsIfThatHelps) {
  // The keeper joins after 1 s and is set up after 1.5 s. After 2 s, 1.5 + 0.25 s are done.
  EXPECT_NEAR(inference_end(half, {{1, 1, 1, 0}, {1, 1, 1, 1}}, load_of({one_device})).rest, 1.25, 1e-12);
  // It does not join if the available work is shorter than its set-up.
  EXPECT_NEAR(inference_end(half, {{4.25, 1, 1, 0}, {0.125, 1, 1, 1}}, load_of({one_device})).rest, 0.125, 1e-12);
}

TEST(TailInference, TheRestIsTheMeanOverTheEndsOfTheTail) {
  EXPECT_NEAR(inference_end(half, {{1, 1, 0, 0.5}, {99, 1, 0, 0.5}}, load_of({one_device})).rest, 0.5 * 2 + 0.5 * 0.01,
              1e-12);
}

TEST(TailInference, TasksThatShareAWorkerScoreTheLastSampleInTurn) {
  const InferenceTask a{.passes = 1, .load = 0.2, .hand_over = 1, .last = 0.01, .replicas = 2};
  const InferenceTask b{.passes = 1, .load = 0.5, .hand_over = 1, .last = 0.02, .replicas = 2};
  const InferenceEnd end = inference_end({16, 2, 1}, {{100, 1, 0, 1}}, load_of({a, b}));
  EXPECT_DOUBLE_EQ(end.set_up, 2.7);
  EXPECT_NEAR(end.rest, 0.03 + 0.2, 1e-12);
}

TEST(TailInference, SmallReplicasGetTheRemainingDevices) {
  // 40 freed devices: one replica of 24, and 16 for those of 4 and of 2.
  const InferenceTask critic{.passes = 0.5, .hand_over = 1, .last = 0.1, .replicas = 2};
  const InferenceTask reference{.passes = 0.25, .hand_over = 1, .last = 0.02, .replicas = 12};
  const InferenceTask reward{.passes = 0.35, .hand_over = 1, .last = 0.01, .replicas = 24};
  const InferenceEnd end = inference_end({48, 6, 1}, {{9, 1, 0, 1}}, load_of({reward, reference, critic}));
  EXPECT_DOUBLE_EQ(end.set_up, 1);
  EXPECT_NEAR(end.rest, 0.1, 1e-12);
  // Two for the reference, four for the reward: 24 times 0.35 s over four, of which 1 s is done.
  EXPECT_NEAR(inference_end({48, 6, 1}, {{2, 1, 0, 1}}, load_of({reward, reference, critic})).rest, 1.1, 1e-9);
}

TEST(TailInference, TasksThatFitOnlyOnKeepersFollow) {
  const InferenceTask small{.passes = 1, .hand_over = 1, .last = 0.01, .replicas = 6};
  const InferenceTask large{.passes = 1, .hand_over = 1, .last = 0.1, .replicas = 2};
  EXPECT_NEAR(inference_end({48, 6, 4}, {{100, 1, 0, 1}}, load_of({small, large})).rest, 0.01 + 1 + 2, 1e-12);
}

/// The bound on periods relies on this: at most one second of work on all devices is done per second.
RC_GTEST_PROP(TailInference, NeverScoresMoreThanAllDevicesCan, ()) {
  const int instances = 1 << *rc::gen::inRange(1, 6);
  const TailDevices devices{64, instances, *rc::gen::inRange(1, instances)};
  InferenceLoad load;
  const int tasks = *rc::gen::inRange(1, 5);
  const auto seconds = [](int most) { return 0.01 * *rc::gen::inRange(0, most); };
  for (int task = 0; task < tasks; ++task)
    load.add({seconds(500), seconds(50), seconds(100), seconds(10), 1 << *rc::gen::inRange(0, 7)});
  std::vector<TailSlice> slices(20);
  double mean = 0;
  double until = 0;
  for (std::size_t slice = 0; slice < slices.size(); ++slice) {
    const double part = static_cast<double>(slice + 1) / static_cast<double>(slices.size());
    slices[slice] = {seconds(50), 0.5 + 0.5 * part, (devices.kept_instances - 1) * part,
                     1.0 / static_cast<double>(slices.size())};
    until += slices[slice].seconds;
    mean += until / static_cast<double>(slices.size());
  }
  const InferenceEnd end = inference_end(devices, slices, load);
  RC_ASSERT(end.rest >= 0);
  RC_ASSERT(mean + end.rest >= load.work * (1 - 1e-9));
  const double hidden = max_hidden(devices, slices);
  RC_ASSERT(hidden <= mean * (1 + 1e-9));
  RC_ASSERT(hidden + end.rest >= load.work * (1 - 1e-9));
  const double enough = seconds(1000);
  const double rest = inference_end(devices, slices, load, enough).rest;
  RC_ASSERT(rest <= end.rest);
  RC_ASSERT(rest >= std::min(enough, end.rest));
}

}  // namespace
}  // namespace dovetail::predict
