#include "simulate/inference.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "cost/training.h"
#include "simulate/infer_task.h"
#include "simulate/inference_split.h"
#include "simulate/step_clock.h"
#include "simulate/trace.h"
#include "stage_tasks.h"

namespace dovetail::simulate {
namespace {

using base::Ticks;
using test::equal_samples;
using test::layout_of;
using test::StageContext;

std::vector<Worker> workers_of(int count, int devices, Ticks from) {
  std::vector<Worker> workers(static_cast<std::size_t>(count));
  for (int worker = 0; worker < count; ++worker) {
    workers[static_cast<std::size_t>(worker)].from = from;
    for (int device = 0; device < devices; ++device)
      workers[static_cast<std::size_t>(worker)].devices.push_back(worker * devices + device);
  }
  return workers;
}

std::vector<FreeDevice> free_devices(int first, int count, Ticks from) {
  std::vector<FreeDevice> devices;
  for (int device = first; device < first + count; ++device) devices.push_back({device, from});
  return devices;
}

TEST(Inference, AWorkerIsAsFastAsItsReplicas) {
  StageContext scenario("llama-3.1-8b", layout_of(8, 1, 1));
  const InferTask& infer = scenario.add("llama-3.1-8b", 1, 1, 4, 0);
  const std::vector<Sample> samples = equal_samples(64, 100, 200);
  const std::vector<Ticks> ready(64, Ticks(0));
  const Inference apart = simulate::infer(scenario.task.infer, samples, ready, workers_of(8, 1, Ticks(0)));
  const Inference together = simulate::infer(scenario.task.infer, samples, ready, workers_of(2, 4, Ticks(0)));
  EXPECT_EQ(apart.end, together.end);
  const auto lengths = workflow::LengthDistribution::fixed(300);
  const double seconds = cost::inference_seconds(infer.facts, infer.layout, cost::batch_of(64, lengths),
                                                 infer.micro_batching, infer.machine, infer.efficiency)
                             .seconds;
  EXPECT_NEAR(static_cast<double>(apart.end.count()), 1e9 * seconds, 2);
}

TEST(Inference, WorkersShareReadySamplesEvenly) {
  StageContext scenario("llama-3.1-8b", layout_of(4, 1, 1));
  scenario.add("llama-3.1-8b", 1, 1, 64, 0);
  const Inference inference = infer(scenario.task.infer, equal_samples(10, 100, 100), std::vector<Ticks>(10, Ticks(5)),
                                    workers_of(4, 1, Ticks(5)));
  std::vector<std::int64_t> amounts;
  for (const std::vector<Span>& spans : inference.spans) {
    ASSERT_EQ(spans.size(), 1U);
    EXPECT_EQ(spans[0].begin, Ticks(5));
    amounts.push_back(spans[0].amount);
  }
  EXPECT_EQ(amounts, (std::vector<std::int64_t>{3, 3, 2, 2}));
}

TEST(Inference, ASecondWorkerLoadsOnlyIfThatHelps) {
  StageContext scenario("llama-3.1-8b", layout_of(2, 1, 1));
  scenario.add("llama-3.1-8b", 1, 1, 1, 0);
  const std::vector<Sample> samples = equal_samples(20, 100, 100);
  std::vector<Worker> workers = workers_of(2, 1, Ticks(0));
  const std::vector<Ticks> ready(20, Ticks(0));
  const Ticks shared = infer(scenario.task.infer, samples, ready, workers).end;
  scenario.task.infer[0].load = Ticks(shared.count() * 3);
  // All at once: both workers load.
  EXPECT_NEAR(static_cast<double>(infer(scenario.task.infer, samples, ready, workers).end.count()),
              4.0 * static_cast<double>(shared.count()), 2);
  // The second worker arrives when the first has loaded, and the rest takes the first less time than loading.
  workers[1].from = scenario.task.infer[0].load;
  const Inference alone = infer(scenario.task.infer, samples, ready, workers);
  EXPECT_TRUE(alone.spans[1].empty());
  EXPECT_NEAR(static_cast<double>(alone.end.count()), 5.0 * static_cast<double>(shared.count()), 30);
}

TEST(Inference, WorkersOfDifferentSizesShareByReplicas) {
  StageContext scenario("llama-3.1-8b", layout_of(4, 1, 1));
  scenario.add("llama-3.1-8b", 1, 1, 64, 0);
  std::vector<Worker> workers = workers_of(2, 1, Ticks(0));
  workers[1].devices = {1, 2, 3};
  const Inference inference =
      infer(scenario.task.infer, equal_samples(40, 100, 100), std::vector<Ticks>(40, Ticks(0)), workers);
  ASSERT_EQ(inference.spans[0].size(), 1U);
  ASSERT_EQ(inference.spans[1].size(), 1U);
  EXPECT_EQ(inference.spans[0][0].amount, 10);
  EXPECT_EQ(inference.spans[1][0].amount, 30);
  EXPECT_EQ(inference.spans[0][0].end, inference.spans[1][0].end);
}

TEST(Inference, ASmallWorkerLeavesALargeModelToOthers) {
  StageContext scenario("llama-3.1-8b", layout_of(4, 1, 1));
  scenario.add("llama-3.1-8b", 2, 1, 4, 0);
  std::vector<Worker> workers = workers_of(2, 1, Ticks(0));
  workers[1].devices = {1, 2, 3};
  const Inference inference =
      infer(scenario.task.infer, equal_samples(40, 100, 100), std::vector<Ticks>(40, Ticks(0)), workers);
  EXPECT_TRUE(inference.spans[0].empty());
  EXPECT_FALSE(inference.spans[1].empty());
}

TEST(Inference, ASingleWorkerPaysAllHandOversBeforeTheTailEnds) {
  StageContext scenario("llama-3.1-8b", layout_of(1, 1, 1));
  for (int task = 0; task < 3; ++task) scenario.add("llama-3.1-8b", 1, 1, 4, 0).hand_over = base::ticks_of_seconds(1);
  const std::vector<Sample> samples = equal_samples(2, 100, 100);
  const std::vector<Ticks> ready{Ticks(0), base::ticks_of_seconds(9)};
  const Inference inference = infer(scenario.task.infer, samples, ready, workers_of(1, 1, Ticks(0)));
  EXPECT_EQ(inference.end - ready[1],
            base::ticks_of_seconds(seconds_of(scenario.task.infer[0], {1}, 1, samples).done) * 3);
}

TEST(Inference, HandsOverBeforeItLoads) {
  StageContext scenario("llama-3.1-8b", layout_of(1, 1, 1));
  InferTask& task = scenario.add("llama-3.1-8b", 1, 1, 4, 0);
  task.hand_over = base::ticks_of_seconds(1);
  task.load = base::ticks_of_seconds(2);
  const Inference inference =
      infer(scenario.task.infer, equal_samples(1, 100, 100), {Ticks(0)}, workers_of(1, 1, Ticks(0)));
  const std::vector<Span>& spans = inference.spans[0];
  ASSERT_GE(spans.size(), 3U);
  EXPECT_EQ(spans[0].bar_kind, BarKind::hand_over);
  EXPECT_EQ(spans[0].end, base::ticks_of_seconds(1));
  EXPECT_EQ(spans[1].bar_kind, BarKind::loading);
  EXPECT_EQ(spans[1].end, base::ticks_of_seconds(3));
  EXPECT_EQ(spans[2].bar_kind, BarKind::infer);
}

TEST(Inference, TasksWhoseResultsAreReadRunFirst) {
  StageContext scenario("llama-3.1-8b", layout_of(2, 1, 1));
  scenario.add("llama-3.1-8b", 1, 1, 4, 0);
  scenario.add("llama-3.1-8b", 1, 1, 4, 0).after = {0};
  const Inference inference = infer(scenario.task.infer, equal_samples(16, 100, 100), std::vector<Ticks>(16, Ticks(0)),
                                    workers_of(2, 1, Ticks(0)));
  for (std::size_t sample = 0; sample < 16; ++sample)
    EXPECT_GT(inference.scored[1][sample], inference.scored[0][sample]);
}

TEST(Inference, WithoutTasksThereIsNothingToDo) {
  const Inference inference =
      infer({}, equal_samples(3, 1, 1), std::vector<Ticks>(3, Ticks(7)), workers_of(1, 1, Ticks(0)));
  EXPECT_EQ(inference.end, Ticks(0));
  EXPECT_TRUE(inference.spans[0].empty());
}

RC_GTEST_PROP(Inference, EachSampleIsScoredOnceByEachTask, ()) {
  StageContext scenario("llama-3.1-8b", layout_of(8, 1, 1));
  const int tasks = *rc::gen::inRange(1, 4);
  for (int task = 0; task < tasks; ++task)
    scenario.add("llama-3.1-8b", *rc::gen::element(1, 2), *rc::gen::element(1, 2), *rc::gen::inRange(1, 6),
                 *rc::gen::element(0.0, 0.05, 0.5));
  const std::vector<Sample> samples = test::random_samples(20, 1, 200, 400);
  std::vector<Ticks> ready;
  for (std::size_t sample = 0; sample < samples.size(); ++sample)
    ready.emplace_back(*rc::gen::inRange(0, 2'000'000'000));
  std::vector<Worker> workers = workers_of(*rc::gen::inRange(1, 5), 4, Ticks(0));
  for (Worker& worker : workers) worker.from = Ticks(*rc::gen::inRange(0, 1'000'000'000));
  const Inference inference = infer(scenario.task.infer, samples, ready, workers);
  std::vector<std::int64_t> scored(static_cast<std::size_t>(tasks) + 1, 0);
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    Ticks at = workers[worker].from;
    for (const Span& span : inference.spans[worker]) {
      RC_ASSERT(span.begin >= at && span.end > span.begin && span.launch <= span.end - span.begin);
      at = span.end;
      if (span.bar_kind == BarKind::infer) scored[static_cast<std::size_t>(span.task)] += span.amount;
    }
  }
  for (int task = 1; task <= tasks; ++task)
    RC_ASSERT(scored[static_cast<std::size_t>(task)] == static_cast<std::int64_t>(samples.size()));
  for (const std::vector<Ticks>& times : inference.scored)
    for (std::size_t sample = 0; sample < samples.size(); ++sample) RC_ASSERT(times[sample] > ready[sample]);
}

/// Returns the earliest end over all splits of the workers among three tasks.
Ticks best_of_all_shares(const StageContext& scenario, const std::vector<Sample>& samples,
                         const std::vector<Ticks>& ready, std::vector<Worker> workers) {
  Ticks best = Ticks::max();
  const int count = static_cast<int>(workers.size());
  for (int first = 0; first <= count; ++first)
    for (int second = 0; first + second <= count; ++second) {
      for (int worker = 0; worker < count; ++worker)
        workers[static_cast<std::size_t>(worker)].first_task = worker < first ? 0 : worker < first + second ? 1 : 2;
      best = std::min(best, infer(scenario.task.infer, samples, ready, workers).end);
    }
  return best;
}

RC_GTEST_PROP(Inference, FindsTheBestSplitIfThereAreFew, ()) {
  StageContext scenario("llama-3.1-8b", layout_of(8, 1, 1));
  for (int task = 0; task < 3; ++task)
    scenario.add(*rc::gen::element("llama-3.1-8b", "qwen2.5-1.5b"), 1, 1, *rc::gen::inRange(1, 6),
                 *rc::gen::element(0.0, 0.3, 2.0));
  const std::vector<Sample> samples = test::random_samples(40, 1, 300, 600);
  const std::vector<Ticks> ready(samples.size(), Ticks(0));
  const int devices = *rc::gen::inRange(1, 7);
  const SplitInference found = infer_best(scenario.task.infer, samples, ready, free_devices(0, devices, Ticks(0)), {});
  RC_ASSERT(infer(scenario.task.infer, samples, ready, found.workers).end == found.inference.end);
  RC_ASSERT(found.inference.end <= best_of_all_shares(scenario, samples, ready, workers_of(devices, 1, Ticks(0))));
}

TEST(InferenceSplit, LeftoverDevicesServeSmallerReplicas) {
  StageContext scenario("llama-3.1-8b", layout_of(6, 8, 1));
  scenario.add("llama-3.1-8b", 2, 1, 4, 0);
  scenario.add("llama-3.1-8b", 8, 3, 4, 0);
  std::vector<FreeDevice> left;
  std::vector<std::size_t> sizes;
  for (const Worker& worker : fill(scenario.task.infer, free_devices(8, 41, Ticks(3)), left)) {
    EXPECT_EQ(worker.from, Ticks(3));
    sizes.push_back(worker.devices.size());
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{24, 2, 2, 2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(left, (std::vector<FreeDevice>{{48, Ticks(3)}}));
  EXPECT_TRUE(can_split(scenario.task.infer, 40, 8));
  EXPECT_TRUE(can_split(scenario.task.infer, 8, 40));
  EXPECT_FALSE(can_split(scenario.task.infer, 23, 23));
}

TEST(InferenceSplit, NoModelWaitsForAnotherIfAllFit) {
  StageContext scenario("llama-3.1-8b", layout_of(6, 8, 1));
  scenario.add("llama-3.1-8b", 2, 1, 4, 1);
  scenario.add("llama-3.1-8b", 4, 1, 4, 1);
  scenario.add("llama-3.1-8b", 8, 3, 4, 1);
  const std::vector<Sample> samples = equal_samples(32, 100, 100);
  // All samples except one are ready when the weights are. The last one comes long after.
  std::vector<Ticks> ready(samples.size(), Ticks(0));
  ready.back() = base::ticks_of_seconds(5);
  const SplitInference found = infer_best(scenario.task.infer, samples, ready, free_devices(8, 40, Ticks(0)),
                                          free_devices(0, 8, base::ticks_of_seconds(5)));
  // All three models score the last sample at once, as soon as the slowest alone would.
  Ticks slowest;
  for (const InferTask& task : scenario.task.infer)
    slowest = std::max(slowest, base::ticks_of_seconds(seconds_of(task, {31}, 1, samples).done));
  EXPECT_EQ(found.inference.end, ready.back() + slowest);
  std::size_t devices = 0;
  for (const Worker& worker : found.workers) devices += worker.devices.size();
  EXPECT_EQ(devices, 48U);
}

TEST(InferenceSplit, ATaskThatFitsOnlyOnLaterDevicesWaits) {
  StageContext scenario("llama-3.1-8b", layout_of(6, 8, 1));
  scenario.add("llama-3.1-8b", 8, 1, 4, 0);
  scenario.add("llama-3.1-8b", 8, 3, 4, 0);
  const std::vector<Sample> samples = equal_samples(16, 100, 100);
  const std::vector<Ticks> ready(samples.size(), Ticks(0));
  const SplitInference found = infer_best(scenario.task.infer, samples, ready, free_devices(0, 16, Ticks(0)),
                                          free_devices(16, 32, base::ticks_of_seconds(9)));
  for (std::size_t sample = 0; sample < samples.size(); ++sample) {
    EXPECT_LT(found.inference.scored[0][sample], base::ticks_of_seconds(9));
    EXPECT_GT(found.inference.scored[1][sample], base::ticks_of_seconds(9));
  }
}

TEST(InferenceSplit, WithoutTasksThereAreNoWorkers) {
  EXPECT_TRUE(infer_best({}, equal_samples(3, 1, 1), std::vector<Ticks>(3, Ticks(7)), free_devices(0, 4, Ticks(0)), {})
                  .workers.empty());
}

}  // namespace
}  // namespace dovetail::simulate
