// Inter-stage fusion in closed form: the time to infer on finished samples while the longest ones are still generated
// (RLHFuse, NSDI 2025, section 4). simulate/inter_stage.h simulates it event by event.
//
// The batches of all n instances shrink as computed by cost::generation_seconds. The threshold R is reached when no
// sample waits for a slot and at most a fraction R of all B samples is left. Then m instances, the keepers, continue
// with the tail, and the samples of the others move to them:
//
//   m = max( ceil(L / flat batch), ceil(L M / C), ceil(L / max sequences of the engine) ), at most n
//
// L is R B, but at most the samples that all instances decode at the start of the tail. The flat batch is
// cost::flat_batch, M the KV cache of the longest sample, and C the KV cache space of an instance. The moved samples
// are prefilled again, or each device of a keeper receives its part of their KV cache over the links. The model uses
// the faster of the two. The n - m freed instances discard the actor and run inference on finished samples. If m = n,
// nothing moves, and the tasks run in sequence. The same applies if less than a fraction simulate::min_tail of
// generation is left at the threshold.
//
// The remaining samples are assumed to be spread randomly over the keepers (Poisson). With k samples per keeper on
// average, a keeper has none with probability p = e^-k. Of m keepers, at least one of which has samples, m p (1 -
// p^(m-1)) / (1 - p^m) have none on average.
//
// All extra time of the slowest instance over the average one is counted before the threshold. Otherwise, fused
// generation would end sooner than unfused generation. The model assumes that each instance has the mean number of
// unfinished samples at the time of the move.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "plan/fusion.h"
#include "plan/task_plan.h"
#include "predict/closed_form/activity_seconds.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::predict {

/// An inference task in its layout on all devices of the stage. Times are in seconds.
struct InferenceTask {
  double passes = 0;     ///< time of its passes on all devices, without overhead
  double load = 0;       ///< time to load its weights from host memory, at each change to this model
  double hand_over = 0;  ///< hand-over, the first time only
  double last = 0;       ///< time of a sample of maximum length through the pipeline
  int replicas = 1;      ///< number of data-parallel replicas, with the same number of devices each
  double gathering = 0;  ///< time to gather a worker's weights from other devices: gathering_seconds

  double overhead() const { return load + hand_over; }
  double loading() const { return load + gathering; }      ///< seconds of a worker, at each change to this model
  double set_up() const { return loading() + hand_over; }  ///< seconds of a worker, the first time
};

/// Returns the inference task, given its task_seconds as `seconds`. REQUIRES: the task infers, and `planned` has no
/// fault.
InferenceTask inference_task(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned, double seconds);

/// The inference tasks of a stage together.
struct InferenceLoad {
  double work = 0;                   ///< seconds of their passes on all devices, one task after the other
  double overheads = 0;              ///< seconds of their overheads on all devices, one task after the other
  std::vector<InferenceTask> tasks;  ///< in order of decreasing replica size

  void add(const InferenceTask& task);
  void clear();
};

/// A time slice of the tail on the keepers. The tail's length, and so its last slice, depends on the sampled lengths.
struct TailSlice {
  double seconds = 0;   ///< duration
  double finished = 0;  ///< fraction of all samples that have finished by the end of the slice
  double idle = 0;      ///< mean number of keepers that have finished their samples, while the tail continues
  double ends = 0;      ///< probability that the tail ends with this slice; these add up to 1 over all slices
};

/// Devices of a generation tail.
struct TailDevices {
  int all = 1;             ///< number of devices of the mesh
  int instances = 1;       ///< number of instances that generate
  int kept_instances = 1;  ///< number of instances that keep the tail

  int of_instance() const { return all / instances; }
  int freed() const { return (instances - kept_instances) * of_instance(); }
  int later() const { return kept_instances * of_instance(); }
};

/// Times of inference in a fused stage, in seconds (InterStage::set_up and rest).
struct InferenceEnd {
  double set_up = 0;
  double rest = 0;  ///< mean over all possible ends of the tail
};

/// Returns the inference times of a stage. If all instances are keepers, the inference tasks run in sequence after the
/// tail.
///
/// Otherwise the freed devices are divided among the tasks by work: each task gets a worker, a group of as many devices
/// as its replica has, the largest first. If too few devices are left, the task shares the worker with the least work
/// among those that are large enough. Remaining devices become workers of the task with the most work per worker. All
/// workers proceed at the pace of the slowest, start after the longest set-up (a shared worker sets up all its models),
/// and never get ahead of the samples that have finished.
///
/// A keeper without samples becomes a worker if it has enough devices for the largest worker, and if the available work
/// would take the other workers longer than the keeper's set-up. When the tail ends, all keepers become workers if
/// their devices together are enough for the largest worker, and if the remaining work would take the other workers
/// longer than the set-up. The last sample can be scored only after the tail. Tasks that share a worker score it in
/// sequence, and reload their weights. A task that fits only on the keepers' devices runs after the tail. All tasks run
/// in sequence after the tail if no task fits on the freed devices, or if a task fits neither on these nor on the
/// keepers'.
///
/// If InferenceEnd::rest would be `max_seconds` or more, the returned value may be too small, but is at least
/// `max_seconds`.
InferenceEnd inference_end(const TailDevices& devices, const std::vector<TailSlice>& slices,
                           const InferenceLoad& inference,
                           double max_seconds = std::numeric_limits<double>::infinity());

/// Returns an upper bound on the inference done before the tail ends: the seconds that it would take on all devices of
/// the mesh, as a mean over all possible ends. Assumes that all freed devices and keepers without samples work from the
/// beginning.
double max_hidden(const TailDevices& devices, const std::vector<TailSlice>& slices);

/// Timeline of generation fused with inference, in seconds.
struct InterStage {
  plan::GenerationStage stage;
  double threshold = 0;    ///< fraction of the iteration's samples
  int instances = 1;       ///< number of instances that generate
  int kept_instances = 1;  ///< number of instances that keep the tail; equal to `instances`: nothing moves
  double moved = 0;        ///< mean number of samples that move
  bool prefills = false;   ///< whether moved samples are prefilled again; otherwise their KV cache is sent
  double until = 0;        ///< from the beginning until the threshold is reached
  double migration = 0;
  double set_up = 0;  ///< set-up of the freed instances, in parallel with the tail
  double tail = 0;    ///< from the migration to the last sample, on the keepers
  double rest = 0;    ///< inference after the tail, including delays by the keepers' set-up
  double apart = 0;   ///< time without fusion: generation, then the inference tasks in sequence

  double seconds() const { return until + migration + tail + rest; }
  /// Returns the seconds from the start of the stage until inference begins: when generation ends if nothing moves,
  /// otherwise when the freed instances are set up. Assumes that a task fits on their devices.
  double inference_begins() const { return kept_instances < instances ? until + migration + set_up : until; }
  double generation_ends() const { return until + migration + tail; }
  /// Returns the time between the end of generation and the end of the stage, both rounded to integer ns.
  base::Ticks early() const { return base::ticks_of_seconds(seconds()) - base::ticks_of_seconds(generation_ends()); }
};

/// Returns the stage as one activity.
ActivitySeconds activity_seconds(const InterStage& fused);

/// Generation that is fused at a threshold, without the inference.
struct GenerationTail {
  InterStage generation;  ///< `set_up` and `rest` are not set; `apart` is generation alone
  TailDevices devices;
  std::vector<TailSlice> slices;  ///< empty if nothing moves
};
/// Returns the tail at each threshold. REQUIRES: the task generates, and `planned` has no fault.
std::vector<GenerationTail> generation_tails(const Scenario& scenario, std::size_t generate,
                                             const plan::TaskPlan& planned, const std::vector<double>& thresholds);

/// Returns the fused stage at a threshold. `tasks`: [task of the workflow]. REQUIRES: find_threshold_fault finds no
/// fault.
InterStage inter_stage(const Scenario& scenario, const std::vector<plan::TaskPlan>& tasks, double threshold);

/// Returns the threshold of simulate::default_thresholds() with the smallest seconds(). nullopt if none is faster than
/// running unfused, or if the plan has no generation_stage().
std::optional<double> best_threshold(const Scenario& scenario, const std::vector<plan::TaskPlan>& tasks);

}  // namespace dovetail::predict
