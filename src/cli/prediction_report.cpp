#include "cli/prediction_report.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "answer/question/json.h"
#include "answer/words/amounts.h"
#include "answer/words/plan_words.h"
#include "answer/words/software_words.h"
#include "answer/words/text.h"
#include "cli/fusion_words.h"
#include "cli/profile_words.h"
#include "cli/software_json.h"
#include "cluster/mesh.h"
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

using plan::Activity;

/// Seconds from the beginning of an iteration until the step begins, with what each iteration takes beside its steps.
double begin_of(const predict::Estimate& estimate, std::size_t index) {
  const base::Ticks period = estimate.timing.period;
  const base::Ticks overhead = base::ticks_of_seconds(estimate.iteration_seconds) - period;
  return base::seconds_of_ticks(plan::with_overheads(estimate.timing.activities[index].begin, period, overhead));
}

std::string name_of(const Prediction& prediction, const Activity& activity) {
  return answer::activity_words(prediction.job, activity.kind, activity.task);
}

/// The parts of a step's seconds that are a twentieth of it or more.
std::string parts_text(const predict::ActivitySeconds& step) {
  std::vector<std::string> parts;
  for (const predict::SecondsPart& part : step.parts)
    if (part.seconds >= 0.05 * step.seconds && step.parts.size() > 1)
      parts.push_back(fmt::format("{} {}", part.name, answer::seconds_text(part.seconds)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string_view mark_of(predict::Fit fit) { return fit == predict::Fit::fits ? "" : fit == predict::Fit::tight ? " ~" : " *"; }

std::string memory_text(const predict::TaskMemory& memory) {
  if (memory.usable == 0) return "";
  return fmt::format("{} of {}{}", answer::gibibytes(memory.needed()), answer::gibibytes(memory.usable), mark_of(memory.fit()));
}

std::string table_of(const Prediction& prediction) {
  const predict::Estimate& estimate = prediction.estimate;
  std::vector<std::vector<std::string>> rows;
  for (std::size_t index = 0; index < estimate.graph.activities.size(); ++index) {
    const Activity& activity = estimate.graph.activities[index];
    const bool rule = prediction.job.workflow.tasks[activity.task].kind == workflow::TaskKind::rule;
    const plan::TaskPlan& planned = prediction.plan.tasks[activity.task];
    const bool task = activity.kind == Activity::Kind::task;
    rows.push_back({name_of(prediction, activity), rule ? "" : cluster::name_of(prediction.job.cluster, planned.mesh),
                    rule ? "" : llm::to_text(planned.layout), answer::seconds_text(begin_of(estimate, index)),
                    activity.within ? "fused" : answer::seconds_text(estimate.activities[index].seconds),
                    task ? memory_text(estimate.memory[activity.task]) : "", parts_text(estimate.activities[index])});
  }
  const std::vector<report::Column> columns{{"step", report::Align::left},
                                            {"devices", report::Align::left},
                                            {"layout", report::Align::left},
                                            {"begins"},
                                            {"takes"},
                                            {"memory"},
                                            {"of which", report::Align::left}};
  return report::render_table(columns, rows);
}

}  // namespace

std::string to_text(const Prediction& prediction) {
  const predict::Estimate& estimate = prediction.estimate;
  std::string text = answer::job_line(prediction.job) + "\n";
  text += fmt::format("placement: {}; efficiencies: {}; memory as {}\n", prediction.plan.placement, prediction.software.efficiency.name,
                      prediction.software.conventions.name);
  text += answer::efficiency_words(prediction.software) + "\n\n";
  text += table_of(prediction);
  text += fusion_text(prediction.job, estimate);
  text += fmt::format("\niteration       {}\n", answer::seconds_text(estimate.iteration_seconds));
  text += fmt::format("throughput      {:.2f} samples/s, {:.0f} tokens/s/GPU\n", estimate.samples_per_second, estimate.tokens_per_second);
  text += fmt::format("cost            {:.2f} GPU-hours{}\n", estimate.gpu_hours,
                      estimate.price ? fmt::format(", {:.2f} at the cluster's price", *estimate.price) : "");
  text += profile_text(prediction.job, prediction.software.profile.name, prediction.profile_uses);
  if (!estimate.fits()) text += "*: does not fit; see dovetail fit\n";
  if (estimate.fit() == predict::Fit::tight)
    text += fmt::format("~: tight: less is left than plans leave, {}\n",
                        answer::margin_words(predict::scenario_of(prediction.job, prediction.software)));
  return text;
}

answer::Json to_json(const Prediction& prediction) {
  const predict::Estimate& estimate = prediction.estimate;
  answer::Json object{{"format", "dovetail/estimate@1"},
                      {"job", prediction.job.name},
                      {"placement", prediction.plan.placement},
                      {"efficiency", prediction.software.efficiency.name},
                      {"conventions", prediction.software.conventions.name},
                      {"fits", estimate.fits()},
                      {"iteration_seconds", answer::json_seconds(estimate.iteration_seconds)},
                      {"samples_per_second", answer::json_ratio(estimate.samples_per_second)},
                      {"tokens_per_second_and_device", answer::json_ratio(estimate.tokens_per_second)},
                      {"gpu_hours", answer::json_ratio(estimate.gpu_hours)},
                      {"steps", answer::Json::array()}};
  add_efficiency_reason(prediction.software, object);
  add_verdict(estimate.fit(), object);
  if (prediction.plan.fusion.any()) object["fusion"] = fusion_json(prediction.job, estimate);
  if (estimate.price) object["price"] = answer::json_ratio(*estimate.price);
  if (!prediction.profile_uses.empty())
    object["profile"] = profile_json(prediction.job, prediction.software.profile.name, prediction.profile_uses);
  for (std::size_t index = 0; index < estimate.graph.activities.size(); ++index) {
    const Activity& activity = estimate.graph.activities[index];
    answer::Json entry{{"step", name_of(prediction, activity)},
                       {"begin", answer::json_seconds(begin_of(estimate, index))},
                       {"seconds", answer::json_seconds(estimate.activities[index].seconds)}};
    if (activity.within) entry["within"] = prediction.job.workflow.tasks[*activity.within].name;
    entry["parts"] = answer::Json::array();
    for (const predict::SecondsPart& part : estimate.activities[index].parts)
      entry["parts"].push_back(answer::Json{{"name", part.name}, {"seconds", answer::json_seconds(part.seconds)}});
    if (const predict::TaskMemory& memory = estimate.memory[activity.task]; activity.kind == Activity::Kind::task && memory.usable > 0)
      entry["device_memory"] =
          answer::Json{{"bytes", memory.needed()}, {"usable", memory.usable}, {"device", memory.device}, {"host_bytes", memory.host}};
    object["steps"].push_back(std::move(entry));
  }
  return object;
}

}  // namespace dovetail::cli
