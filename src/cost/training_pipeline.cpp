#include "cost/training_pipeline.h"

#include <algorithm>
#include <cstddef>

#include "base/assert.h"

namespace dovetail::cost {
namespace {

/// The seconds of all passes, and room for the moments at which stages are done with their latest.
class Playing {
 public:
  Playing(const std::vector<ChunkPasses>& chunks, int stages, double hop)
      : stages_(stages),
        rounds_(static_cast<int>(chunks.size()) / stages),
        hop_(hop),
        numbers_(2 * chunks.size() + 3 * at(stages)) {
    forward_ = numbers_.data();
    backward_ = forward_ + chunks.size();
    free_ = backward_ + chunks.size();
    forward_end_ = free_ + stages;
    backward_end_ = forward_end_ + stages;
    for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
      forward_[chunk] = chunks[chunk].forward.sum();
      backward_[chunk] = chunks[chunk].backward.sum();
    }
  }

  double seconds(int micro_batches) {
    const int rounds = std::max(played_each_stage, (played_in_all + stages_ - 1) / stages_);
    const int played = std::min(micro_batches, rounds * stages_);
    const double begun = play(played);
    return played == micro_batches ? begun : begun + (micro_batches - played) * seconds_each(played, begun);
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  double play(int micro_batches) { return rounds_ == 1 ? play_plain(micro_batches) : play_interleaved(micro_batches); }

  /// 1F1B. The last to end is the backward of the first stage.
  double play_plain(int micro_batches) {
    std::fill_n(free_, stages_, 0.0);
    for (int count = 0; count < micro_batches + stages_ - 1; ++count) {
      for (int stage = std::min(count, stages_ - 1); stage >= std::max(0, count - micro_batches + 1); --stage) {
        const double arrival = stage > 0 ? forward_end_[stage - 1] + hop_ : 0;
        forward_end_[stage] = free_[stage] = std::max(free_[stage], arrival) + forward_[stage];
      }
      if (count < stages_ - 1) continue;
      double arrival = 0;
      for (int stage = stages_ - 1; stage >= 0; --stage) {
        free_[stage] = std::max(free_[stage], arrival) + backward_[stage];
        arrival = free_[stage] + hop_;
      }
    }
    return free_[0];
  }

  /// Interleaved 1F1B: passes go in groups of as many micro-batches as stages, a group through the first chunks, then
  /// the second ones, ...
  double play_interleaved(int micro_batches) {
    const int passes = micro_batches * rounds_;
    const int after =
        stages_ * rounds_ + stages_ - 2;  // counts from the first stage's first forward to its first backward
    std::fill_n(free_, stages_, 0.0);
    for (int count = 0; count < passes + after; ++count) {
      forwards(count, passes);
      if (count >= after - stages_ + 1) backwards(count - after, passes);
    }
    return free_[0];
  }

  /// The forwards of a count: pass `count` of the first stage, the one before it of the second, ...
  void forwards(int count, int passes) {
    const double round_the_ring = forward_end_[stages_ - 1] + hop_;
    const int turn = count / stages_;
    for (int stage = std::min(count, stages_ - 1); stage >= std::max(0, count - passes + 1); --stage) {
      const int round = (stage > count % stages_ ? turn + rounds_ - 1 : turn) % rounds_;
      const double arrival = stage > 0 ? forward_end_[stage - 1] + hop_ : round > 0 ? round_the_ring : 0;
      forward_end_[stage] = free_[stage] = std::max(free_[stage], arrival) + forward_[round * stages_ + stage];
    }
  }

  /// The backwards of a count: pass `first` of the first stage, where there is one, the one behind it of the second,
  /// ...
  void backwards(int first, int passes) {
    const double round_the_ring = backward_end_[0] + hop_;
    for (int stage = std::max(0, -first); stage < stages_ && first + stage < passes; ++stage) {
      const int round = rounds_ - 1 - (first + stage) / stages_ % rounds_;
      const double arrival = stage < stages_ - 1   ? backward_end_[stage + 1] + hop_
                             : round < rounds_ - 1 ? round_the_ring
                                                   : 0;
      backward_end_[stage] = free_[stage] = std::max(free_[stage], arrival) + backward_[round * stages_ + stage];
    }
  }

  /// A micro-batch in the long run: v = 1 by the header's formula, else as the last of those played, or as the slowest
  /// stage.
  double seconds_each(int played, double begun) {
    const bool interleaved = rounds_ > 1;
    double most = interleaved ? (begun - play(played - stages_)) / stages_ : 0;
    for (int first = 0; first < stages_; ++first) {
      double sum = 0;
      for (int last = first; last < (interleaved ? first + 1 : stages_); ++last) {
        for (int chunk = last; chunk < rounds_ * stages_; chunk += stages_) sum += forward_[chunk] + backward_[chunk];
        most = std::max(most, (sum + 2 * (last - first) * hop_) / (last - first + 1));
      }
    }
    return most;
  }

  int stages_;
  int rounds_;
  double hop_;
  std::vector<double> numbers_;
  double* forward_;       // [chunk]
  double* backward_;      // [chunk]
  double* free_;          // [stage]
  double* forward_end_;   // [stage]
  double* backward_end_;  // [stage]
};

}  // namespace

PipelineSeconds training_pipeline_seconds(const std::vector<ChunkPasses>& chunks, int stages, int micro_batches,
                                          double hop_seconds) {
  const int rounds = static_cast<int>(chunks.size()) / stages;
  DOVETAIL_ASSERT(stages >= 1 && rounds >= 1 && micro_batches >= 1 && (rounds == 1 || micro_batches % stages == 0));
  PassSeconds slowest;
  double once = 0;
  for (int stage = 0; stage < stages; ++stage) {
    PassSeconds here;
    for (int round = 0; round < rounds; ++round) {
      const ChunkPasses& chunk = chunks[static_cast<std::size_t>(round * stages + stage)];
      here += chunk.forward;
      here += chunk.backward;
    }
    once += here.sum();
    if (here.sum() > slowest.sum()) slowest = here;
  }
  PipelineSeconds pipeline;
  pipeline.seconds = Playing(chunks, stages, hop_seconds).seconds(micro_batches);
  pipeline.slowest = micro_batches * slowest;
  const double waiting = std::max(0.0, pipeline.seconds - pipeline.slowest.sum());
  pipeline.bubbles = std::min(waiting, (once - slowest.sum()) / rounds);
  pipeline.transfers = waiting - pipeline.bubbles;
  return pipeline;
}

}  // namespace dovetail::cost
