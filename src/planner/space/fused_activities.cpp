#include "planner/space/fused_activities.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "predict/closed_form/training_phase.h"
#include "simulate/threshold.h"

namespace dovetail::planner {
namespace {

using workflow::TaskKind;

/// Size of the cache of stages. Search chains return to the same stages often.
constexpr unsigned remembered_bits = 13;
constexpr std::size_t remembered = std::size_t{1} << remembered_bits;

/// Packs three numbers below 2^21 into one key.
std::uint64_t key_of(std::size_t a, std::size_t b, std::size_t c) {
  return (static_cast<std::uint64_t>(a) << 42U) | (static_cast<std::uint64_t>(b) << 21U) |
         static_cast<std::uint64_t>(c);
}

std::size_t shape_of(const SearchSpace& space, SelectedChoice selected) {
  return space.shapes[static_cast<std::size_t>(selected.mesh)];
}

std::uint64_t pair_key(const SearchSpace& space, const plan::TrainPair& pair, const Selection& selection) {
  const auto [first, second] = pair;
  return key_of(shape_of(space, selection[first]), static_cast<std::size_t>(selection[first].choice),
                static_cast<std::size_t>(selection[second].choice));
}

std::optional<FusionTables::Training> fuse_trainings(const SearchSpace& space, const plan::TrainPair& pair,
                                                     const Selection& selection) {
  const predict::Scenario& scenario = *space.scenario;
  plan::Plan plan;
  plan.tasks.resize(space.choices.size());
  plan.fusion.training = pair;
  for (const std::size_t task : pair) plan.tasks[task] = task_plan_of(space, task, selection[task]);
  std::optional<predict::IntraStage> fused = predict::intra_stage_floor(scenario, plan);
  if (!fused) return std::nullopt;
  std::int64_t activations = 0;
  for (const std::size_t task : pair)
    activations = std::max(activations, predict::bytes_of(predict::working_memory(scenario, task, plan.tasks[task]),
                                                          predict::MemoryKind::activations));
  fused->activations = activations;
  const base::Ticks duration =
      base::ticks_of_seconds(predict::fused_training_seconds(fused->schedule_seconds, fused->overhead).seconds);
  return FusionTables::Training{std::move(*fused), duration,
                                predict::bytes_of(predict::fused_working_memory(scenario, plan, pair, activations))};
}

}  // namespace

FusionSelection open_fusion(const plan::Job& job) {
  // Equal meshes allow the most fusions.
  const std::vector<plan::TaskPlan> anywhere(job.workflow.tasks.size());
  const plan::FusionPin& pin = job.fixed_fusion;
  return {pin.inter_stage.value_or(true) && plan::generation_stage(job, anywhere).has_value(),
          pin.intra_stage.value_or(true) && plan::train_pair(job).has_value()};
}

FusionSelection required_fusion(const plan::Job& job, FusionSelection fusion) {
  const plan::FusionPin& pin = job.fixed_fusion;
  return {fusion.generation && pin.inter_stage.value_or(false), fusion.training && pin.intra_stage.value_or(false)};
}

bool has(FusionSelection fusion, FusionSelection required) {
  return (fusion.generation || !required.generation) && (fusion.training || !required.training);
}

/// Computes the value outside of the lock. If another thread computes it at the same time, the first result stays.
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

const std::vector<FusionTables::Tail>& FusionTables::tails(std::size_t generate, SelectedChoice selected) {
  return known(tails_, key_of(generate, shape_of(space_, selected), static_cast<std::size_t>(selected.choice)), [&] {
    const auto& fixed = space_.scenario->job.fixed_fusion.threshold;
    const std::vector<double> thresholds = fixed ? std::vector<double>{*fixed} : simulate::default_thresholds();
    std::vector<Tail> tails;
    for (predict::GenerationTail& tail :
         predict::generation_tails(*space_.scenario, generate, space_.choice(generate, selected).planned, thresholds)) {
      // Without migration there is no gain.
      if (!fixed && tail.slices.empty()) continue;
      const double before = tail.generation.until + tail.generation.migration;
      const double hidden = predict::max_hidden(tail.devices, tail.slices);
      tails.push_back({std::move(tail), before, hidden});
    }
    return tails;
  });
}

const FusionTables::Training* FusionTables::training(const plan::TrainPair& pair, const Selection& selection) {
  const auto& training =
      known(trainings_, pair_key(space_, pair, selection), [&] { return fuse_trainings(space_, pair, selection); });
  return training ? &*training : nullptr;
}

FusedActivities::FusedActivities(FusionTables& tables)
    : tables_(tables), space_(tables.space()), pair_(plan::train_pair(space_.scenario->job)) {
  const auto& tasks = space_.scenario->job.workflow.tasks;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    if (tasks[task].kind == TaskKind::generate) generating_.push_back(task);
    if (tasks[task].kind == TaskKind::infer) inferring_.push_back(task);
  }
}

const plan::GenerationStage* FusedActivities::stage_of(const Selection& selection, std::size_t& number) {
  together_.clear();
  for (const std::size_t generate : generating_)
    for (const std::size_t infer : inferring_)
      together_.push_back(selection[generate].mesh == selection[infer].mesh ? 1 : 0);
  for (number = 0; number < stages_.size(); ++number)
    if (stages_[number].together == together_) break;
  if (number == stages_.size())
    stages_.push_back({together_, plan::generation_stage(space_.scenario->job, plan_of(space_, selection, "").tasks)});
  const auto& stage = stages_[number].stage;
  return stage ? &*stage : nullptr;
}

const predict::InferenceTask& FusedActivities::inference_of(std::size_t task, SelectedChoice selected) {
  if (inferences_.empty()) inferences_.resize(space_.choices.size());
  if (inferences_[task].empty()) inferences_[task].resize(space_.examples.size());
  std::vector<std::optional<predict::InferenceTask>>& known = inferences_[task][shape_of(space_, selected)];
  if (known.empty()) known.resize(space_.choices[task][shape_of(space_, selected)].size());
  std::optional<predict::InferenceTask>& inference = known[static_cast<std::size_t>(selected.choice)];
  if (!inference) {
    const Choice& choice = space_.choice(task, selected);
    // Use the seconds, not the duration, which is rounded to integer ns: sums are rounded at the end.
    inference = predict::inference_task(*space_.scenario, task, choice.planned, choice.seconds);
  }
  return *inference;
}

/// Returns the cache entry for a generation of the selection. The entry is valid if its key equals key_.
FusedActivities::CachedLength& FusedActivities::cached_length_of(const Generation& generation,
                                                                 const Selection& selection) {
  const std::size_t generate = generation.stage->generate;
  key_ = {static_cast<std::int32_t>(generation.number),
          static_cast<std::int32_t>(shape_of(space_, selection[generate])), selection[generate].choice};
  for (const std::size_t task : generation.stage->infer) key_.push_back(selection[task].choice);
  std::uint64_t hash = 0;
  for (const std::int32_t number : key_) hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
  if (cached_lengths_.empty()) cached_lengths_.resize(remembered);
  return cached_lengths_[hash >> (64U - remembered_bits)];
}

void FusedActivities::set_length(Generation& generation, const Length& length) {
  generation.duration = length.duration;
  generation.rest = length.rest;
  generation.threshold = length.threshold;
}

FusedActivities::MinGeneration FusedActivities::min_generation(const Selection& selection) {
  Generation found;
  found.stage = stage_of(selection, found.number);
  if (found.stage == nullptr) return {};
  const CachedLength& known = cached_length_of(found, selection);
  const bool exact = known.key == key_;
  if (!exact) {
    const std::optional<base::Ticks> least = min_length(*found.stage, selection);
    if (!least) return {};
    found.duration = *least;
    return {found, false};
  }
  if (!known.length) return {};
  set_length(found, *known.length);
  return {found, true};
}

std::optional<FusedActivities::Generation> FusedActivities::generation(const Selection& selection) {
  Generation found;
  found.stage = stage_of(selection, found.number);
  if (found.stage == nullptr) return std::nullopt;
  CachedLength& known = cached_length_of(found, selection);
  if (known.key != key_) known = {key_, fused_length(*found.stage, selection)};
  if (!known.length) return std::nullopt;
  set_length(found, *known.length);
  return found;
}

/// Returns the tails of the stage's generation, and sets load_ to its inference.
const std::vector<FusionTables::Tail>& FusedActivities::tails_of(const plan::GenerationStage& stage,
                                                                 const Selection& selection) {
  load_.clear();
  for (const std::size_t task : stage.infer) load_.add(inference_of(task, selection[task]));
  return tables_.tails(stage.generate, selection[stage.generate]);
}

/// Returns a lower bound on fused_length's duration and on the unfused duration. nullopt only if fused_length returns
/// nullopt.
std::optional<base::Ticks> FusedActivities::min_length(const plan::GenerationStage& stage, const Selection& selection) {
  const std::vector<FusionTables::Tail>& tails = tails_of(stage, selection);
  if (tails.empty()) return std::nullopt;
  double least = tails.front().at.generation.apart + load_.overheads + load_.work;
  for (const FusionTables::Tail& tail : tails) least = std::min(least, tail.least(load_.work));
  return base::ticks_of_seconds(least);
}

/// Returns nullopt if no threshold gains time.
std::optional<FusedActivities::Length> FusedActivities::fused_length(const plan::GenerationStage& stage,
                                                                     const Selection& selection) {
  const std::vector<FusionTables::Tail>& tails = tails_of(stage, selection);
  if (tails.empty()) return std::nullopt;
  const bool fixed = space_.scenario->job.fixed_fusion.threshold.has_value();
  const double apart = tails.front().at.generation.apart + load_.overheads + load_.work;
  double least = fixed ? std::numeric_limits<double>::infinity() : apart;
  double ends = least;
  double threshold = 0;
  const auto try_tail = [&](const FusionTables::Tail& tail) {
    if (tail.least(load_.work) >= least) return;
    const double generation = tail.before + tail.at.generation.tail;
    const double seconds =
        generation + predict::inference_end(tail.at.devices, tail.at.slices, load_, least - generation).rest;
    if (seconds >= least) return;
    least = seconds;
    ends = generation;
    threshold = tail.at.generation.threshold;
  };
  // Start with the most promising tail: it rules out most of the others.
  const auto first = std::min_element(tails.begin(), tails.end(), [&](const auto& a, const auto& b) {
    return a.least(load_.work) < b.least(load_.work);
  });
  try_tail(*first);
  for (auto tail = tails.begin(); tail != tails.end(); ++tail)
    if (tail != first) try_tail(*tail);
  if (!fixed && least >= apart) return std::nullopt;
  return Length{base::ticks_of_seconds(least), base::ticks_of_seconds(least) - base::ticks_of_seconds(ends), threshold};
}

const FusedActivities::Training* FusedActivities::training(const Selection& selection) {
  if (!pair_ || selection[(*pair_)[0]].mesh != selection[(*pair_)[1]].mesh) return nullptr;
  const auto [entry, is_new] = trainings_.try_emplace(pair_key(space_, *pair_, selection));
  if (is_new) entry->second = tables_.training(*pair_, selection);
  return entry->second;
}

plan::Plan FusedActivities::fused_plan(const Selection& selection, FusionSelection fusion) {
  plan::Plan plan = plan_of(space_, selection, "");
  if (fusion.generation)
    if (const auto fused = generation(selection)) plan.fusion.threshold = fused->threshold;
  if (fusion.training && training(selection) != nullptr) plan.fusion.training = pair_;
  return plan;
}

}  // namespace dovetail::planner
