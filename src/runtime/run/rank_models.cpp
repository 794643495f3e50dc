#include "runtime/run/rank_models.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/assert.h"
#include "control/ranks/rank_exchange.h"
#include "runtime/model/tensor.h"
#include "runtime/run/model_state.h"
#include "runtime/run/phase_programs.h"
#include "runtime/training/role_training.h"
#include "runtime/training/training_phase.h"

namespace dovetail::runtime {
namespace {

using base::Status;

/// Returns the layers of each stage of the model.
std::vector<LayerRange> layers_of(const llm::Layout& layout, const llm::Transformer& shape) {
  std::vector<LayerRange> layers(static_cast<std::size_t>(layout.pipeline * layout.virtual_stages));
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    const std::vector<llm::Chunk> chunks = llm::chunks_of(layout, shape, stage);
    for (std::size_t round = 0; round < chunks.size(); ++round)
      layers[round * static_cast<std::size_t>(layout.pipeline) + static_cast<std::size_t>(stage)] = {
          chunks[round].begin, chunks[round].end};
  }
  return layers;
}

/// Returns this rank's position among the ranks that hold the stage, by replica, and their number.
std::pair<std::size_t, std::size_t> share_of(const pipeline::ModelPlacement& placement, std::size_t stage, int rank) {
  std::vector<int> ranks;
  for (const auto& replica : placement.ranks) ranks.insert(ranks.end(), replica[stage].begin(), replica[stage].end());
  std::sort(ranks.begin(), ranks.end());
  const auto own = std::find(ranks.begin(), ranks.end(), rank);
  DOVETAIL_ASSERT(own != ranks.end());
  return {static_cast<std::size_t>(own - ranks.begin()), ranks.size()};
}

/// Returns uninitialized weights of some layers on the device of `full_weights`.
Weights empty_stage(const Weights& full_weights, const LayerRange& layers) {
  Weights weights =
      empty_weights(full_weights.shape, full_weights.computation, full_weights.values.scalar_type(), layers);
  const at::Device device = full_weights.values.device();
  if (!device.is_cpu()) set_values(weights, at::empty_like(weights.values, at::TensorOptions(device)));
  return weights;
}

Model model_of(Weights& full_weights, const LayerRange& layers) {
  Weights weights = empty_stage(full_weights, layers);
  if (layers == full_weights.layers) set_values(weights, full_weights.values);
  make_gradients(weights);
  return Model(std::move(weights));
}

/// Copies the weights of a stage into the whole model.
void give_values(const Weights& stage, Weights& full_weights) {
  for (const Parameter& parameter : stage.parameters)
    if (!parameter.shared && !parameter.is_copy())
      full_weights.parameters[parameter.place].value.copy_(parameter.value);
}

const StageState* find_state(const RankStages& stages, std::size_t stage) {
  const auto found = std::find_if(stages.states.begin(), stages.states.end(),
                                  [&](const StageState& state) { return state.stage == stage; });
  return found == stages.states.end() ? nullptr : &*found;
}

using base::Result;
using control::GeneratedResponse;
using control::GenerationRequest;
using control::Scores;
using control::TokenSequence;
using control::Training;

/// Returns the requests of one rank. Groups are dealt round-robin, so requests with the same prompt stay together.
std::vector<std::size_t> own_requests(std::span<const GenerationRequest> requests, int rank, int ranks) {
  std::map<std::int64_t, int> rank_of_group;
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto next = static_cast<int>(rank_of_group.size()) % ranks;
    if (rank_of_group.try_emplace(requests[i].group, next).first->second == rank) own.push_back(i);
  }
  return own;
}

template <class Value>
std::vector<Value> at_places(std::span<const Value> all, const std::vector<std::size_t>& places) {
  std::vector<Value> values;
  for (const std::size_t place : places) values.push_back(all[place]);
  return values;
}

/// Runs of a fused phase before its schedule is solved again.
constexpr int runs_before_new_order = 5;

std::string role_of(const plan::Job& job, std::size_t task) { return job.workflow.tasks[task].role; }

std::vector<SteppedWeights> stepped_of(const RankStages& stages) {
  std::vector<SteppedWeights> stepped;
  for (const StageState& state : stages.states)
    stepped.push_back({&state.model.weights, &state.optimizer, !state.is_sharded && state.replica > 0});
  return stepped;
}

}  // namespace

RankStages cut_stages(Weights& full_weights, const pipeline::Program& program, std::size_t model,
                      const pipeline::ModelPlacement& placement, const llm::Layout& layout) {
  RankStages stages{.states = {}, .layers = layers_of(layout, full_weights.shape), .ranks = {}};
  for (const pipeline::ProgramStage& stage : program.stages) {
    if (stage.model.index() != model) continue;
    const std::size_t s = stage.stage.index();
    const std::size_t replica = stage.replica.index();
    DOVETAIL_ASSERT(stages.states.empty() || stages.states.front().replica == replica);
    Model own = model_of(full_weights, stages.layers[s]);
    const bool is_sharded = layout.zero > 0;
    const auto [share, shares] =
        is_sharded ? share_of(placement, s, program.rank) : std::pair<std::size_t, std::size_t>(0, 1);
    Optimizer optimizer = make_optimizer(own.weights, parts_of_share(own.weights, shares, share));
    stages.states.push_back({replica, s, std::move(own), std::move(optimizer), layout.recomputation, is_sharded});
  }
  DOVETAIL_ASSERT(!stages.states.empty());
  for (const std::vector<int>& ranks : placement.ranks[stages.states.front().replica]) {
    DOVETAIL_ASSERT(ranks.size() == 1);
    stages.ranks.push_back(ranks.front());
  }
  take_values(stages, full_weights);
  return stages;
}

void take_values(RankStages& stages, const Weights& full_weights) {
  if (stages.are_whole_model()) return;
  for (StageState& state : stages.states)
    for (const Parameter& parameter : state.model.weights.parameters)
      if (!parameter.shared) parameter.value.copy_(full_weights.parameters[parameter.place].value);
}

std::vector<int> ranks_of_replica(const RankStages& stages) {
  std::vector<int> ranks = stages.ranks;
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

Status gather_values(const RankStages& stages, Weights& full_weights, control::RankExchange& rank_exchange,
                     transport::Collectives& collectives) {
  const transport::Deadline deadline = transport::Clock::now() + rank_exchange.timeout();
  const std::vector<int> replica = ranks_of_replica(stages);
  for (std::size_t s = 0; s < stages.layers.size(); ++s) {
    const StageState* const own = find_state(stages, s);
    const Weights received = own == nullptr ? empty_stage(full_weights, stages.layers[s]) : Weights{};
    const Weights& stage = own == nullptr ? received : own->model.weights;
    const auto root =
        static_cast<std::size_t>(std::find(replica.begin(), replica.end(), stages.ranks[s]) - replica.begin());
    const transport::CollectiveGroup group = transport::control_group(replica, rank_exchange.take_number());
    DOVETAIL_CHECK(with_numbers(stage.values, stage.values.device(), collectives, [&](transport::Numbers numbers) {
      return collectives.broadcast(group, root, numbers, deadline);
    }));
    give_values(stage, full_weights);
  }
  return {};
}

Result<std::unique_ptr<RankModels>> RankModels::make(std::vector<RoleSetup> roles, std::int64_t cache_bytes,
                                                     const predict::Scenario& scenario, const plan::Plan& plan,
                                                     RankContext context) {
  std::unique_ptr<RankModels> models(new RankModels(std::move(roles), cache_bytes, scenario, plan, std::move(context)));
  for (std::size_t task = 0; task < plan.tasks.size(); ++task)
    if (scenario.job.workflow.tasks[task].kind == workflow::TaskKind::train &&
        models->programs_.phase_of(task).front() == task)
      DOVETAIL_CHECK(models->cut_phase(task));
  return models;
}

Status RankModels::cut_phase(std::size_t task) {
  const std::vector<std::size_t> tasks = programs_.phase_of(task);
  DOVETAIL_TRY(const PhaseProgram* const phase, programs_.find(tasks));
  DOVETAIL_CHECK(open_channels(phase->program));
  for (std::size_t m = 0; m < tasks.size(); ++m) {
    const std::string role = role_of(scenario_.job, tasks[m]);
    Weights& full_weights = models_.weights(role);
    RankStages stages =
        cut_stages(full_weights, phase->program, m, phase->phase.placement.models[m], plan_.tasks[tasks[m]].layout);
    DOVETAIL_CHECK(collectives_.open({ranks_of_replica(stages)}, transport::Clock::now() + rank_exchange_.timeout()));
    trained_.emplace(role, Trained{tasks[m], std::move(stages), full_weights.values.numel()});
  }
  return {};
}

/// All programs of a phase use the same channels and groups, regardless of the number of micro-batches. All ranks open
/// the ones they share in the same order.
Status RankModels::open_channels(const pipeline::Program& program) {
  const transport::Deadline deadline = transport::Clock::now() + rank_exchange_.timeout();
  DOVETAIL_CHECK(rank_exchange_.transport().open(execute::channels_of(program), deadline));
  std::set<std::vector<int>> groups;
  for (const pipeline::Reduction& reduction : program.reductions) groups.insert(reduction.ranks);
  return collectives_.open({groups.begin(), groups.end()}, deadline);
}

Result<std::vector<GeneratedResponse>> RankModels::generate(
    const std::string& role, std::span<const GenerationRequest> requests, const control::GenerationSettings& settings,
    const parallel::Cancellation*,
    const std::function<void(std::size_t index, const GeneratedResponse&)>& on_response) {
  const std::vector<std::size_t> own = own_requests(requests, rank_exchange_.rank(), rank_exchange_.ranks());
  control::IndexedResults<GeneratedResponse> finished;
  const auto keep = [&](std::size_t index, const GeneratedResponse& response) {
    finished.emplace_back(own[index], response);
    if (on_response) on_response(own[index], response);
  };
  const auto sampled = models_.generate(role, at_places(requests, own), settings, rank_exchange_.local(), keep);
  if (!sampled.ok() && sampled.error().failure != base::Failure::interrupted) return sampled.error();
  DOVETAIL_TRY(const std::vector<std::string> message, rank_exchange_.all_gather(control::encode(finished)));
  std::vector<GeneratedResponse> responses(requests.size());
  for (std::size_t rank = 0; rank < message.size(); ++rank)
    for (auto& [place, response] : control::decode_responses(message[rank])) {
      if (on_response && rank != static_cast<std::size_t>(rank_exchange_.rank())) on_response(place, response);
      responses[place] = std::move(response);
    }
  if (rank_exchange_.agreed().requested())
    return base::Error{base::Failure::interrupted, "", 0, 0, "generation was interrupted"};
  return responses;
}

Result<std::vector<Scores>> RankModels::score(const std::string& role, std::span<const TokenSequence> sequences,
                                              const control::PassSettings& settings) {
  const auto distributed =
      distribute_to_replicas(sequences, settings.kept_together, static_cast<std::size_t>(rank_exchange_.ranks()), 1);
  const std::vector<std::size_t>& own = distributed[static_cast<std::size_t>(rank_exchange_.rank())].front();
  control::PassSettings own_settings = settings;
  own_settings.cancellation = nullptr;
  std::vector<Scores> found;
  if (!own.empty()) {
    DOVETAIL_TRY(found, models_.score(role, at_places(sequences, own), own_settings));
  }
  control::IndexedResults<Scores> placed;
  for (std::size_t i = 0; i < own.size(); ++i) placed.emplace_back(own[i], std::move(found[i]));
  DOVETAIL_TRY(const std::vector<std::string> message, rank_exchange_.all_gather(control::encode(placed)));
  std::vector<Scores> scores(sequences.size());
  for (const std::string& text : message)
    for (auto& [place, of] : control::decode_scores(text)) scores[place] = std::move(of);
  if (settings.on_progress) settings.on_progress(sequences.size());
  return scores;
}

Status RankModels::train(std::span<const Training> trainings) {
  if (trainings.front().mini_batches.empty()) return {};
  DOVETAIL_CHECK(find_order(tasks_of(trainings)));
  DOVETAIL_TRY(const PhaseProgram* const phase, program_of(trainings));
  for (const Training& training : trainings) release_full_weights(trained_.at(training.role), training.role);
  DOVETAIL_TRY(const execute::Trace trace, run_phase(*phase, trainings));
  for (const Training& training : trainings)
    DOVETAIL_CHECK(gather_full_weights(trained_.at(training.role), training.role));
  DOVETAIL_CHECK(keep_times(*phase, tasks_of(trainings), trace));
  // Collects stop requests of all ranks.
  return rank_exchange_.agree({});
}

std::vector<std::size_t> RankModels::tasks_of(std::span<const Training> trainings) const {
  std::vector<std::size_t> tasks;
  for (const Training& training : trainings) tasks.push_back(trained_.at(training.role).task);
  return tasks;
}

Result<const PhaseProgram*> RankModels::program_of(std::span<const Training> trainings) {
  const std::vector<std::size_t> tasks = tasks_of(trainings);
  DOVETAIL_ASSERT(programs_.phase_of(tasks.front()) == tasks);
  DOVETAIL_TRY(const PhaseProgram* const planned, programs_.find(tasks));
  std::vector<predict::PhaseCounts> counts;
  for (std::size_t m = 0; m < tasks.size(); ++m) {
    const pipeline::ProgramModel& model = planned->program.models[m];
    const std::size_t microbatches =
        microbatches_within(plan_.tasks[tasks[m]].micro_batching, trainings[m].mini_batches,
                            static_cast<std::size_t>(model.replicas), static_cast<std::size_t>(model.microbatches));
    counts.push_back({static_cast<int>(trainings[m].mini_batches.size()), static_cast<int>(microbatches)});
  }
  return programs_.find(tasks, counts);
}

Result<execute::Trace> RankModels::run_phase(const PhaseProgram& phase, std::span<const Training> trainings) {
  std::vector<PhaseRole> roles;
  for (const Training& training : trainings) roles.push_back({&training, &trained_.at(training.role).stages.states});
  const UsageMeter::Training task(usage_);
  DOVETAIL_TRY(PhaseResult result, run_training_phase(phase.program, roles, rank_exchange_.transport(),
                                                      {rank_exchange_.timeout(), phases_++, &collectives_, guard_}));
  return std::move(result.trace);
}

Status RankModels::keep_times(const PhaseProgram& phase, const std::vector<std::size_t>& tasks,
                              const execute::Trace& trace) {
  DOVETAIL_TRY(execute::ReplayTimes times,
               gather_times(rank_exchange_.transport(), phase.all, trace, {}, rank_exchange_.take_number(),
                            transport::Clock::now() + rank_exchange_.timeout()));
  if (rank_exchange_.rank() == 0) measured_.add(tasks, phase, std::move(times));
  if (tasks.size() > 1) ++fused_runs_;
  return {};
}

Status RankModels::find_order(const std::vector<std::size_t>& tasks) {
  if (tasks.size() == 1 || fused_runs_ < runs_before_new_order || programs_.has_times(tasks)) return {};
  DOVETAIL_TRY(const std::string message, rank_exchange_.broadcast(control::encode(measured_.medians(tasks))));
  programs_.take_times(tasks, control::decode_medians(message));
  return {};
}

std::vector<records::TrainingPhase> RankModels::measured_phases() const {
  return measured_.phases(scenario_.job.workflow);
}

Result<std::optional<pipeline::Schedule>> RankModels::fused_schedule() {
  if (!plan_.fusion.training) return std::optional<pipeline::Schedule>();
  DOVETAIL_TRY(const PhaseProgram* const phase, programs_.find(programs_.phase_of(plan_.fusion.training->front())));
  return std::optional(phase->phase.schedule);
}

void RankModels::release_full_weights(Trained& trained, const std::string& role) {
  if (!trained.stages.are_whole_model()) set_values(models_.weights(role), {});
}

Status RankModels::gather_full_weights(Trained& trained, const std::string& role) {
  if (trained.stages.are_whole_model()) return {};
  Weights& full_weights = models_.weights(role);
  rank_exchange_.begin_phase("the weight gathering for " + role);
  const at::Device device = trained.stages.states.front().model.weights.values.device();
  set_values(full_weights, at::empty({trained.elements}, at::TensorOptions(device).dtype(at::kFloat)));
  return gather_values(trained.stages, full_weights, rank_exchange_, collectives_);
}

void RankModels::average(const std::string& role, const std::string& trained, double decay) {
  models_.average(role, trained, decay);
}

Status RankModels::save(const std::string& folder) const {
  DOVETAIL_TRY(const std::string message, rank_exchange_.broadcast(folder));
  return rank_exchange_.agree(save_own(message));
}

Status RankModels::save_own(const std::string& folder) const {
  if (rank_exchange_.rank() == 0) DOVETAIL_CHECK(models_.save(folder));
  for (const auto& [role, trained] : trained_)
    DOVETAIL_CHECK(
        write_tensors(part_file(folder, role, rank_exchange_.rank()), moments_state(stepped_of(trained.stages))));
  return {};
}

Status RankModels::load(const std::string& folder) {
  DOVETAIL_CHECK(models_.load(folder));
  for (auto& [role, trained] : trained_) {
    take_values(trained.stages, models_.weights(role));
    DOVETAIL_CHECK(read_moments(folder, role, stepped_of(trained.stages)));
  }
  return {};
}

Status RankModels::export_role(const std::string& role, const std::string& folder) const {
  return models_.export_role(role, folder);
}

Result<std::vector<control::RankUsage>> RankModels::take_usage() {
  control::RankUsage own = usage_.take();
  DOVETAIL_TRY(const std::vector<control::RankUsage> whole, models_.take_usage());
  own.processor_seconds += whole.front().processor_seconds;
  DOVETAIL_TRY(const std::vector<std::string> message, rank_exchange_.all_gather(control::encode(own)));
  std::vector<control::RankUsage> all;
  for (const std::string& text : message) all.push_back(control::decode_usage(text));
  return all;
}

std::int64_t RankModels::parameters(const std::string& role) const { return models_.parameters(role); }

void RankModels::add_held(MemoryAccount& account) const {
  models_.add_held(account);
  const auto bytes_of = [](const Tensor& tensor) { return static_cast<std::int64_t>(tensor.nbytes()); };
  for (const auto& [role, trained] : trained_)
    for (const StageState& state : trained.stages.states) {
      if (!trained.stages.are_whole_model()) account.weights += bytes_of(state.model.weights.values);
      account.gradients += bytes_of(state.model.weights.gradients);
      for (const auto* const moments : {&state.optimizer.first, &state.optimizer.second})
        for (const Tensor& moment : *moments) account.optimizer += bytes_of(moment);
    }
}

}  // namespace dovetail::runtime
