#include "simulate/iteration.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>

#include "base/assert.h"
#include "plan/timing.h"
#include "simulate/trace.h"
#include "timeline/timeline.h"

namespace dovetail::simulate {

namespace {

using base::Ticks;

constexpr int links_of_a_device = 4;
constexpr Ticks min_difference(1000);  // ns; arrivals closer than this are shown as one

Transfer transfer_of(const DeviceTransfer& sent) {
  Transfer transfer{{}, sent.uncontended, sent.bytes};
  const int level = sent.between ? 2 : 0;
  if (sent.from != DeviceTransfer::no_device) transfer.links.push_back(links_of_a_device * sent.from + level);
  if (sent.to != DeviceTransfer::no_device) transfer.links.push_back(links_of_a_device * sent.to + level + 1);
  return transfer;
}

Activities bar_kinds_of(const Workload& workload) {
  Activities bar_kinds;
  bar_kinds.edges = workload.edges;
  bar_kinds.links = links_of_a_device * workload.devices;
  for (const Activity& activity : workload.activities) {
    Activities::Item item;
    item.devices = activity.devices;
    // A device's host link is numbered after all devices, in device order.
    if (activity.host)
      item.devices[0] = {workload.devices + activity.host->devices.first, activity.host->devices.count};
    item.duration = activity.trace.end;
    // Generation on other devices waits for the new weights.
    item.urgent = plan::is_urgent(activity.reallocation, activity.devices[1].count > 0);
    for (const DeviceTransfer& sent : activity.transfers) item.transfers.push_back(transfer_of(sent));
    bar_kinds.items.push_back(std::move(item));
  }
  return bar_kinds;
}

bool has_ended(const ActivityRun& run) { return run.end >= run.begin; }
bool has_begun(const ActivityRun& run) { return has_ended(run) || run.begin > Ticks(0); }

/// Returns the idle kind of activities that wait for this one.
BarKind cause_of(const Activity& activity) {
  if (activity.host) return BarKind::transfer;
  return activity.reallocation ? BarKind::awaiting : BarKind::dependency;
}

/// Returns `time` x `part` / `total`, rounded to ns. An integer product could overflow.
Ticks part_of(Ticks time, Ticks part, Ticks total) {
  const double fraction = static_cast<double>(part.count()) / static_cast<double>(total.count());
  return Ticks(std::llround(static_cast<double>(time.count()) * fraction));
}

bool is_on(const cluster::Mesh& mesh, int device) { return device >= mesh.first && device < mesh.first + mesh.count; }

/// Lanes of each device in the activities' traces.
class DeviceLanes {
 public:
  explicit DeviceLanes(const Workload& workload)
      : workload_(workload), lane_of_(static_cast<std::size_t>(workload.devices)) {
    for (std::vector<int>& lanes : lane_of_) lanes.assign(workload.activities.size(), absent);
    for (std::size_t activity = 0; activity < workload.activities.size(); ++activity) place(activity);
  }

  static constexpr int absent = -1;
  static constexpr int without_lane = -2;

  int lane(int device, std::size_t activity) const { return lane_of_[static_cast<std::size_t>(device)][activity]; }

  /// Returns the lanes of the device and its memory in each activity. Equal for devices that do the same, apart from
  /// transfers.
  std::vector<std::int64_t> key(int device) const {
    const std::vector<int>& lanes = lane_of_[static_cast<std::size_t>(device)];
    std::vector<std::int64_t> key(lanes.begin(), lanes.end());
    if (!workload_.resident) return key;
    key.push_back(workload_.resident(device, std::nullopt));
    for (std::size_t activity = 0; activity < lanes.size(); ++activity)
      if (lanes[activity] != absent) key.push_back(workload_.resident(device, activity));
    return key;
  }

 private:
  void place(std::size_t activity) {
    const Activity& here = workload_.activities[activity];
    for (const cluster::Mesh& mesh : here.devices)
      for (int device = mesh.first; device < mesh.first + mesh.count; ++device)
        lane_of_[static_cast<std::size_t>(device)][activity] = without_lane;
    for (std::size_t lane = 0; lane < here.trace.lanes.size(); ++lane)
      for (const int device : here.trace.lanes[lane].devices) {
        DOVETAIL_ASSERT(is_on(here.devices[0], device) || is_on(here.devices[1], device));
        lane_of_[static_cast<std::size_t>(device)][activity] = static_cast<int>(lane);
      }
  }

  const Workload& workload_;
  std::vector<std::vector<int>> lane_of_;  // [device][activity]
};

/// The part of the simulation that becomes the trace.
struct Stretch {
  Ticks begin;
  Ticks end;
  std::size_t iteration = 0;  ///< first iteration that begins in it, at its start
};

/// Builds the lanes of the stretch.
class Cutter {
 public:
  Cutter(const Workload& workload, const SimulatedIterations& simulated, const Stretch& stretch)
      : workload_(workload), simulated_(simulated), stretch_(stretch), device_lanes_(workload) {
    for (std::size_t node = 0; node < simulated.runs.size(); ++node)
      if (simulated.runs[node].end > stretch.begin && !activity_of(node).transfers.empty())
        own_arrivals_[node] = arrivals_of(node);
  }

  Trace cut() const {
    Trace trace;
    trace.end = length() + workload_.overhead * static_cast<std::int64_t>(simulated_.iterations);
    for (std::vector<int>& devices : classes()) {
      Lane lane = lane_of(devices.front());
      add_held(lane, devices.front(), trace.end);
      lane.devices = std::move(devices);
      trace.lanes.push_back(std::move(lane));
    }
    trace.host_links = host_links();
    return trace;
  }

 private:
  /// Returns a lane for each mesh with host transfers.
  std::vector<Lane> host_links() const {
    std::map<std::pair<int, int>, Lane> lanes;
    for (std::size_t node = 0; node < simulated_.runs.size(); ++node) {
      const Activity& activity = activity_of(node);
      if (!activity.host || !has_ended(simulated_.runs[node])) continue;
      const cluster::Mesh& mesh = activity.host->devices;
      Lane& lane = lanes[{mesh.first, mesh.count}];
      add(lane, simulated_.runs[node].begin, simulated_.runs[node].end,
          {{}, {}, BarKind::loading, activity.task, 0, {}});
    }
    std::vector<Lane> made;
    for (auto& [mesh, lane] : lanes) {
      if (lane.spans.empty()) continue;
      std::sort(lane.spans.begin(), lane.spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
      for (int device = mesh.first; device < mesh.first + mesh.second; ++device) lane.devices.push_back(device);
      made.push_back(std::move(lane));
    }
    return made;
  }

  /// Returns for each device the time at which its last transfer has arrived. Arrivals at most a microsecond apart
  /// count as the latest of them, so that their devices share a lane.
  std::vector<Ticks> arrivals_of(std::size_t node) const {
    const ActivityRun& run = simulated_.runs[node];
    const Activity& activity = activity_of(node);
    std::vector<Ticks> arrivals(static_cast<std::size_t>(workload_.devices), run.begin + activity.trace.end);
    for (std::size_t index = 0; index < activity.transfers.size(); ++index)
      for (const int device : {activity.transfers[index].from, activity.transfers[index].to})
        if (device != DeviceTransfer::no_device) {
          Ticks& arrival = arrivals[static_cast<std::size_t>(device)];
          arrival = std::max(arrival, run.arrivals[index]);
        }
    std::vector<Ticks> together = arrivals;
    std::sort(together.begin(), together.end(), std::greater<>());
    Ticks last = together.front();
    std::map<Ticks, Ticks> taken_for;
    for (const Ticks arrival : together) {
      if (last - arrival > min_difference) last = arrival;
      taken_for[arrival] = last;
    }
    for (Ticks& arrival : arrivals) arrival = taken_for[arrival];
    return arrivals;
  }

  /// Returns groups of devices that do and hold the same all the time, ordered by their first device.
  std::vector<std::vector<int>> classes() const {
    std::map<std::vector<std::int64_t>, std::vector<int>> alike;
    for (int device = 0; device < workload_.devices; ++device) {
      std::vector<std::int64_t> key = device_lanes_.key(device);
      for (const auto& [node, arrivals] : own_arrivals_)
        key.push_back(arrivals[static_cast<std::size_t>(device)].count());
      alike[key].push_back(device);
    }
    std::vector<std::vector<int>> classes;
    for (auto& [key, devices] : alike) classes.push_back(std::move(devices));
    std::sort(classes.begin(), classes.end());
    return classes;
  }

  Ticks length() const { return stretch_.end - stretch_.begin; }
  std::size_t activities() const { return workload_.activities.size(); }
  const Activity& activity_of(std::size_t node) const { return workload_.activities[node % activities()]; }

  /// Returns the nodes that occupy `device` during the stretch, and the first one after it, in order.
  std::vector<std::size_t> nodes_on(int device) const {
    std::vector<std::size_t> nodes;
    for (std::size_t node = 0; node < simulated_.runs.size(); ++node) {
      const ActivityRun& run = simulated_.runs[node];
      if (run.end <= run.begin || run.end <= stretch_.begin) continue;
      if (device_lanes_.lane(device, node % activities()) != DeviceLanes::absent) nodes.push_back(node);
    }
    const auto begin = [this](std::size_t node) { return std::pair(simulated_.runs[node].begin, node); };
    std::sort(nodes.begin(), nodes.end(), [&](std::size_t a, std::size_t b) { return begin(a) < begin(b); });
    const auto beyond = [this](std::size_t node) { return simulated_.runs[node].begin >= stretch_.end; };
    const auto first_beyond = std::find_if(nodes.begin(), nodes.end(), beyond);
    if (first_beyond != nodes.end()) nodes.erase(first_beyond + 1, nodes.end());
    return nodes;
  }

  Lane lane_of(int device) const {
    Lane lane;
    Ticks now = stretch_.begin;
    for (const std::size_t node : nodes_on(device)) {
      const ActivityRun& run = simulated_.runs[node];
      const Ticks until = std::min(run.begin, stretch_.end);
      if (now < until) hold(lane, now, resident(device, std::nullopt));
      wait(lane, now, until, run.critical_predecessor);
      now = stretch_.end;
      if (run.begin >= stretch_.end) break;
      work(lane, device, node);
      now = std::min(run.end, stretch_.end);
    }
    if (lane.spans.empty() || now < stretch_.end) {
      hold(lane, now, resident(device, std::nullopt));
      add(lane, now, stretch_.end, {{}, {}, BarKind::dependency, -1, 0, {}});
    }
    if (workload_.overhead > Ticks(0)) {
      hold(lane, stretch_.end, resident(device, std::nullopt));
      const Ticks overhead = workload_.overhead * static_cast<std::int64_t>(simulated_.iterations);
      lane.spans.push_back({length(), length() + overhead, BarKind::hand_over, -1, 0, {}});
    }
    return lane;
  }

  std::int64_t resident(int device, std::optional<std::size_t> activity) const {
    return workload_.resident ? workload_.resident(device, activity) : 0;
  }

  /// Adds the part of `span` from `begin` to `end` that is in the stretch, with the same part of its launch time.
  void add(Lane& lane, Ticks begin, Ticks end, Span span) const {
    const Ticks from = std::max(begin, stretch_.begin);
    const Ticks to = std::min(end, stretch_.end);
    if (from >= to) return;
    const auto launched = [&](Ticks until) { return part_of(span.launch, until - begin, end - begin); };
    span.launch = launched(to) - launched(from);
    span.begin = from - stretch_.begin;
    span.end = to - stretch_.begin;
    const bool continues = !lane.spans.empty() && is_idle(span.bar_kind) &&
                           lane.spans.back().bar_kind == span.bar_kind && lane.spans.back().task == span.task;
    if (continues)
      lane.spans.back().end = span.end;
    else
      lane.spans.push_back(span);
  }

  /// Adds the memory that host transfers hold on the device.
  void add_held(Lane& lane, int device, Ticks end) const {
    for (std::size_t node = 0; node < simulated_.runs.size(); ++node) {
      const std::optional<HostTransfer>& host = activity_of(node).host;
      if (!host || !is_on(host->devices, device)) continue;
      const ActivityRun& moved = simulated_.runs[node];
      const ActivityRun& served = simulated_.runs[node - node % activities() + host->activity];
      if (!has_begun(moved) || (host->back && !has_ended(served))) continue;
      const Ticks from = host->back ? served.end : moved.begin;
      const bool is_over = host->back ? has_ended(moved) : has_begun(served);
      const Ticks until = host->back ? moved.end : served.begin;
      if (from >= stretch_.end || (is_over && until <= stretch_.begin)) continue;
      // Data loaded for an activity that begins with the next stretch is held until then.
      const bool stays = !is_over || until > stretch_.end || (until == stretch_.end && !host->back);
      add_memory(lane.memory, std::max(from, stretch_.begin) - stretch_.begin, stays ? end : until - stretch_.begin,
                 host->bytes);
    }
  }

  void hold(Lane& lane, Ticks time, std::int64_t bytes) const {
    const Ticks at = std::max(time, stretch_.begin) - stretch_.begin;
    if (!lane.memory.empty() && lane.memory.back().first == at)
      lane.memory.back().second = bytes;
    else if (lane.memory.empty() || lane.memory.back().second != bytes)
      lane.memory.emplace_back(at, bytes);
  }

  /// Adds idle time from `from` to `to`, at which `critical_predecessor` ended. Earlier parts have the causes that it
  /// waited for.
  void wait(Lane& lane, Ticks from, Ticks to, std::size_t critical_predecessor) const {
    std::vector<Span> causes;
    Ticks until = to;
    while (until > from) {
      if (critical_predecessor == no_activity) {
        causes.push_back({from, until, BarKind::dependency, -1, 0, {}});
        break;
      }
      const ActivityRun& run = simulated_.runs[critical_predecessor];
      const Activity& activity = activity_of(critical_predecessor);
      const Ticks since = std::clamp(run.begin, from, until);
      if (since < until) causes.push_back({since, until, cause_of(activity), activity.task, 0, {}});
      until = since;
      critical_predecessor = run.critical_predecessor;
    }
    for (auto cause = causes.rbegin(); cause != causes.rend(); ++cause) add(lane, cause->begin, cause->end, *cause);
  }

  void work(Lane& lane, int device, std::size_t node) const {
    const ActivityRun& run = simulated_.runs[node];
    const Activity& activity = activity_of(node);
    const std::int64_t base = resident(device, node % activities());
    hold(lane, run.begin, base);
    const int own = device_lanes_.lane(device, node % activities());
    Ticks now = run.begin;
    if (own >= 0) {
      const Lane& trace = activity.trace.lanes[static_cast<std::size_t>(own)];
      for (const Span& span : trace.spans) add(lane, run.begin + span.begin, run.begin + span.end, span);
      for (const auto& [time, bytes] : trace.memory)
        if (run.begin + time < stretch_.end) hold(lane, run.begin + time, base + bytes);
      now += activity.trace.end;
    }
    if (activity.transfers.empty()) return;
    // Its own transfers, then those of others.
    const Ticks arrived = own_arrivals_.at(node)[static_cast<std::size_t>(device)];
    add(lane, now, arrived, {{}, {}, BarKind::reallocation, activity.task, 0, {}});
    add(lane, arrived, run.end, {{}, {}, BarKind::awaiting, activity.task, 0, {}});
  }

  const Workload& workload_;
  const SimulatedIterations& simulated_;
  const Stretch& stretch_;
  DeviceLanes device_lanes_;
  std::map<std::size_t, std::vector<Ticks>> own_arrivals_;  // [node with transfers][device]
};

/// Returns the time at which the first activity of the iteration begins, other than host transfers.
Ticks beginning_of(const SimulatedIterations& simulated, const std::vector<Activity>& activities,
                   std::size_t iteration) {
  std::optional<Ticks> first;
  for (std::size_t activity = 0; activity < activities.size(); ++activity)
    if (const Ticks begin = simulated.runs[iteration * activities.size() + activity].begin; !activities[activity].host)
      first = std::min(first.value_or(begin), begin);
  return first.value_or(Ticks(0));
}

/// Returns a stretch as long as the period, from the start of the first iteration in it.
Stretch stretch_of(const SimulatedIterations& simulated, const std::vector<Activity>& activities) {
  std::size_t iteration = simulated.last + 1 - simulated.iterations;
  while (beginning_of(simulated, activities, iteration) < simulated.begin) ++iteration;
  const Ticks begin = beginning_of(simulated, activities, iteration);
  return {begin, begin + (simulated.end - simulated.begin), iteration};
}

std::vector<plan::ActivityTime> activities_of(const SimulatedIterations& simulated, std::size_t activities,
                                              const Stretch& stretch) {
  std::vector<plan::ActivityTime> times;
  for (std::size_t activity = 0; activity < activities; ++activity) {
    const ActivityRun& run = simulated.runs[stretch.iteration * activities + activity];
    times.push_back({run.begin - stretch.begin, run.end - stretch.begin});
  }
  return times;
}

}  // namespace

Iteration simulate_iteration(const Workload& workload) {
  for (const Activity& activity : workload.activities) DOVETAIL_ASSERT(!find_fault(activity.trace));
  const Activities every = bar_kinds_of(workload);
  const SimulatedIterations simulated =
      simulate_iterations(every, workload.max_iterations, workload.transfer_cache, workload.cancellation);
  const Stretch stretch = stretch_of(simulated, workload.activities);
  Iteration iteration;
  iteration.trace = Cutter(workload, simulated, stretch).cut();
  iteration.iterations = simulated.iterations;
  iteration.simulated = simulated.last + 1;
  iteration.steady = simulated.steady;
  iteration.cycle = stretch.end - stretch.begin;
  iteration.period = simulated.period();
  iteration.activities = activities_of(simulated, workload.activities.size(), stretch);
  DOVETAIL_ASSERT(!find_fault(iteration.trace));
  return iteration;
}

namespace {

using timeline::Bar;
using timeline::Timeline;

/// Kinds of spans whose `amount` counts sequences, or is the number of a batch.
bool counts_sequences(BarKind bar_kind) { return bar_kind == BarKind::decode || bar_kind == BarKind::infer; }
bool counts_batches(BarKind bar_kind) {
  return bar_kind == BarKind::forward || bar_kind == BarKind::backward || bar_kind == BarKind::optimizer;
}

Bar bar_of(const Span& span) {
  Bar bar{span.begin, span.end, span.bar_kind, span.task};
  if (counts_sequences(span.bar_kind)) bar.sequences = span.amount;
  if (counts_batches(span.bar_kind)) bar.microbatch = static_cast<std::int32_t>(span.amount);
  bar.launch = span.launch;
  return bar;
}

void add_lane(Timeline& timeline, std::string name, const Lane& lane) {
  if (!lane.memory.empty()) {
    timeline::Counter counter{"memory in use", "bytes", timeline.lanes.size(), {}};
    for (const auto& [time, bytes] : lane.memory) counter.steps.emplace_back(time, base::Memory(bytes));
    timeline.counters.push_back(std::move(counter));
  }
  std::vector<Bar> bars;
  for (const Span& span : lane.spans) bars.push_back(bar_of(span));
  timeline::add_lane(timeline, std::move(name), bars);
}

}  // namespace

Timeline iteration_timeline(const Trace& trace, std::vector<timeline::Track> tasks, std::string title, bool repeats) {
  Timeline timeline;
  timeline.title = std::move(title);
  timeline.lane_noun = "row";
  timeline.time_unit = base::TimeUnit::ns;
  timeline.end = trace.end;
  timeline.beginning = repeats ? timeline::Beginning::repeats : timeline::Beginning::unknown;
  timeline.tracks = std::move(tasks);
  for (const Lane& lane : trace.lanes) add_lane(timeline, timeline::device_lane_name(lane.devices), lane);
  for (const Lane& lane : trace.host_links) add_lane(timeline, timeline::host_link_lane_name(lane.devices), lane);
  return timeline;
}

}  // namespace dovetail::simulate
