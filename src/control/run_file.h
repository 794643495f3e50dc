// The section `train` of a job (dovetail/job@1).
//
//   train:
//     iterations: 60                   # or epochs: passes over data.train
//     seed: 1
//     data: {train: prompts.jsonl, validation: held-out.jsonl, shuffle: true, template: none}
//     tokenizer: folder                # with tokenizer.json; default: that of the weights of actor, else of reward
//     weights: {actor: folder, ...}    # Hugging Face folders, by role
//     precision: {train: fp32, generate: fp32}
//     optimizer: {actor: {learning_rate: 1e-5, ...}}  # of roles that are trained
//     sampling, loss, reward, evaluate, checkpoint, guards: run_settings.h
//
// Paths begin in the job's folder (plan/job_folder.h). What an algorithm does not use is refused.
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"
#include "base/result.h"
#include "control/run_settings.h"
#include "workflow/workflow.h"

namespace dovetail::control {

/// What a run under the algorithm of that name is by default. REQUIRES: can_run(algorithm).
RunSettings default_settings(std::string_view algorithm);

/// Whether the runtime trains under the algorithm of that name, and the names of all that it does.
bool can_run(std::string_view algorithm);
std::string runnable_algorithms();

/// Reads the section `train` of the job that `root` is, which is a sound one and has that workflow. `path` is the
/// job's. Errors at what is wrong: at the algorithm where no run of it is known, at
/// the job where it has no such section.
base::Result<RunSettings> read_run(const base::Node& root, const std::string& path, const workflow::Workflow& workflow);

}  // namespace dovetail::control
