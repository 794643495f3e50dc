#include "control/run/run_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/file.h"
#include "control/reward_process.h"
#include "control/run_settings.h"
#include "llm/huggingface_config.h"
#include "llm/tensors.h"
#include "plan/job_file.h"
#include "plan/job_text.h"
#include "plan/model_file.h"

namespace dovetail::control {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Failure;
using base::Node;
using base::Result;
using base::Status;

/// Opens the models of a run in dependency order.
class ModelOpener {
 public:
  explicit ModelOpener(const RunJob& run)
      : run_(run), folder_(run.settings.folder), states_(run.job.models.size(), State::closed) {}

  Result<std::vector<RunModel>> open() {
    for (std::size_t role = 0; role < states_.size(); ++role) DOVETAIL_CHECK(open(role));
    return std::move(models_);
  }

 private:
  enum class State { closed, opening, open };

  const workflow::Role& role_of(std::size_t index) const { return run_.job.workflow.roles[index]; }

  /// Returns the role that this one is initialized from, or is an average of.
  std::optional<std::size_t> source_of(std::size_t index) const {
    const workflow::Role& role = role_of(index);
    const std::string& name = role.initialised_from.empty() ? role.averaged_from : role.initialised_from;
    if (name.empty()) return std::nullopt;
    return workflow::find_role(run_.job.workflow, name)->index();
  }

  Status open(std::size_t index) {
    if (states_[index] != State::closed) return {};
    states_[index] = State::opening;
    RunModel model;
    model.role = role_of(index).name;
    model.shape = run_.job.models[index];
    model.trained = run_.job.workflow.trained_by[index].has_value();
    DOVETAIL_CHECK(fill(index, model));
    models_.push_back(std::move(model));
    states_[index] = State::open;
    return {};
  }

  Status fill(std::size_t index, RunModel& model) {
    if (const auto found = run_.settings.weights.find(model.role); found != run_.settings.weights.end())
      return open_folder(found->second, model);
    if (const auto source = source_of(index); source && has_same_layers(model.shape, run_.job.models[*source])) {
      DOVETAIL_CHECK(open(*source));
      if (states_[*source] == State::open) {
        copy_from(role_of(*source).name, model);
        return {};
      }
    }
    const Node node = node_of(index);
    DOVETAIL_TRY(model.computation, plan::read_computation(node, model.shape, folder_));
    model.folder = plan::config_folder(node, folder_);
    return {};
  }

  void copy_from(const std::string& role, RunModel& model) const {
    const auto source =
        std::find_if(models_.begin(), models_.end(), [&role](const RunModel& each) { return each.role == role; });
    model.computation = source->computation;
    model.folder = source->folder;
    model.like = role;
  }

  /// Returns the job's entry for the role's model.
  Node node_of(std::size_t index) const {
    const Node models = *run_.document.root().find("models");
    for (std::size_t hop = 0; hop < states_.size(); ++hop) {
      if (const auto node = models.find(role_of(index).name)) return *node;
      index = source_of(index).value_or(index);
    }
    return models;
  }

  static bool has_same_layers(llm::Transformer one, const llm::Transformer& other) {
    one.name = other.name;
    one.head = other.head;
    one.tied_embeddings = other.tied_embeddings;
    return one == other;
  }

  static Status open_folder(const std::string& folder, RunModel& model) {
    const std::string path = (fs::path(folder) / "config.json").string();
    DOVETAIL_TRY(const std::string content, base::read_file(path));
    DOVETAIL_TRY(const base::Document document, base::parse_json(content, path));
    DOVETAIL_TRY(llm::Transformer shape, llm::parse_config(document.root(), model.shape.name));
    if (model.shape.head == llm::Head::scalar) shape = llm::with_scalar_head(std::move(shape));
    DOVETAIL_CHECK(check_shape(shape, model, path));
    DOVETAIL_TRY(model.computation, llm::parse_computation(document.root(), shape));
    model.folder = folder;
    DOVETAIL_TRY(weights::Checkpoint checkpoint, weights::Checkpoint::open(folder));
    DOVETAIL_CHECK(check_weights(checkpoint, model.shape, model.trained));
    model.checkpoint = std::move(checkpoint);
    return {};
  }

  static Status check_shape(const llm::Transformer& shape, const RunModel& model, const std::string& path) {
    std::string differing;
    base::for_each_field<llm::Transformer>([&](const auto& field) {
      if (differing.empty() && shape.*(field.member) != model.shape.*(field.member)) differing = field.key;
    });
    if (differing.empty()) return {};
    return Error{
        Failure::bad_input, path, 0, 0,
        fmt::format(
            "the weights of {} do not match the job's model: they differ in {}; set the role's model in the job to the "
            "folder of these weights: `models: {{{}: FOLDER}}`",
            base::quote(model.role), base::quote(differing), model.role)};
  }

  const RunJob& run_;
  const fs::path folder_;
  std::vector<State> states_;  // [role]
  std::vector<RunModel> models_;
};

Error weight_error(const weights::Checkpoint& checkpoint, std::string message) {
  return {Failure::bad_input, checkpoint.folder(), 0, 0, std::move(message)};
}

Status check_tensor(const weights::Checkpoint& checkpoint, const weights::StoredTensor& stored,
                    const llm::Tensor& tensor) {
  using weights::ElementType;
  const std::vector<std::int64_t> shape = tensor.columns == 1 ? std::vector<std::int64_t>{tensor.rows}
                                                              : std::vector<std::int64_t>{tensor.rows, tensor.columns};
  if (stored.shape != shape)
    return weight_error(checkpoint, fmt::format("tensor \"{}\" has shape {}; config.json requires {}", stored.name,
                                                weights::shape_text(stored.shape), weights::shape_text(shape)));
  const bool is_floating = stored.type == ElementType::f64 || stored.type == ElementType::f32 ||
                           stored.type == ElementType::f16 || stored.type == ElementType::bf16;
  if (!is_floating)
    return weight_error(checkpoint, fmt::format("tensor \"{}\" has type {}; accepted: F32, F16, BF16, F64", stored.name,
                                                base::enum_name(stored.type)));
  return {};
}

}  // namespace

std::string job_file_of(const std::string& path) {
  std::error_code none;
  return fs::is_directory(path, none) ? (fs::path(path) / job_file_name).string() : path;
}

std::optional<std::string> plan_file_in(const std::string& path) {
  std::error_code none;
  const fs::path file = fs::path(path) / plan_file_name;
  if (path.empty() || !fs::is_directory(path, none) || !fs::exists(file, none)) return std::nullopt;
  return file.string();
}

namespace {

bool names_cluster_file(const base::Node& job) {
  const auto cluster = job.is_map() ? job.find("cluster") : std::nullopt;
  return cluster && cluster->is_string();
}

/// The devices of a cluster file cannot be overridden.
Status check_devices(const base::Node& root, const plan::Job& job, int ranks) {
  const int devices = cluster::device_count(job.cluster);
  if (devices == ranks) return {};
  return root.find("cluster")->error(fmt::format(
      "the cluster file has {} devices, but --ranks is {}; use --ranks {}, or define the cluster in the job", devices,
      ranks, devices));
}

/// A run truncates responses at the cap of response_length, independently of their prompts.
Status check_lengths(const Node& job) {
  const auto workload = job.find("workload");
  const auto cap = workload ? workload->find("sequence_cap") : std::nullopt;
  if (!cap) return {};
  return cap->error(
      fmt::format("`sequence_cap` is {}, but a run caps only responses (`response_length`); remove `sequence_cap`",
                  cap->describe()));
}

/// Rejects settings of other trainers: a run computes in fp32, on the devices, with whole logits, one group and its own
/// engine.
Status check_types(const Node& job) {
  const auto software = job.find("software");
  for (const std::string_view key : {"weight_type", "gradient_type", "moment_type", "master_type", "logit_tokens",
                                     "logit_entries", "loss_entropy", "engine", "engine_weight_bits", "key_value_bits",
                                     "shard_group", "engine_sleep", "sync_bucket", "optimizer_host_share"})
    if (const auto setting = software ? software->find(key) : std::nullopt;
        setting && setting->text() != "usual" && setting->text() != "vllm")
      return setting->error(fmt::format("{} is {}, but runs support only the default; remove {}", base::quote(key),
                                        setting->describe(), base::quote(key)));
  return {};
}

}  // namespace

Result<RunJob> read_run_job(const std::string& path, std::optional<int> ranks) {
  const std::string file = job_file_of(path);
  DOVETAIL_TRY(std::string text, base::read_file(file));
  DOVETAIL_TRY(base::Document document, base::parse_yaml_or_json(text, file));
  const bool has_cluster_file = names_cluster_file(document.root());
  if (ranks && !has_cluster_file) {
    DOVETAIL_TRY(text, plan::job_on_devices(text, file, *ranks));
    DOVETAIL_TRY(document, base::parse_yaml_or_json(text, file));
  }
  DOVETAIL_TRY(plan::Job job, plan::read_job(document.root(), file, run_framework));
  if (ranks && has_cluster_file) DOVETAIL_CHECK(check_devices(document.root(), job, *ranks));
  if (job.software.framework != run_framework)
    return document.root()
        .find("software")
        ->find("framework")
        ->error(fmt::format("`framework` is {}; a run requires `framework: {}`, or no `framework`",
                            base::quote(job.software.framework), run_framework));
  DOVETAIL_CHECK(check_types(document.root()));
  DOVETAIL_CHECK(check_lengths(document.root()));
  DOVETAIL_TRY(RunSettings settings, read_run(document.root(), file, job.workflow));
  return RunJob{file, std::move(text), std::move(document), std::move(job), std::move(settings)};
}

Result<std::vector<RunModel>> open_models(const RunJob& run) { return ModelOpener(run).open(); }

Status check_weights(const weights::Checkpoint& checkpoint, const llm::Transformer& shape, bool trained) {
  std::set<std::string_view> unknown;
  for (const std::string_view name : checkpoint.names())
    if (!name.ends_with("rotary_emb.inv_freq") && name != "lm_head.weight" && name != "score.weight")
      unknown.insert(name);
  const std::vector<llm::Tensor> tensors = llm::tensors_of(shape);
  for (const llm::Tensor& tensor : tensors) {
    const weights::StoredTensor* const stored = checkpoint.find(tensor.name);
    unknown.erase(tensor.name);
    if (stored != nullptr) {
      DOVETAIL_CHECK(check_tensor(checkpoint, *stored, tensor));
      continue;
    }
    const bool is_new_head = tensor.position == llm::TensorPosition::head && shape.head == llm::Head::scalar && trained;
    if (!tensor.tied && !is_new_head)
      return weight_error(
          checkpoint,
          fmt::format("tensor \"{}\" is missing; the folder must have all weights of the model in config.json",
                      tensor.name));
  }
  if (unknown.empty()) return {};
  return weight_error(checkpoint,
                      fmt::format("tensor \"{}\" is not part of the model in config.json", *unknown.begin()));
}

ModelLimits limits_of(const std::vector<RunModel>& models) {
  DOVETAIL_ASSERT(!models.empty());
  ModelLimits limits{models.front().shape.vocabulary, models.front().computation.context, {}};
  for (const RunModel& model : models) {
    limits.vocabulary = std::min(limits.vocabulary, model.shape.vocabulary);
    limits.context = std::min(limits.context, model.computation.context);
  }
  const auto actor =
      std::find_if(models.begin(), models.end(), [](const RunModel& model) { return model.role == "actor"; });
  limits.end_tokens = (actor == models.end() ? models.front() : *actor).computation.end_tokens;
  return limits;
}

Status check_reward(const RewardCommand& command, const std::string& folder, const std::vector<PromptTokens>& prompts,
                    const parallel::Cancellation* cancellation) {
  DOVETAIL_TRY(RewardProcesses processes, RewardProcesses::start(command, folder));
  std::vector<Response> probes;
  for (std::int64_t process = 0; process < command.processes && !prompts.empty(); ++process) {
    const PromptTokens& prompt = prompts[static_cast<std::size_t>(process) % prompts.size()];
    probes.push_back({fmt::format("probe-{}", process), prompt.text, "", prompt.answer});
  }
  const auto rewards = processes.rewards_of(probes, cancellation);
  if (rewards.ok()) return {};
  Error error = rewards.error();
  error.message = "the reward command failed its test with an empty response: " + error.message;
  if (error.failure == Failure::io) error.failure = Failure::bad_input;
  return error;
}

Status check_run_folder(const std::string& folder, bool resume) {
  std::error_code failed;
  const auto error = [&folder](std::string message) {
    return Error{Failure::bad_input, folder, 0, 0, std::move(message)};
  };
  if (!fs::exists(folder, failed)) {
    if (resume) return error("the folder does not exist; --resume needs the folder of a run");
    return {};
  }
  if (!fs::is_directory(folder, failed)) return error("not a folder; a run needs a folder");
  bool is_used = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed))
    is_used = is_used || entry.path().filename() != plan_file_name;
  if (failed) return error(failed.message());
  if (is_used && !resume)
    return error("the folder is not empty; use a new or an empty folder, or --resume to continue its run");
  if (!is_used && resume) return error("there is no run in this folder; --resume needs the folder of a run");
  return {};
}

Result<CheckedRun> check_run(const RunJob& run, const parallel::Cancellation* cancellation) {
  DOVETAIL_TRY(std::vector<RunModel> models, open_models(run));
  DOVETAIL_TRY(RunInputs inputs, read_inputs(run.settings, run.job.workflow.name, limits_of(models),
                                             run.job.workload.response_length.longest()));
  if (run.settings.reward)
    DOVETAIL_CHECK(check_reward(*run.settings.reward, run.settings.folder, inputs.train.prompts, cancellation));
  return CheckedRun{std::move(models), std::move(inputs)};
}

}  // namespace dovetail::control
