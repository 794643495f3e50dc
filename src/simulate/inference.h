// Inference on samples as they become ready: forward passes of several models that share devices.
//
// Devices form groups, the workers. A worker holds the weights of one task's model at a time, in as many replicas of
// the task's layout as fit on its devices. It cannot serve a task whose replica does not fit. Rules:
//
// - A sample can be scored for a task once it is generated and the preceding tasks have scored it.
// - A free worker takes ready samples of its model's task in the order in which they became ready: one micro-batch per
//   replica. If other workers with that model are free too, it takes at most its share of the ready samples, in
//   proportion to its replicas. It never waits for a micro-batch to fill.
// - A pipeline accepts a micro-batch whenever its slowest stage has finished one. The micro-batch is done after the
//   last stage (cost::inference_passes). Micro-batches of equal size thus take cost::inference_seconds in total.
// - A free worker without ready samples for its model loads another one. Among the tasks with ready samples it chooses
//   the one with the most work per replica, counting the replicas that it would add (ties: the first). It only loads if
//   it would finish loading before the workers that have the model finish the ready samples.
// - If the worker already has a model and more samples will come, the ready samples must also occupy it for at least
//   the loading time. Otherwise a few workers would load all models in turn for each sample of the generation tail. The
//   hand-over does not count here because it is paid only once.
// - Loading takes the task's `load` and `gathering`, preceded by `hand_over` the first time on a worker.
// - At each moment, samples become ready first, in order. Then free workers choose models, in order. Then they take
//   samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "simulate/infer_task.h"
#include "simulate/sample.h"
#include "simulate/trace.h"

namespace dovetail::simulate {

/// Devices that run inference together.
struct Worker {
  std::vector<int> devices;  ///< device numbers in the cluster, ascending
  base::Ticks from;          ///< time at which the devices are free
  /// Task whose model it loads first (at least one replica must fit); -1: chosen by the rules.
  int first_task = -1;
};

struct Inference {
  base::Ticks end;                               ///< time at which the last sample is scored; 0 without tasks
  std::vector<std::vector<base::Ticks>> scored;  ///< [task][sample] time at which it is scored

  /// [worker] hand-over, loading, inference and draining pipelines; gaps while it waits
  std::vector<std::vector<Span>> spans;
  /// [worker] (time, InferTask::held of the worker's model from then on), in order of time
  std::vector<std::vector<std::pair<base::Ticks, std::int64_t>>> memory;
};

/// Returns the number of replicas of the task's layout that fit on `devices` devices.
std::size_t replicas_on(const InferTask& task, std::size_t devices);

/// Scores all samples for all tasks. `ready`: [sample] time at which it is generated. REQUIRES: there is at least one
/// worker, and for each task a worker on which a replica of the task fits.
Inference infer(const std::vector<InferTask>& tasks, const std::vector<Sample>& samples,
                const std::vector<base::Ticks>& ready, const std::vector<Worker>& workers);

}  // namespace dovetail::simulate
