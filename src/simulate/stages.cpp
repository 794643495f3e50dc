#include "simulate/stages.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "simulate/scoring_split.h"

namespace dovetail::simulate {

using base::Ticks;

namespace {

std::size_t worker_size(const InterStageTask& task) {
  int most = 1;
  for (const InferTask& infer : task.infer) most = std::max(most, infer.replica_devices());
  DOVETAIL_ASSERT(most <= task.generation.mesh.count);
  return static_cast<std::size_t>(most);
}

/// Devices of an instance, and when it leaves them.
struct Leaving {
  std::size_t instance = 0;
  Ticks time;
};

/// Workers of what these instances leave, device by device in their order; what is too little for one more is left over.
std::vector<Worker> workers_of(const Fleet& fleet, const std::vector<Leaving>& leaving, std::size_t size) {
  std::vector<std::pair<int, Ticks>> devices;
  for (const Leaving& instance : leaving)
    for (const int device : fleet.devices[instance.instance]) devices.emplace_back(device, instance.time);
  std::sort(devices.begin(), devices.end());
  std::vector<Worker> workers;
  for (std::size_t begin = 0; begin + size <= devices.size(); begin += size) {
    Worker& worker = workers.emplace_back();
    for (std::size_t index = begin; index < begin + size; ++index) {
      worker.devices.push_back(devices[index].first);
      worker.from = std::max(worker.from, devices[index].second);
    }
  }
  return workers;
}

}  // namespace

Stages::Stages(const InterStageTask& task, const std::vector<Sample>& samples)
    : task_(task), samples_(samples), fleet_(fleet_of(task.generation, samples)), worker_size_(worker_size(task)) {
  DOVETAIL_ASSERT(!samples.empty());
  play_plain();
}

std::optional<PlayedStages> Stages::with_threshold(double threshold) {
  const auto count = static_cast<double>(samples_.size());
  // 0.29 of 100 samples are 29, whatever the product rounds to.
  const auto left = std::clamp<std::size_t>(static_cast<std::size_t>(std::floor(threshold * count + 1e-6)), 1, samples_.size());
  if (left == samples_.size()) return std::nullopt;
  std::int64_t longest = task_.longest_sequence;
  if (longest == 0)
    for (const Sample& sample : samples_) longest = std::max(longest, sample.prompt + sample.response);
  const std::size_t instances = fleet_.devices.size();
  const std::size_t destinations = destination_count(task_.generation, fleet_, samples_, left, longest);
  if (destinations >= instances || (instances - destinations) * fleet_.devices.front().size() < worker_size_) return std::nullopt;
  return play_fused(time_of(left), destinations);
}

/// When no more than so many samples are unfinished.
Ticks Stages::time_of(std::size_t left) const {
  std::vector<Ticks> finished = plain_.finished;
  const auto place = finished.begin() + static_cast<std::ptrdiff_t>(finished.size() - left - 1);
  std::nth_element(finished.begin(), place, finished.end());
  return *place;
}

PlayedStages Stages::finish(const std::vector<Instance>& instances) const {
  PlayedStages played;
  played.finished.resize(samples_.size());
  for (const Instance& instance : instances) {
    played.logs.push_back(instance.log());
    for (const auto& [sample, time] : instance.log().finished) played.finished[sample] = time;
  }
  played.generation_end = *std::max_element(played.finished.begin(), played.finished.end());
  return played;
}

void Stages::play_plain() {
  std::vector<Instance> instances = instances_of(fleet_, task_.generation, samples_);
  for (Instance& instance : instances) instance.run_until(Ticks::max());
  plain_ = finish(instances);
  const Ticks end = plain_.generation_end;
  plain_.stopped.assign(instances.size(), end);
  plain_.left = plain_.stopped;
  std::vector<Leaving> leaving;
  for (std::size_t instance = 0; instance < instances.size(); ++instance) leaving.push_back({instance, end + task_.drop});
  plain_.workers = workers_of(fleet_, leaving, worker_size_);
  plain_.scoring = score_best(task_.infer, samples_, std::vector<Ticks>(samples_.size(), end), plain_.workers, plain_.workers.size());
  plain_.end = std::max(end, plain_.scoring.end);
}

PlayedStages Stages::play_fused(Ticks at, std::size_t destinations) {
  std::vector<Instance> instances = instances_of(fleet_, task_.generation, samples_);
  for (Instance& instance : instances) instance.run_until(at);
  std::vector<Ticks> stopped;
  for (const Instance& instance : instances) stopped.push_back(std::max(at, instance.now()));
  std::vector<Ticks> left;
  const Migration migration = migrate(task_.generation, fleet_, instances, at, destinations, left);
  std::vector<Leaving> first;
  std::vector<Leaving> later;
  for (std::size_t instance = 0; instance < instances.size(); ++instance) {
    const bool stays = std::binary_search(migration.destinations.begin(), migration.destinations.end(), instance);
    if (stays) {
      instances[instance].run_until(Ticks::max());
      stopped[instance] = left[instance] = std::max(at, instances[instance].now());
    }
    (stays ? later : first).push_back({instance, left[instance] + task_.drop});
  }
  PlayedStages played = finish(instances);
  played.migration = migration;
  played.stopped = std::move(stopped);
  played.left = std::move(left);
  played.workers = workers_of(fleet_, first, worker_size_);
  const std::size_t freed = played.workers.size();
  for (Worker& worker : workers_of(fleet_, later, worker_size_)) played.workers.push_back(std::move(worker));
  played.scoring = score_best(task_.infer, samples_, played.finished, played.workers, freed);
  played.end = std::max(played.generation_end, played.scoring.end);
  return played;
}

}  // namespace dovetail::simulate
