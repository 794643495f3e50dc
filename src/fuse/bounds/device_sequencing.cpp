#include "fuse/bounds/device_sequencing.h"

#include <algorithm>
#include <limits>

namespace dovetail::fuse {

using base::Memory;
using base::Ticks;

namespace {

constexpr Ticks never = Ticks::max();
constexpr Ticks too_late = Ticks(std::numeric_limits<std::int64_t>::min());

}  // namespace

/// Combines the states at `index` of all pipelines except the last. The first pipeline's state changes slowest.
void DeviceSequencing::set_outer(std::size_t index) {
  outer_.steps.clear();
  outer_.held = Memory(0);
  outer_.leave_by = never;
  outer_.counts.assign(width_, LiveStates::unknown);
  std::size_t stride = inner_count_;
  for (std::size_t part = parts_.size() - 1; part-- > 0;) {
    const LiveStates& live = parts_[part];
    const std::size_t state = index % live.size();
    index /= live.size();
    outer_.held += live.held[state];
    outer_.leave_by = std::min(outer_.leave_by, live.leave_by[state]);
    for (std::size_t row = 0; row < width_; ++row)
      outer_.counts[row] = std::min(outer_.counts[row], live.counts[state * width_ + row]);
    for (std::size_t s = live.step_begin[state]; s < live.step_begin[state + 1]; ++s) {
      outer_.steps.push_back(live.steps[s]);
      outer_.steps.back().to =
          (live.steps[s].to - static_cast<std::ptrdiff_t>(state)) * static_cast<std::ptrdiff_t>(stride);
    }
    stride *= live.size();
  }
}

/// Extends the range of outer state `outer` to include states `begin` to `end` of the last pipeline.
void DeviceSequencing::widen(std::size_t outer, std::size_t begin, std::size_t end) {
  Range& range = ranges_[outer];
  if (range.begin == range.end) range = {begin, begin};
  const auto row = reached_.begin() + static_cast<std::ptrdiff_t>(outer * inner_count_);
  const auto fill = [&](std::size_t from, std::size_t to) {
    std::fill(row + static_cast<std::ptrdiff_t>(from), row + static_cast<std::ptrdiff_t>(to), never);
  };
  if (begin < range.begin) fill(begin, range.begin);
  if (end > range.end) fill(range.end, end);
  range = {std::min(range.begin, begin), std::max(range.end, end)};
}

/// Follows the transitions of a state of the last pipeline. Returns false if the state cannot be passed.
bool DeviceSequencing::extend_from(std::size_t outer, std::size_t state, Memory headroom) {
  const LiveStates& inner = parts_.back();
  const std::size_t here = outer * inner_count_ + state;
  const Ticks now = reached_[here];
  if (now > outer_.leave_by || now > inner.leave_by[state] || outer_.held + inner.held[state] > headroom) {
    reached_[here] = never;
    return false;
  }
  const auto follow = [this, now](const Step& step, std::size_t to) {
    const Ticks end = std::max(now, step.from) + step.duration;
    if (end <= step.until) reached_[to] = std::min(reached_[to], end);
  };
  for (const Step& step : outer_.steps) follow(step, here + static_cast<std::size_t>(step.to));
  for (std::size_t s = inner.step_begin[state]; s < inner.step_begin[state + 1]; ++s)
    follow(inner.steps[s], outer * inner_count_ + static_cast<std::size_t>(inner.steps[s].to));
  return true;
}

std::int64_t DeviceSequencing::sweep_forward(Memory headroom) {
  const LiveStates& inner = parts_.back();
  std::int64_t looked_at = 0;
  if (reached_.size() < outer_count_ * inner_count_) reached_.resize(outer_count_ * inner_count_);
  ranges_.assign(outer_count_, {});
  widen(0, 0, 1);
  reached_.front() = Ticks(0);
  for (std::size_t outer = 0; outer < outer_count_; ++outer) {
    if (ranges_[outer].begin == ranges_[outer].end) continue;
    set_outer(outer);
    // Extend the range for every possible transition, taken or not: the backward pass reads these entries.
    for (const Step& step : outer_.steps)
      widen(outer + static_cast<std::size_t>(step.to) / inner_count_, ranges_[outer].begin, ranges_[outer].end);
    for (std::size_t state = ranges_[outer].begin; state < ranges_[outer].end; ++state) {
      if (reached_[outer * inner_count_ + state] == never) continue;
      const std::size_t end = static_cast<std::size_t>(inner.furthest[state]) + 1;
      if (end > ranges_[outer].end) {
        widen(outer, ranges_[outer].begin, end);
        for (const Step& step : outer_.steps)
          widen(outer + static_cast<std::size_t>(step.to) / inner_count_, ranges_[outer].begin, end);
      }
      looked_at += extend_from(outer, state, headroom) ? 1 : 0;
    }
  }
  return looked_at;
}

/// Examines one transition in the backward pass and records it if a sequence can use it. Returns the latest time the
/// state may be left for it.
Ticks DeviceSequencing::look_back(std::size_t from, std::size_t to, const Step& step,
                                  const std::int32_t* inner_counts) {
  if (reached_[to] == never) return too_late;
  const Ticks start = std::max(reached_[from], step.from);
  const Ticks end = std::min(leave_[to], step.until);
  if (start + step.duration > end) return too_late;
  const auto op = static_cast<std::size_t>(step.op_here);
  earliest_[op] = std::min(earliest_[op], start);
  latest_[op] = std::max(latest_[op], end);
  std::int32_t* before = before_.data() + op * width_;
  for (std::size_t row = 0; row < width_; ++row)
    before[row] = std::min(before[row], std::min(outer_.counts[row], inner_counts[row]));
  return end - step.duration;
}

void DeviceSequencing::sweep_backward() {
  const LiveStates& inner = parts_.back();
  if (leave_.size() < reached_.size()) leave_.resize(reached_.size());
  for (std::size_t outer = outer_count_; outer-- > 0;) {
    if (ranges_[outer].begin == ranges_[outer].end) continue;
    set_outer(outer);
    const std::size_t base = outer * inner_count_;
    for (std::size_t state = ranges_[outer].end; state-- > ranges_[outer].begin;) {
      const std::size_t here = base + state;
      if (reached_[here] == never) continue;
      const std::int32_t* counts = inner.counts.data() + state * width_;
      Ticks leave = here + 1 == outer_count_ * inner_count_ ? never : too_late;
      for (const Step& step : outer_.steps)
        leave = std::max(leave, look_back(here, here + static_cast<std::size_t>(step.to), step, counts));
      for (std::size_t s = inner.step_begin[state]; s < inner.step_begin[state + 1]; ++s)
        leave = std::max(leave,
                         look_back(here, base + static_cast<std::size_t>(inner.steps[s].to), inner.steps[s], counts));
      leave_[here] = leave;
      if (leave < reached_[here]) reached_[here] = never;
    }
  }
}

void DeviceSequencing::apply(const PositionNetwork& network, const std::vector<const PipelineStates*>& pipelines,
                             WindowPropagation& propagation) const {
  for (const PipelineStates* pipeline : pipelines) {
    for (const std::int32_t number : pipeline->rows) {
      const PositionRow& row = network.rows[static_cast<std::size_t>(number)];
      const std::vector<std::int32_t>& rows_here = network.on[row.device.index()];
      for (std::int32_t op = row.begin; op < row.end; ++op) {
        const auto here = static_cast<std::size_t>(row.first_on_device + op - row.begin);
        propagation.raise_from(op, earliest_[here]);
        propagation.lower_until(op, latest_[here]);
        for (std::size_t other = 0; other < width_; ++other) {
          const std::int32_t before = before_[here * width_ + other];
          if (rows_here[other] != number && before > 0 && before != LiveStates::unknown)
            propagation.raise_preceding(op, rows_here[other], before);
        }
      }
    }
  }
}

DeviceSequencing::Outcome DeviceSequencing::tighten(const PositionNetwork& network,
                                                    const std::vector<const PipelineStates*>& pipelines,
                                                    Memory headroom, std::size_t max_states,
                                                    WindowPropagation& propagation) {
  parts_.clear();
  std::size_t states = 1;
  Outcome outcome;
  for (const PipelineStates* pipeline : pipelines) {
    parts_.push_back(live_states(network, *pipeline, propagation.windows()));
    outcome.work += static_cast<std::int64_t>(pipeline->size());
    if (parts_.back().size() == 0) {
      propagation.set_impossible();
      return outcome;
    }
    if (parts_.back().size() > max_states / states) return {false, outcome.work};
    states *= parts_.back().size();
  }
  inner_count_ = parts_.back().size();
  outer_count_ = states / inner_count_;
  const base::DeviceId device = network.rows[static_cast<std::size_t>(pipelines.front()->rows.front())].device;
  width_ = network.on[device.index()].size();
  const auto ops = static_cast<std::size_t>(network.ops_on[device.index()]);
  outcome.work += sweep_forward(headroom);
  const Range last = ranges_.back();
  if (last.end < inner_count_ || last.begin == last.end || reached_[states - 1] == never) {
    propagation.set_impossible();
    return outcome;
  }
  earliest_.assign(ops, never);
  latest_.assign(ops, too_late);
  before_.assign(ops * width_, LiveStates::unknown);
  sweep_backward();
  if (reached_.front() == never)
    propagation.set_impossible();
  else
    apply(network, pipelines, propagation);
  return outcome;
}

}  // namespace dovetail::fuse
