#include "simulate/step_clock.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "cost/engine_step.h"
#include "cost/generation.h"

namespace dovetail::simulate {
StepClock::StepClock(const cost::ModelFacts& facts, const llm::Layout& layout, const cost::Machine& machine,
                     const cost::Efficiency& efficiency, std::int64_t longest)
    : facts_(facts),
      layout_(layout),
      machine_(machine),
      efficiency_(efficiency),
      no_launch_(cost::without_launch(efficiency)),
      longest_(static_cast<double>(std::max<std::int64_t>(1, longest))) {}

double StepClock::step(double sequences, double context, const cost::Efficiency& efficiency) const {
  return cost::decode_step_seconds(facts_, layout_, sequences, context, machine_, efficiency);
}

StepClock::Segments StepClock::segments_of(double sequences, const cost::Efficiency& efficiency) const {
  struct Interval {
    double begin, end, at_begin, at_end;
  };
  const auto seconds = [&](double context) { return step(sequences, context, efficiency); };
  const double at_end = seconds(longest_);
  const double tolerance = 1e-12 * at_end;
  std::vector<Interval> open{{0, longest_, seconds(0), at_end}};
  Segments segments;
  while (!open.empty()) {
    const Interval interval = open.back();
    open.pop_back();
    const double length = interval.end - interval.begin;
    const double middle = interval.begin + length / 2;
    const double at_middle = seconds(middle);
    if (length < 1 || std::abs(at_middle - (interval.at_begin + interval.at_end) / 2) <= tolerance) {
      const double slope = (interval.at_end - interval.at_begin) / length;
      segments.push_back({interval.begin, interval.at_begin, slope});
    } else {
      open.push_back({middle, interval.end, at_middle, interval.at_end});
      open.push_back({interval.begin, middle, interval.at_begin, at_middle});
    }
  }
  return segments;
}

const StepClock::Batch& StepClock::batch_of(std::int64_t sequences) {
  const auto index = static_cast<std::size_t>(sequences);
  if (batches_.size() <= index) batches_.resize(index + 1);
  Batch& batch = batches_[index];
  if (batch.all.empty())
    batch = {segments_of(static_cast<double>(sequences), efficiency_),
             segments_of(static_cast<double>(sequences), no_launch_)};
  return batch;
}

ActivitySeconds StepClock::decode(std::int64_t sequences, double context, std::int64_t steps) {
  DOVETAIL_ASSERT(sequences >= 1);
  const auto sum_of = [&](const Segments& segments) {
    double sum = 0;
    double at = context;
    auto left = static_cast<double>(steps);
    for (std::size_t index = 0; index < segments.size() && left > 0; ++index) {
      const Segment& segment = segments[index];
      double count = left;
      if (index + 1 < segments.size()) count = std::clamp(std::ceil(segments[index + 1].from - at), 0.0, left);
      sum += count * (segment.seconds + segment.slope * (at - segment.from)) + segment.slope * count * (count - 1) / 2;
      at += count;
      left -= count;
    }
    return sum;
  };
  const Batch& batch = batch_of(sequences);
  const double all = sum_of(batch.all);
  return {all, std::max(0.0, all - sum_of(batch.working))};
}

MixedSeconds StepClock::mixed(std::int64_t sequences, double context, const llm::Tokens& prefilled) {
  MixedSeconds seconds;
  if (sequences > 0) seconds.decode = decode(sequences, context, 1);
  seconds.prefill = cost::mixed_step_seconds(facts_, layout_, {static_cast<double>(sequences), context}, prefilled,
                                             machine_, efficiency_) -
                    seconds.decode.all;
  return seconds;
}

}  // namespace dovetail::simulate
