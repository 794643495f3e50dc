#include "answer/plans/prediction.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "answer/plans/job_input.h"
#include "answer/plans/plan_output.h"
#include "answer/question/json.h"
#include "answer/text/figures.h"
#include "answer/text/plan_text.h"
#include "answer/text/software_text.h"
#include "base/assert.h"
#include "cluster/mesh.h"

namespace dovetail::answer {
namespace {

using plan::Activity;

Json activity_json(const PredictionAnswer& answer, std::size_t index) {
  const plan::Job& job = answer.scenario.job;
  const predict::Estimate& estimate = answer.estimate;
  const Activity& activity = estimate.graph.activities[index];
  Json object{{"step", activity_text(job, activity.kind, activity.task)},
              {"begin", json_seconds(begin_of_activity(estimate, index))},
              {"seconds", json_seconds(estimate.activities[index].seconds)}};
  if (activity.within) object["within"] = job.workflow.tasks[*activity.within].name;
  object["parts"] = Json::array();
  for (const predict::SecondsPart& part : estimate.activities[index].parts)
    object["parts"].push_back(Json{{"name", base::enum_name(part.of)}, {"seconds", json_seconds(part.seconds)}});
  if (const predict::TaskMemory& memory = estimate.memory[activity.task];
      activity.kind == Activity::Kind::task && memory.usable > 0)
    object["device_memory"] = Json{
        {"bytes", memory.needed()}, {"usable", memory.usable}, {"device", memory.device}, {"host_bytes", memory.host}};
  return object;
}

/// Parts with at least a twentieth of an activity's seconds.
std::string parts_text(const predict::ActivitySeconds& step) {
  std::vector<std::string> parts;
  for (const predict::SecondsPart& part : step.parts)
    if (part.seconds >= 0.05 * step.seconds && step.parts.size() > 1)
      parts.push_back(fmt::format("{} {}", base::enum_text(part.of), seconds_text(part.seconds)));
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
    rows.push_back({activity_text(job, activity.kind, activity.task),
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
                     efficiency_text(software));
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
      return fmt::format("~: tight, keeps less than the required margin of {}\n", margin_text(answer.scenario));
    case predict::Fit::does_not_fit:
      return "*: does not fit; see dovetail fit\n";
  }
  DOVETAIL_ASSERT(false);
}

}  // namespace

double begin_of_activity(const predict::Estimate& estimate, std::size_t activity) {
  const base::Ticks period = estimate.timing.period;
  const base::Ticks overhead = base::ticks_of_seconds(estimate.iteration_seconds) - period;
  return base::seconds_of_ticks(plan::with_overheads(estimate.timing.activities[activity].begin, period, overhead));
}

base::Result<PredictionAnswer> predict_plan(const JobInput& job, const std::optional<Input>& plan, bool fused,
                                            const Callbacks& callbacks) {
  DOVETAIL_TRY(LoadedJob loaded, load_job(job, plan, callbacks));
  if (!loaded.plan)
    return base::Error{base::Failure::bad_input, name_of(job), 0, 0,
                       "a job file holds no plan; add --plan, or give a trainer's configuration instead"};
  DOVETAIL_CHECK(notify_read(callbacks));
  const bool unfused = !fused && loaded.plan->fusion.any();
  if (unfused) loaded.plan->fusion = {};
  predict::Estimate estimate = predict::estimate(loaded.scenario, *loaded.plan);
  return PredictionAnswer{
      std::move(loaded.scenario), *std::move(loaded.plan), std::move(estimate), unfused, Outcome::done,
      std::move(loaded.imported)};
}

base::Result<PredictionAnswer> answer_to(const PredictionRequest& request, const Callbacks& callbacks) {
  DOVETAIL_TRY(PredictionAnswer answer, predict_plan(request.job, request.plan, true, callbacks));
  if (!answer.imported || answer.imported->has_response_lengths) return answer;
  answer.open_lengths = plan_at_shares(answer.scenario, answer.plan);
  answer.scenario = at_share_of_cap(answer.scenario, default_share);
  answer.estimate = predict::estimate(answer.scenario, answer.plan);
  return answer;
}

std::string to_json(const PredictionAnswer& answer) {
  const plan::Job& job = answer.scenario.job;
  const predict::Software& software = answer.scenario.software;
  const predict::Estimate& estimate = answer.estimate;
  Json object{{"format", "dovetail/estimate@1"},
              {"job", job.name},
              {"placement", answer.plan.placement},
              {"efficiency", software.efficiency.name},
              {"conventions", software.conventions.name},
              {"fits", estimate.fits()},
              {"iteration_seconds", json_seconds(estimate.iteration_seconds)},
              {"samples_per_second", json_ratio(estimate.samples_per_second)},
              {"tokens_per_second_and_device", json_ratio(estimate.tokens_per_second)},
              {"gpu_hours", json_ratio(estimate.gpu_hours)},
              {"steps", Json::array()}};
  add_efficiency_reason(software, object);
  add_not_modelled(job.not_modelled, object);
  add_fit(estimate.fit(), object);
  if (answer.plan.fusion.any()) object["fusion"] = fusion_json(job, estimate);
  if (estimate.price) object["price"] = json_ratio(*estimate.price);
  add_profile(answer.scenario, answer.plan, object);
  for (std::size_t index = 0; index < estimate.graph.activities.size(); ++index)
    object["steps"].push_back(activity_json(answer, index));
  if (answer.open_lengths) object["open_lengths"] = open_lengths_json(*answer.open_lengths);
  return json_text(object);
}

Sections sections(const PredictionAnswer& answer) {
  Sections all = heading(answer) + activities_table(answer) + fusion_text(answer.scenario.job, answer.estimate) +
                 costs_text(answer.estimate) + profile_text(answer.scenario, answer.plan) + fit_text(answer);
  if (answer.open_lengths) all += open_lengths_sections(*answer.open_lengths);
  return all + not_modelled_text(answer.scenario.job.not_modelled);
}

}  // namespace dovetail::answer
