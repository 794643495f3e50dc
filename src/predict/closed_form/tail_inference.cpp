#include "predict/closed_form/tail_inference.h"

#include <algorithm>
#include <optional>

#include "cost/machine.h"
#include "cost/training.h"
#include "predict/closed_form/activity_seconds.h"

namespace dovetail::predict {
namespace {

/// Workers with the same tasks.
struct Group {
  int size = 1;  ///< devices of each
  int tasks = 0;
  double work = 0;      ///< seconds of all its tasks on one of them
  double overhead = 0;  ///< of each, once
  double last = 0;      ///< inference one sample
  double loads = 0;     ///< of all models
  double max_load = 0;
  int workers = 0;

  double seconds() const { return work / workers; }

  /// REQUIRES: a replica fits.
  void add(const InferenceTask& task, int replica) {
    const int side_by_side = size / replica;
    ++tasks;
    work += task.passes * task.replicas / side_by_side;
    overhead += task.set_up();
    last += task.last;
    loads += task.loading();
    max_load = std::max(max_load, task.loading());
  }
};

/// The freed devices' workers, and what has to wait for others.
struct Split {
  std::vector<Group> groups;
  double after = 0;  ///< seconds of tasks that fit on the keepers' devices alone
};

/// Nothing where no task fits on the freed devices, or one nowhere. The groups have no workers yet.
std::optional<Split> split_of(const TailDevices& devices, const InferenceLoad& inference) {
  Split split;
  int left = devices.freed();
  for (const InferenceTask& task : inference.tasks) {
    const int replica = devices.all / task.replicas;
    Group* host = nullptr;
    if (replica <= left) {
      host = &split.groups.emplace_back();
      host->size = replica;
      left -= replica;
    } else {
      for (Group& group : split.groups)
        if (replica <= group.size && (host == nullptr || group.work < host->work)) host = &group;
    }
    const int later = devices.later() / replica;
    if (host != nullptr)
      host->add(task, replica);
    else if (later > 0)
      split.after += task.set_up() + task.passes * task.replicas / later;
    else
      return std::nullopt;
  }
  if (split.groups.empty()) return std::nullopt;
  return split;
}

/// As many workers for each group as its work has part of the devices, at least one; what that leaves goes to who needs
/// it most.
void hand_out(int freed, std::vector<Group>& groups) {
  int left = freed;
  double work = 0;  // of those that may have more than one, in seconds times devices
  for (bool fixed = true; fixed;) {
    fixed = false;
    work = 0;
    for (const Group& group : groups)
      if (group.workers == 0) work += group.size * group.work;
    for (Group& group : groups) {
      if (fixed || group.workers > 0 || left * group.work >= work) continue;
      group.workers = 1;
      left -= group.size;
      fixed = true;
    }
  }
  const int shared = left;
  for (Group& group : groups) {
    if (group.workers > 0) continue;
    group.workers = work > 0 ? std::max(1, static_cast<int>(shared * group.work / work)) : 1;
    left -= group.size * group.workers;
  }
  for (;;) {
    Group* neediest = nullptr;
    for (Group& group : groups)
      if (group.size <= left && (neediest == nullptr || group.seconds() > neediest->seconds())) neediest = &group;
    if (neediest == nullptr) return;
    ++neediest->workers;
    left -= neediest->size;
  }
}

/// How all groups together go: at the pace of the slowest.
struct Pace {
  double seconds = 0;  ///< of everything, on the freed devices alone
  double set_up = 0;
  double joining = 0;  ///< set-up of a worker that joins them
  double last = 0;     ///< from the last sample's end on, if nothing else is left
  int largest = 1;     ///< devices of a worker
};

Pace pace_of(const std::vector<Group>& groups) {
  Pace pace;
  pace.seconds = 1e-9;  // without any work
  for (const Group& group : groups) {
    pace.seconds = std::max(pace.seconds, group.seconds());
    pace.set_up = std::max(pace.set_up, group.overhead);
    pace.joining = std::max(pace.joining, group.overhead / group.tasks);
    pace.last = std::max(pace.last, group.last + group.loads - group.max_load);
    pace.largest = std::max(pace.largest, group.size);
  }
  return pace;
}

/// Inference while the tail goes on.
class TailInference {
 public:
  TailInference(const TailDevices& devices, const Pace& pace)
      : devices_(devices),
        pace_(pace),
        keeper_(static_cast<double>(devices.of_instance()) / devices.freed()),
        keepers_help_(pace.largest <= devices.of_instance()),
        setting_up_(pace.set_up) {}

  void pass(const TailSlice& slice) {
    const double working = std::max(0.0, slice.seconds - setting_up_);
    setting_up_ = std::max(0.0, setting_up_ - slice.seconds);
    done_ = std::min(slice.finished, done_ + working * speed_ / pace_.seconds);
    if (!keepers_help_ || slice.idle <= joined_ || (slice.finished - done_) * pace_.seconds <= pace_.joining * speed_)
      return;
    // What they do not do while they are set up is taken off at once.
    done_ -= (slice.idle - joined_) * keeper_ * pace_.joining / pace_.seconds;
    joined_ = slice.idle;
    speed_ = 1 + joined_ * keeper_;
  }

  /// Seconds until all is scored, if the tail has ended.
  double rest() const {
    const double left = (1 - done_) * pace_.seconds;
    const double alone = std::max(pace_.last, setting_up_ + left / speed_);
    if (alone <= pace_.joining || pace_.largest > devices_.later()) return alone;
    const double all = 1 + devices_.keepers * keeper_;
    return std::max({pace_.last, pace_.joining, (left + speed_ * setting_up_ + (all - speed_) * pace_.joining) / all});
  }

 private:
  const TailDevices& devices_;
  const Pace& pace_;
  double keeper_;  // its part of the freed devices
  bool keepers_help_;
  double setting_up_;
  double done_ = 0;    // part of all work
  double joined_ = 0;  // keepers
  double speed_ = 1;   // times that of the freed devices alone
};

}  // namespace

InferenceTask inference_task(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned,
                             double seconds) {
  const OverheadSeconds overhead = overhead_seconds(scenario, task, planned);
  const auto longest = static_cast<double>(scenario.lengths.longest());
  const cost::InferencePasses passes = cost::inference_passes(
      facts_of(scenario, task), planned.layout, {longest, longest * longest},
      cost::machine_of(scenario.job.cluster, planned.mesh, scenario.software.efficiency), scenario.software.efficiency);
  double last = passes.hop * (planned.layout.pipeline - 1);
  for (const cost::PassSeconds& stage : passes.stages) last += stage.sum();
  return {seconds - overhead.sum(), overhead.host_transfers,
          overhead.hand_over,       last,
          planned.layout.data,      gathering_seconds(scenario, task, planned)};
}

void InferenceLoad::add(const InferenceTask& task) {
  work += task.passes;
  overheads += task.overhead();
  const auto after = std::find_if(tasks.begin(), tasks.end(),
                                  [&](const InferenceTask& known) { return known.replicas > task.replicas; });
  tasks.insert(after, task);
}

void InferenceLoad::clear() {
  work = overheads = 0;
  tasks.clear();
}

InferenceEnd inference_end(const TailDevices& devices, const std::vector<TailSlice>& slices,
                           const InferenceLoad& inference, double enough) {
  const InferenceEnd one_by_one{0, inference.overheads + inference.work};
  if (devices.keepers == devices.instances) return one_by_one;
  std::optional<Split> split = split_of(devices, inference);
  if (!split) return one_by_one;
  hand_out(devices.freed(), split->groups);
  const Pace pace = pace_of(split->groups);
  TailInference beside(devices, pace);
  double rest = split->after;
  for (const TailSlice& slice : slices) {
    beside.pass(slice);
    if (slice.ends > 0) rest += slice.ends * beside.rest();
    if (rest >= enough) break;
  }
  return {pace.set_up, rest};
}

double max_hidden(const TailDevices& devices, const std::vector<TailSlice>& slices) {
  double inference = devices.freed();  // devices
  double done = 0;
  double mean = 0;
  for (const TailSlice& slice : slices) {
    done += slice.seconds * inference / devices.all;
    mean += slice.ends * done;
    inference = std::max(inference, devices.freed() + slice.idle * devices.of_instance());
  }
  return mean;
}

}  // namespace dovetail::predict
