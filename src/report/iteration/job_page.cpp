#include "report/iteration/job_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "answer/words/amounts.h"
#include "answer/words/text.h"
#include "cluster/cluster.h"
#include "planner/advice/changes.h"
#include "report/iteration/iteration_sections.h"
#include "report/iteration/job_sections.h"
#include "report/page/summary.h"
#include "simulate/accounting.h"
#include "simulate/iteration_timeline.h"

namespace dovetail::report {
namespace {

Figure iteration_figure(const JobPicture& picture) {
  const predict::Simulation& simulation = picture.simulation;
  std::string note = fmt::format("{} by the closed form", answer::seconds_text(simulation.closed.iteration_seconds));
  if (picture.bound)
    note += fmt::format(", by which no plan{} takes less than {}", picture.plan.fusion.any() ? " that fuses no more" : "",
                        answer::seconds_text(*picture.bound));
  if (!simulation.iteration.steady) note += "; not yet steady";
  return {"iteration", answer::seconds_text(simulation.iteration_seconds), note};
}

Figure throughput_figure(const JobPicture& picture) {
  const predict::Estimate& closed = picture.simulation.closed;
  const double factor = closed.iteration_seconds / picture.simulation.iteration_seconds;
  return {"throughput", fmt::format("{:.1f} samples/s", closed.samples_per_second * factor),
          fmt::format("{:.0f} tokens/s of each device", closed.tokens_per_second * factor)};
}

Figure cost_figure(const JobPicture& picture) {
  const predict::Estimate& closed = picture.simulation.closed;
  const double factor = picture.simulation.iteration_seconds / closed.iteration_seconds;
  const std::string devices = answer::counted(cluster::device_count(picture.scenario.job.cluster), "device");
  if (closed.price)
    return {"an iteration costs", fmt::format("{:.2f}", *closed.price * factor),
            fmt::format("{:.2f} GPU-hours on {}", closed.gpu_hours * factor, devices)};
  return {"an iteration takes", fmt::format("{:.2f} GPU-hours", closed.gpu_hours * factor), "on " + devices};
}

Figure idle_figure(const JobPicture& picture) {
  const simulate::Trace& trace = picture.simulation.iteration.trace;
  const std::vector<simulate::Use> uses = simulate::uses_of(trace);
  const double all = base::seconds_of_ticks(simulate::busy_time(uses)) + base::seconds_of_ticks(simulate::idle_time(uses));
  simulate::BarKind most = simulate::BarKind::tail;
  for (int cause = 0; cause < simulate::bar_kinds; ++cause) {
    const auto other = static_cast<simulate::BarKind>(cause);
    if (is_idle(other) && simulate::time_of(uses, other) > simulate::time_of(uses, most)) most = other;
  }
  return {"idle", percent(base::seconds_of_ticks(simulate::idle_time(uses)) / all),
          fmt::format("of all devices' time; {} {}", percent(base::seconds_of_ticks(simulate::time_of(uses, most)) / all),
                      simulate::name_of(most))};
}

Figure memory_figure(const JobPicture& picture) {
  const std::vector<predict::TaskMemory>& memory = picture.simulation.closed.memory;
  const planner::Missing missing = planner::missing_of(memory);
  const std::string& task = picture.scenario.job.workflow.tasks[missing.task].name;
  const std::string where =
      missing.host ? "of a node's host memory in " + task : fmt::format("on device {} in {}", memory[missing.task].device, task);
  if (missing.bytes > 0) return {"does not fit", answer::gibibytes(missing.bytes) + " missing", where};
  return {picture.simulation.closed.keeps_margin() ? "fits" : "tight", answer::gibibytes(memory[missing.task].margin()) + " left", where};
}

std::vector<Figure> figures_of(const JobPicture& picture) {
  std::vector<Figure> figures{iteration_figure(picture), throughput_figure(picture), cost_figure(picture), idle_figure(picture),
                              memory_figure(picture)};
  if (!picture.variants.empty()) {
    const double without = picture.variants.front().seconds;
    figures.push_back({"stage fusion", fmt::format("{:.2f}x", without / picture.simulation.iteration_seconds),
                       fmt::format("{} without it", answer::seconds_text(without))});
  }
  return figures;
}

void add_capacities(const JobPicture& picture, timeline::Timeline& timeline) {
  for (timeline::Counter& counter : timeline.counters) {
    const base::DeviceId device(picture.simulation.iteration.trace.lanes[counter.lane].devices.front());
    counter.capacity = base::Memory(cluster::gpu_of(picture.scenario.job.cluster, device).usable_memory);
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

timeline::Timeline timeline_of(const JobPicture& picture) {
  const plan::Job& job = picture.scenario.job;
  const simulate::Iteration& iteration = picture.simulation.iteration;
  return simulate::iteration_timeline(
      iteration.trace, tasks_of(job),
      fmt::format("{}, {}: {} an iteration", job.name, picture.plan.placement, answer::seconds_text(picture.simulation.iteration_seconds)),
      iteration.steady);
}

Page job_page(const JobPicture& picture) {
  const plan::Job& job = picture.scenario.job;
  const simulate::Trace& trace = picture.simulation.iteration.trace;
  const std::vector<timeline::Track> tasks = tasks_of(job);
  Page page;
  page.title = fmt::format("{}, {}", job.name, picture.plan.placement);
  page.subtitle = fmt::format("An iteration of {} on {}, {} samples, played event by event.", job.workflow.name,
                              answer::counted(cluster::device_count(job.cluster), "device"), job.workload.samples());
  page.figures = figures_of(picture);
  timeline::Timeline timeline = timeline_of(picture);
  add_capacities(picture, timeline);
  Chart chart = iteration_chart(std::move(timeline), "Timeline");
  Table activities = activity_table(picture, chart.timeline);
  page.sections.emplace_back(std::move(chart));
  page.sections.emplace_back(std::move(activities));
  page.sections.emplace_back(use_breakdown(trace, tasks));
  page.sections.emplace_back(idle_use_breakdown(trace, tasks));
  page.sections.emplace_back(fusion_table(picture));
  if (picture.thresholds) page.sections.emplace_back(threshold_chart(*picture.thresholds));
  page.sections.emplace_back(memory_table(picture));
  if (picture.ranking) page.sections.emplace_back(ranking_table(picture));
  page.sections.emplace_back(plan_table(picture));
  return page;
}

}  // namespace dovetail::report
