#include "measure/measured_reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dovetail::measure {
namespace {

using workflow::TaskKind;

constexpr double noticed_length = 0.05;  // relative difference of mean lengths
constexpr double noticed_cap = 0.02;     // fraction of the responses
constexpr double wide_spread = 0.2;      // quartiles apart, of the median

/// The plan of the first task of a kind; nothing where there is none.
const plan::TaskPlan* first_of(const ReasonScenario& scenario, TaskKind kind) {
  for (std::size_t task = 0; task < scenario.job.workflow.tasks.size(); ++task)
    if (scenario.job.workflow.tasks[task].kind == kind) return &scenario.plan.tasks[task];
  return nullptr;
}

void add_lengths(const ReasonScenario& scenario, bool longer, std::vector<std::string>& reasons) {
  const double said = scenario.job.workload.response_length.mean();
  const double found = scenario.run.mean_response.value_or(said);
  if (std::abs(found - said) > noticed_length * said && (found > said) == longer)
    reasons.push_back(fmt::format(
        "responses had {:.0f} tokens on average, the job says {:.0f}: give it the measured lengths", found, said));
  if (longer && scenario.run.at_cap.value_or(0) > noticed_cap)
    reasons.push_back(fmt::format("{:.0f}% of the responses ended at the cap: the tail is as long as it can be",
                                  100 * *scenario.run.at_cap));
}

void add_generation(const ReasonScenario& scenario, bool longer, std::vector<std::string>& reasons) {
  add_lengths(scenario, longer, reasons);
  const plan::TaskPlan* engine = first_of(scenario, TaskKind::generate);
  if (!longer) {
    reasons.emplace_back(
        "the tail is shorter than the job's lengths say, or prompts are cached between samples beyond one prefill "
        "each");
    reasons.emplace_back("the engine guesses tokens (speculative decoding) or decodes in fp8, which plans do not know");
    return;
  }
  reasons.emplace_back(
      "the tail: a few long responses keep all devices waiting; give the job the spread of the lengths, not a mean");
  if (engine != nullptr)
    reasons.push_back(fmt::format(
        "preemption: with max_num_seqs {} and memory_utilization {} the engine may admit more than its cache holds; "
        "look for preemptions in its log",
        engine->engine.max_num_seqs, engine->engine.memory_utilization));
  reasons.emplace_back(
      "engine settings: eager mode without CUDA graphs, a small token budget for prefill, logging of each request");
  reasons.emplace_back("tools, environments or rewards that answer within generation");
}

/// `alone`: the log times a single task by itself, so that it was not left out.
void add_inference(const ReasonScenario& scenario, bool longer, bool alone, std::vector<std::string>& reasons) {
  add_lengths(scenario, longer, reasons);
  if (longer) {
    reasons.emplace_back("smaller micro-batches than the plan's, or sequences padded in place of packed");
    const plan::TaskPlan* score = first_of(scenario, TaskKind::infer);
    if (score == nullptr || !score->offload.weights)
      reasons.emplace_back("weights that come from host memory before each pass");
    reasons.emplace_back("entropies that are worked out beside log-probabilities");
  } else if (alone) {
    reasons.emplace_back(
        "larger micro-batches than the plan's, or kernels that are faster than the efficiencies say: calibrate fits "
        "them");
  } else {
    reasons.emplace_back(
        "a pass that the job has and the run leaves out, such as that of the reference or of the policy");
  }
}

/// What of a train task's state moves otherwise than the plan says.
void add_states(const plan::TaskPlan* train, bool longer, std::vector<std::string>& reasons) {
  const plan::Offload offload = train != nullptr ? train->offload : plan::Offload();
  const bool moves = offload.gradients || offload.optimizer;
  if (!longer) {
    if (moves)
      reasons.emplace_back("states that stay on the devices, which the plan offloads, or that move behind other work");
    return;
  }
  if (moves)
    reasons.emplace_back(
        "states that move slower than the job says: host memory that is not pinned, or shared by many processes");
  if (!offload.gradients)
    reasons.emplace_back("gradients that come from host memory and go back, which stay on the devices in the plan");
  if (!offload.optimizer && !offload.optimizer_on_host)
    reasons.emplace_back(
        "optimizer states that come from host memory and go back, which stay on the devices in the plan");
}

void add_training(const ReasonScenario& scenario, bool longer, std::vector<std::string>& reasons) {
  add_lengths(scenario, longer, reasons);
  const plan::TaskPlan* train = first_of(scenario, TaskKind::train);
  const bool again = train != nullptr && train->layout.recomputation == llm::Recomputation::full;
  if (longer) {
    if (!again) reasons.emplace_back("full recomputation of activations, which the plan does not have");
    reasons.emplace_back(
        "smaller micro-batches than the plan's, sequences padded in place of packed, or data-parallel ranks with "
        "unequal tokens");
  } else {
    if (again) reasons.emplace_back("the run keeps activations that the plan recomputes");
    reasons.emplace_back("fewer optimizer steps, or fewer tokens in each: filtered groups, dropped samples");
  }
  add_states(train, longer, reasons);
}

void add_weight_sync(bool longer, std::vector<std::string>& reasons) {
  if (longer) {
    reasons.emplace_back("weights that go tensor by tensor, over host memory or gloo in place of NCCL");
    reasons.emplace_back("engines that wake up, allocate their cache and capture graphs within the time");
  } else {
    reasons.emplace_back("weights that go in large buckets, or engines that share them with training");
  }
}

void add_spread(const ReasonScenario& scenario, const MeasuredAgainst& phase, std::vector<std::string>& reasons) {
  const double apart = phase.measured.upper - phase.measured.lower;
  if (apart > wide_spread * phase.measured.median && apart > std::abs(phase.difference()))
    reasons.push_back(fmt::format("steps spread more than that: half of {} are from {:.1f} to {:.1f} s",
                                  phase.measured.steps, phase.measured.lower, phase.measured.upper));
  if (scenario.run.steps.size() < 3)
    reasons.push_back(
        fmt::format("only {} of the log's steps count, and first steps are warm-up: kernels are compiled, graphs "
                    "captured, caches filled",
                    scenario.run.steps.size()));
}

}  // namespace

std::vector<std::string> reasons_of(const ReasonScenario& scenario, const MeasuredAgainst& phase) {
  const bool longer = phase.difference() > 0;
  std::vector<std::string> reasons;
  add_spread(scenario, phase, reasons);
  switch (*phase.kind) {
    case PhaseKind::generation:
      add_generation(scenario, longer, reasons);
      break;
    case PhaseKind::inference:
      add_inference(scenario, longer, phase.alone, reasons);
      break;
    case PhaseKind::training:
      add_training(scenario, longer, reasons);
      break;
    case PhaseKind::refit:
      add_weight_sync(longer, reasons);
      break;
    case PhaseKind::offload:
      reasons.emplace_back(longer ? "host memory that is not pinned, or shared by many processes of a node"
                                  : "states that stay on the device, or transfers behind other work");
      break;
  }
  return reasons;
}

std::vector<std::string> iteration_reasons(const ReasonScenario& scenario, const MeasuredAgainst& iteration,
                                           double measured_in_phases, double predicted_in_phases) {
  const double phases = measured_in_phases - predicted_in_phases;
  // What is in no phase; below 0 phases overlap.
  const double beside = iteration.seconds - measured_in_phases;
  const double predicted_beside = iteration.predicted - predicted_in_phases;
  const double apart = beside - predicted_beside;
  const double noticed = noticed_difference / 2 * iteration.predicted;
  const bool longer = iteration.difference() > 0;
  std::vector<std::string> reasons;
  add_spread(scenario, iteration, reasons);
  if (std::abs(phases) > noticed && (phases > 0) == longer)
    reasons.push_back(
        fmt::format("its phases take {:.1f} s {} together: see theirs", std::abs(phases), longer ? "more" : "less"));
  if (longer && apart > noticed && predicted_beside < 0)
    reasons.push_back(fmt::format("phases overlap in the plan, by {:.1f} s, and less in the run", -predicted_beside));
  if (longer && apart > noticed && beside > 0)
    reasons.emplace_back(
        "time in no phase: data, rewards, advantages, logging, waiting between phases; see what is only measured");
  if (!longer && apart < -noticed && beside < 0)
    reasons.push_back(fmt::format("phases overlap in the run, by {:.1f} s, and less in the plan", -beside));
  if (!longer && apart < -noticed && predicted_beside > 0)
    reasons.push_back(
        fmt::format("{:.1f} s that the plan has beside these phases: see what is only predicted", predicted_beside));
  return reasons;
}

}  // namespace dovetail::measure
