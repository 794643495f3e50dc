// Inference beside and behind the tail of generation, in closed form: what simulate/inter_stage.h plays.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "plan/task_plan.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::predict {

/// A task that scores, in its layout on all devices; seconds.
struct InferenceTask {
  double passes = 0;
  double load = 0;       ///< until devices have its weights from host memory, each time that they change to this model
  double hand_over = 0;  ///< more, the first time
  double last = 0;       ///< a sample of the longest length through a pipeline, alone
  int replicas = 1;      ///< data-parallel ones: each has as many devices
  double gathering = 0;  ///< until a worker has them from other devices: gathering_seconds

  double overhead() const { return load + hand_over; }
  double loading() const { return load + gathering; }      ///< of a worker, each time
  double set_up() const { return loading() + hand_over; }  ///< of a worker, the first time
};

/// `seconds`: task_seconds of it. REQUIRES: the task infers, and `planned` has no fault.
InferenceTask inference_task(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned, double seconds);

/// The inference tasks of a stage together.
struct InferenceLoad {
  double work = 0;                   ///< seconds of their passes on all devices, one task after the other
  double overheads = 0;              ///< seconds, likewise
  std::vector<InferenceTask> tasks;  ///< that with the largest replica first

  void add(const InferenceTask& task);
  void clear();
};

/// A part of the tail on the keepers. How long the tail is depends on the lengths that are drawn.
struct TailSlice {
  double seconds = 0;   ///< of a tail that is not through before
  double finished = 0;  ///< part of all samples that have finished by its end
  double idle = 0;      ///< keepers that have generated all of theirs, in the mean of tails that are not through
  double ends = 0;      ///< chance that the tail ends with it; those of all slices add up to 1
};

/// Who has the tail.
struct TailDevices {
  int all = 1;        ///< devices of the mesh
  int instances = 1;  ///< that generate on them
  int keepers = 1;    ///< of these that keep the tail

  int of_instance() const { return all / instances; }
  int freed() const { return (instances - keepers) * of_instance(); }
  int later() const { return keepers * of_instance(); }
};

/// What inference adds to a stage; seconds of InterStage's of these names.
struct InferenceEnd {
  double set_up = 0;
  double rest = 0;  ///< in the mean of all ends that the tail may have
};

/// With everything kept, all tasks follow one another. Else the freed devices are shared among the tasks as
/// simulate::infer_best begins by work: a worker of a replica's size for each, the largest first; a task that has no
/// room beside them shares the worker with the least work that it fits on; then one worker after the other to where the
/// most work for each is. All of these go at the pace of the slowest, from the longest set-up on (of shared workers: of
/// all models), and are never through with more than has finished. A keeper without samples becomes a worker where what
/// is ready takes the others longer than its set-up, and all of them do when the tail has ended. At least the last
/// sample has to be scored: by tasks that share a worker one after the other, with what loading them again takes. A
/// task that fits on the keepers' devices alone follows behind. Where nothing fits on the freed ones, or something on
/// neither, all tasks follow the tail one after the other. A `rest` of `enough` seconds or more may be less than it is,
/// but no less than `enough`.
InferenceEnd inference_end(const TailDevices& devices, const std::vector<TailSlice>& slices,
                           const InferenceLoad& inference, double enough = std::numeric_limits<double>::infinity());

/// Seconds of inference on all devices that are done before the tail ends, at the most and in the mean of all its ends:
/// all freed devices and keepers without samples work from the beginning on.
double max_hidden(const TailDevices& devices, const std::vector<TailSlice>& slices);

}  // namespace dovetail::predict
