#include "simulate/infer_task.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "batching/micro_batches.h"
#include "cost/batches.h"
#include "cost/training.h"

namespace dovetail::simulate {

namespace {

std::int64_t tokens_of(const Sample& sample) { return sample.prompt + sample.response; }

BatchSeconds seconds_of_tokens(const InferTask& task, const llm::Tokens& micro_batch) {
  const cost::InferencePasses passes =
      cost::inference_passes(task.facts, task.layout, micro_batch, task.machine, task.efficiency);
  BatchSeconds seconds;
  for (const cost::PassSeconds& stage : passes.stages) {
    if (stage.sum() > seconds.next) {
      seconds.next = stage.sum();
      seconds.launch = stage.launch;
    }
    seconds.done += stage.sum();
  }
  seconds.done += passes.hop * (task.layout.pipeline - 1);
  return seconds;
}

}  // namespace

MicroBatchLimit limit_of(const InferTask& task, const std::vector<Sample>& samples) {
  llm::Tokens all;
  for (const Sample& sample : samples) {
    const auto tokens = static_cast<double>(tokens_of(sample));
    all.count += tokens;
    all.squares += tokens * tokens;
  }
  const auto count = static_cast<double>(std::max<std::size_t>(1, samples.size()));
  MicroBatchLimit limit{std::floor(task.micro_batching.sequences), task.micro_batching.tokens};
  if (task.micro_batching.count > 0) limit = {std::ceil(count / task.layout.data / task.micro_batching.count), 0};
  if (limit.sequences < 1 && limit.tokens <= 0) limit.sequences = 1;
  const double full =
      std::clamp(limit.tokens > 0 ? limit.tokens * count / std::max(1.0, all.count) : limit.sequences, 1.0, count);
  limit.worker_seconds = seconds_of_tokens(task, {all.count * full / count, all.squares * full / count}).next / full;
  return limit;
}

std::vector<std::size_t> take_from(std::deque<std::size_t>& queue, std::size_t most, const MicroBatchLimit& limit,
                                   double replicas, const std::vector<Sample>& samples) {
  // Returns an integer limit for all replicas; 0 means no limit.
  const auto rounded_limit = [&](double each) {
    return each > 0 ? std::max<std::int64_t>(1, cost::integer_limit(each * replicas)) : 0;
  };
  const auto length_of = [&](std::size_t index) { return tokens_of(samples[queue[index]]); };
  const auto end = queue.begin() + static_cast<std::ptrdiff_t>(batching::count_that_fit(
                                       std::min(most, queue.size()), rounded_limit(limit.sequences),
                                       rounded_limit(limit.tokens), length_of));
  const std::vector<std::size_t> taken(queue.begin(), end);
  queue.erase(queue.begin(), end);
  return taken;
}

BatchSeconds seconds_of(const InferTask& task, const std::vector<std::size_t>& batch, double replicas,
                        const std::vector<Sample>& samples) {
  const double parts = std::min(replicas, static_cast<double>(batch.size()));
  llm::Tokens micro_batch;
  for (const std::size_t sample : batch) {
    const auto tokens = static_cast<double>(tokens_of(samples[sample]));
    micro_batch.count += tokens / parts;
    micro_batch.squares += tokens * tokens / parts;
  }
  return seconds_of_tokens(task, micro_batch);
}

}  // namespace dovetail::simulate
