#include <utility>

#include "answer/plans/plan_json.h"
#include "answer/question/json.h"
#include "answer/runs/sweep.h"
#include "planner/advice/fit.h"

namespace dovetail::answer {
namespace {

using study::Sweep;
using study::SweepFigures;
using study::SweepPoint;

Json point_json(const SweepAnswer& answer, const SweepPoint& point) {
  Json entry{{"label", label_of(answer.sweep, point)}};
  if (point.value) entry["value"] = json_ratio(*point.value);
  if (!point.figures) {
    entry["problem"] = point.problem;
    return entry;
  }
  const SweepFigures& figures = *point.figures;
  entry["iteration_seconds"] = json_seconds(figures.iteration_seconds);
  if (const auto& played = figures.simulated)
    entry["simulated"] = Json{{"mean_seconds", json_seconds(played->mean)},
                              {"least_seconds", json_seconds(played->least)},
                              {"most_seconds", json_seconds(played->most)}};
  if (const auto& moved = figures.migrations)
    entry["migration"] = Json{{"draws", moved->migrating},
                              {"samples", json_ratio(moved->samples)},
                              {"instances", json_ratio(moved->instances)}};
  entry["samples_per_second"] = json_ratio(figures.samples_per_second);
  entry["tokens_per_second_and_device"] = json_ratio(figures.tokens_per_second);
  entry["gpu_hours"] = json_ratio(figures.gpu_hours);
  if (figures.price) entry["price"] = json_ratio(*figures.price);
  entry["fits"] = figures.fits();
  add_verdict(figures.fit, entry);
  entry["device_memory"] = Json{{"task", answer.scenario.job.workflow.tasks[figures.fullest].name},
                                {"device", figures.device},
                                {"bytes", figures.needed},
                                {"usable", figures.usable}};
  if (!figures.fits()) entry["missing_bytes"] = figures.missing;
  if (!answer.plan) {
    entry["placement"] = point.plan.placement;
    plan::Job there = answer.scenario.job;
    there.cluster = planner::with_nodes(there.cluster, static_cast<int>(*point.value));
    add_plan(there, point.plan, entry);
  }
  return entry;
}

}  // namespace

std::string to_json(const SweepAnswer& answer) {
  const Sweep& sweep = answer.sweep;
  Json object{{"format", "dovetail/sweep@2"},
              {"job", answer.scenario.job.name},
              {"over", base::enum_name(sweep.over)},
              {"values_are", study::axis_name(sweep.over)},
              {"efficiency", answer.scenario.software.efficiency.name},
              {"conventions", answer.scenario.software.conventions.name},
              {"complete", sweep.complete},
              {"points", Json::array()}};
  add_efficiency_reason(answer.scenario.software, object);
  add_not_modelled(answer.scenario.job.not_modelled, object);
  if (answer.plan) {
    object["placement"] = answer.plan->placement;
    add_plan(answer.scenario.job, *answer.plan, object);
  }
  if (sweep.cap) object["cap"] = *sweep.cap;
  for (const SweepPoint& point : sweep.points) object["points"].push_back(point_json(answer, point));
  if (sweep.own) object["own"] = *sweep.own;
  if (sweep.fastest) object["fastest"] = *sweep.fastest;
  if (sweep.cheapest) object["cheapest"] = *sweep.cheapest;
  if (sweep.overflow) object["overflow"] = *sweep.overflow;
  return json_text(object);
}

}  // namespace dovetail::answer
