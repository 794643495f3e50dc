#include "study/worth.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/fusion.h"
#include "predict/closed_form/activity_seconds.h"
#include "predict/closed_form/working_memory.h"
#include "predict/simulated/inter_stage.h"
#include "predict/simulated/task_traces.h"
#include "simulate/trace.h"

namespace dovetail::study {
namespace {

/// Formats the share by which `seconds` is less than `with`: "12.3%".
std::string shorter(double seconds, double with) { return fmt::format("{:.1f}%", 100 * (1 - seconds / with)); }

/// The reason why both trainings of a plan cannot share one schedule; nullopt if they can.
std::optional<std::string> why_not_fused_training(const predict::Scenario& scenario, const plan::Plan& plan) {
  const plan::Job& job = scenario.job;
  const auto pair = plan.fusion.training ? plan.fusion.training : plan::train_pair(job);
  if (!pair)
    return fmt::format("{} does not train a second model that could fill the bubbles of the first", job.workflow.name);
  const plan::TaskPlan& first = plan.tasks[(*pair)[0]];
  const plan::TaskPlan& second = plan.tasks[(*pair)[1]];
  if (auto fault = plan::find_training_fault(job, *pair, first, second)) return plan::as_reason(*fault);
  if (first.layout.pipeline > 1 || second.layout.pipeline > 1) return std::nullopt;
  std::string why = "pipelines of one stage have no bubbles to fill";
  if (predict::overhead_seconds(scenario, (*pair)[0], first).hand_over > 0)
    why += "; fusion would only save a hand-over of data";
  return why;
}

bool is_feasible(const TrainingAlternative& alternative) { return alternative.why_not.empty() && alternative.fits(); }

/// The fastest alternative that fits, among fused or among unfused ones; null if none fits.
const TrainingAlternative* fastest(const std::vector<TrainingAlternative>& alternatives, bool fused) {
  const TrainingAlternative* best = nullptr;
  for (const TrainingAlternative& alternative : alternatives)
    if (is_fused(alternative.method) == fused && is_feasible(alternative) &&
        (best == nullptr || alternative.seconds < best->seconds))
      best = &alternative;
  return best;
}

/// Lists alternatives that take less than `seconds` but do not fit, as the end of a sentence.
std::string too_large_text(const std::vector<TrainingAlternative>& alternatives, double seconds) {
  std::string text;
  for (const TrainingAlternative& alternative : alternatives)
    if (alternative.why_not.empty() && !alternative.fits() && alternative.seconds < seconds)
      text += fmt::format("; {} would be faster but would not fit", name_of(alternative.method));
  return text;
}

Worth worth_of(const std::vector<TrainingAlternative>& alternatives) {
  const TrainingAlternative& serial = alternatives.front();
  for (const TrainingAlternative& alternative : alternatives)
    if (alternative.method == TrainingMethod::fused && !alternative.why_not.empty())
      return {Verdict::no, alternative.why_not};
  const TrainingAlternative* fused = fastest(alternatives, true);
  const TrainingAlternative* best = fastest(alternatives, false);
  if (fused == nullptr) return {Verdict::no, "both trainings together do not fit in memory"};
  if (fused->seconds >= serial.seconds)
    return {Verdict::no, "one fused schedule saves no time compared with running the trainings in sequence"};
  const std::string gain = fmt::format("one fused schedule takes {}{} less time than running the trainings in sequence",
                                       fused->seconds > serial.seconds * (1 - min_gain) ? "only " : "",
                                       shorter(fused->seconds, serial.seconds));
  if (fused->seconds > serial.seconds * (1 - min_gain)) return {Verdict::no, gain};
  if (best != nullptr && fused->seconds > best->seconds * (1 - min_gain))
    return {Verdict::no, fmt::format("{}, but the best method without fusion, {}, already takes {} less", gain,
                                     name_of(best->method), shorter(best->seconds, serial.seconds)) +
                             too_large_text(alternatives, best->seconds)};
  std::string reason = gain;
  if (best != nullptr && best->method != TrainingMethod::serial)
    reason += fmt::format(", and {} less than the best method without fusion, {}",
                          shorter(fused->seconds, best->seconds), name_of(best->method));
  return {Verdict::yes, reason + too_large_text(alternatives, fused->seconds)};
}

TrainingAlternative rejected(TrainingMethod method, std::string why_not) {
  return {.method = method, .why_not = std::move(why_not)};
}

/// Returns the fraction of generation time for which the average instance waits for the last one.
double tail_of(const predict::Scenario& scenario, const plan::Plan& plan, std::size_t generate, std::uint64_t seed) {
  const simulate::Generation generation = predict::generation_of(scenario, generate, plan.tasks[generate], {seed, 0});
  base::Ticks tail;
  for (const simulate::Lane& lane : generation.trace.lanes)
    tail += simulate::time_of(simulate::uses_of(lane), simulate::BarKind::tail);
  const double all = base::seconds_of_ticks(generation.end) * static_cast<double>(generation.trace.lanes.size());
  return all > 0 ? base::seconds_of_ticks(tail) / all : 0;
}

/// Returns the verdict for a best threshold that saves enough: yes, unless parallel inference after generation saves
/// about as much.
Worth worth_of_gain(const GenerationWorth& found, const FusedAt& best, const std::string& tail) {
  const std::string gain = shorter(best.seconds, *found.plain);
  if (best.seconds > found.side_by_side * (1 - min_gain))
    return {Verdict::no,
            fmt::format("{}; fused generation and inference take {} less time than in sequence, but running the "
                        "inference tasks in parallel after generation, on parts of the devices, already saves {}",
                        tail, gain, shorter(found.side_by_side, *found.plain))};
  std::string reason =
      fmt::format("fused at {:g}% unfinished samples, generation and inference take {} less time than in sequence",
                  best.threshold * 100, gain);
  if (found.side_by_side < *found.plain)
    reason += fmt::format(", and {} less than with inference tasks in parallel after generation",
                          shorter(best.seconds, found.side_by_side));
  return {Verdict::yes, reason};
}

/// Returns the verdict for fused generation. `fault` is the result of find_migration_fault. It is ignored if there are
/// several instances and all end together, because the reason is then the missing tail.
Worth worth_of(const GenerationWorth& found, int instances, const std::optional<std::string>& fault) {
  if (fault && (instances == 1 || *found.tail > 0)) return {Verdict::no, *fault};
  constexpr double short_tail = 0.05;
  std::string tail =
      fmt::format("the average instance waits {:.1f}% of generation time for the last one", *found.tail * 100);
  if (*found.tail < short_tail) tail = "the tail is short: " + tail + ", which leaves little to overlap";
  const FusedAt* best = found.best ? &found.fused[*found.best] : nullptr;
  if (best != nullptr && best->seconds <= *found.plain * (1 - min_gain)) return worth_of_gain(found, *best, tail);
  if (*found.tail < short_tail) return {Verdict::no, tail};
  if (best != nullptr)
    return {Verdict::no, fmt::format("{}, but fusion saves only {} of generation and inference time", tail,
                                     shorter(best->seconds, *found.plain))};
  return {Verdict::no,
          tail + ", but inference during the tail saves no more time than moving samples and loading models costs"};
}

/// The reason why a gain in generation and inference does not shorten the simulated iteration. nullopt if it does, or
/// if the iteration was not simulated.
std::optional<std::string> why_lost(const WhatIfs& what_ifs, bool trained, double threshold) {
  const WhatIf* fused = find_threshold(what_ifs, threshold, trained);
  const WhatIf* plain = find_fusion(what_ifs, false, trained);
  if (fused == nullptr) return std::nullopt;
  const bool known = plain != nullptr && plain->figures;
  if (!fused->figures->fits())
    return known && !plain->figures->fits() ? "the plan does not fit, fused or not"
                                            : "the fused plan does not fit in memory";
  if (!known || fused->figures->iteration_seconds <= plain->figures->iteration_seconds * (1 - min_gain))
    return std::nullopt;
  constexpr double seen = 0.0005;
  const double longer = fused->figures->iteration_seconds / plain->figures->iteration_seconds - 1;
  if (longer < -seen)
    return fmt::format("the iteration gets only {:.1f}% shorter, because it hardly waits for these phases",
                       -100 * longer);
  return longer < seen ? "the iteration does not get shorter, because it does not wait for these phases"
                       : fmt::format("the iteration gets {:.1f}% longer", 100 * longer);
}

}  // namespace

TrainingWorth training_worth(const predict::Scenario& scenario, const plan::Plan& plan,
                             const std::optional<predict::FusedTraining>& fused) {
  TrainingWorth found;
  for (const TrainingMethod method : training_methods)
    if (!is_fused(method))
      found.alternatives.push_back(found.alternatives.empty() || !scenario.is_stopped()
                                       ? training_alternative(scenario, plan, method)
                                       : rejected(method, no_time));
  const bool shown = std::any_of(found.alternatives.begin(), found.alternatives.end(),
                                 [](const TrainingAlternative& alternative) { return alternative.planned; });
  if (!shown && !plan.fusion.training && !scenario.is_stopped()) {
    TrainingAlternative planned = training_alternative(scenario, plan, TrainingMethod::as_planned);
    if (planned.why_not.empty()) found.alternatives.push_back(std::move(planned));
  }
  std::optional<std::string> why_not = why_not_fused_training(scenario, plan);
  const bool known = why_not || !scenario.is_stopped();
  if (!known) why_not = no_time;
  if (!why_not && !fused) why_not = too_large;
  if (why_not) {
    for (const TrainingMethod method : training_methods)
      if (is_fused(method)) found.alternatives.push_back(rejected(method, *why_not));
  } else {
    const plan::TrainPair pair = plan.fusion.training ? *plan.fusion.training : *plan::train_pair(scenario.job);
    const std::int64_t activations =
        std::llround(predict::fullest_over_average(scenario, pair, plan) * static_cast<double>(fused->peak));
    found.alternatives.push_back(
        fused_alternative(scenario, plan, pair, {base::seconds_of_ticks(fused->trace.end), activations}));
    found.alternatives.push_back(fused_smaller_alternative(scenario, plan, pair));
    found.bound = base::seconds_of_ticks(fused->bound);
  }
  found.fusion = worth_of(found.alternatives);
  if (!known) found.fusion.verdict = Verdict::not_known;
  return found;
}

GenerationWorth generation_worth(const predict::Scenario& scenario, const plan::Plan& plan, const WhatIfs& what_ifs,
                                 std::uint64_t seed) {
  GenerationWorth found;
  const auto stage = plan::generation_stage(scenario.job, plan.tasks);
  if (!stage || !what_ifs.thresholds || scenario.is_stopped()) {
    constexpr double any = 0.5;
    const auto fault = plan::find_threshold_fault(any, scenario.job, plan.tasks);
    found.fusion = fault ? Worth{Verdict::no, plan::as_reason(*fault)} : Worth{Verdict::not_known, no_time};
    return found;
  }
  const std::vector<simulate::ThresholdPoint>& points = what_ifs.thresholds->points;
  found.plain = base::seconds_of_ticks(points.front().value);
  found.side_by_side = base::seconds_of_ticks(what_ifs.thresholds->side_by_side);
  found.tail = tail_of(scenario, plan, stage->generate, seed);
  for (std::size_t index = 1; index < points.size(); ++index) {
    const bool planned = points[index].threshold == plan.fusion.threshold;
    if (planned || index == what_ifs.thresholds->best)
      found.fused.push_back({*points[index].threshold, base::seconds_of_ticks(points[index].value)});
    if (index == what_ifs.thresholds->best) found.best = found.fused.size() - 1;
  }
  found.fusion = worth_of(found, plan.tasks[stage->generate].layout.data,
                          predict::find_migration_fault(scenario, plan, *what_ifs.thresholds));
  if (found.fusion.verdict != Verdict::yes) return found;
  const bool trained = plan.fusion.training.has_value();
  if (const auto lost = why_lost(what_ifs, trained, found.fused[*found.best].threshold))
    found.fusion = {Verdict::no, found.fusion.reason + ", but " + *lost};
  return found;
}

}  // namespace dovetail::study
