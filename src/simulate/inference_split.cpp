#include "simulate/inference_split.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "simulate/infer_task.h"

namespace dovetail::simulate {

using base::Ticks;

namespace {

/// Maximum number of replica counts to try exhaustively.
constexpr std::size_t max_tried = 64;
constexpr int no_task = -1;

/// [task] number of replicas.
using Shares = std::vector<std::size_t>;

std::size_t size_of(const InferTask& task) { return static_cast<std::size_t>(task.replica_devices()); }

std::size_t devices_of(const std::vector<InferTask>& tasks, const Shares& shares) {
  std::size_t devices = 0;
  for (std::size_t task = 0; task < tasks.size(); ++task) devices += shares[task] * size_of(tasks[task]);
  return devices;
}

/// Returns the tasks in descending order of replica size.
std::vector<std::size_t> by_size(const std::vector<InferTask>& tasks) {
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size_of(tasks[a]) > size_of(tasks[b]); });
  return order;
}

/// Returns a worker of `size` devices from index `begin`.
Worker worker_of(const std::vector<FreeDevice>& devices, std::size_t begin, std::size_t size, int first_task) {
  Worker worker;
  worker.first_task = first_task;
  for (std::size_t index = begin; index < begin + size; ++index) {
    worker.devices.push_back(devices[index].device);
    worker.from = std::max(worker.from, devices[index].from);
  }
  return worker;
}

/// Tries starts and keeps the best.
class Starts {
 public:
  /// REQUIRES: sorted devices.
  Starts(const std::vector<InferTask>& tasks, const std::vector<Sample>& samples, const std::vector<Ticks>& ready,
         const std::vector<FreeDevice>& freed, const std::vector<FreeDevice>& later)
      : tasks_(tasks), samples_(samples), ready_(ready), freed_(freed), later_(later), order_(by_size(tasks)) {}

  /// Tries a start. Returns whether it is the best so far. Workers without a task start with `first_task` if it fits.
  bool simulate_split(const Shares& shares, int first_task = no_task) {
    std::vector<Worker> workers = workers_for(shares, first_task);
    const auto is_served = [&](const InferTask& task) {
      return std::any_of(workers.begin(), workers.end(),
                         [&](const Worker& worker) { return replicas_on(task, worker.devices.size()) > 0; });
    };
    if (!std::all_of(tasks_.begin(), tasks_.end(), is_served)) return false;
    Inference inference = infer(tasks_, samples_, ready_, workers);
    if (best_ && inference.end >= best_->inference.end) return false;
    best_ = {std::move(workers), std::move(inference)};
    return true;
  }

  SplitInference best() {
    DOVETAIL_ASSERT(best_.has_value());
    return std::move(*best_);
  }

 private:
  std::vector<Worker> workers_for(const Shares& shares, int first_task) const {
    std::vector<Worker> workers;
    std::size_t used = 0;
    for (const std::size_t task : order_)
      for (std::size_t replica = 0; replica < shares[task]; ++replica) {
        workers.push_back(worker_of(freed_, used, size_of(tasks_[task]), static_cast<int>(task)));
        used += size_of(tasks_[task]);
      }
    std::vector<FreeDevice> left;
    for (Worker& worker : fill(tasks_, {freed_.begin() + static_cast<std::ptrdiff_t>(used), freed_.end()}, left)) {
      if (first_task != no_task && replicas_on(tasks_[static_cast<std::size_t>(first_task)], worker.devices.size()) > 0)
        worker.first_task = first_task;
      workers.push_back(std::move(worker));
    }
    left.insert(left.end(), later_.begin(), later_.end());
    std::sort(left.begin(), left.end());
    std::vector<FreeDevice> useless;
    for (Worker& worker : fill(tasks_, left, useless)) workers.push_back(std::move(worker));
    return workers;
  }

  const std::vector<InferTask>& tasks_;
  const std::vector<Sample>& samples_;
  const std::vector<Ticks>& ready_;
  const std::vector<FreeDevice>& freed_;
  const std::vector<FreeDevice>& later_;
  std::vector<std::size_t> order_;  // tasks by_size
  std::optional<SplitInference> best_;
};

/// Assigns one replica to each task that fits, largest first. Then each further replica goes to the task with the most
/// work per replica that still fits.
Shares shares_by_work(const std::vector<InferTask>& tasks, const std::vector<Sample>& samples, std::size_t devices) {
  std::vector<double> work;
  for (const InferTask& task : tasks) work.push_back(limit_of(task, samples).worker_seconds);
  Shares shares(tasks.size(), 0);
  std::size_t left = devices;
  for (const std::size_t task : by_size(tasks)) {
    if (size_of(tasks[task]) > left) continue;
    shares[task] = 1;
    left -= size_of(tasks[task]);
  }
  for (;;) {
    std::optional<std::size_t> neediest;
    for (std::size_t task = 0; task < tasks.size(); ++task) {
      if (size_of(tasks[task]) > left || shares[task] == 0) continue;
      // Compares work / share of both tasks.
      if (!neediest ||
          work[task] * static_cast<double>(shares[*neediest]) > work[*neediest] * static_cast<double>(shares[task]))
        neediest = task;
    }
    if (!neediest) return shares;
    ++shares[*neediest];
    left -= size_of(tasks[*neediest]);
  }
}

/// Adds all numbers of replicas of the tasks from `task` on for `left` devices. The last task gets as many as fit.
/// Stops soon after max_tried.
void add_shares(const std::vector<InferTask>& tasks, std::size_t task, std::size_t left, Shares& shares,
                std::vector<Shares>& all) {
  if (all.size() > max_tried) return;
  const std::size_t most = left / size_of(tasks[task]);
  if (task + 1 == shares.size()) {
    shares[task] = most;
    all.push_back(shares);
    return;
  }
  for (std::size_t own = 0; own <= most; ++own) {
    shares[task] = own;
    add_shares(tasks, task + 1, left - own * size_of(tasks[task]), shares, all);
  }
}

/// Returns the shares after moving a worker's devices from one task to another. nullopt if `from` has too few.
std::optional<Shares> moved(const std::vector<InferTask>& tasks, Shares shares, std::size_t devices, std::size_t from,
                            std::size_t to) {
  const std::size_t free = devices - devices_of(tasks, shares);
  const std::size_t lacking = size_of(tasks[to]) > free ? size_of(tasks[to]) - free : 0;
  const std::size_t given = std::max<std::size_t>(1, (lacking + size_of(tasks[from]) - 1) / size_of(tasks[from]));
  if (given > shares[from]) return std::nullopt;
  shares[from] -= given;
  shares[to] += (free + given * size_of(tasks[from])) / size_of(tasks[to]);
  return shares;
}

/// Moves one worker's devices at a time while that helps.
void improve(const std::vector<InferTask>& tasks, std::size_t devices, Shares shares, Starts& starts) {
  for (bool gained = true; gained;) {
    gained = false;
    Shares best = shares;
    for (std::size_t from = 0; from < shares.size(); ++from)
      for (std::size_t to = 0; to < shares.size(); ++to) {
        if (from == to) continue;
        const std::optional<Shares> other = moved(tasks, shares, devices, from, to);
        if (!other || !starts.simulate_split(*other)) continue;
        best = *other;
        gained = true;
      }
    shares = best;
  }
}

}  // namespace

std::vector<Worker> fill(const std::vector<InferTask>& tasks, const std::vector<FreeDevice>& devices,
                         std::vector<FreeDevice>& left) {
  std::vector<Worker> workers;
  std::size_t used = 0;
  for (const std::size_t task : by_size(tasks))
    for (const std::size_t size = size_of(tasks[task]); used + size <= devices.size(); used += size)
      workers.push_back(worker_of(devices, used, size, no_task));
  left.assign(devices.begin() + static_cast<std::ptrdiff_t>(used), devices.end());
  return workers;
}

bool can_split(const std::vector<InferTask>& tasks, std::size_t freed, std::size_t later) {
  return std::all_of(tasks.begin(), tasks.end(),
                     [&](const InferTask& task) { return size_of(task) <= std::max(freed, later); });
}

SplitInference infer_best(const std::vector<InferTask>& tasks, const std::vector<Sample>& samples,
                          const std::vector<Ticks>& ready, std::vector<FreeDevice> freed,
                          std::vector<FreeDevice> later) {
  if (tasks.empty()) return {};
  DOVETAIL_ASSERT(can_split(tasks, freed.size(), later.size()));
  std::sort(freed.begin(), freed.end());
  std::sort(later.begin(), later.end());
  Starts starts(tasks, samples, ready, freed, later);
  const Shares none(tasks.size(), 0);
  starts.simulate_split(none);
  if (tasks.size() < 2) return starts.best();
  for (std::size_t task = 0; task < tasks.size(); ++task) starts.simulate_split(none, static_cast<int>(task));
  std::vector<Shares> all;
  Shares some = none;
  add_shares(tasks, 0, freed.size(), some, all);
  if (all.size() <= max_tried) {
    for (const Shares& shares : all) starts.simulate_split(shares);
    return starts.best();
  }
  const Shares shares = shares_by_work(tasks, samples, freed.size());
  starts.simulate_split(shares);
  improve(tasks, freed.size(), shares, starts);
  return starts.best();
}

}  // namespace dovetail::simulate
