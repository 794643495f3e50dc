#include "report/iteration/job_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "answer/words/figures.h"
#include "answer/words/text.h"
#include "cluster/cluster.h"
#include "planner/advice/changes.h"
#include "report/iteration/iteration_sections.h"
#include "report/iteration/job_sections.h"
#include "report/page/summary.h"
#include "simulate/iteration.h"
#include "simulate/trace.h"

namespace dovetail::report {
namespace {

Figure iteration_figure(const answer::SimulationAnswer& played) {
  const predict::Simulation& simulation = played.simulation;
  std::string note = fmt::format("{} by the closed form", answer::seconds_text(simulation.closed.iteration_seconds));
  if (played.bound)
    note += fmt::format(", by which no plan{} takes less than {}",
                        played.plan.fusion.any() ? " that fuses no more" : "", answer::seconds_text(*played.bound));
  if (!simulation.iteration.steady) note += "; not yet steady";
  return {"iteration", answer::seconds_text(simulation.iteration_seconds), note};
}

Figure throughput_figure(const answer::SimulationAnswer& played) {
  const predict::Estimate& closed = played.simulation.closed;
  const double factor = closed.iteration_seconds / played.simulation.iteration_seconds;
  return {"throughput", fmt::format("{:.1f} samples/s", closed.samples_per_second * factor),
          fmt::format("{:.0f} tokens/s of each device", closed.tokens_per_second * factor)};
}

Figure cost_figure(const answer::SimulationAnswer& played) {
  const predict::Estimate& closed = played.simulation.closed;
  const double factor = played.simulation.iteration_seconds / closed.iteration_seconds;
  const std::string devices = answer::counted(cluster::device_count(played.scenario.job.cluster), "device");
  if (closed.price)
    return {"an iteration costs", fmt::format("{:.2f}", *closed.price * factor),
            fmt::format("{:.2f} GPU-hours on {}", closed.gpu_hours * factor, devices)};
  return {"an iteration takes", fmt::format("{:.2f} GPU-hours", closed.gpu_hours * factor), "on " + devices};
}

Figure idle_figure(const answer::SimulationAnswer& played) {
  const simulate::Trace& trace = played.simulation.iteration.trace;
  const std::vector<simulate::Use> uses = simulate::uses_of(trace);
  const double all =
      base::seconds_of_ticks(simulate::busy_time(uses)) + base::seconds_of_ticks(simulate::idle_time(uses));
  simulate::BarKind most = simulate::BarKind::tail;
  for (int cause = 0; cause < simulate::bar_kinds; ++cause) {
    const auto other = static_cast<simulate::BarKind>(cause);
    if (is_idle(other) && simulate::time_of(uses, other) > simulate::time_of(uses, most)) most = other;
  }
  return {"idle", percent(base::seconds_of_ticks(simulate::idle_time(uses)) / all),
          fmt::format("of all devices' time; {} {}",
                      percent(base::seconds_of_ticks(simulate::time_of(uses, most)) / all), simulate::name_of(most))};
}

Figure memory_figure(const answer::SimulationAnswer& played) {
  const std::vector<predict::TaskMemory>& memory = played.simulation.closed.memory;
  const planner::Missing missing = planner::missing_of(memory);
  const std::string& task = played.scenario.job.workflow.tasks[missing.task].name;
  const std::string where = missing.host ? "of a node's host memory in " + task
                                         : fmt::format("on device {} in {}", memory[missing.task].device, task);
  if (missing.bytes > 0) return {"does not fit", answer::gibibytes(missing.bytes) + " missing", where};
  return {played.simulation.closed.keeps_margin() ? "fits" : "tight",
          answer::gibibytes(memory[missing.task].margin()) + " left", where};
}

std::vector<Figure> figures_of(const answer::SimulationAnswer& played) {
  std::vector<Figure> figures{iteration_figure(played), throughput_figure(played), cost_figure(played),
                              idle_figure(played), memory_figure(played)};
  if (!played.variants.empty()) {
    const double without = played.variants.front().seconds;
    figures.push_back({"stage fusion", fmt::format("{:.2f}x", without / played.simulation.iteration_seconds),
                       fmt::format("{} without it", answer::seconds_text(without))});
  }
  return figures;
}

void add_capacities(const answer::SimulationAnswer& played, timeline::Timeline& timeline) {
  for (timeline::Counter& counter : timeline.counters) {
    const base::DeviceId device(played.simulation.iteration.trace.lanes[counter.lane].devices.front());
    counter.capacity = base::Memory(cluster::gpu_of(played.scenario.job.cluster, device).usable_memory);
  }
}

}  // namespace

std::vector<timeline::Track> tasks_of(const plan::Job& job) {
  std::vector<timeline::Track> tasks;
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task) {
    const auto& role = job.workflow.role_of[task];
    tasks.push_back({job.workflow.tasks[task].name, role ? role->value : -1, 0, timeline::Track::Kind::task});
  }
  return tasks;
}

timeline::Timeline timeline_of(const answer::SimulationAnswer& played) {
  const plan::Job& job = played.scenario.job;
  const simulate::Iteration& iteration = played.simulation.iteration;
  return simulate::iteration_timeline(iteration.trace, tasks_of(job),
                                      fmt::format("{}, {}: {} an iteration", job.name, played.plan.placement,
                                                  answer::seconds_text(played.simulation.iteration_seconds)),
                                      iteration.steady);
}

Page job_page(const answer::SimulationAnswer& played) {
  const plan::Job& job = played.scenario.job;
  const simulate::Trace& trace = played.simulation.iteration.trace;
  const std::vector<timeline::Track> tasks = tasks_of(job);
  Page page;
  page.title = fmt::format("{}, {}", job.name, played.plan.placement);
  page.subtitle = fmt::format("An iteration of {} on {}, {} samples, played event by event.", job.workflow.name,
                              answer::counted(cluster::device_count(job.cluster), "device"), job.workload.samples());
  page.figures = figures_of(played);
  timeline::Timeline timeline = timeline_of(played);
  add_capacities(played, timeline);
  Chart chart = iteration_chart(std::move(timeline), "Timeline");
  Table activities = activity_table(played, chart.timeline);
  page.sections.emplace_back(std::move(chart));
  page.sections.emplace_back(std::move(activities));
  page.sections.emplace_back(use_breakdown(trace, tasks));
  page.sections.emplace_back(idle_use_breakdown(trace, tasks));
  page.sections.emplace_back(fusion_table(played));
  if (played.thresholds) page.sections.emplace_back(threshold_chart(*played.thresholds));
  page.sections.emplace_back(memory_table(played));
  if (played.ranking) page.sections.emplace_back(ranking_table(played));
  page.sections.emplace_back(plan_table(played));
  if (!job.not_modelled.empty()) page.sections.emplace_back(not_modelled_table(job));
  return page;
}

}  // namespace dovetail::report
