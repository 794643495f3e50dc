// The figures of an iteration, and what they warn of.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "control/algorithm/experience.h"
#include "control/run/run_sink.h"
#include "control/run/run_state.h"

namespace dovetail::control {

/// Of sampled and judged responses: reward, its deviation and quartiles, share of groups whose rewards are equal (where
/// prompts have several responses), lengths, share of those that were cut off, divergence from the reference, gap
/// between the engine's and the trainer's log-probabilities where the trainer's are known before training.
/// `kl_coefficient`: of this iteration.
void add_sample_figures(std::span<const Sample> samples, double kl_coefficient, Figures& figures);

/// Of each train task: loss, gradient norms, learning rate, skipped steps, and what its algorithm tells. Names begin
/// with the task's role: "actor_loss". Also that gap where it is not among the figures yet, of the first mini-batch.
void add_training_figures(const std::map<std::string, TrainingRecord>& training, std::string_view algorithm,
                          Figures& figures);

/// Looks at an iteration's figures, and says what goes wrong: the entropy of a token fell below a quarter of that of
/// the first iteration or rose above twice it; a token diverged from the policy before training by more than 0.1 nats
/// in an iteration's mini-batches; the divergence from the reference is above 10 nats a response's token or 50 a
/// response; all rewards are equal; nine of ten responses were cut off; steps were skipped. Each is said when it
/// begins, and again only after an iteration without it.
std::vector<std::string> warnings_of(const Figures& figures, HealthRecord& health);

}  // namespace dovetail::control
