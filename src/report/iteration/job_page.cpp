#include "report/iteration/job_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "answer/text/figures.h"
#include "answer/text/text.h"
#include "cluster/cluster.h"
#include "planner/advice/changes.h"
#include "report/page/chart_sections.h"
#include "report/page/palette.h"
#include "report/page/summary.h"
#include "simulate/iteration.h"
#include "simulate/trace.h"
#include "timeline/timeline.h"

namespace dovetail::report {
namespace {

using simulate::BarKind;
using simulate::Use;
using Tasks = std::vector<timeline::Track>;

/// Maximum number of bars on a page. A page with more would have tens of megabytes and take seconds to open.
constexpr std::size_t max_timeline_bars = 250'000;

std::int64_t device_count(const simulate::Trace& trace) {
  std::int64_t devices = 0;
  for (const simulate::Lane& lane : trace.lanes) devices += static_cast<std::int64_t>(lane.devices.size());
  return devices;
}

/// Styles of the uses of devices, with their total times. Idle time of all tasks shares one style per cause.
struct UseStyles {
  std::vector<BarStyle> styles;
  std::map<std::pair<std::int32_t, BarKind>, std::size_t> number;

  static std::pair<std::int32_t, BarKind> key_of(const Use& use) {
    return {is_idle(use.bar_kind) ? -1 : use.task, use.bar_kind};
  }
  void add(const Use& use) {
    const auto key = key_of(use);
    const auto [place, added] = number.try_emplace(key, styles.size());
    if (added) styles.push_back({key.second, key.first, {}});
    styles[place->second].time += use.time;
  }
};

/// Returns the styles: in order of tasks, then of work without a task, then of idle time.
UseStyles styles_of(std::vector<Use> uses) {
  const auto order = [](const Use& use) {
    const auto [task, bar_kind] = UseStyles::key_of(use);
    return std::tuple(is_idle(bar_kind), static_cast<std::uint32_t>(task), bar_kind);
  };
  std::stable_sort(uses.begin(), uses.end(), [&](const Use& a, const Use& b) { return order(a) < order(b); });
  UseStyles styles;
  for (const Use& use : uses) styles.add(use);
  return styles;
}

/// Adds parts to `breakdown` in order of the groups of styles. Returns the part of each style.
std::vector<std::size_t> add_parts(Breakdown& breakdown, const Tasks& tasks, const std::vector<BarStyle>& styles) {
  std::vector<std::size_t> part_of(styles.size());
  for (const StyleGroup& group : group_styles(tasks, styles)) {
    std::vector<Ink> inks;
    for (const std::size_t style : group.styles) {
      part_of[style] = breakdown.segments.size();
      inks.push_back(ink_of(tasks, styles[style].bar_kind, styles[style].track));
    }
    breakdown.segments.push_back({group.full_name(), ink_of_group(group, inks), group.idle});
  }
  return part_of;
}

/// Adds parts and rows for the uses accepted by `counted`: all devices together, then one device of each lane.
template <class Counted>
void add_uses(Breakdown& breakdown, const simulate::Trace& trace, const Tasks& tasks, Counted counted) {
  std::vector<Use> all = simulate::uses_of(trace);
  std::erase_if(all, [&](const Use& use) { return !counted(use); });
  const UseStyles styles = styles_of(all);
  const std::vector<std::size_t> part_of = add_parts(breakdown, tasks, styles.styles);
  const auto add_row = [&](std::string name, const std::vector<Use>& uses) {
    Breakdown::Row row{std::move(name), std::vector<base::Ticks>(breakdown.segments.size())};
    for (const Use& use : uses)
      if (counted(use)) row.amounts[part_of[styles.number.at(UseStyles::key_of(use))]] += use.time;
    breakdown.rows.push_back(std::move(row));
  };
  add_row(fmt::format("all {}", answer::counted(device_count(trace), "device")), all);
  for (const simulate::Lane& lane : trace.lanes)
    add_row(timeline::device_lane_name(lane.devices), simulate::uses_of(lane));
}

Figure iteration_figure(const answer::SimulationAnswer& simulated) {
  const predict::Simulation& simulation = simulated.simulation;
  std::string note = fmt::format("{} analytical (from formulas, not simulated)",
                                 answer::seconds_text(simulation.closed.iteration_seconds));
  if (simulated.bound)
    note += fmt::format("; analytical lower bound{}: {}",
                        simulated.plan.fusion.any() ? " for plans that fuse no more than this one" : "",
                        answer::seconds_text(*simulated.bound));
  if (!simulation.iteration.steady) note += "; no steady state was reached";
  return {"iteration", answer::seconds_text(simulation.iteration_seconds), note};
}

Figure throughput_figure(const answer::SimulationAnswer& simulated) {
  const predict::Estimate& closed = simulated.simulation.closed;
  const double factor = closed.iteration_seconds / simulated.simulation.iteration_seconds;
  return {"throughput", fmt::format("{:.1f} samples/s", closed.samples_per_second * factor),
          fmt::format("{:.0f} tokens/s per device", closed.tokens_per_second * factor)};
}

Figure cost_figure(const answer::SimulationAnswer& simulated) {
  const predict::Estimate& closed = simulated.simulation.closed;
  const double factor = simulated.simulation.iteration_seconds / closed.iteration_seconds;
  const std::string devices = answer::counted(cluster::device_count(simulated.scenario.job.cluster), "device");
  if (closed.price)
    return {"cost per iteration", fmt::format("{:.2f}", *closed.price * factor),
            fmt::format("{:.2f} GPU-hours on {}", closed.gpu_hours * factor, devices)};
  return {"device time per iteration", fmt::format("{:.2f} GPU-hours", closed.gpu_hours * factor), "on " + devices};
}

Figure idle_figure(const answer::SimulationAnswer& simulated) {
  const simulate::Trace& trace = simulated.simulation.iteration.trace;
  const std::vector<simulate::Use> uses = simulate::uses_of(trace);
  const double all =
      base::seconds_of_ticks(simulate::busy_time(uses)) + base::seconds_of_ticks(simulate::idle_time(uses));
  simulate::BarKind most = simulate::BarKind::tail;
  for (int cause = 0; cause < simulate::bar_kinds; ++cause) {
    const auto other = static_cast<simulate::BarKind>(cause);
    if (is_idle(other) && simulate::time_of(uses, other) > simulate::time_of(uses, most)) most = other;
  }
  return {"idle", percent(base::seconds_of_ticks(simulate::idle_time(uses)) / all),
          fmt::format("of total device time; largest cause: {1} ({0})",
                      percent(base::seconds_of_ticks(simulate::time_of(uses, most)) / all), simulate::name_of(most))};
}

Figure memory_figure(const answer::SimulationAnswer& simulated) {
  const std::vector<predict::TaskMemory>& memory = simulated.simulation.closed.memory;
  const planner::Missing missing = planner::missing_of(memory);
  const std::string& task = simulated.scenario.job.workflow.tasks[missing.task].name;
  const std::string where = missing.host ? "of a node's host memory in " + task
                                         : fmt::format("on device {} in {}", memory[missing.task].device, task);
  if (missing.bytes > 0) return {"does not fit", answer::gibibytes(missing.bytes) + " missing", where};
  return {simulated.simulation.closed.keeps_margin() ? "fits" : "tight",
          answer::gibibytes(memory[missing.task].margin()) + " left", where};
}

std::vector<Figure> figures_of(const answer::SimulationAnswer& simulated) {
  std::vector<Figure> figures{iteration_figure(simulated)};
  if (const std::optional<Gain> gain = gain_of(simulated))
    figures.push_back(
        {"speed", fmt::format("{:.2f}x", gain->factor()),
         fmt::format("compared with {}: {} (analytical)", gain->over, answer::seconds_text(gain->seconds_there))});
  if (const planner::RankedPlan* const faster = faster_plan(simulated))
    figures.push_back({"best plan found", answer::seconds_text(faster->estimate.iteration_seconds),
                       fmt::format("{}, {} (analytical)", name_of(faster->placement),
                                   answer::difference_text(faster->estimate.iteration_seconds,
                                                           simulated.simulation.closed.iteration_seconds))});
  for (Figure (*const figure)(const answer::SimulationAnswer&) :
       {memory_figure, throughput_figure, cost_figure, idle_figure})
    figures.push_back(figure(simulated));
  if (!simulated.variants.empty()) {
    const double without = simulated.variants.front().seconds;
    figures.push_back({"stage fusion", fmt::format("{:.2f}x", without / simulated.simulation.iteration_seconds),
                       fmt::format("{} without fusion", answer::seconds_text(without))});
  }
  return figures;
}

void add_capacities(const answer::SimulationAnswer& simulated, timeline::Timeline& timeline) {
  for (timeline::Counter& counter : timeline.counters) {
    const base::DeviceId device(simulated.simulation.iteration.trace.lanes[counter.lane].devices.front());
    counter.capacity = base::Memory(cluster::gpu_of(simulated.scenario.job.cluster, device).usable_memory);
  }
}

}  // namespace

Chart iteration_chart(timeline::Timeline timeline, std::string title) {
  std::string note =
      "Each row is a group of devices that do the same work. Full-height bars are work; low bars are idle time, "
      "colored by cause.";
  const auto is_link = [](const timeline::Lane& lane) { return timeline::is_host_link_lane(lane.name); };
  if (std::any_of(timeline.lanes.begin(), timeline.lanes.end(), is_link))
    note += " The last rows are transfers over links to host memory.";
  note += term_sentences(timeline);
  timeline::Downsampled thin = timeline::downsampled(std::move(timeline), max_timeline_bars);
  if (thin.shortest > base::Ticks())
    note += fmt::format(" Neighboring bars shorter than {} are drawn as one bar of their main kind.",
                        answer::seconds_text(base::seconds_of_ticks(thin.shortest)));
  return {std::move(title), std::move(note), std::move(thin.timeline)};
}

Breakdown use_breakdown(const simulate::Trace& trace, const Tasks& tasks) {
  Breakdown breakdown;
  breakdown.title = "Where the time goes";
  breakdown.note =
      "Time by activity. The first row sums all devices. Each other row shows one device of the group that it names.";
  breakdown.time_unit = base::TimeUnit::ns;
  add_uses(breakdown, trace, tasks, [](const Use&) { return true; });
  return breakdown;
}

Breakdown idle_use_breakdown(const simulate::Trace& trace, const Tasks& tasks) {
  Breakdown breakdown;
  breakdown.title = "Idle time by cause";
  breakdown.note =
      "Idle time as a share of total time. The first row sums all devices. Each other row shows one device of the "
      "group "
      "that it names. The most idle groups come first.";
  breakdown.time_unit = base::TimeUnit::ns;
  add_uses(breakdown, trace, tasks, [](const Use& use) { return is_idle(use.bar_kind); });
  for (Breakdown::Row& row : breakdown.rows) row.full_length = trace.end;
  breakdown.rows.front().full_length = trace.end * device_count(trace);
  const auto idle = [](const Breakdown::Row& row) {
    return std::accumulate(row.amounts.begin(), row.amounts.end(), base::Ticks());
  };
  std::stable_sort(breakdown.rows.begin() + 1, breakdown.rows.end(),
                   [&](const Breakdown::Row& a, const Breakdown::Row& b) { return idle(a) > idle(b); });
  return breakdown;
}

std::vector<timeline::Track> tasks_of(const plan::Job& job) {
  std::vector<timeline::Track> tasks;
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task) {
    const auto& role = job.workflow.role_of[task];
    tasks.push_back({job.workflow.tasks[task].name, role ? role->value : -1, 0, timeline::Track::Kind::task});
  }
  return tasks;
}

timeline::Timeline timeline_of(const answer::SimulationAnswer& simulated) {
  const plan::Job& job = simulated.scenario.job;
  const simulate::Iteration& iteration = simulated.simulation.iteration;
  return simulate::iteration_timeline(iteration.trace, tasks_of(job),
                                      fmt::format("{}, {}: {} per iteration", job.name, simulated.plan.placement,
                                                  answer::seconds_text(simulated.simulation.iteration_seconds)),
                                      iteration.steady);
}

Page job_page(const answer::SimulationAnswer& simulated) {
  const plan::Job& job = simulated.scenario.job;
  const simulate::Trace& trace = simulated.simulation.iteration.trace;
  const std::vector<timeline::Track> tasks = tasks_of(job);
  Page page;
  page.title = fmt::format("{}, {}", job.name, simulated.plan.placement);
  page.subtitle = fmt::format("A simulated iteration of {} on {} with {} samples.", job.workflow.name,
                              answer::counted(cluster::device_count(job.cluster), "device"), job.workload.samples());
  page.figures = figures_of(simulated);
  timeline::Timeline timeline = timeline_of(simulated);
  add_capacities(simulated, timeline);
  Chart chart = iteration_chart(std::move(timeline), "Timeline");
  Table activities = activity_table(simulated, chart.timeline);
  page.sections.emplace_back(plan_table(simulated));
  if (simulated.ranking) page.sections.emplace_back(ranking_table(simulated));
  page.sections.emplace_back(std::move(chart));
  page.sections.emplace_back(std::move(activities));
  page.sections.emplace_back(use_breakdown(trace, tasks));
  page.sections.emplace_back(idle_use_breakdown(trace, tasks));
  page.sections.emplace_back(fusion_table(simulated));
  if (simulated.thresholds) page.sections.emplace_back(threshold_chart(*simulated.thresholds));
  page.sections.emplace_back(memory_table(simulated));
  if (!job.not_modelled.empty()) page.sections.emplace_back(not_modelled_table(job));
  return page;
}

}  // namespace dovetail::report
