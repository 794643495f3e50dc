#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "answer/plans/prediction.h"
#include "answer/words/amounts.h"
#include "answer/words/fusion_words.h"
#include "answer/words/plan_words.h"
#include "answer/words/profile_words.h"
#include "answer/words/software_words.h"
#include "base/assert.h"
#include "cluster/mesh.h"

namespace dovetail::answer {
namespace {

using plan::Activity;

/// Parts that make up at least a twentieth of an activity's seconds.
std::string parts_text(const predict::ActivitySeconds& step) {
  std::vector<std::string> parts;
  for (const predict::SecondsPart& part : step.parts)
    if (part.seconds >= 0.05 * step.seconds && step.parts.size() > 1)
      parts.push_back(fmt::format("{} {}", base::enum_name(part.of), seconds_text(part.seconds)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string_view mark_of(predict::Fit fit) {
  return fit == predict::Fit::fits ? "" : fit == predict::Fit::tight ? " ~" : " *";
}

std::string memory_text(const predict::TaskMemory& memory) {
  if (memory.usable == 0) return "";
  return fmt::format("{} of {}{}", gibibytes(memory.needed()), gibibytes(memory.usable), mark_of(memory.fit()));
}

Table activities_table(const PredictionAnswer& answer) {
  const plan::Job& job = answer.scenario.job;
  const predict::Estimate& estimate = answer.estimate;
  std::vector<std::vector<std::string>> rows;
  for (std::size_t index = 0; index < estimate.graph.activities.size(); ++index) {
    const Activity& activity = estimate.graph.activities[index];
    const bool rule = job.workflow.tasks[activity.task].kind == workflow::TaskKind::rule;
    const plan::TaskPlan& planned = answer.plan.tasks[activity.task];
    const bool task = activity.kind == Activity::Kind::task;
    rows.push_back({activity_words(job, activity.kind, activity.task),
                    rule ? "" : cluster::name_of(job.cluster, planned.mesh), rule ? "" : llm::to_text(planned.layout),
                    seconds_text(begin_of_activity(estimate, index)),
                    activity.within ? "fused" : seconds_text(estimate.activities[index].seconds),
                    task ? memory_text(estimate.memory[activity.task]) : "", parts_text(estimate.activities[index])});
  }
  const std::vector<Column> columns{{"activity", Align::left},
                                    {"devices", Align::left},
                                    {"layout", Align::left},
                                    {"start"},
                                    {"duration"},
                                    {"memory"},
                                    {"largest parts", Align::left}};
  return {columns, rows};
}

std::string heading(const PredictionAnswer& answer) {
  const predict::Software& software = answer.scenario.software;
  return fmt::format("{}\nplacement: {}; efficiencies: {}; memory model: {}\n{}\n\n", job_line(answer.scenario.job),
                     answer.plan.placement, software.efficiency.name, software.conventions.name,
                     efficiency_words(software));
}

std::string costs_text(const predict::Estimate& estimate) {
  std::string text = fmt::format("\niteration       {}\n", seconds_text(estimate.iteration_seconds));
  text += fmt::format("throughput      {:.2f} samples/s, {:.0f} tokens/s/GPU\n", estimate.samples_per_second,
                      estimate.tokens_per_second);
  text += fmt::format("cost            {:.2f} GPU-hours{}\n", estimate.gpu_hours,
                      estimate.price ? fmt::format(", {:.2f} at the cluster's price", *estimate.price) : "");
  return text;
}

std::string fit_text(const PredictionAnswer& answer) {
  switch (answer.estimate.fit()) {
    case predict::Fit::fits:
      return "";
    case predict::Fit::tight:
      return fmt::format("~: tight, keeps less than the required margin of {}\n", margin_words(answer.scenario));
    case predict::Fit::does_not_fit:
      return "*: does not fit; see dovetail fit\n";
  }
  DOVETAIL_ASSERT(false);
}

}  // namespace

Sections sections(const PredictionAnswer& answer) {
  Sections all = heading(answer) + activities_table(answer) + fusion_text(answer.scenario.job, answer.estimate) +
                 costs_text(answer.estimate) + profile_text(answer.scenario, answer.plan) + fit_text(answer);
  if (answer.open_lengths) all += open_lengths_sections(*answer.open_lengths);
  return all + not_modelled_text(answer.scenario.job.not_modelled);
}

}  // namespace dovetail::answer
