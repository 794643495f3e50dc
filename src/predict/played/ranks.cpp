#include "predict/played/ranks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "cost/shares.h"

namespace dovetail::predict {
namespace {

using base::Ticks;
using simulate::BarKind;
using simulate::Lane;
using simulate::Span;

constexpr std::size_t max_kinds = 8;

/// Ranks begin ... end - 1, which are taken for alike.
struct Kind {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<Kind> kinds_of(std::size_t ranks) {
  std::vector<Kind> kinds{{0, 1}};
  const std::size_t others = std::min(ranks, max_kinds) - 1;
  for (std::size_t kind = 0; kind < others; ++kind) {
    const std::size_t begin = kinds.back().end;
    kinds.push_back({begin, 1 + (ranks - 1) * (kind + 1) / others});
  }
  return kinds;
}

double mean_of(const std::vector<double>& parts, const Kind& kind) {
  const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(kind.begin);
  const auto end = parts.begin() + static_cast<std::ptrdiff_t>(kind.end);
  return std::accumulate(begin, end, 0.0) / static_cast<double>(kind.end - kind.begin);
}

bool is_pass(BarKind bar_kind) {
  return bar_kind == BarKind::infer || bar_kind == BarKind::forward || bar_kind == BarKind::backward;
}

/// A lane whose passes become shorter.
class Shortened {
 public:
  Shortened(const std::vector<Ranks>& tasks, const Kind& kind, bool closes_up)
      : tasks_(tasks), kind_(kind), closes_up_(closes_up) {}

  std::vector<Span> spans(const std::vector<Span>& of_slowest) {
    for (const Span& span : of_slowest) {
      const bool goes_on = closes_up_ && is_pass(span.bar_kind);
      if (!goes_on) wait(span.begin);
      if (is_pass(span.bar_kind))
        pass(span);
      else
        spans_.push_back(span);
      if (!goes_on) wait(span.end);
    }
    if (!of_slowest.empty()) wait(of_slowest.back().end);
    return std::move(spans_);
  }

 private:
  Ticks now() const { return spans_.empty() ? Ticks(0) : spans_.back().end; }

  void wait(Ticks until) {
    if (now() < until) spans_.push_back({now(), until, BarKind::imbalance, spans_.back().task, 0, {}});
  }

  void pass(const Span& of_slowest) {
    const Ticks whole = of_slowest.end - of_slowest.begin;
    const double work = part_of(of_slowest.task) * static_cast<double>((whole - of_slowest.launch).count());
    const Ticks length =
        std::clamp(of_slowest.launch + Ticks(std::llround(work)), std::max(Ticks(1), of_slowest.launch), whole);
    Span span = of_slowest;
    span.begin = now();
    span.end = now() + length;
    spans_.push_back(span);
  }

  double part_of(std::int32_t task) const {
    const auto is_it = [task](const Ranks& ranks) { return ranks.task == task; };
    return mean_of(std::find_if(tasks_.begin(), tasks_.end(), is_it)->parts, kind_);
  }

  const std::vector<Ranks>& tasks_;
  Kind kind_;
  bool closes_up_;
  std::vector<Span> spans_;
};

}  // namespace

Ranks ranks_of(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const workflow::Task& of = scenario.job.workflow.tasks[task];
  const bool trains = of.kind == workflow::TaskKind::train;
  const double steps = trains ? static_cast<double>(workflow::optimizer_steps_of(of, scenario.job.workload)) : 1;
  return {static_cast<std::int32_t>(task), cost::shares_of_ranks(batch_of(scenario, task), steps, planned.layout.data)};
}

simulate::Trace with_ranks(simulate::Trace trace, const std::vector<Ranks>& tasks) {
  const std::size_t ranks = tasks.front().parts.size();
  const bool alike =
      std::all_of(tasks.begin(), tasks.end(), [](const Ranks& of) { return of.parts.back() > 1 - 1e-9; });
  if (alike) return trace;
  const bool one_stage = trace.lanes.size() == 1;
  simulate::Trace with{trace.end, {}};
  for (const Lane& lane : trace.lanes) {
    const std::size_t each = lane.devices.size() / ranks;
    for (const Kind& kind : kinds_of(ranks)) {
      Lane& own = with.lanes.emplace_back();
      own.devices.assign(lane.devices.begin() + static_cast<std::ptrdiff_t>(kind.begin * each),
                         lane.devices.begin() + static_cast<std::ptrdiff_t>(kind.end * each));
      own.spans = Shortened(tasks, kind, one_stage).spans(lane.spans);
      own.memory = lane.memory;
    }
  }
  return with;
}

}  // namespace dovetail::predict
