// Opens and checks the inputs of a run before it starts.
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

/// Framework (plan/framework.h) of the plans that runs execute.
inline constexpr std::string_view run_framework = "dovetail";
/// Names of the job file and the plan file in a job's folder and in a run directory.
inline constexpr std::string_view job_file_name = "job.yaml";
inline constexpr std::string_view plan_file_name = "plan.json";

/// A job that was read from a file, with the settings of its run.
struct RunJob {
  std::string path;         ///< path of the job file
  std::string text;         ///< content of the file, with the number of devices replaced if read_run_job got `ranks`
  base::Document document;  ///< parsed `text`
  plan::Job job;            ///< read with run_framework as its framework
  RunSettings settings;
};

/// Returns the path of the job file: `path` itself, or job.yaml in `path` if that is a folder.
std::string job_file_of(const std::string& path);
/// Returns the path of plan.json in the folder `path`; nullopt if the file does not exist.
std::optional<std::string> plan_file_in(const std::string& path);

/// Reads the job at `path`, a file or a folder with job.yaml. With `ranks`, the job runs on this many devices of one
/// node; a job that names a cluster file must already have this many. Returns errors of the readers and of
/// plan::job_on_devices, and an Error for a job of another framework or with settings that runs do not support.
base::Result<RunJob> read_run_job(const std::string& path, std::optional<int> ranks = std::nullopt);

/// Model of a role before its weights are read. Weights come from `checkpoint` if set, otherwise from the model of the
/// role `like`. If `like` is empty too, they are random.
struct RunModel {
  std::string role;
  llm::Transformer shape;
  llm::Computation computation;
  std::string folder;  ///< folder of its config.json; empty if the job defines the model itself
  std::optional<weights::Checkpoint> checkpoint = {};
  std::string like = {};
  bool trained = false;
};

/// Opens the models of all roles, each after the model that it copies. A role without an entry in `weights` copies the
/// role that it is initialized or averaged from if both models have the same layers; otherwise, its weights are random.
/// Returns errors of llm::parse_computation and check_weights, and an Error if a folder of weights cannot be read, or
/// has another model than the job.
base::Result<std::vector<RunModel>> open_models(const RunJob& run);

/// Returns an Error unless the checkpoint has each tensor of the model, in its shape and a floating-point type, and no
/// unknown tensor. A tied head may be missing. So may a trained scalar head, which then starts as 0. A head of the
/// other kind and stored rotary frequencies are ignored.
base::Status check_weights(const weights::Checkpoint& checkpoint, const llm::Transformer& shape, bool trained);

/// Returns the limits that the models set for the data, see ModelLimits. REQUIRES: `models` is not empty.
ModelLimits limits_of(const std::vector<RunModel>& models);

/// Tests the reward command: each of its processes judges an empty response to one of the prompts. Without prompts, the
/// processes are only started. Returns errors of RewardProcesses.
base::Status check_reward(const RewardCommand& command, const std::string& folder,
                          const std::vector<PromptTokens>& prompts,
                          const parallel::Cancellation* cancellation = nullptr);

/// Returns an Error unless a run may write into `folder`. A new run needs a folder that does not exist, is empty, or
/// holds only a plan. With `resume`, the folder must hold at least one entry other than a plan.
base::Status check_run_folder(const std::string& folder, bool resume);

struct CheckedRun {
  std::vector<RunModel> models;
  RunInputs inputs;
};

/// Opens models, tokenizer and data, and tests the reward command.
base::Result<CheckedRun> check_run(const RunJob& run, const parallel::Cancellation* cancellation = nullptr);

}  // namespace dovetail::control
