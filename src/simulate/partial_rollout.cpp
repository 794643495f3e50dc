#include "simulate/partial_rollout.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/assert.h"

namespace dovetail::simulate {
namespace {

using base::Ticks;

/// Tokens of a response that were decoded in one iteration.
struct DecodedTokens {
  std::size_t iteration = 0;
  std::int64_t tokens = 0;
};

struct Begun {
  std::size_t group = 0;  // index in Rollout::groups_
  std::int64_t response = 0;
  std::int64_t decoded = 0;
  std::vector<DecodedTokens> parts = {};
};

struct PromptGroup {
  std::vector<std::size_t> samples;  // indices in Rollout::samples_
  std::size_t left = 0;
};

/// A sample, and the time at which it ended.
using Finished = std::pair<std::size_t, Ticks>;

class Rollout {
 public:
  Rollout(const GenerationTask& task, std::int64_t longest,
          const std::function<std::vector<Sample>(std::uint64_t)>& samples_of, const PartialRolloutOptions& options)
      : fleet_(fleet_of(task, {{1, longest - 1, 0}})),
        task_(task.task),
        samples_of_(samples_of),
        options_(options),
        waiting_(fleet_.devices.size()) {
    DOVETAIL_ASSERT(options.trained >= 1 && options.in_progress >= options.trained && options.iterations >= 1);
  }

  PartialRollout simulate_iteration() {
    while (in_progress_ < options_.in_progress) begin_group();
    std::vector<Instance> instances = instances_with_waiting();
    PartialRollout result;
    if (complete_.size() < options_.trained) {
      const Ticks enough = completion_time(instances);
      for (Instance& instance : instances) instance.run_until(enough);
      finish(instances, result);
    }
    for (std::size_t instance = 0; instance < instances.size(); ++instance)
      carry_over(instances[instance], waiting_[instance]);
    train(result);
    held_ += result.decoded - result.trained;
    result.held = held_;
    ++iteration_;
    return result;
  }

 private:
  /// Begins the next drawn prompt.
  void begin_group() {
    if (next_ == drawn_.size()) {
      drawn_ = samples_of_(draws_++);
      next_ = 0;
    }
    DOVETAIL_ASSERT(next_ < drawn_.size());
    const std::int64_t drawn_group = drawn_[next_].group;
    PromptGroup& group = groups_.emplace_back();
    std::size_t instance = min_loaded_instance();
    for (; next_ < drawn_.size() && drawn_[next_].group == drawn_group; ++next_) {
      // With fewer prompts than instances, a prompt's samples are spread over instances.
      if (options_.in_progress < waiting_.size()) instance = min_loaded_instance();
      Sequence sequence;
      sequence.sample = samples_.size();
      sequence.prompt = drawn_[next_].prompt;
      sequence.response = drawn_[next_].response;
      sequence.group = static_cast<std::int64_t>(groups_.size()) - 1;
      waiting_[instance].push_back(sequence);
      samples_.push_back({groups_.size() - 1, sequence.response});
      group.samples.push_back(sequence.sample);
    }
    group.left = group.samples.size();
    ++in_progress_;
  }

  std::size_t min_loaded_instance() const {
    const auto least = std::min_element(waiting_.begin(), waiting_.end(),
                                        [](const auto& one, const auto& other) { return one.size() < other.size(); });
    return static_cast<std::size_t>(least - waiting_.begin());
  }

  std::vector<Instance> instances_with_waiting() {
    std::vector<Instance> instances;
    for (const std::vector<Sequence>& sequences : waiting_) {
      Instance& instance = instances.emplace_back(fleet_.limits, fleet_.clock, task_);
      for (const Sequence& sequence : sequences) instance.arrive(Ticks(0), sequence);
    }
    return instances;
  }

  /// Returns the time at which enough groups to train on are complete if all instances run on. Simulates copies.
  Ticks completion_time(std::vector<Instance> instances) const {
    std::vector<std::size_t> left;
    for (const PromptGroup& group : groups_) left.push_back(group.left);
    std::vector<Finished> finished;
    for (Instance& instance : instances) {
      instance.run_until(Ticks::max());
      finished.insert(finished.end(), instance.log().finished.begin(), instance.log().finished.end());
    }
    std::sort(finished.begin(), finished.end(),
              [](const Finished& a, const Finished& b) { return a.second < b.second; });
    std::size_t complete = complete_.size();
    for (const auto& [sample, time] : finished)
      if (--left[samples_[sample].group] == 0 && ++complete == options_.trained) return time;
    DOVETAIL_ASSERT(false);
  }

  /// Records the finished samples of the instances.
  void finish(const std::vector<Instance>& instances, PartialRollout& result) {
    std::vector<Finished> finished;
    for (const Instance& instance : instances) {
      result.end = std::max(result.end, instance.now());
      result.decoded += instance.log().decoded;
      result.recomputed += instance.log().recomputed;
      finished.insert(finished.end(), instance.log().finished.begin(), instance.log().finished.end());
    }
    std::sort(finished.begin(), finished.end(), [](const Finished& a, const Finished& b) {
      return std::tie(a.second, a.first) < std::tie(b.second, b.first);
    });
    for (const auto& [sample, time] : finished) {
      note(sample, samples_[sample].response);
      const std::size_t group = samples_[sample].group;
      if (--groups_[group].left == 0) complete_.push_back(group);
    }
  }

  /// Records that the sample has `decoded` tokens now.
  void note(std::size_t sample, std::int64_t decoded) {
    Begun& begun = samples_[sample];
    if (decoded > begun.decoded) begun.parts.push_back({iteration_, decoded - begun.decoded});
    begun.decoded = decoded;
  }

  void carry_over(Instance& instance, std::vector<Sequence>& waiting) {
    waiting = instance.leave();
    for (Sequence& sequence : waiting) {
      if (std::exchange(sequence.cached, false)) sequence.again = true;
      note(sequence.sample, sequence.done);
    }
  }

  /// Trains on the groups that were complete first.
  void train(PartialRollout& result) {
    DOVETAIL_ASSERT(complete_.size() >= options_.trained);
    for (std::size_t index = 0; index < options_.trained; ++index) {
      PromptGroup& group = groups_[complete_[index]];
      for (const std::size_t sample : group.samples) {
        ++result.samples;
        for (const DecodedTokens& part : std::exchange(samples_[sample].parts, {})) {
          const std::size_t age = iteration_ - part.iteration;
          if (result.by_age.size() <= age) result.by_age.resize(age + 1);
          result.by_age[age] += part.tokens;
          result.trained += part.tokens;
        }
      }
    }
    complete_.erase(complete_.begin(), complete_.begin() + static_cast<std::ptrdiff_t>(options_.trained));
    in_progress_ -= options_.trained;
  }

  Fleet fleet_;
  std::int32_t task_;
  const std::function<std::vector<Sample>(std::uint64_t)>& samples_of_;
  const PartialRolloutOptions options_;
  std::vector<std::vector<Sequence>> waiting_;  // [instance]
  std::vector<Sample> drawn_;
  std::size_t next_ = 0;  // index in drawn_
  std::uint64_t draws_ = 0;
  std::vector<Begun> samples_;
  std::vector<PromptGroup> groups_;
  std::vector<std::size_t> complete_;  // groups, in order of completion
  std::size_t in_progress_ = 0;        // groups begun but not trained on
  std::size_t iteration_ = 0;
  std::int64_t held_ = 0;
};

}  // namespace

std::vector<PartialRollout> simulate_partial_rollout(
    const GenerationTask& task, std::int64_t longest,
    const std::function<std::vector<Sample>(std::uint64_t)>& samples_of, const PartialRolloutOptions& options) {
  Rollout rollout(task, longest, samples_of, options);
  for (std::size_t iteration = 0; iteration < options.warm_up; ++iteration) rollout.simulate_iteration();
  std::vector<PartialRollout> results;
  for (std::size_t iteration = 0; iteration < options.iterations; ++iteration)
    results.push_back(rollout.simulate_iteration());
  return results;
}

}  // namespace dovetail::simulate
