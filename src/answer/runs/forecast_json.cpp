#include <utility>

#include "answer/plans/plan_json.h"
#include "answer/question/json.h"
#include "answer/runs/forecast.h"

namespace dovetail::answer {
namespace {

using study::Forecast;
using study::ForecastPlan;
using study::ForecastPoint;
using study::ForecastSpan;
using study::Overflow;

Json overflow_json(const ForecastAnswer& answer, const Overflow& overflow) {
  Json object{{"step", overflow.step},
              {"task", answer.scenario.job.workflow.tasks[overflow.task].name},
              {"of", overflow.host ? "host" : "device"},
              {"device", overflow.device},
              {"bytes", overflow.needed},
              {"usable", overflow.usable}};
  if (!overflow.host)
    object["part"] = Json{{"name", name_of(*overflow.part, answer.scenario.job.workflow)},
                          {"bytes", overflow.part->bytes},
                          {"growth_bytes", overflow.part_growth}};
  return object;
}

Json spans_json(const ForecastAnswer& answer) {
  Json spans = Json::array();
  for (const ForecastSpan& span : answer.forecast.spans) {
    Json entry{{"plan", plan_letter(span.plan)},
               {"first_step", span.first},
               {"last_step", span.last},
               {"first_iteration_seconds", json_seconds(span.first_seconds)},
               {"last_iteration_seconds", json_seconds(span.last_seconds)},
               {"seconds", json_seconds(span.seconds)}};
    if (span.saved) entry["saved_seconds"] = json_seconds(*span.saved);
    spans.push_back(std::move(entry));
  }
  return spans;
}

Json points_json(const ForecastAnswer& answer) {
  Json points = Json::array();
  for (const ForecastPoint& point : answer.forecast.points)
    points.push_back(Json{{"step", point.step},
                          {"factor", json_ratio(point.factor)},
                          {"mean_tokens", json_ratio(point.mean)},
                          {"at_cap", json_ratio(point.at_cap)},
                          {"plan", plan_letter(point.plan)},
                          {"iteration_seconds", json_seconds(point.seconds)},
                          {"margin_bytes", point.margin},
                          {"verdict", name_of(point.fit)}});
  return points;
}

}  // namespace

std::string to_json(const ForecastAnswer& answer) {
  const Forecast& forecast = answer.forecast;
  const plan::Job& job = answer.scenario.job;
  Json object{{"format", "dovetail/forecast@1"},
              {"job", job.name},
              {"efficiency", answer.scenario.software.efficiency.name},
              {"error", json_ratio(answer.scenario.software.efficiency.error)},
              {"conventions", answer.scenario.software.conventions.name},
              {"steps", answer.steps},
              {"fitting_steps", forecast.steps},
              {"seconds", json_seconds(forecast.seconds)},
              {"pause_seconds", json_seconds(forecast.pause_seconds)},
              {"restart_seconds", json_seconds(forecast.restart_seconds)},
              {"gpu_hours", json_ratio(forecast.gpu_hours)},
              {"candidates", forecast.candidates},
              {"steps_together", forecast.part},
              {"schedule", spans_json(answer)},
              {"points", points_json(answer)},
              {"plans", Json::array()}};
  add_efficiency_reason(answer.scenario.software, object);
  add_not_modelled(job.not_modelled, object);
  if (forecast.price) object["price"] = json_ratio(*forecast.price);
  if (answer.cap) object["cap"] = *answer.cap;
  if (forecast.kept_seconds) object["kept_seconds"] = json_seconds(*forecast.kept_seconds);
  if (forecast.overflow) object["overflow"] = overflow_json(answer, *forecast.overflow);
  for (std::size_t index = 0; index < forecast.plans.size(); ++index) {
    const ForecastPlan& plan = forecast.plans[index];
    Json entry{{"name", plan_letter(index)}};
    add_plan(job, plan.plan, entry);
    if (plan.found_at) entry["found_at_step"] = *plan.found_at;
    object["plans"].push_back(std::move(entry));
  }
  return json_text(object);
}

}  // namespace dovetail::answer
