#include "place/space/fused_steps.h"

#include <algorithm>
#include <cmath>

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

FusedSteps::FusedSteps(const SearchSpace& space) : space_(space), pair_(plan::train_pair(space.ground->job)) {
  const auto& tasks = space.ground->job.workflow.tasks;
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

const std::vector<GenerationTail>& FusedSteps::tails_of(std::size_t generate, Pick pick) {
  const auto [entry, is_new] = tails_.try_emplace(key_of(generate, shape_of(space_, pick), static_cast<std::size_t>(pick.choice)));
  if (!is_new) return entry->second;
  const auto& fixed = space_.ground->job.fixed_fusion.threshold;
  const std::vector<double> thresholds = fixed ? std::vector<double>{*fixed} : usual_thresholds();
  entry->second = generation_tails(*space_.ground, generate, space_.choice(generate, pick).planned, thresholds);
  // Where nothing moves nothing is gained.
  if (!fixed) std::erase_if(entry->second, [](const GenerationTail& tail) { return tail.slices.empty(); });
  return entry->second;
}

double FusedSteps::overhead_of(std::size_t task, Pick pick) {
  if (overheads_.empty()) overheads_.resize(space_.choices.size());
  if (overheads_[task].empty()) overheads_[task].resize(space_.examples.size());
  std::vector<double>& known = overheads_[task][shape_of(space_, pick)];
  if (known.empty()) known.assign(space_.choices[task][shape_of(space_, pick)].size(), -1);
  double& overhead = known[static_cast<std::size_t>(pick.choice)];
  if (overhead < 0) overhead = overhead_seconds(*space_.ground, task, space_.choice(task, pick).planned).sum();
  return overhead;
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
  const std::vector<GenerationTail>& tails = tails_of(stage.generate, picks[stage.generate]);
  if (tails.empty()) return std::nullopt;
  load_.work = load_.overheads = load_.most_overhead = 0;
  load_.replicas.clear();
  for (const std::size_t task : stage.infer) {
    const Choice& choice = space_.choice(task, picks[task]);
    const double overhead = overhead_of(task, picks[task]);
    load_.add(static_cast<double>(choice.duration.count()) * 1e-9 - overhead, overhead, choice.planned.layout.data);
  }
  const bool fixed = space_.ground->job.fixed_fusion.threshold.has_value();
  double least = -1;
  double least_apart = 0;
  for (const GenerationTail& tail : tails) {
    const InterStage& own = tail.generation;
    // No scoring goes on before the tail: what is sure already may be too much.
    const double before = own.until + own.migration;
    if (least >= 0 && before + std::max(own.tail, load_.work) >= least) continue;
    const double seconds = before + own.tail + scoring_end(tail, load_).rest;
    if (least >= 0 && seconds >= least) continue;
    least = seconds;
    least_apart = own.apart + load_.overheads + load_.work;
  }
  if (!fixed && least >= least_apart) return std::nullopt;
  return ticks_of(least);
}

std::optional<FusedSteps::Training> FusedSteps::fuse(Pick first, Pick second) const {
  const Ground& ground = *space_.ground;
  const plan::TrainPair pair = *pair_;
  plan::Plan plan;
  plan.tasks.resize(space_.choices.size());
  plan.tasks[pair[0]] = space_.choice(pair[0], first).planned;
  plan.tasks[pair[1]] = space_.choice(pair[1], second).planned;
  const base::Result<double> least = fused_training_floor(ground, {pair[0], plan.tasks[pair[0]]}, {pair[1], plan.tasks[pair[1]]});
  if (!least.ok()) return std::nullopt;
  double seconds = *least + ground.software.efficiency.task;
  std::int64_t activations = 0;
  for (const std::size_t task : pair) {
    seconds += overhead_seconds(ground, task, plan.tasks[task]).host_transfers;
    activations = std::max(activations, activations_of(ground, task, plan.tasks[task]));
  }
  return Training{ticks_of(seconds), bytes_of(fused_working_memory(ground, plan, pair, activations))};
}

const FusedSteps::Training* FusedSteps::training(const Picks& picks) {
  if (!pair_) return nullptr;
  const auto [first, second] = *pair_;
  if (picks[first].mesh != picks[second].mesh) return nullptr;
  const auto [entry, is_new] = trainings_.try_emplace(key_of(shape_of(space_, picks[first]), static_cast<std::size_t>(picks[first].choice),
                                                             static_cast<std::size_t>(picks[second].choice)));
  if (is_new) entry->second = fuse(picks[first], picks[second]);
  return entry->second ? &*entry->second : nullptr;
}

}  // namespace dovetail::place
