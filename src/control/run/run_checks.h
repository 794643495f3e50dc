// What a run reads, opened and checked before anything runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "control/data/run_inputs.h"
#include "control/run_settings.h"
#include "llm/computation.h"
#include "llm/transformer.h"
#include "parallel/cancellation.h"
#include "plan/job.h"
#include "weights/checkpoint.h"

namespace dovetail::control {

/// The framework (plan/framework.h) that runs are planned for.
inline constexpr std::string_view run_framework = "dovetail";
/// What a folder may have that stands for the job in it, and what `dovetail train` writes into the folder of a run.
inline constexpr std::string_view job_file_name = "job.yaml";
inline constexpr std::string_view plan_file_name = "plan.json";

/// A job and how it is run.
struct RunJob {
  std::string path;         ///< of its file
  std::string text;         ///< what it says there, but for the number of devices where another one was asked for
  base::Document document;  ///< what it says
  plan::Job job;            ///< under run_framework
  RunSettings settings;
};

/// The file of the job at `path`: itself, or the job.yaml in that folder.
std::string job_file_of(const std::string& path);
/// The plan.json in the folder `path`; nothing where it has none, or is no folder.
std::optional<std::string> plan_file_in(const std::string& path);

/// Reads the job at `path`, a file or a folder with a job.yaml; on so many devices of one node, where `ranks` says how
/// many. Errors of both readers, and of plan::job_on_devices; a job for another framework.
base::Result<RunJob> read_run_job(const std::string& path, std::optional<int> ranks = std::nullopt);

/// A role's model before its weights are read. It has the weights of `checkpoint`, else at first those of the model
/// `like`, else random ones.
struct RunModel {
  std::string role;
  llm::Transformer shape;
  llm::Computation computation;
  std::string folder;  ///< of its config.json; empty: the job says the model itself
  std::optional<weights::Checkpoint> checkpoint = {};
  std::string like = {};
  bool trained = false;
};

/// The models of all roles, each behind the one that it is like. A role that `weights` does not name is like the one
/// that it is initialised or averaged from, where that has the same layers. Errors: of config.json and its model
/// (llm::parse_computation); one in a folder of weights that is of another model than the job's; those of
/// check_weights.
base::Result<std::vector<RunModel>> open_models(const RunJob& run);

/// Whether the checkpoint has each tensor of the model in its shape, in a type of floating-point numbers, and none that
/// belongs to no part of it. A head that is trained may be missing where it is a scalar one: it begins as 0. A head of
/// the other kind, a tied one and stored rotary frequencies may be there.
base::Status check_weights(const weights::Checkpoint& checkpoint, const llm::Transformer& shape, bool trained);

/// The limits that data have by all models. REQUIRES: there is one.
ModelLimits limits_of(const std::vector<RunModel>& models);

/// Lets each process of the command judge a response without text to one of the prompts. Errors of RewardProcesses.
base::Status check_reward(const RewardCommand& command, const std::string& folder,
                          const std::vector<PromptTokens>& prompts,
                          const parallel::Cancellation* cancellation = nullptr);

/// Whether a run may write into `folder`: it is not there, or has nothing but a plan; one that goes on (`resume`) was
/// begun there.
base::Status check_run_folder(const std::string& folder, bool resume);

struct CheckedRun {
  std::vector<RunModel> models;
  RunInputs inputs;
};

/// Opens models, tokenizer and data, and tries the reward command.
base::Result<CheckedRun> check_run(const RunJob& run, const parallel::Cancellation* cancellation = nullptr);

}  // namespace dovetail::control
