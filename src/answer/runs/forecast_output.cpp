#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "answer/plans/plan_output.h"
#include "answer/question/json.h"
#include "answer/runs/forecast.h"
#include "answer/text/figures.h"
#include "answer/text/plan_text.h"
#include "answer/text/software_text.h"
#include "answer/text/text.h"

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

/// Formats the duration of a run: "3.2 days", "5.1 h", "12 min".
std::string long_time(double seconds) {
  if (seconds >= 2 * 86400) return fmt::format("{:.1f} days", seconds / 86400);
  if (seconds >= 3600) return fmt::format("{:.1f} h", seconds / 3600);
  if (seconds >= 120) return fmt::format("{:.1f} min", seconds / 60);
  return seconds_text(seconds);
}

double gpu_hours(const ForecastAnswer& answer, double seconds) {
  return seconds * cluster::device_count(answer.scenario.job.cluster) / 3600;
}

std::string cost_text(const ForecastAnswer& answer, double seconds) {
  const double hours = gpu_hours(answer, seconds);
  const std::optional<double>& price = answer.scenario.job.cluster.price;
  return fmt::format("{:.1f} GPU-hours{}", hours,
                     price ? fmt::format(", {:.2f} at the cluster's price", hours * *price) : "");
}

std::string sums_text(const ForecastAnswer& answer) {
  const Forecast& forecast = answer.forecast;
  std::string text =
      fmt::format("wall-clock      {} for {}\n", long_time(forecast.seconds), counted(forecast.steps, "step"));
  text += fmt::format("cost            {}\n", cost_text(answer, forecast.seconds));
  if (forecast.pause_seconds > 0)
    text += fmt::format("pauses          {} of the wall-clock time\n", long_time(forecast.pause_seconds));
  if (forecast.restart_seconds > 0)
    text += fmt::format("plan switches   {} of the wall-clock time\n", long_time(forecast.restart_seconds));
  return text;
}

std::string found_text(const ForecastPlan& plan) {
  return plan.found_at ? fmt::format("found for step {}", *plan.found_at) : "given";
}

/// Reason why the run switches to the plan of span `index`.
std::string reason_of(const Forecast& forecast, std::size_t index) {
  if (index == 0) return "";
  const std::string before = plan_letter(forecast.spans[index - 1].plan);
  const std::optional<double>& saved = forecast.spans[index].saved;
  return saved ? fmt::format("faster than {}, saves {}", before, long_time(*saved))
               : fmt::format("{} no longer fits", before);
}

Table spans_table(const ForecastAnswer& answer) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t index = 0; index < answer.forecast.spans.size(); ++index) {
    const ForecastSpan& span = answer.forecast.spans[index];
    const ForecastPlan& plan = answer.forecast.plans[span.plan];
    rows.push_back({fmt::format("{}-{}", span.first, span.last), plan_letter(span.plan), plan.plan.placement,
                    found_text(plan), seconds_text(span.first_seconds), seconds_text(span.last_seconds),
                    long_time(span.seconds), fmt::format("{:.1f}", gpu_hours(answer, span.seconds)),
                    reason_of(answer.forecast, index)});
  }
  return Table{{{"steps", Align::left},
                {"plan", Align::left},
                {"placement", Align::left},
                {"", Align::left},
                {"first iteration"},
                {"last iteration"},
                {"total"},
                {"GPU-h"},
                {"reason", Align::left}},
               rows};
}

Table points_table(const ForecastAnswer& answer) {
  std::vector<std::vector<std::string>> rows;
  for (const ForecastPoint& point : answer.forecast.points)
    rows.push_back({std::to_string(point.step), fmt::format("{:.3g}x", point.factor), fmt::format("{:.0f}", point.mean),
                    answer.cap ? percent(point.at_cap) : "-", plan_letter(point.plan), seconds_text(point.seconds),
                    gibibytes(point.margin), std::string(short_name(point.fit))});
  return Table{{{"step"},
                {"lengths"},
                {"mean tokens"},
                {"at the cap"},
                {"plan", Align::left},
                {"iteration"},
                {"margin"},
                {"fits", Align::left}},
               rows};
}

std::string overflow_text(const ForecastAnswer& answer, const Overflow& overflow) {
  const std::string& task = answer.scenario.job.workflow.tasks[overflow.task].name;
  const std::string when = overflow.step == 0 ? "it does not fit from the first step on"
                                              : fmt::format("it stops fitting at step {}", overflow.step);
  if (overflow.host)
    return fmt::format("{}: in {}, a node needs {} more than its {} of host memory", when, task,
                       gibibytes(overflow.needed - overflow.usable), gibibytes(overflow.usable));
  const std::string text =
      fmt::format("{}: {} needs {} more than the {} usable on device {}; {}: {}", when, task,
                  gibibytes(overflow.needed - overflow.usable), gibibytes(overflow.usable), overflow.device,
                  name_of(*overflow.part, answer.scenario.job.workflow), gibibytes(overflow.part->bytes));
  return overflow.step == 0 ? text : text + fmt::format(", {} more than at step 0", gibibytes(overflow.part_growth));
}

/// Outcome with the first plan alone.
std::string kept_text(const ForecastAnswer& answer) {
  const Forecast& forecast = answer.forecast;
  const bool alone = forecast.spans.size() == 1;
  if (forecast.overflow) return fmt::format("\nIf plan A is kept, {}.\n", overflow_text(answer, *forecast.overflow));
  if (alone || !forecast.kept_seconds) return "";
  return fmt::format("\nIf plan A is kept, it fits to the end and the run takes {}: {} more.\n",
                     long_time(*forecast.kept_seconds), long_time(*forecast.kept_seconds - forecast.seconds));
}

Sections plans_text(const ForecastAnswer& answer) {
  Sections text;
  for (std::size_t index = 0; index < answer.forecast.plans.size(); ++index) {
    const ForecastPlan& plan = answer.forecast.plans[index];
    text += fmt::format("\nPlan {}, {}:\n", plan_letter(index), found_text(plan)) +
            tasks_table(answer.scenario.job, plan.plan);
  }
  return text;
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

std::string plan_letter(std::size_t index) {
  const std::string letter(1, static_cast<char>('A' + index % 26));
  return index < 26 ? letter : letter + std::to_string(index / 26);
}

Sections sections(const ForecastAnswer& answer) {
  const plan::Job& job = answer.scenario.job;
  const Forecast& forecast = answer.forecast;
  Sections text =
      fmt::format("{}{}: {} on {}, {} of {} samples; mean prediction error {}\n{}\n\n", origin_line(job), job.name,
                  job.workflow.name, counted(cluster::device_count(job.cluster), "device"),
                  counted(answer.steps, "step"), job.workload.samples(),
                  percent(answer.scenario.software.efficiency.error), efficiency_text(answer.scenario.software));
  if (forecast.spans.empty()) {
    text += forecast.overflow ? "Plan A cannot run: " + overflow_text(answer, *forecast.overflow) + ".\n"
                              : "No plan fits.\n";
    return text + plans_text(answer) + not_modelled_text(job.not_modelled);
  }
  text += sums_text(answer) + "\n" + spans_table(answer) + kept_text(answer);
  if (forecast.steps < answer.steps)
    text += fmt::format("\nFrom step {} on, none of the compared plans fits.\n", forecast.steps);
  return text + "\nProgress of the run:\n" + Sections(points_table(answer)) + plans_text(answer) +
         not_modelled_text(job.not_modelled);
}

}  // namespace dovetail::answer
