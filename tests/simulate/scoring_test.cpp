#include "simulate/scoring.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "cost/training.h"
#include "simulate/accounting.h"
#include "simulate/scoring_split.h"
#include "stage_tasks.h"

namespace dovetail::simulate {
namespace {

using base::Ticks;
using test::equal_samples;
using test::layout_of;
using test::StageGround;

std::vector<Worker> workers_of(int count, int devices, Ticks from) {
  std::vector<Worker> workers(static_cast<std::size_t>(count));
  for (int worker = 0; worker < count; ++worker) {
    workers[static_cast<std::size_t>(worker)].from = from;
    for (int device = 0; device < devices; ++device) workers[static_cast<std::size_t>(worker)].devices.push_back(worker * devices + device);
  }
  return workers;
}

TEST(Scoring, AWorkerOfSeveralReplicasIsAsFastAsThey) {
  StageGround ground("llama-3.1-8b", layout_of(8, 1, 1));
  const InferTask& infer = ground.add("llama-3.1-8b", 1, 1, 4, 0);
  const std::vector<Sample> samples = equal_samples(64, 100, 200);
  const std::vector<Ticks> ready(64, Ticks(0));
  const Scoring apart = score(ground.task.infer, samples, ready, workers_of(8, 1, Ticks(0)));
  const Scoring together = score(ground.task.infer, samples, ready, workers_of(2, 4, Ticks(0)));
  EXPECT_EQ(apart.end, together.end);
  const auto lengths = workflow::LengthDistribution::fixed(300);
  const double seconds =
      cost::scoring_seconds(infer.facts, infer.layout, cost::batch_of(64, lengths), infer.micro_batching, infer.machine, infer.efficiency)
          .seconds;
  EXPECT_NEAR(static_cast<double>(apart.end.count()), 1e9 * seconds, 2);
}

TEST(Scoring, WorkersShareWhatIsReadyEvenly) {
  StageGround ground("llama-3.1-8b", layout_of(4, 1, 1));
  ground.add("llama-3.1-8b", 1, 1, 64, 0);
  const Scoring scoring =
      score(ground.task.infer, equal_samples(10, 100, 100), std::vector<Ticks>(10, Ticks(5)), workers_of(4, 1, Ticks(5)));
  std::vector<std::int64_t> amounts;
  for (const std::vector<Span>& spans : scoring.spans) {
    ASSERT_EQ(spans.size(), 1U);
    EXPECT_EQ(spans[0].begin, Ticks(5));
    amounts.push_back(spans[0].amount);
  }
  EXPECT_EQ(amounts, (std::vector<std::int64_t>{3, 3, 2, 2}));
}

TEST(Scoring, ASecondWorkerLoadsOnlyWhereThatHelps) {
  StageGround ground("llama-3.1-8b", layout_of(2, 1, 1));
  ground.add("llama-3.1-8b", 1, 1, 1, 0);
  const std::vector<Sample> samples = equal_samples(20, 100, 100);
  std::vector<Worker> workers = workers_of(2, 1, Ticks(0));
  const std::vector<Ticks> ready(20, Ticks(0));
  const Ticks shared = score(ground.task.infer, samples, ready, workers).end;
  ground.task.infer[0].load = Ticks(shared.count() * 3);
  // At once: both load.
  EXPECT_NEAR(static_cast<double>(score(ground.task.infer, samples, ready, workers).end.count()), 4.0 * static_cast<double>(shared.count()),
              2);
  // The second comes when the first has loaded, and what is left takes that one less than loading.
  workers[1].from = ground.task.infer[0].load;
  const Scoring alone = score(ground.task.infer, samples, ready, workers);
  EXPECT_TRUE(alone.spans[1].empty());
  EXPECT_NEAR(static_cast<double>(alone.end.count()), 5.0 * static_cast<double>(shared.count()), 30);
}

TEST(Scoring, AnswersThatAreReadComeFirst) {
  StageGround ground("llama-3.1-8b", layout_of(2, 1, 1));
  ground.add("llama-3.1-8b", 1, 1, 4, 0);
  ground.add("llama-3.1-8b", 1, 1, 4, 0).after = {0};
  const Scoring scoring =
      score(ground.task.infer, equal_samples(16, 100, 100), std::vector<Ticks>(16, Ticks(0)), workers_of(2, 1, Ticks(0)));
  for (std::size_t sample = 0; sample < 16; ++sample) EXPECT_GT(scoring.scored[1][sample], scoring.scored[0][sample]);
}

TEST(Scoring, WithoutTasksThereIsNothingToDo) {
  const Scoring scoring = score({}, equal_samples(3, 1, 1), std::vector<Ticks>(3, Ticks(7)), workers_of(1, 1, Ticks(0)));
  EXPECT_EQ(scoring.end, Ticks(0));
  EXPECT_TRUE(scoring.spans[0].empty());
}

RC_GTEST_PROP(Scoring, EachSampleIsScoredOnceByEachTask, ()) {
  StageGround ground("llama-3.1-8b", layout_of(8, 1, 1));
  const int tasks = *rc::gen::inRange(1, 4);
  for (int task = 0; task < tasks; ++task)
    ground.add("llama-3.1-8b", *rc::gen::element(1, 2), *rc::gen::element(1, 2), *rc::gen::inRange(1, 6),
               *rc::gen::element(0.0, 0.05, 0.5));
  const std::vector<Sample> samples = test::random_samples(20, 1, 200, 400);
  std::vector<Ticks> ready;
  for (std::size_t sample = 0; sample < samples.size(); ++sample) ready.emplace_back(*rc::gen::inRange(0, 2'000'000'000));
  std::vector<Worker> workers = workers_of(*rc::gen::inRange(1, 5), 4, Ticks(0));
  for (Worker& worker : workers) worker.from = Ticks(*rc::gen::inRange(0, 1'000'000'000));
  const Scoring scoring = score(ground.task.infer, samples, ready, workers);
  std::vector<std::int64_t> scored(static_cast<std::size_t>(tasks) + 1, 0);
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    Ticks at = workers[worker].from;
    for (const Span& span : scoring.spans[worker]) {
      RC_ASSERT(span.begin >= at && span.end > span.begin && span.launch <= span.end - span.begin);
      at = span.end;
      if (span.activity == Activity::score) scored[static_cast<std::size_t>(span.task)] += span.amount;
    }
  }
  for (int task = 1; task <= tasks; ++task) RC_ASSERT(scored[static_cast<std::size_t>(task)] == static_cast<std::int64_t>(samples.size()));
  for (const std::vector<Ticks>& times : scoring.scored)
    for (std::size_t sample = 0; sample < samples.size(); ++sample) RC_ASSERT(times[sample] > ready[sample]);
}

/// All ways to share the workers out, one after the other.
Ticks best_of_all_shares(const StageGround& ground, const std::vector<Sample>& samples, const std::vector<Ticks>& ready,
                         std::vector<Worker> workers) {
  Ticks best = Ticks::max();
  const int count = static_cast<int>(workers.size());
  for (int first = 0; first <= count; ++first)
    for (int second = 0; first + second <= count; ++second) {
      for (int worker = 0; worker < count; ++worker)
        workers[static_cast<std::size_t>(worker)].first_task = worker < first ? 0 : worker < first + second ? 1 : 2;
      best = std::min(best, score(ground.task.infer, samples, ready, workers).end);
    }
  return best;
}

RC_GTEST_PROP(Scoring, TheSplitThatIsFoundIsTheBestOfAllWhereTheyAreFew, ()) {
  StageGround ground("llama-3.1-8b", layout_of(8, 1, 1));
  for (int task = 0; task < 3; ++task)
    ground.add(*rc::gen::element("llama-3.1-8b", "qwen2.5-1.5b"), 1, 1, *rc::gen::inRange(1, 6), *rc::gen::element(0.0, 0.3, 2.0));
  const std::vector<Sample> samples = test::random_samples(40, 1, 300, 600);
  const std::vector<Ticks> ready(samples.size(), Ticks(0));
  std::vector<Worker> workers = workers_of(*rc::gen::inRange(1, 7), 1, Ticks(0));
  const std::size_t count = workers.size();
  const Scoring found = score_best(ground.task.infer, samples, ready, workers, count);
  RC_ASSERT(score(ground.task.infer, samples, ready, workers).end == found.end);
  const Ticks best = best_of_all_shares(ground, samples, ready, workers);
  RC_ASSERT(found.end <= best);
}

}  // namespace
}  // namespace dovetail::simulate
