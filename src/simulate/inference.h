// Inference samples as they come: forward passes of several models that share devices.
//
// Devices work in groups, the workers. A worker has the weights of one model at a time, in as many replicas of that
// task's layout as it has devices for; a task of which not a single replica fits is none for it. The rules:
// - A sample can be scored for a task once it is generated and the tasks that come before have scored it.
// - A free worker takes samples of the task whose model it has, in the order in which they became ready: a micro-batch
// for each replica,
//   but no more than its part of what is ready, by its replicas, if other workers with that model are free as well. It
//   never waits for a micro-batch to fill.
// - A pipeline takes in a micro-batch each time that its slowest stage is through with one; it is done behind the last
// stage
//   (cost::inference_passes). So micro-batches of one size take together what cost::inference_seconds says.
// - A free worker with nothing to do for its model loads another one: of the tasks with ready samples that with the
// most work for each
//   replica that it would have (ties: the first), but only where it would have loaded before those that have the model
//   are through with what is ready. Where it has a model and samples are still to come, what is ready must also take it
//   at least as long as loading: else a few workers would load all models in turn for each sample that the tail of
//   generation yields. A hand-over is paid only once, so that it counts for nothing there.
// - Loading takes the task's `load` and `gathering`, and the first time on a worker its `hand_over` before that.
// - At one moment samples become ready first, in their order; then free workers choose their models, in theirs; then
// they take samples.
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

/// Devices that score together.
struct Worker {
  std::vector<int> devices;  ///< of the cluster, ascending
  base::Ticks from;          ///< when they are free
  int first_task = -1;       ///< whose model it loads first, and of which a replica fits; -1: the rules say
};

struct Inference {
  base::Ticks end;                               ///< of the last sample; 0 without tasks
  std::vector<std::vector<base::Ticks>> scored;  ///< [task][sample]
  /// [worker] hand-over, loading, inference and draining pipelines; gaps where it waits
  std::vector<std::vector<Span>> spans;
  /// [worker] InferTask::held of the model it has, from that time on.
  std::vector<std::vector<std::pair<base::Ticks, std::int64_t>>> memory;
};

/// Replicas of the task's layout that so many devices have room for.
std::size_t replicas_on(const InferTask& task, std::size_t devices);

/// Scores all samples for all tasks. `ready`: [sample] when it is generated. REQUIRES: at least one worker, and for
/// each task one that a replica fits on.
Inference infer(const std::vector<InferTask>& tasks, const std::vector<Sample>& samples,
                const std::vector<base::Ticks>& ready, const std::vector<Worker>& workers);

}  // namespace dovetail::simulate
