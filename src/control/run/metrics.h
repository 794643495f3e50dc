// Metrics about an iteration and its resource usage, and warnings about unusual values.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "control/algorithm/experience.h"
#include "control/models.h"
#include "control/run/run_sink.h"
#include "control/run/run_state.h"
#include "plan/job.h"

namespace dovetail::control {

/// Adds metrics of sampled and judged responses: mean, deviation, extremes and quartiles of the rewards, share of
/// groups with equal rewards (if prompts have several responses), lengths, share of truncated responses, and divergence
/// from the reference. Also adds the gap between the engine's and the trainer's log-probabilities if the trainer's are
/// known before training. `kl_coefficient` is the KL coefficient of this iteration.
void add_sample_metrics(std::span<const Sample> samples, double kl_coefficient, Metrics& metrics);

/// Adds metrics of each train task: learning rate, steps taken and skipped, and, unless all steps were skipped, the
/// loss, gradient norms and metrics of the algorithm. Names begin with the task's role, as in "actor_loss". Adds the
/// log-probability gap of the first mini-batch unless `metrics` already has one.
void add_training_metrics(const std::map<std::string, TrainingRecord>& training, std::string_view algorithm,
                          Metrics& metrics);

/// Returns warnings about an iteration's metrics:
///
/// - The entropy per token fell below a quarter of the first iteration's entropy, or rose above twice that entropy.
/// - During training, the policy diverged by more than 0.1 nats per token, on average, from the policy before training.
/// - The policy diverged from the reference by more than 10 nats per token or 50 per response.
/// - All rewards are equal.
/// - More than 90% of the responses were truncated.
/// - Steps were skipped because the loss or the gradients were not finite.
///
/// A warning is repeated only after an iteration without it.
std::vector<std::string> warnings_of(const Metrics& metrics, HealthRecord& health);

/// Work of an iteration. Throughput counts the tokens of the samples or, without samples, the trained tokens.
struct IterationWork {
  std::span<const Sample> samples;
  const std::map<std::string, TrainingRecord>& training;  ///< by task
};

/// Returns the FLOPs of the iteration's tasks. A parameter costs 2 FLOPs per token in a forward pass and 4 more in a
/// backward pass (Kaplan et al. 2020, arXiv 2001.08361, section 2.1). Excludes attention and recomputation.
double flops_of(const IterationWork& work, const workflow::Workflow& workflow, const Models& models);

/// Returns the peak resident memory of this process in bytes.
std::int64_t peak_resident_memory();

/// Adds metrics that differ from run to run: `seconds`, the duration of the iteration; `tokens_per_second`; `mfu`, the
/// FLOP/s by flops_of as a fraction of the peak bf16 FLOP/s of the job's devices; and `memory_gib`,
/// peak_resident_memory() in GiB.
void add_usage(const IterationWork& work, const plan::Job& job, const Models& models, double seconds, Metrics& metrics);

/// Adds metrics per rank if there are several ranks: `processor_seconds/RANK`, the CPU time of its tasks, and
/// `live_gib/RANK`, the peak memory of its tensors in training.
void add_shares(std::span<const RankUsage> usage, Metrics& metrics);

/// Returns the CPU time that all threads of this process have used, in seconds.
double processor_seconds();

}  // namespace dovetail::control
