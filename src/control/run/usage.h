// What an iteration took of the machine: figures that hang on it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "control/algorithm/experience.h"
#include "control/models.h"
#include "control/run/run_sink.h"
#include "control/run/run_state.h"
#include "plan/job.h"

namespace dovetail::control {

/// What an iteration worked on. Without samples, its tokens are those that it trained on.
struct IterationWork {
  std::span<const Sample> samples;
  const std::map<std::string, TrainingRecord>& training;  ///< by task
};

/// The FLOPs of its tasks: for each parameter and token 2 forward and 4 backward (Kaplan et al. 2020, arXiv 2001.08361,
/// section 2.1). Attention is not counted, nor what is recomputed.
double flops_of(const IterationWork& work, const workflow::Workflow& workflow, const Models& models);

/// The most memory that this process has had, in bytes.
std::int64_t peak_resident_memory();

/// Adds, as timings: `seconds`, `tokens_per_second`, `mfu` (FLOPs a second as a part of what the job's devices have),
/// `memory_gib`.
void add_usage(const IterationWork& work, const plan::Job& job, const Models& models, double seconds, Figures& figures);

/// Adds, as timings, of each of several ranks: `processor_seconds/RANK` of its tasks, and `live_gib/RANK`, what its
/// tensors had at most in a training.
void add_shares(std::span<const RankUsage> usage, Figures& figures);

/// The processor time of this process, in seconds.
double processor_seconds();

}  // namespace dovetail::control
