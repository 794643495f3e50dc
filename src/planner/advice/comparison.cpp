#include "planner/advice/comparison.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dovetail::planner {
namespace {

using plan::Activity;
using predict::SecondsOf;

/// Returns the number of devices of an activity's meshes. Devices in both of two overlapping meshes count once.
int device_count(const std::vector<cluster::Mesh>& meshes) {
  if (meshes.empty()) return 0;
  int devices = meshes.front().count;
  for (std::size_t index = 1; index < meshes.size(); ++index) {
    const cluster::Mesh &a = meshes.front(), &b = meshes[index];
    devices += b.count - std::max(0, std::min(a.first + a.count, b.first + b.count) - std::max(a.first, b.first));
  }
  return devices;
}

/// Sums the seconds of the average device by use.
class Account {
 public:
  explicit Account(std::vector<TimeUse>& uses) : uses_(uses) {}

  void add(SecondsOf of, double SecondsPair::* side, double seconds) {
    const auto use = std::find_if(uses_.begin(), uses_.end(), [&](const TimeUse& known) { return known.of == of; });
    if (use != uses_.end())
      use->seconds.*side += seconds;
    else
      uses_.push_back({of, {}}), uses_.back().seconds.*side = seconds;
  }

 private:
  std::vector<TimeUse>& uses_;
};

/// Returns whether an activity is fused with others.
bool is_fused(const plan::IterationGraph& graph, std::size_t activity) {
  const auto is_member = [activity](const Activity& other) { return other.within == activity; };
  return graph.activities[activity].within || std::any_of(graph.activities.begin(), graph.activities.end(), is_member);
}

void add_uses(const predict::Scenario& scenario, const EstimatedPlan& of, double SecondsPair::* side,
              Account& account) {
  const double devices = cluster::device_count(scenario.job.cluster);
  double busy = 0;
  double hidden = 0;
  for (std::size_t index = 0; index < of.estimate.activities.size(); ++index) {
    const std::vector<Activity>& activities = of.estimate.graph.activities;
    const Activity& activity = activities[index];
    // An activity within another one runs on that activity's devices.
    const Activity& where = activity.within ? activities[*activity.within] : activity;
    const double share = device_count(plan::meshes_of(where, scenario.job, of.plan)) / devices;
    const bool fused = is_fused(of.estimate.graph, index);
    const predict::ActivitySeconds seconds =
        fused ? predict::activity_seconds(scenario, of.plan, activity) : of.estimate.activities[index];
    if (fused) hidden += share * (of.estimate.activities[index].seconds - seconds.seconds);
    for (const predict::SecondsPart& part : seconds.parts) {
      if (share == 0 || part.seconds == 0) continue;
      account.add(activity.kind == Activity::Kind::reallocation ? SecondsOf::moving_weights : part.of, side,
                  share * part.seconds);
      busy += share * part.seconds;
    }
  }
  if (hidden != 0) account.add(SecondsOf::hidden_by_fusion, side, hidden);
  account.add(SecondsOf::between_iterations, side, scenario.software.efficiency.iteration);
  account.add(SecondsOf::idle, side,
              std::max(0.0, of.estimate.iteration_seconds - scenario.software.efficiency.iteration - busy - hidden));
}

/// Returns the idle seconds of the devices. Neighbors with equal idle time form one group.
std::vector<IdleDevices> idle_devices(const predict::Scenario& scenario, const EstimatedPlan& of) {
  const int devices = cluster::device_count(scenario.job.cluster);
  const double period = of.estimate.iteration_seconds - scenario.software.efficiency.iteration;
  std::vector<double> idle(static_cast<std::size_t>(devices), period);
  for (std::size_t index = 0; index < of.estimate.activities.size(); ++index) {
    std::vector<bool> counted(idle.size(), false);
    for (const cluster::Mesh& mesh : plan::meshes_of(of.estimate.graph.activities[index], scenario.job, of.plan))
      for (int device = mesh.first; device < mesh.first + mesh.count; ++device) {
        if (counted[static_cast<std::size_t>(device)]) continue;
        counted[static_cast<std::size_t>(device)] = true;
        idle[static_cast<std::size_t>(device)] -= of.estimate.activities[index].seconds;
      }
  }
  std::vector<IdleDevices> groups;
  for (int device = 0; device < devices; ++device) {
    const double seconds = std::max(0.0, idle[static_cast<std::size_t>(device)]);
    if (!groups.empty() && std::abs(groups.back().seconds - seconds) < 1e-9 * period)
      ++groups.back().devices.count;
    else
      groups.push_back({{device, 1}, seconds});
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const IdleDevices& a, const IdleDevices& b) { return a.seconds > b.seconds; });
  return groups;
}

/// Returns the activity of `estimate` that corresponds to the given one. Null if it has no such activity.
const predict::ActivitySeconds* counterpart(const predict::Estimate& estimate, const Activity& activity,
                                            std::size_t& index) {
  for (index = 0; index < estimate.graph.activities.size(); ++index)
    if (const Activity& other = estimate.graph.activities[index];
        other.kind == activity.kind && other.task == activity.task)
      return &estimate.activities[index];
  return nullptr;
}

double seconds_of(const predict::ActivitySeconds* activity, SecondsOf part) {
  if (activity == nullptr) return 0;
  const auto found = std::find_if(activity->parts.begin(), activity->parts.end(),
                                  [&](const predict::SecondsPart& known) { return known.of == part; });
  return found == activity->parts.end() ? 0 : found->seconds;
}

/// Finds the part in which the two activities differ most.
void find_part(const predict::ActivitySeconds& here, const predict::ActivitySeconds* there,
               ActivityComparison& comparison) {
  double most = 0;
  for (const predict::SecondsPart& part : here.parts) {
    const SecondsPair seconds{part.seconds, seconds_of(there, part.of)};
    if (std::abs(seconds.lost()) <= most) continue;
    most = std::abs(seconds.lost());
    comparison.part = part.of;
    comparison.of_part = seconds;
  }
}

std::vector<ActivityComparison> compare_activities(const predict::Scenario& scenario, const EstimatedPlan& here,
                                                   const EstimatedPlan& there) {
  const std::vector<double> critical_here = criticality(scenario, here);
  const std::vector<double> critical_there = criticality(scenario, there);
  std::vector<ActivityComparison> activities;
  for (std::size_t index = 0; index < here.estimate.activities.size(); ++index) {
    const Activity& activity = here.estimate.graph.activities[index];
    std::size_t other = 0;
    const predict::ActivitySeconds* same = counterpart(there.estimate, activity, other);
    ActivityComparison comparison{
        activity.task, activity.kind, {here.estimate.activities[index].seconds, 0}, {critical_here[index], 0}, {}, {}};
    comparison.fused_here = is_fused(here.estimate.graph, index);
    if (same != nullptr) {
      comparison.seconds.there = same->seconds;
      comparison.critical.there = critical_there[other];
      comparison.fused_there = is_fused(there.estimate.graph, other);
    }
    if (comparison.fused_here == comparison.fused_there) find_part(here.estimate.activities[index], same, comparison);
    activities.push_back(std::move(comparison));
  }
  for (std::size_t index = 0; index < there.estimate.activities.size(); ++index) {
    const Activity& activity = there.estimate.graph.activities[index];
    std::size_t other = 0;
    if (counterpart(here.estimate, activity, other) != nullptr) continue;
    activities.push_back({activity.task,
                          activity.kind,
                          {0, there.estimate.activities[index].seconds},
                          {0, critical_there[index]},
                          {},
                          {}});
  }
  return activities;
}

}  // namespace

std::vector<double> criticality(const predict::Scenario& scenario, const EstimatedPlan& of) {
  std::vector<base::Ticks> durations = predict::durations_of(of.estimate.activities);
  std::vector<double> shares;
  for (base::Ticks& duration : durations) {
    const base::Ticks whole = duration;
    const base::Ticks less(whole.count() / 100);
    duration = whole - less;
    const base::Ticks period = plan::time_iterations(of.estimate.graph, scenario.job, of.plan, durations).period;
    duration = whole;
    const double gain = static_cast<double>((of.estimate.timing.period - period).count());
    shares.push_back(less.count() == 0 ? 0 : gain / static_cast<double>(less.count()));
  }
  return shares;
}

Comparison compare(const predict::Scenario& scenario, const EstimatedPlan& here, const EstimatedPlan& there) {
  Comparison comparison;
  comparison.activities = compare_activities(scenario, here, there);
  Account account(comparison.uses);
  add_uses(scenario, here, &SecondsPair::here, account);
  add_uses(scenario, there, &SecondsPair::there, account);
  comparison.idle = idle_devices(scenario, here);
  std::stable_sort(
      comparison.activities.begin(), comparison.activities.end(),
      [](const ActivityComparison& a, const ActivityComparison& b) { return a.seconds.lost() > b.seconds.lost(); });
  std::stable_sort(comparison.uses.begin(), comparison.uses.end(),
                   [](const TimeUse& a, const TimeUse& b) { return a.seconds.lost() > b.seconds.lost(); });
  return comparison;
}

namespace {

using base::Ticks;

/// Returns the seconds of an iteration in which both tasks run. Assumes that no task spans more than four iterations.
double shared_seconds(const plan::Timing& timing, std::size_t one, std::size_t two) {
  const plan::ActivityTime& a = timing.activities[one];
  const plan::ActivityTime& b = timing.activities[two];
  constexpr int neighbours = 4;
  Ticks shared;
  for (int iteration = -neighbours; iteration <= neighbours; ++iteration) {
    const Ticks later = timing.period * iteration;
    shared += std::max(Ticks(0), std::min(a.end, b.end + later) - std::max(a.begin, b.begin + later));
  }
  return base::seconds_of_ticks(shared);
}

}  // namespace

std::vector<SideBySide> side_by_side(const EstimatedPlan& here, const EstimatedPlan& there) {
  std::vector<SideBySide> pairs;
  const std::size_t tasks = here.plan.tasks.size();
  for (std::size_t one = 0; one < tasks; ++one)
    for (std::size_t two = one + 1; two < tasks; ++two) {
      const SecondsPair seconds{shared_seconds(here.estimate.timing, one, two),
                                shared_seconds(there.estimate.timing, one, two)};
      if (seconds.here > 0 || seconds.there > 0) pairs.push_back({one, two, seconds});
    }
  std::stable_sort(pairs.begin(), pairs.end(), [](const SideBySide& a, const SideBySide& b) {
    return std::abs(a.seconds.lost()) > std::abs(b.seconds.lost());
  });
  return pairs;
}

}  // namespace dovetail::planner
