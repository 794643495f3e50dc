#include "simulate/inference.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <queue>
#include <tuple>

#include "base/assert.h"
#include "simulate/infer_task.h"
#include "simulate/step_clock.h"

namespace dovetail::simulate {

using base::Ticks;

namespace {

/// Simulates all workers from event to event.
class InferenceRun {
 public:
  InferenceRun(const std::vector<InferTask>& tasks, const std::vector<Sample>& samples, const std::vector<Ticks>& ready,
               const std::vector<Worker>& workers)
      : tasks_(tasks),
        samples_(samples),
        workers_(workers),
        states_(workers.size()),
        queues_(tasks.size()),
        to_come_(samples.size()) {
    inference_.scored.assign(tasks.size(), std::vector<Ticks>(samples.size()));
    inference_.spans.resize(workers.size());
    inference_.memory.resize(workers.size());
    for (std::size_t task = 0; task < tasks.size(); ++task) {
      limits_.push_back(limit_of(tasks[task], samples));
      lacking_.emplace_back(samples.size(), 1 + tasks[task].after.size());
      std::vector<double>& fitting = replicas_.emplace_back();
      for (const Worker& worker : workers)
        fitting.push_back(static_cast<double>(replicas_on(tasks[task], worker.devices.size())));
    }
    for (std::size_t sample = 0; sample < samples.size(); ++sample) push(ready[sample], Event::Kind::generated, sample);
    for (std::size_t worker = 0; worker < workers.size(); ++worker) {
      states_[worker].begun.resize(tasks.size());
      push(workers[worker].from, Event::Kind::free, worker);
    }
  }

  Inference infer() {
    while (!events_.empty()) {
      now_ = events_.top().time;
      while (!events_.empty() && events_.top().time == now_) {
        const Event event = events_.top();
        events_.pop();
        process_events(event);
      }
      holders_.clear();
      for (std::size_t worker = 0; worker < states_.size(); ++worker)
        if (states_[worker].free) choose_model(worker);
      for (std::size_t worker = 0; worker < states_.size(); ++worker)
        if (states_[worker].free) take(worker);
    }
    for (const std::deque<std::size_t>& queue : queues_) DOVETAIL_ASSERT(queue.empty());
    return std::move(inference_);
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  struct Event {
    enum class Kind { generated, scored, free };
    Ticks time;
    Kind kind;
    std::size_t index;  // sample, batch or worker

    friend bool operator>(const Event& a, const Event& b) {
      return std::tie(a.time, a.kind, a.index) > std::tie(b.time, b.kind, b.index);
    }
  };

  struct State {
    bool free = false;
    std::size_t model = none;
    Ticks available;          // time at which it can take the next micro-batch
    Ticks drained;            // time at which its pipelines are empty
    std::vector<bool> begun;  // [task] whether it had the model before
  };

  struct Batch {
    std::size_t task = 0;
    std::vector<std::size_t> samples;
  };

  void push(Ticks time, Event::Kind kind, std::size_t index) { events_.push({time, kind, index}); }

  void process_events(const Event& event) {
    switch (event.kind) {
      case Event::Kind::generated:
        --to_come_;
        for (std::size_t task = 0; task < tasks_.size(); ++task) without_one(task, event.index);
        break;
      case Event::Kind::scored:
        for (const std::size_t sample : batches_[event.index].samples) answer(batches_[event.index].task, sample);
        break;
      case Event::Kind::free:
        states_[event.index].free = true;
        break;
    }
  }

  void answer(std::size_t task, std::size_t sample) {
    inference_.scored[task][sample] = now_;
    inference_.end = std::max(inference_.end, now_);
    for (std::size_t next = task + 1; next < tasks_.size(); ++next)
      for (const std::size_t before : tasks_[next].after)
        if (before == task) without_one(next, sample);
  }

  void without_one(std::size_t task, std::size_t sample) {
    if (--lacking_[task][sample] == 0) queues_[task].push_back(sample);
  }

  void choose_model(std::size_t worker) {
    State& state = states_[worker];
    if (state.model == none && workers_[worker].first_task >= 0)
      load(worker, static_cast<std::size_t>(workers_[worker].first_task));
    // Loading may be instantaneous.
    if (!state.free || (state.model != none && !queues_[state.model].empty())) return;
    const std::size_t task = max_work(worker);
    if (task != none) load(worker, task);
  }

  Ticks hand_over(const State& state, std::size_t task) const {
    return state.begun[task] ? Ticks(0) : tasks_[task].hand_over;
  }
  Ticks loading(std::size_t task) const { return tasks_[task].load + tasks_[task].gathering; }
  /// Returns the time until the worker is ready for the task.
  Ticks set_up(const State& state, std::size_t task) const { return hand_over(state, task) + loading(task); }

  /// Returns the task that this worker helps most, or `none` if it helps no task, or too little to change models while
  /// more samples will come.
  std::size_t max_work(std::size_t worker) {
    const State& helper = states_[worker];
    std::size_t best = none;
    double most = 0;
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      const double own = replicas(task, worker);
      if (queues_[task].empty() || own == 0) continue;
      double work = static_cast<double>(queues_[task].size()) * limits_[task].worker_seconds * 1e9;
      if (to_come_ > 0 && helper.model != none && work / own < static_cast<double>(loading(task).count())) continue;
      const Holders& holders = holders_of(task);
      work += holders.busy;
      if (holders.replicas > 0 && work / holders.replicas <= static_cast<double>(set_up(helper, task).count()))
        continue;
      if (work / (holders.replicas + own) <= most) continue;
      most = work / (holders.replicas + own);
      best = task;
    }
    return best;
  }

  /// Workers that have a task's model.
  struct Holders {
    double replicas = 0;
    double busy = 0;  // replica-ns of work in progress
  };
  /// Returns the holders of a task, counted on demand and again after models or time have changed.
  const Holders& holders_of(std::size_t task) {
    if (holders_.empty()) {
      holders_.resize(tasks_.size());
      for (std::size_t worker = 0; worker < states_.size(); ++worker) {
        const State& state = states_[worker];
        if (state.model == none) continue;
        const double own = replicas(state.model, worker);
        holders_[state.model].replicas += own;
        holders_[state.model].busy += own * static_cast<double>((std::max(now_, state.available) - now_).count());
      }
    }
    return holders_[task];
  }

  double replicas(std::size_t task, std::size_t worker) const { return replicas_[task][worker]; }

  void load(std::size_t worker, std::size_t task) {
    State& state = states_[worker];
    if (state.model == task) return;
    state.model = task;
    holders_.clear();
    const Ticks begin = std::max(now_, state.drained);
    inference_.memory[worker].emplace_back(begin, tasks_[task].held);
    const Ticks handed = begin + hand_over(state, task);
    const Ticks end = begin + set_up(state, task);
    state.begun[task] = true;
    if (end == now_) return;
    if (handed > begin) show(worker, {begin, handed, BarKind::hand_over, tasks_[task].task});
    if (end > handed) show(worker, {handed, end, BarKind::loading, tasks_[task].task});
    state.free = false;
    state.available = end;
    push(end, Event::Kind::free, worker);
  }

  void take(std::size_t worker) {
    State& state = states_[worker];
    const std::size_t task = state.model;
    if (task == none || queues_[task].empty()) return;
    const double own = replicas(task, worker);
    double sharing = 0;
    for (std::size_t other = 0; other < states_.size(); ++other)
      if (states_[other].free && states_[other].model == task) sharing += replicas(task, other);
    std::deque<std::size_t>& queue = queues_[task];
    const auto part = static_cast<std::size_t>(std::ceil(static_cast<double>(queue.size()) * own / sharing));
    Batch batch{task, take_from(queue, part, limits_[task], own, samples_)};
    const BatchSeconds seconds = seconds_of(tasks_[task], batch.samples, own, samples_);
    const Ticks next = now_ + std::max(Ticks(1), base::ticks_of_seconds(seconds.next));
    const Ticks done = std::max(next, now_ + base::ticks_of_seconds(seconds.done));
    show(worker, {now_, next, BarKind::infer, tasks_[task].task, static_cast<std::int64_t>(batch.samples.size()),
                  std::min(next - now_, base::ticks_of_seconds(seconds.launch))});
    if (done > next) show(worker, {next, done, BarKind::bubble, tasks_[task].task});
    state.free = false;
    state.available = next;
    state.drained = done;
    push(next, Event::Kind::free, worker);
    push(done, Event::Kind::scored, batches_.size());
    batches_.push_back(std::move(batch));
  }

  /// Logs a span. It ends the pipeline's draining.
  void show(std::size_t worker, const Span& span) {
    std::vector<Span>& spans = inference_.spans[worker];
    if (!spans.empty() && spans.back().end > span.begin) spans.back().end = span.begin;
    if (!spans.empty() && spans.back().end <= spans.back().begin) spans.pop_back();
    spans.push_back(span);
  }

  const std::vector<InferTask>& tasks_;
  const std::vector<Sample>& samples_;
  const std::vector<Worker>& workers_;
  std::vector<MicroBatchLimit> limits_;            // [task]
  std::vector<std::vector<double>> replicas_;      // [task][worker]
  std::vector<State> states_;                      // [worker]
  std::vector<Holders> holders_;                   // [task]; empty: not counted
  std::vector<std::deque<std::size_t>> queues_;    // [task] ready samples
  std::size_t to_come_;                            // samples not generated yet
  std::vector<std::vector<std::size_t>> lacking_;  // [task][sample] missing inputs
  std::vector<Batch> batches_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Ticks now_;
  Inference inference_;
};

}  // namespace

std::size_t replicas_on(const InferTask& task, std::size_t devices) {
  return devices / static_cast<std::size_t>(task.replica_devices());
}

Inference infer(const std::vector<InferTask>& tasks, const std::vector<Sample>& samples,
                const std::vector<Ticks>& ready, const std::vector<Worker>& workers) {
  DOVETAIL_ASSERT(!workers.empty() && ready.size() == samples.size());
  for (const Worker& worker : workers)
    DOVETAIL_ASSERT(worker.first_task < 0 ||
                    replicas_on(tasks[static_cast<std::size_t>(worker.first_task)], worker.devices.size()) > 0);
  return InferenceRun(tasks, samples, ready, workers).infer();
}

}  // namespace dovetail::simulate
