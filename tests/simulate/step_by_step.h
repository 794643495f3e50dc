// Oracle of generation: one instance, simulated step by step, with everything recounted in every step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <list>
#include <set>
#include <vector>

#include "cost/generation.h"
#include "generations.h"

namespace dovetail::simulate::test {

class StepByStep {
 public:
  StepByStep(const Scenario& scenario, std::int64_t blocks)
      : scenario_(scenario), blocks_(blocks), machine_(scenario.machine()) {}

  void simulate(const std::vector<Sample>& samples) {
    finished.assign(samples.size(), 0);
    for (std::size_t sample = 0; sample < samples.size(); ++sample) waiting_.push_back({sample, samples[sample]});
    if (options().longest_first)
      waiting_.sort([](const State& a, const State& b) { return a.sample.response > b.sample.response; });
    while (!waiting_.empty() || !running_.empty()) step();
  }

  std::vector<double> finished;  ///< [sample] seconds
  std::int64_t preemptions = 0;
  std::int64_t recomputed = 0;
  std::int64_t prefilled = 0;
  std::int64_t max_blocks = 0;
  std::int64_t prefill_steps = 0;
  bool alone = false;  ///< a sequence exceeded the cache

 private:
  struct State {
    std::size_t index = 0;
    Sample sample;
    std::int64_t done = 0;
    std::int64_t lacking = 0;  // tokens without keys and values
    bool again = false;
  };

  const EngineOptions& options() const { return scenario_.task.options; }
  std::int64_t up(std::int64_t tokens) const { return (tokens + options().block_tokens - 1) / options().block_tokens; }
  bool same_prompt(const State& a, const State& b) const {
    return options().prefix_sharing ? a.sample.group == b.sample.group : a.index == b.index;
  }

  /// Returns the blocks held, with one more token for each sequence.
  std::int64_t used() const {
    std::int64_t blocks = 0;
    for (auto state = running_.begin(); state != running_.end(); ++state) {
      blocks += up(state->done + 1);
      const bool first =
          std::none_of(running_.begin(), state, [&](const State& other) { return same_prompt(*state, other); });
      if (first) blocks += up(state->sample.prompt);
    }
    return blocks;
  }

  void step() {
    bool may_enter = true;
    while (running_.size() > 1 && used() > blocks_) {
      State last = running_.back();
      running_.pop_back();
      last.again = true;
      last.lacking = 0;
      waiting_.push_front(last);
      ++preemptions;
      may_enter = false;
    }
    std::vector<State*> decoding;
    for (State& state : running_)
      if (state.lacking == 0) decoding.push_back(&state);
    const llm::Tokens prefill = enter_and_compute(static_cast<std::int64_t>(decoding.size()), may_enter);
    if (prefill.count == 0) {
      if (drop_finished()) return;
      decoding.clear();
      for (State& state : running_)
        if (state.lacking == 0) decoding.push_back(&state);
    } else if (!scenario_.task.engine.chunked_prefill) {
      decoding.clear();
    }
    prefill_steps += prefill.count > 0 ? 1 : 0;
    const std::int64_t now_used = running_.empty() ? 0 : used();
    alone = alone || now_used > blocks_;
    max_blocks = std::max(max_blocks, now_used);
    if (prefill.count == 0 && decoding.empty()) return;
    double context = 0;
    for (State* state : decoding) {
      context += static_cast<double>(state->sample.prompt + state->done) / static_cast<double>(decoding.size());
      ++state->done;
    }
    seconds_ += step_seconds(static_cast<double>(decoding.size()), context, prefill);
    drop_finished();
  }

  llm::Tokens enter_and_compute(std::int64_t decoding, bool may_enter) {
    const bool chunked = scenario_.task.engine.chunked_prefill;
    std::int64_t budget = scenario_.task.engine.max_num_batched_tokens - (chunked ? decoding : 0);
    llm::Tokens prefill;
    const auto compute = [&](State& state) {
      const std::int64_t tokens = chunked ? std::min(std::max<std::int64_t>(0, budget), state.lacking) : state.lacking;
      const auto before = static_cast<double>(state.sample.prompt + state.done - state.lacking);
      prefill.count += static_cast<double>(tokens);
      prefill.squares += std::pow(before + static_cast<double>(tokens), 2) - std::pow(before, 2);
      (state.again ? recomputed : prefilled) += tokens;
      budget -= tokens;
      state.lacking -= tokens;
    };
    for (State& state : running_)
      if (state.lacking > 0) compute(state);
    while (may_enter && budget > 0 && !waiting_.empty() &&
           static_cast<std::int64_t>(running_.size()) < scenario_.task.engine.max_num_seqs) {
      State next = waiting_.front();
      const bool shares =
          std::any_of(running_.begin(), running_.end(), [&](const State& other) { return same_prompt(next, other); });
      next.lacking = next.done + (shares ? 0 : next.sample.prompt);
      if (!chunked && prefill.count > 0 && next.lacking > budget) break;
      running_.push_back(next);
      if (running_.size() > 1 && used() > blocks_) {
        running_.pop_back();
        break;
      }
      waiting_.pop_front();
      compute(running_.back());
    }
    return prefill;
  }

  bool drop_finished() {
    return running_.remove_if([&](const State& state) {
      const bool over = state.lacking == 0 && state.done >= state.sample.response;
      if (over) finished[state.index] = seconds_;
      return over;
    }) > 0;
  }

  double step_seconds(double sequences, double context, const llm::Tokens& prefill) const {
    const cost::Efficiency& efficiency = scenario_.task.efficiency;
    const double alone_seconds =
        cost::decode_step_seconds(scenario_.facts, scenario_.task.layout, sequences, context, machine_, efficiency);
    if (prefill.count == 0) return alone_seconds;
    cost::Machine fast = machine_;
    fast.gpu.memory_bandwidth = std::numeric_limits<double>::infinity();
    cost::Efficiency bare = efficiency;
    bare.layer_launch = bare.expert_launch = bare.slot = 0;
    return std::max(
        alone_seconds,
        cost::decode_step_seconds(scenario_.facts, scenario_.task.layout, sequences, context, fast, efficiency) +
            cost::prefill_seconds(scenario_.facts, scenario_.task.layout, prefill, machine_, bare));
  }

  const Scenario& scenario_;
  std::int64_t blocks_;
  cost::Machine machine_;
  double seconds_ = 0;
  std::list<State> waiting_;
  std::list<State> running_;
};

}  // namespace dovetail::simulate::test
