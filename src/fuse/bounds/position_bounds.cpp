#include "fuse/bounds/position_bounds.h"

#include <algorithm>
#include <span>
#include <utility>

namespace dovetail::fuse {
namespace {

using base::DeviceId;
using base::ModelId;
using base::ReplicaId;
using base::StageId;
using base::Ticks;
using pipeline::Model;
using pipeline::StepAfter;
using pipeline::StepBefore;

/// Work of one micro-batch on the device of a stage, over all stages of the pipeline on that device.
struct DeviceWork {
  std::size_t first = 0;  ///< lowest of these stages
  Ticks forwards;
  Ticks backwards;
  Ticks weight_gradients;
  Ticks forwards_below;          ///< of the lower stages only
  Ticks backwards_below;         ///< of the lower stages only
  Ticks weight_gradients_up_to;  ///< of the lower stages and this one
};

std::vector<DeviceWork> device_work_of(const Model& model, const std::vector<DeviceId>& devices) {
  const std::size_t stages = devices.size();
  std::vector<std::size_t> by_device(stages);
  for (std::size_t s = 0; s < stages; ++s) by_device[s] = s;
  std::sort(by_device.begin(), by_device.end(),
            [&](std::size_t a, std::size_t b) { return std::pair(devices[a], a) < std::pair(devices[b], b); });
  std::vector<DeviceWork> work(stages);
  for (std::size_t begin = 0, end = 0; begin < stages; begin = end) {
    DeviceWork sum{by_device[begin], {}, {}, {}, {}, {}, {}};
    for (end = begin; end < stages && devices[by_device[end]] == devices[by_device[begin]]; ++end) {
      const std::size_t s = by_device[end];
      sum.forwards_below = sum.forwards;
      sum.backwards_below = sum.backwards;
      sum.forwards += model.forward[s];
      sum.backwards += model.backward[s];
      if (model.split()) sum.weight_gradients += model.weight_gradient[s];
      sum.weight_gradients_up_to = sum.weight_gradients;
      work[s] = sum;
    }
    for (std::size_t i = begin; i < end; ++i) {
      work[by_device[i]].forwards = sum.forwards;
      work[by_device[i]].backwards = sum.backwards;
      work[by_device[i]].weight_gradients = sum.weight_gradients;
    }
  }
  return work;
}

/// Raises bounds of consecutive ops of `duration` on one device. Before each op, the device also does `own` for its
/// micro-batch, and own + duration for each earlier one. None of that starts before the micro-batch's `release`.
void raise_by_work(std::span<Ticks> limits, std::span<const Ticks> releases, Ticks own, Ticks duration) {
  Ticks earliest;
  for (std::size_t position = 0; position < limits.size(); ++position) {
    earliest = position == 0 ? releases[0] + own : std::max(earliest + own + duration, releases[position] + own);
    if (position > 0) limits[position] = std::max(limits[position], limits[position - 1] + duration);
    limits[position] = std::max(limits[position], earliest);
  }
}

/// The bounds of one model, mini-batch by mini-batch: heads from the first, tails from the last. While tails are
/// computed, position 0 and mini-batch 0 are the last in time, so both directions count upwards.
class ModelBounds {
 public:
  explicit ModelBounds(const Model& model)
      : model_(model),
        stages_(static_cast<std::size_t>(model.stages())),
        minibatch_size_(static_cast<std::size_t>(model.microbatches)),
        after_passes_(stages_) {
    for (const auto& devices : model.replicas) {
      work_.push_back(device_work_of(model, devices));
      heads_.push_back(empty_times());
      tails_.push_back(empty_times());
      weight_tails_.emplace_back(stages_, std::vector<Ticks>(minibatch_size_));
    }
  }

  void run() {
    for (std::size_t minibatch = 0; minibatch < static_cast<std::size_t>(model_.minibatches); ++minibatch) {
      for (std::size_t replica = 0; replica < work_.size(); ++replica) {
        add_forward_heads(replica, minibatch);
        add_backward_heads(replica, minibatch);
      }
      if (model_.has_steps()) add_step_heads(minibatch);
      if (model_.has_steps()) add_step_tails(minibatch);
      for (std::size_t replica = 0; replica < work_.size(); ++replica) {
        add_backward_tails(replica, minibatch);
        add_forward_tails(replica, minibatch);
      }
    }
  }

  void move_to(ModelId id, std::vector<StageBounds>& result) {
    for (std::size_t replica = 0; replica < work_.size(); ++replica)
      for (std::size_t s = 0; s < stages_; ++s) {
        PositionTimes& tails = tails_[replica][s];
        for (auto* times : {&tails.forward, &tails.backward, &tails.weight_gradient, &tails.step})
          std::reverse(times->begin(), times->end());
        result.push_back(
            {id, StageId(s), model_.replicas[replica][s], std::move(heads_[replica][s]), std::move(tails)});
      }
  }

 private:
  using Replica = std::vector<PositionTimes>;  // [stage]

  Replica empty_times() const {
    const auto positions = static_cast<std::size_t>(model_.total_microbatches());
    PositionTimes times;
    times.forward.resize(positions);
    times.backward.resize(positions);
    if (model_.split()) times.weight_gradient.resize(positions);
    if (model_.has_steps()) times.step.resize(static_cast<std::size_t>(model_.minibatches));
    return Replica(stages_, times);
  }

  std::span<Ticks> in_minibatch(std::vector<Ticks>& times, std::size_t minibatch) const {
    return std::span(times).subspan(minibatch * minibatch_size_, minibatch_size_);
  }

  Ticks transfer(std::size_t replica, std::size_t from, std::size_t to) const {
    return pipeline::transfer_between(model_, ReplicaId(replica), StageId(from), StageId(to));
  }

  void add_forward_heads(std::size_t replica, std::size_t minibatch) {
    Replica& heads = heads_[replica];
    for (std::size_t s = 0; s < stages_; ++s) {
      const auto forward = in_minibatch(heads[s].forward, minibatch);
      if (minibatch > 0) std::fill(forward.begin(), forward.end(), heads[s].step[minibatch - 1] + model_.step[s]);
      if (s > 0)
        raise_by_path(forward, in_minibatch(heads[s - 1].forward, minibatch),
                      model_.forward[s - 1] + transfer(replica, s - 1, s));
      const DeviceWork& work = work_[replica][s];
      raise_by_work(forward, in_minibatch(heads[work.first].forward, minibatch), work.forwards_below,
                    model_.forward[s]);
    }
  }

  void add_backward_heads(std::size_t replica, std::size_t minibatch) {
    Replica& heads = heads_[replica];
    for (std::size_t s = stages_; s-- > 0;) {
      const auto backward = in_minibatch(heads[s].backward, minibatch);
      raise_by_path(backward, in_minibatch(heads[s].forward, minibatch), model_.forward[s]);
      if (s + 1 < stages_)
        raise_by_path(backward, in_minibatch(heads[s + 1].backward, minibatch),
                      model_.backward[s + 1] + transfer(replica, s + 1, s));
      const DeviceWork& work = work_[replica][s];
      const auto releases = in_minibatch(heads[work.first].forward, minibatch);
      const Ticks own = work.forwards + work.backwards - work.backwards_below - model_.backward[s];
      raise_by_work(backward, releases, own, model_.backward[s]);
      if (!model_.split()) continue;
      const auto weight_gradient = in_minibatch(heads[s].weight_gradient, minibatch);
      raise_by_path(weight_gradient, backward, model_.backward[s]);
      raise_by_work(weight_gradient, releases, own + model_.backward[s], model_.weight_gradient[s]);
    }
  }

  /// Heads are the same for all replicas of a stage, so a forward that waits for all replicas needs no extra bound.
  void add_step_heads(std::size_t minibatch) {
    std::vector<Ticks> latest(stages_);
    for (Replica& heads : heads_)
      for (std::size_t s = 0; s < stages_; ++s) {
        const Ticks last =
            in_minibatch(model_.split() ? heads[s].weight_gradient : heads[s].backward, minibatch).back();
        latest[s] = std::max(latest[s], last + (model_.split() ? model_.weight_gradient[s] : model_.backward[s]));
      }
    if (model_.step_after == StepAfter::model)
      std::fill(latest.begin(), latest.end(), *std::max_element(latest.begin(), latest.end()));
    for (Replica& heads : heads_)
      for (std::size_t s = 0; s < stages_; ++s) heads[s].step[minibatch] = latest[s];
  }

  /// Also computes the tail after the last op of the mini-batch on each stage: the largest over the replicas of its
  /// step. If each step waits for all stages, it is the largest over the stages too.
  void add_step_tails(std::size_t minibatch) {
    after_passes_.assign(stages_, Ticks(0));
    for (std::size_t s = 0; s < stages_; ++s) {
      Ticks longest;
      for (Replica& tails : tails_) {
        if (minibatch > 0)
          tails[s].step[minibatch] = model_.forward[s] + in_minibatch(tails[s].forward, minibatch - 1).back();
        longest = std::max(longest, tails[s].step[minibatch]);
      }
      if (model_.step_before == StepBefore::replicas)
        for (Replica& tails : tails_) tails[s].step[minibatch] = longest;
      after_passes_[s] = model_.step[s] + longest;
    }
    if (model_.step_after == StepAfter::model)
      std::fill(after_passes_.begin(), after_passes_.end(),
                *std::max_element(after_passes_.begin(), after_passes_.end()));
  }

  void add_backward_tails(std::size_t replica, std::size_t minibatch) {
    Replica& tails = tails_[replica];
    for (std::size_t s = 0; s < stages_; ++s) {
      const DeviceWork& work = work_[replica][s];
      const auto backward = in_minibatch(tails[s].backward, minibatch);
      std::fill(backward.begin(), backward.end(), after_passes_[s]);
      if (model_.split()) add_weight_gradient_tails(replica, s, minibatch);
      if (s > 0)
        raise_by_path(backward, in_minibatch(tails[s - 1].backward, minibatch),
                      model_.backward[s - 1] + transfer(replica, s, s - 1));
      raise_by_work(backward, in_minibatch(tails[work.first].backward, minibatch), work.backwards_below,
                    model_.backward[s]);
      if (model_.split())
        raise_by_work(backward, weight_tails_[replica][work.first], work.backwards_below + work.weight_gradients_up_to,
                      model_.backward[s]);
    }
  }

  /// Computes the tails of W, the path from I through its W, and the minimum tail of W over this and the lower stages
  /// on the device.
  void add_weight_gradient_tails(std::size_t replica, std::size_t s, std::size_t minibatch) {
    const auto weight_gradient = in_minibatch(tails_[replica][s].weight_gradient, minibatch);
    std::fill(weight_gradient.begin(), weight_gradient.end(), after_passes_[s]);
    raise_by_work(weight_gradient, weight_gradient, Ticks(0), model_.weight_gradient[s]);
    raise_by_path(in_minibatch(tails_[replica][s].backward, minibatch), weight_gradient, model_.weight_gradient[s]);
    const std::size_t first = work_[replica][s].first;
    std::vector<Ticks>& least = weight_tails_[replica][first];
    for (std::size_t position = 0; position < minibatch_size_; ++position)
      least[position] = s == first ? weight_gradient[position] : std::min(least[position], weight_gradient[position]);
  }

  void add_forward_tails(std::size_t replica, std::size_t minibatch) {
    Replica& tails = tails_[replica];
    for (std::size_t s = stages_; s-- > 0;) {
      const DeviceWork& work = work_[replica][s];
      const auto forward = in_minibatch(tails[s].forward, minibatch);
      raise_by_path(forward, in_minibatch(tails[s].backward, minibatch), model_.backward[s]);
      if (s + 1 < stages_)
        raise_by_path(forward, in_minibatch(tails[s + 1].forward, minibatch),
                      model_.forward[s + 1] + transfer(replica, s, s + 1));
      const Ticks own = work.forwards - work.forwards_below - model_.forward[s] + work.backwards;
      raise_by_work(forward, in_minibatch(tails[work.first].backward, minibatch), own, model_.forward[s]);
      if (model_.split())
        raise_by_work(forward, weight_tails_[replica][work.first], own + work.weight_gradients, model_.forward[s]);
    }
  }

  static void raise_by_path(std::span<Ticks> limits, std::span<const Ticks> neighbours, Ticks length) {
    for (std::size_t position = 0; position < limits.size(); ++position)
      limits[position] = std::max(limits[position], neighbours[position] + length);
  }

  const Model& model_;
  std::size_t stages_;
  std::size_t minibatch_size_;
  std::vector<std::vector<DeviceWork>> work_;  // [replica][stage]
  std::vector<Replica> heads_;                 // [replica]
  std::vector<Replica> tails_;                 // [replica]; position 0 is the last in time
  // [replica][lowest stage of a device][position in the mini-batch] minimum tail of the W on the device so far
  std::vector<std::vector<std::vector<Ticks>>> weight_tails_;
  // [stage] time from the last op of the mini-batch to the end; 0 without optimizer steps
  std::vector<Ticks> after_passes_;
};

}  // namespace

std::vector<StageBounds> position_bounds(const pipeline::Problem& problem) {
  std::vector<StageBounds> result;
  for (std::size_t model = 0; model < problem.models.size(); ++model) {
    ModelBounds bounds(problem.models[model]);
    bounds.run();
    bounds.move_to(ModelId(model), result);
  }
  return result;
}

Ticks preemptive_one_machine(std::vector<Job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.head < b.head; });
  const auto shorter_tail = [](const Job& a, const Job& b) { return a.tail < b.tail; };
  std::vector<Job> ready;  // a heap; `duration` is the remaining time
  Ticks now;
  Ticks end;
  for (std::size_t released = 0; released < jobs.size() || !ready.empty();) {
    if (ready.empty()) now = std::max(now, jobs[released].head);
    for (; released < jobs.size() && jobs[released].head <= now; ++released) {
      ready.push_back(jobs[released]);
      std::push_heap(ready.begin(), ready.end(), shorter_tail);
    }
    // Shortening the top job keeps the heap valid, because it is ordered by tails.
    Job& current = ready.front();
    const Ticks until_release = released < jobs.size() ? jobs[released].head - now : Ticks::max();
    const Ticks run = std::min(current.duration, until_release);
    now += run;
    current.duration -= run;
    if (current.duration > Ticks(0)) continue;
    end = std::max(end, now + current.tail);
    std::pop_heap(ready.begin(), ready.end(), shorter_tail);
    ready.pop_back();
  }
  return end;
}

}  // namespace dovetail::fuse
