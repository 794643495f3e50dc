#include "runtime/run/torch_models.h"

#include <filesystem>
#include <utility>

#include "base/assert.h"
#include "runtime/generation/generator.h"
#include "runtime/model/weight_files.h"
#include "runtime/run/model_state.h"
#include "runtime/training/role_training.h"

namespace dovetail::runtime {
namespace {

namespace fs = std::filesystem;
using base::Result;
using base::Status;

base::Error interrupted(const std::string& task) {
  return {base::Failure::interrupted, "", 0, 0, task + " was interrupted"};
}

/// Copies the common weights of two models: all except a head of another kind, which becomes 0.
void copy_weights(const Weights& from, Weights& to) {
  for (std::size_t i = 0; i < to.parameters.size(); ++i) {
    const Parameter& parameter = to.parameters[i];
    if (parameter.shared) continue;
    if (parameter.is.name == from.parameters[i].is.name)
      parameter.value.copy_(from.parameters[i].value);
    else
      parameter.value.zero_();
  }
}

}  // namespace

TorchModels::TorchModels(std::vector<RoleSetup> roles, std::int64_t cache_bytes, Stepping stepping,
                         const at::Device& device)
    : cache_bytes_(cache_bytes), usage_(device) {
  for (RoleSetup& setup : roles) {
    Model model = initial_model(setup, roles_, device);
    auto role = std::make_unique<Role>(Role{std::move(setup), std::move(model), {}, false});
    role->changes = role->setup.trained;
    if (role->setup.trained && stepping == Stepping::here) {
      make_gradients(role->model.weights);
      role->optimizer = make_optimizer(role->model.weights, all_parts(role->model.weights));
    }
    roles_.emplace(role->setup.name, std::move(role));
  }
}

Model TorchModels::initial_model(const RoleSetup& setup, const std::map<std::string, std::unique_ptr<Role>>& others,
                                 const at::Device& device) {
  Weights weights = empty_weights(setup.shape, setup.computation, at::kFloat);
  if (setup.checkpoint)
    read_weights(*setup.checkpoint, weights);
  else if (!setup.like.empty())
    copy_weights(others.at(setup.like)->model.weights, weights);
  else
    fill_randomly(weights, setup.seed);
  if (!device.is_cpu()) set_values(weights, weights.values.to(device));
  return Model(std::move(weights));
}

TorchModels::Role& TorchModels::find(const std::string& name) {
  const auto found = roles_.find(name);
  DOVETAIL_ASSERT(found != roles_.end());
  return *found->second;
}

const TorchModels::Role& TorchModels::find(const std::string& name) const {
  const auto found = roles_.find(name);
  DOVETAIL_ASSERT(found != roles_.end());
  return *found->second;
}

Result<std::vector<control::GeneratedResponse>> TorchModels::generate(
    const std::string& role, std::span<const control::GenerationRequest> requests,
    const control::GenerationSettings& settings, const parallel::Cancellation* cancellation,
    const std::function<void(std::size_t index, const control::GeneratedResponse&)>& on_response) {
  const UsageMeter::Task task(usage_);
  Generator generator(find(role).model, requests, settings, cache_bytes_);
  while (!generator.is_done()) {
    if (parallel::is_requested(cancellation)) return interrupted("generation");
    generator.advance(on_response);
  }
  return generator.take_responses();
}

Result<std::vector<control::Scores>> TorchModels::score(const std::string& role,
                                                        std::span<const control::TokenSequence> sequences,
                                                        const control::PassSettings& settings) {
  const UsageMeter::Task task(usage_);
  const Model& model = find(role).model;
  std::vector<control::Scores> scores(sequences.size());
  std::size_t done = 0;
  for (const std::vector<std::size_t>& ids : micro_batches_of(sequences, settings)) {
    if (parallel::is_requested(settings.cancellation)) return interrupted("inference");
    std::vector<control::Scores> part = runtime::score(model, {sequences, ids}, settings.temperature);
    for (std::size_t i = 0; i < ids.size(); ++i) scores[ids[i]] = std::move(part[i]);
    done += ids.size();
    if (settings.on_progress) settings.on_progress(done);
  }
  return scores;
}

Status TorchModels::train(std::span<const control::Training> trainings) {
  const UsageMeter::Training task(usage_);
  for (const control::Training& training : trainings) DOVETAIL_CHECK(train(training));
  return {};
}

Status TorchModels::train(const control::Training& training) {
  Role& trained = find(training.role);
  DOVETAIL_ASSERT(trained.optimizer);
  Weights& weights = trained.model.weights;
  for (std::size_t k = 0; k < training.mini_batches.size(); ++k) {
    control::TrainingSums sums;
    clear_gradients(weights);
    DOVETAIL_CHECK(add_gradients(trained, training.mini_batches[k], training.settings, sums));
    join_tied_gradients(weights);
    DOVETAIL_TRY(const control::StepDecision decision, training.decide(k, global_norm(weights), sums));
    if (decision.step) step(*trained.optimizer, weights, *decision.step);
    if (decision.ends) break;
  }
  return {};
}

Status TorchModels::add_gradients(Role& trained, const control::MiniBatch& mini_batch, control::PassSettings settings,
                                  control::TrainingSums& sums) {
  settings.kept_together = mini_batch.kept_together;
  for (const std::vector<std::size_t>& ids : micro_batches_of(mini_batch.sequences, settings)) {
    if (parallel::is_requested(settings.cancellation)) return interrupted("training");
    runtime::add_gradients(trained.model, {mini_batch.sequences, ids}, settings.temperature,
                           trained.setup.recomputation,
                           [&](std::span<const std::size_t> of, std::span<const control::Scores> scores) {
                             return mini_batch.loss(of, scores, sums);
                           });
  }
  return {};
}

void TorchModels::average(const std::string& role, const std::string& trained, double decay) {
  Role& average = find(role);
  average.changes = true;
  const std::vector<Parameter>& from = find(trained).model.weights.parameters;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!from[i].shared) average.model.weights.parameters[i].value.mul_(decay).add_(from[i].value, 1 - decay);
}

Status TorchModels::save(const std::string& folder) const {
  for (const auto& [name, role] : roles_) {
    if (!role->changes) continue;
    std::vector<NamedTensor> state = weights_state(role->model.weights);
    if (role->optimizer) {
      const SteppedWeights stepped{&role->model.weights, &*role->optimizer, false};
      for (NamedTensor& moment : moments_state({&stepped, 1})) state.push_back(std::move(moment));
    }
    DOVETAIL_CHECK(write_tensors(state_file(folder, name), state));
  }
  return {};
}

Status TorchModels::load(const std::string& folder) {
  for (const auto& [name, role] : roles_) {
    const std::string path = state_file(folder, name);
    if (!role->changes && !fs::exists(path)) continue;
    role->changes = true;
    DOVETAIL_CHECK(read_tensors(path, weights_state(role->model.weights)));
    if (!role->optimizer) continue;
    const SteppedWeights stepped{&role->model.weights, &*role->optimizer, false};
    DOVETAIL_CHECK(read_moments(folder, name, {&stepped, 1}));
  }
  return {};
}

Status TorchModels::export_role(const std::string& role, const std::string& folder) const {
  const Role& exported = find(role);
  DOVETAIL_CHECK(write_model_folder(exported.setup.shape, exported.setup.computation, exported.setup.folder, folder));
  const auto& checkpoint = exported.setup.checkpoint;
  return write_weights(exported.model.weights, checkpoint ? &*checkpoint : nullptr, folder);
}

Result<std::vector<control::RankUsage>> TorchModels::take_usage() {
  return std::vector<control::RankUsage>{usage_.take()};
}

std::int64_t TorchModels::parameters(const std::string& role) const {
  std::int64_t count = 0;
  for (const Parameter& parameter : find(role).model.weights.parameters)
    if (!parameter.shared) count += parameter.value.numel();
  return count;
}

void TorchModels::add_held(MemoryAccount& account) const {
  const auto bytes_of = [](const Tensor& tensor) {
    return tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : std::int64_t{0};
  };
  for (const auto& [name, role] : roles_) {
    for (const Parameter& parameter : role->model.weights.parameters) {
      if (!parameter.shared) account.weights += bytes_of(parameter.value);
      account.gradients += bytes_of(parameter.gradient);
    }
    if (!role->optimizer) continue;
    for (const auto* const moments : {&role->optimizer->first, &role->optimizer->second})
      for (const Tensor& moment : *moments) account.optimizer += bytes_of(moment);
  }
  account.cache += cache_bytes_;
}

}  // namespace dovetail::runtime
