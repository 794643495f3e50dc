// Oracle of the engine's rules: token by token, with a table of blocks, and everything recounted in every step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <vector>

#include "batching/engine_scheduler.h"

namespace dovetail::batching::test {

/// A step, by ids.
struct StepRecord {
  std::vector<std::size_t> preempted;
  std::vector<std::size_t> admitted;
  std::map<std::size_t, std::int64_t> computed;
  std::vector<std::size_t> decoded;

  friend bool operator==(const StepRecord&, const StepRecord&) = default;
};

class TokenByToken {
 public:
  explicit TokenByToken(const EngineLimits& limits) : limits_(limits) {}

  void arrive(const Sequence& sequence) {
    auto before = std::find_if(waiting_.begin(), waiting_.end(), [&](const State& other) {
      return !other.preempted && other.sequence.priority < sequence.priority;
    });
    waiting_.insert(before, State{sequence});
  }

  StepRecord step() {
    StepRecord record;
    while (running_.size() > 1 && !has_space()) {
      State last = running_.back();
      running_.pop_back();
      last.preempted = true;
      last.lacking = 0;
      last.sequence.cached = false;
      waiting_.push_front(last);
      record.preempted.push_back(last.sequence.id);
    }
    std::vector<State*> decoding = complete();
    compute(static_cast<std::int64_t>(decoding.size()), record);
    if (record.computed.empty()) decoding = complete();
    if (!record.computed.empty() && !limits_.chunked_prefill) decoding.clear();
    for (State* state : decoding) {
      ++state->sequence.done;
      record.decoded.push_back(state->sequence.id);
    }
    return record;
  }

  /// Ends the sequences that satisfy the condition.
  template <class Ended>
  void finish_if(Ended ended) {
    running_.remove_if([&](const State& state) { return state.lacking == 0 && ended(state.sequence); });
  }

  bool empty() const { return waiting_.empty() && running_.empty(); }
  std::size_t running() const { return running_.size(); }

  /// Returns the blocks held, with one more token for each running sequence.
  std::int64_t blocks() const {
    std::set<std::pair<std::int64_t, std::int64_t>> of_prompts;   // owner and block
    std::set<std::pair<std::size_t, std::int64_t>> of_responses;  // owner and block
    for (const State& state : running_) {
      for (std::int64_t token = 0; token < state.sequence.prompt; ++token)
        of_prompts.emplace(prompt_of(state.sequence), token / limits_.block_tokens);
      for (std::int64_t token = 0; token <= state.sequence.done; ++token)
        of_responses.emplace(state.sequence.id, token / limits_.block_tokens);
    }
    return static_cast<std::int64_t>(of_prompts.size() + of_responses.size());
  }

 private:
  struct State {
    Sequence sequence;
    std::int64_t lacking = 0;  // tokens without keys and values
    bool preempted = false;
  };

  bool has_space() const { return blocks() <= limits_.blocks; }
  std::int64_t prompt_of(const Sequence& sequence) const {
    return limits_.prefix_sharing ? sequence.group : static_cast<std::int64_t>(sequence.id);
  }

  std::vector<State*> complete() {
    std::vector<State*> states;
    for (State& state : running_)
      if (state.lacking == 0) states.push_back(&state);
    return states;
  }

  void compute(std::int64_t decoding, StepRecord& record) {
    std::int64_t budget = limits_.batched_tokens - (limits_.chunked_prefill ? decoding : 0);
    while (budget > 0) {
      const auto lacks =
          std::find_if(running_.begin(), running_.end(), [](const State& state) { return state.lacking > 0; });
      if (lacks == running_.end()) {
        if (!record.preempted.empty() || !enter(budget, record)) return;
        continue;
      }
      const std::int64_t tokens = limits_.chunked_prefill ? 1 : lacks->lacking;
      lacks->lacking -= tokens;
      budget -= tokens;
      record.computed[lacks->sequence.id] += tokens;
    }
  }

  bool enter(std::int64_t budget, StepRecord& record) {
    if (waiting_.empty() || static_cast<std::int64_t>(running_.size()) == limits_.sequences) return false;
    State next = waiting_.front();
    const bool shared = std::any_of(running_.begin(), running_.end(), [&](const State& other) {
      return prompt_of(other.sequence) == prompt_of(next.sequence);
    });
    next.lacking = next.sequence.cached ? 0 : next.sequence.done + (shared ? 0 : next.sequence.prompt);
    next.preempted = false;
    if (!limits_.chunked_prefill && !record.computed.empty() && next.lacking > budget) return false;
    running_.push_back(next);
    if (running_.size() > 1 && !has_space()) {
      running_.pop_back();
      return false;
    }
    waiting_.pop_front();
    record.admitted.push_back(next.sequence.id);
    return true;
  }

  EngineLimits limits_;
  std::list<State> waiting_;
  std::list<State> running_;
};

}  // namespace dovetail::batching::test
