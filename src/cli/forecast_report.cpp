#include "cli/forecast_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "answer/question/json.h"
#include "answer/words/amounts.h"
#include "answer/words/figures.h"
#include "answer/words/software_words.h"
#include "answer/words/text.h"
#include "cli/job.h"
#include "cli/plan_words.h"
#include "cli/software_json.h"
#include "plan/plan_file.h"
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

using report::Align;
using study::Forecast;
using study::ForecastPlan;
using study::ForecastPoint;
using study::ForecastSpan;
using study::Overflow;

/// "3.2 days", "5.1 h", "12 min": of long runs.
std::string long_time(double seconds) {
  if (seconds >= 2 * 86400) return fmt::format("{:.1f} days", seconds / 86400);
  if (seconds >= 3600) return fmt::format("{:.1f} h", seconds / 3600);
  if (seconds >= 120) return fmt::format("{:.1f} min", seconds / 60);
  return answer::seconds_text(seconds);
}

double gpu_hours(const ForecastRun& run, double seconds) { return seconds * cluster::device_count(run.scenario.job.cluster) / 3600; }

std::string cost_text(const ForecastRun& run, double seconds) {
  const double hours = gpu_hours(run, seconds);
  const std::optional<double>& price = run.scenario.job.cluster.price;
  return fmt::format("{:.1f} GPU-hours{}", hours, price ? fmt::format(", {:.2f} at the cluster's price", hours * *price) : "");
}

std::string sums_text(const ForecastRun& run) {
  const Forecast& forecast = run.forecast;
  std::string text = fmt::format("wall-clock      {} for {}\n", long_time(forecast.seconds), answer::counted(forecast.steps, "step"));
  text += fmt::format("cost            {}\n", cost_text(run, forecast.seconds));
  if (forecast.pause_seconds > 0) text += fmt::format("of these        {} of pauses\n", long_time(forecast.pause_seconds));
  if (forecast.restart_seconds > 0) text += fmt::format("of these        {} to change plans\n", long_time(forecast.restart_seconds));
  return text;
}

std::string found_text(const ForecastPlan& plan) { return plan.found_at ? fmt::format("found for step {}", *plan.found_at) : "given"; }

/// Why a run changes to the plan of span `index`.
std::string reason_of(const Forecast& forecast, std::size_t index) {
  if (index == 0) return "";
  const std::string before = plan_letter(forecast.spans[index - 1].plan);
  const std::optional<double>& saved = forecast.spans[index].saved;
  return saved ? fmt::format("faster than {}, saves {}", before, long_time(*saved)) : fmt::format("{} fits no longer", before);
}

std::string spans_table(const ForecastRun& run) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t index = 0; index < run.forecast.spans.size(); ++index) {
    const ForecastSpan& span = run.forecast.spans[index];
    const ForecastPlan& plan = run.forecast.plans[span.plan];
    rows.push_back({fmt::format("{}-{}", span.first, span.last), plan_letter(span.plan), plan.plan.placement, found_text(plan),
                    answer::seconds_text(span.first_seconds), answer::seconds_text(span.last_seconds), long_time(span.seconds),
                    fmt::format("{:.1f}", gpu_hours(run, span.seconds)), reason_of(run.forecast, index)});
  }
  return report::render_table({{"steps", Align::left},
                               {"plan", Align::left},
                               {"placement", Align::left},
                               {"", Align::left},
                               {"a step first"},
                               {"and last"},
                               {"in all"},
                               {"GPU-h"},
                               {"because", Align::left}},
                              rows);
}

std::string points_table(const ForecastRun& run) {
  std::vector<std::vector<std::string>> rows;
  for (const ForecastPoint& point : run.forecast.points)
    rows.push_back({std::to_string(point.step), fmt::format("{:.3g}x", point.factor), fmt::format("{:.0f}", point.mean),
                    run.cap ? answer::percent(point.at_cap) : "-", plan_letter(point.plan), answer::seconds_text(point.seconds),
                    answer::gibibytes(point.margin)});
  return report::render_table({{"step"}, {"lengths"}, {"mean tokens"}, {"at the cap"}, {"plan", Align::left}, {"iteration"}, {"margin"}},
                              rows);
}

std::string overflow_text(const ForecastRun& run, const Overflow& overflow) {
  const std::string& task = run.scenario.job.workflow.tasks[overflow.task].name;
  const std::string when =
      overflow.step == 0 ? "it does not fit from the first step on" : fmt::format("it stops fitting at step {}", overflow.step);
  if (overflow.host)
    return fmt::format("{}: in {} a node holds {} more than its {} of host memory", when, task,
                       answer::gibibytes(overflow.needed - overflow.usable), answer::gibibytes(overflow.usable));
  const std::string text =
      fmt::format("{}: {} needs {} more than the {} of device {}; {} has {}", when, task,
                  answer::gibibytes(overflow.needed - overflow.usable), answer::gibibytes(overflow.usable), overflow.device,
                  name_of(*overflow.part, run.scenario.job.workflow), answer::gibibytes(overflow.part->bytes));
  return overflow.step == 0 ? text : text + fmt::format(", {} more than at step 0", answer::gibibytes(overflow.part_growth));
}

/// What would be with the first plan alone.
std::string kept_text(const ForecastRun& run) {
  const Forecast& forecast = run.forecast;
  const bool alone = forecast.spans.size() == 1;
  if (forecast.overflow) return fmt::format("\nIf plan A is kept, {}.\n", overflow_text(run, *forecast.overflow));
  if (alone || !forecast.kept_seconds) return "";
  return fmt::format("\nIf plan A is kept, it fits to the end, and the run takes {}: {} more.\n", long_time(*forecast.kept_seconds),
                     long_time(*forecast.kept_seconds - forecast.seconds));
}

std::string plans_text(const ForecastRun& run) {
  std::string text;
  for (std::size_t index = 0; index < run.forecast.plans.size(); ++index) {
    const ForecastPlan& plan = run.forecast.plans[index];
    text += fmt::format("\nPlan {}, {}:\n{}", plan_letter(index), found_text(plan), tasks_table(run.scenario.job, plan.plan));
  }
  return text;
}

answer::Json overflow_json(const ForecastRun& run, const Overflow& overflow) {
  answer::Json object{{"step", overflow.step},
                      {"task", run.scenario.job.workflow.tasks[overflow.task].name},
                      {"of", overflow.host ? "host" : "device"},
                      {"device", overflow.device},
                      {"bytes", overflow.needed},
                      {"usable", overflow.usable}};
  if (!overflow.host)
    object["part"] = answer::Json{{"name", name_of(*overflow.part, run.scenario.job.workflow)},
                                  {"bytes", overflow.part->bytes},
                                  {"growth_bytes", overflow.part_growth}};
  return object;
}

answer::Json spans_json(const ForecastRun& run) {
  answer::Json spans = answer::Json::array();
  for (const ForecastSpan& span : run.forecast.spans) {
    answer::Json entry{{"plan", plan_letter(span.plan)},
                       {"first_step", span.first},
                       {"last_step", span.last},
                       {"first_iteration_seconds", answer::json_seconds(span.first_seconds)},
                       {"last_iteration_seconds", answer::json_seconds(span.last_seconds)},
                       {"seconds", answer::json_seconds(span.seconds)}};
    if (span.saved) entry["saved_seconds"] = answer::json_seconds(*span.saved);
    spans.push_back(std::move(entry));
  }
  return spans;
}

answer::Json points_json(const ForecastRun& run) {
  answer::Json points = answer::Json::array();
  for (const ForecastPoint& point : run.forecast.points)
    points.push_back(answer::Json{{"step", point.step},
                                  {"factor", answer::json_ratio(point.factor)},
                                  {"mean_tokens", answer::json_ratio(point.mean)},
                                  {"at_cap", answer::json_ratio(point.at_cap)},
                                  {"plan", plan_letter(point.plan)},
                                  {"iteration_seconds", answer::json_seconds(point.seconds)},
                                  {"margin_bytes", point.margin}});
  return points;
}

}  // namespace

std::string plan_letter(std::size_t index) {
  const std::string letter(1, static_cast<char>('A' + index % 26));
  return index < 26 ? letter : letter + std::to_string(index / 26);
}

std::string to_text(const ForecastRun& run) {
  const plan::Job& job = run.scenario.job;
  const Forecast& forecast = run.forecast;
  std::string text =
      fmt::format("{}: {} on {}, {} of {} samples; model's error {}\n{}\n\n", job.name, job.workflow.name,
                  answer::counted(cluster::device_count(job.cluster), "device"), answer::counted(run.steps, "step"), job.workload.samples(),
                  answer::percent(run.scenario.software.efficiency.error), answer::efficiency_words(run.scenario.software));
  if (forecast.spans.empty()) {
    text += forecast.overflow ? "The plan does not fit: " + overflow_text(run, *forecast.overflow) + ".\n" : "No plan fits.\n";
    return text + plans_text(run);
  }
  text += sums_text(run) + "\n" + spans_table(run) + kept_text(run);
  if (forecast.steps < run.steps) text += fmt::format("\nFrom step {} on no plan that was compared fits.\n", forecast.steps);
  return text + "\nHow it goes:\n" + points_table(run) + plans_text(run);
}

answer::Json to_json(const ForecastRun& run) {
  const Forecast& forecast = run.forecast;
  const plan::Job& job = run.scenario.job;
  answer::Json object{{"format", "dovetail/forecast@1"},
                      {"job", job.name},
                      {"efficiency", run.scenario.software.efficiency.name},
                      {"error", answer::json_ratio(run.scenario.software.efficiency.error)},
                      {"conventions", run.scenario.software.conventions.name},
                      {"steps", run.steps},
                      {"fitting_steps", forecast.steps},
                      {"seconds", answer::json_seconds(forecast.seconds)},
                      {"pause_seconds", answer::json_seconds(forecast.pause_seconds)},
                      {"restart_seconds", answer::json_seconds(forecast.restart_seconds)},
                      {"gpu_hours", answer::json_ratio(forecast.gpu_hours)},
                      {"candidates", forecast.candidates},
                      {"steps_together", forecast.part},
                      {"schedule", spans_json(run)},
                      {"points", points_json(run)},
                      {"plans", answer::Json::array()}};
  add_efficiency_reason(run.scenario.software, object);
  if (forecast.price) object["price"] = answer::json_ratio(*forecast.price);
  if (run.cap) object["cap"] = *run.cap;
  if (forecast.kept_seconds) object["kept_seconds"] = answer::json_seconds(*forecast.kept_seconds);
  if (forecast.overflow) object["overflow"] = overflow_json(run, *forecast.overflow);
  for (std::size_t index = 0; index < forecast.plans.size(); ++index) {
    const ForecastPlan& plan = forecast.plans[index];
    answer::Json entry{{"name", plan_letter(index)}, {"plan", answer::Json::parse(plan::plan_to_json(plan.plan, job))}};
    if (plan.found_at) entry["found_at_step"] = *plan.found_at;
    object["plans"].push_back(std::move(entry));
  }
  return object;
}

}  // namespace dovetail::cli
