#include "simulate/scoring_split.h"

#include <algorithm>
#include <utility>

#include "simulate/micro_batches.h"

namespace dovetail::simulate {

using base::Ticks;

namespace {

/// All shares are tried where they are no more than so many.
constexpr std::size_t most_tried = 64;

/// So many workers for each task.
using Shares = std::vector<std::size_t>;

/// The best beginning so far.
class Beginnings {
 public:
  Beginnings(const std::vector<InferTask>& tasks, const std::vector<Sample>& samples, const std::vector<Ticks>& ready,
             std::vector<Worker>& workers)
      : tasks_(tasks), samples_(samples), ready_(ready), workers_(workers) {}

  /// Whether it is better than all before; `first_tasks`: of the first workers.
  bool try_out(const std::vector<int>& first_tasks) {
    for (std::size_t worker = 0; worker < first_tasks.size(); ++worker) workers_[worker].first_task = first_tasks[worker];
    Scoring scoring = score(tasks_, samples_, ready_, workers_);
    if (tried_ && scoring.end >= best_.end) return false;
    tried_ = true;
    best_ = std::move(scoring);
    best_tasks_ = first_tasks;
    return true;
  }

  bool try_out(const Shares& shares) {
    std::vector<int> first_tasks;
    for (std::size_t task = 0; task < shares.size(); ++task) first_tasks.insert(first_tasks.end(), shares[task], static_cast<int>(task));
    return try_out(first_tasks);
  }

  Scoring best() {
    for (std::size_t worker = 0; worker < best_tasks_.size(); ++worker) workers_[worker].first_task = best_tasks_[worker];
    return std::move(best_);
  }

 private:
  const std::vector<InferTask>& tasks_;
  const std::vector<Sample>& samples_;
  const std::vector<Ticks>& ready_;
  std::vector<Worker>& workers_;
  bool tried_ = false;
  Scoring best_;
  std::vector<int> best_tasks_;
};

/// One worker after the other goes to the task with the most work for each that it has.
Shares shares_by_work(const std::vector<InferTask>& tasks, const std::vector<Sample>& samples, std::size_t workers) {
  std::vector<double> work;
  for (const InferTask& task : tasks) work.push_back(limit_of(task, samples).worker_seconds * task.replica_devices());
  Shares shares(tasks.size(), 0);
  for (std::size_t worker = 0; worker < workers; ++worker) {
    std::size_t neediest = 0;
    for (std::size_t task = 1; task < tasks.size(); ++task) {
      const bool both_without = shares[task] == 0 && shares[neediest] == 0;
      // work / share of the one is more than that of the other.
      const bool needs_more = work[task] * static_cast<double>(shares[neediest]) > work[neediest] * static_cast<double>(shares[task]);
      if (both_without ? work[task] > work[neediest] : needs_more) neediest = task;
    }
    ++shares[neediest];
  }
  return shares;
}

/// All ways to share `left` workers out over the tasks from `task` on; at most `most` of them.
void add_shares(std::size_t task, std::size_t left, std::size_t most, Shares& shares, std::vector<Shares>& all) {
  if (all.size() > most) return;
  if (task + 1 == shares.size()) {
    shares[task] = left;
    all.push_back(shares);
    return;
  }
  for (std::size_t own = 0; own <= left; ++own) {
    shares[task] = own;
    add_shares(task + 1, left - own, most, shares, all);
  }
}

/// Moves one worker at a time, while that gains.
void improve(Shares shares, Beginnings& beginnings) {
  for (bool gained = true; gained;) {
    gained = false;
    Shares best = shares;
    for (std::size_t from = 0; from < shares.size(); ++from)
      for (std::size_t to = 0; to < shares.size(); ++to) {
        if (from == to || shares[from] == 0) continue;
        Shares moved = shares;
        --moved[from];
        ++moved[to];
        if (!beginnings.try_out(moved)) continue;
        best = moved;
        gained = true;
      }
    shares = best;
  }
}

}  // namespace

Scoring score_best(const std::vector<InferTask>& tasks, const std::vector<Sample>& samples, const std::vector<Ticks>& ready,
                   std::vector<Worker>& workers, std::size_t first) {
  Beginnings beginnings(tasks, samples, ready, workers);
  beginnings.try_out(std::vector<int>(first, -1));
  if (tasks.size() < 2) return beginnings.best();
  for (std::size_t task = 0; task < tasks.size(); ++task) beginnings.try_out(std::vector<int>(first, static_cast<int>(task)));
  std::vector<Shares> all;
  Shares some(tasks.size(), 0);
  add_shares(0, first, most_tried, some, all);
  if (all.size() <= most_tried) {
    for (const Shares& shares : all) beginnings.try_out(shares);
    return beginnings.best();
  }
  const Shares shares = shares_by_work(tasks, samples, first);
  beginnings.try_out(shares);
  improve(shares, beginnings);
  return beginnings.best();
}

}  // namespace dovetail::simulate
