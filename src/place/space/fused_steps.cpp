#include "place/space/fused_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "place/predict/training_phase.h"

namespace dovetail::place {
namespace {

using workflow::TaskKind;

base::Ticks ticks_of(double seconds) { return base::Ticks(std::llround(seconds * 1e9)); }

/// Stages that are remembered: walks come back to the same ones again and again.
constexpr unsigned remembered_bits = 13;
constexpr std::size_t remembered = std::size_t{1} << remembered_bits;

/// A key for three numbers, none of which reaches 2^21.
std::uint64_t key_of(std::size_t a, std::size_t b, std::size_t c) {
  return (static_cast<std::uint64_t>(a) << 42U) | (static_cast<std::uint64_t>(b) << 21U) | static_cast<std::uint64_t>(c);
}

std::size_t shape_of(const SearchSpace& space, Pick pick) { return space.shapes[static_cast<std::size_t>(pick.mesh)]; }

std::int64_t activations_of(const Ground& ground, std::size_t task, const plan::TaskPlan& planned) {
  std::int64_t bytes = 0;
  for (const MemoryPart& part : working_memory(ground, task, planned))
    if (part.name == "activations") bytes += part.bytes;
  return bytes;
}

std::uint64_t pair_key(const SearchSpace& space, const plan::TrainPair& pair, const Picks& picks) {
  const auto [first, second] = pair;
  return key_of(shape_of(space, picks[first]), static_cast<std::size_t>(picks[first].choice),
                static_cast<std::size_t>(picks[second].choice));
}

std::optional<FusionTables::Training> fuse_trainings(const SearchSpace& space, const plan::TrainPair& pair, const Picks& picks) {
  const Ground& ground = *space.ground;
  plan::Plan plan;
  plan.tasks.resize(space.choices.size());
  for (const std::size_t task : pair) plan.tasks[task] = space.choice(task, picks[task]).planned;
  const base::Result<double> least = fused_training_floor(ground, {pair[0], plan.tasks[pair[0]]}, {pair[1], plan.tasks[pair[1]]});
  if (!least.ok()) return std::nullopt;
  double seconds = *least + ground.software.efficiency.task;
  std::int64_t activations = 0;
  for (const std::size_t task : pair) {
    seconds += overhead_seconds(ground, task, plan.tasks[task]).host_transfers;
    activations = std::max(activations, activations_of(ground, task, plan.tasks[task]));
  }
  return FusionTables::Training{ticks_of(seconds), bytes_of(fused_working_memory(ground, plan, pair, activations))};
}

}  // namespace

FusionPick open_fusion(const plan::Job& job) {
  // On equal devices more can be fused than on others.
  const std::vector<plan::TaskPlan> anywhere(job.workflow.tasks.size());
  const plan::FusionPin& pin = job.fixed_fusion;
  return {pin.inter_stage.value_or(true) && plan::generation_stage(job, anywhere).has_value(),
          pin.intra_stage.value_or(true) && plan::train_pair(job).has_value()};
}

FusionPick demanded_fusion(const plan::Job& job, FusionPick fusion) {
  const plan::FusionPin& pin = job.fixed_fusion;
  return {fusion.generation && pin.inter_stage.value_or(false), fusion.training && pin.intra_stage.value_or(false)};
}

bool has(FusionPick fusion, FusionPick demanded) {
  return (fusion.generation || !demanded.generation) && (fusion.training || !demanded.training);
}

/// Made outside of the lock: another thread may make the same meanwhile, and the first one stays.
template <class Value, class Make>
const Value& FusionTables::known(Table<Value>& table, std::uint64_t key, const Make& make) {
  {
    const std::lock_guard lock(changing_);
    if (const auto found = table.find(key); found != table.end()) return found->second;
  }
  Value made = make();
  const std::lock_guard lock(changing_);
  return table.try_emplace(key, std::move(made)).first->second;
}

const std::vector<GenerationTail>& FusionTables::tails(std::size_t generate, Pick pick) {
  return known(tails_, key_of(generate, shape_of(space_, pick), static_cast<std::size_t>(pick.choice)), [&] {
    const auto& fixed = space_.ground->job.fixed_fusion.threshold;
    const std::vector<double> thresholds = fixed ? std::vector<double>{*fixed} : usual_thresholds();
    std::vector<GenerationTail> tails = generation_tails(*space_.ground, generate, space_.choice(generate, pick).planned, thresholds);
    // Where nothing moves nothing is gained.
    if (!fixed) std::erase_if(tails, [](const GenerationTail& tail) { return tail.slices.empty(); });
    return tails;
  });
}

const FusionTables::Training* FusionTables::training(const plan::TrainPair& pair, const Picks& picks) {
  const auto& training = known(trainings_, pair_key(space_, pair, picks), [&] { return fuse_trainings(space_, pair, picks); });
  return training ? &*training : nullptr;
}

FusedSteps::FusedSteps(FusionTables& tables) : tables_(tables), space_(tables.space()), pair_(plan::train_pair(space_.ground->job)) {
  const auto& tasks = space_.ground->job.workflow.tasks;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    if (tasks[task].kind == TaskKind::generate) generating_.push_back(task);
    if (tasks[task].kind == TaskKind::infer) inferring_.push_back(task);
  }
}

const plan::GenerationStage* FusedSteps::stage_of(const Picks& picks, std::size_t& number) {
  together_.clear();
  for (const std::size_t generate : generating_)
    for (const std::size_t infer : inferring_) together_.push_back(picks[generate].mesh == picks[infer].mesh ? 1 : 0);
  for (number = 0; number < stages_.size(); ++number)
    if (stages_[number].together == together_) break;
  if (number == stages_.size())
    stages_.push_back({together_, plan::generation_stage(space_.ground->job, plan_of(space_, picks, "").tasks)});
  const auto& stage = stages_[number].stage;
  return stage ? &*stage : nullptr;
}

const ScoringTask& FusedSteps::scoring_of(std::size_t task, Pick pick) {
  if (scorings_.empty()) scorings_.resize(space_.choices.size());
  if (scorings_[task].empty()) scorings_[task].resize(space_.examples.size());
  std::vector<std::optional<ScoringTask>>& known = scorings_[task][shape_of(space_, pick)];
  if (known.empty()) known.resize(space_.choices[task][shape_of(space_, pick)].size());
  std::optional<ScoringTask>& scoring = known[static_cast<std::size_t>(pick.choice)];
  if (!scoring) {
    const Choice& choice = space_.choice(task, pick);
    scoring = scoring_task(*space_.ground, task, choice.planned, static_cast<double>(choice.duration.count()) * 1e-9);
  }
  return *scoring;
}

std::optional<FusedSteps::Generation> FusedSteps::generation(const Picks& picks) {
  Generation found;
  found.stage = stage_of(picks, found.number);
  if (found.stage == nullptr) return std::nullopt;
  key_ = {static_cast<std::int32_t>(found.number), static_cast<std::int32_t>(shape_of(space_, picks[found.stage->generate])),
          picks[found.stage->generate].choice};
  for (const std::size_t task : found.stage->infer) key_.push_back(picks[task].choice);
  std::uint64_t hash = 0;
  for (const std::int32_t number : key_) hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
  if (remembered_.empty()) remembered_.resize(remembered);
  Remembered& known = remembered_[hash >> (64U - remembered_bits)];
  if (known.key != key_) known = {key_, fused_duration(*found.stage, picks)};
  if (!known.duration) return std::nullopt;
  found.duration = *known.duration;
  return found;
}

/// Nothing where no threshold gains.
std::optional<base::Ticks> FusedSteps::fused_duration(const plan::GenerationStage& stage, const Picks& picks) {
  const std::vector<GenerationTail>& tails = tables_.tails(stage.generate, picks[stage.generate]);
  if (tails.empty()) return std::nullopt;
  load_.clear();
  for (const std::size_t task : stage.infer) load_.add(scoring_of(task, picks[task]));
  const bool fixed = space_.ground->job.fixed_fusion.threshold.has_value();
  double least = -1;
  double least_apart = 0;
  for (const GenerationTail& tail : tails) {
    const InterStage& own = tail.generation;
    // No scoring goes on before the tail: what is sure already may be too much.
    const double before = own.until + own.migration;
    if (least >= 0 && before + std::max(own.tail, load_.work) >= least) continue;
    const double seconds = before + own.tail + scoring_end(tail.devices, tail.slices, load_).rest;
    if (least >= 0 && seconds >= least) continue;
    least = seconds;
    least_apart = own.apart + load_.overheads + load_.work;
  }
  if (!fixed && least >= least_apart) return std::nullopt;
  return ticks_of(least);
}

const FusedSteps::Training* FusedSteps::training(const Picks& picks) {
  if (!pair_ || picks[(*pair_)[0]].mesh != picks[(*pair_)[1]].mesh) return nullptr;
  const auto [entry, is_new] = trainings_.try_emplace(pair_key(space_, *pair_, picks));
  if (is_new) entry->second = tables_.training(*pair_, picks);
  return entry->second;
}

}  // namespace dovetail::place
