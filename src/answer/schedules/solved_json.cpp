#include "answer/schedules/solved_json.h"

#include "answer/schedules/schedule_question.h"
#include "answer/text/figures.h"

namespace dovetail::answer {
namespace {

/// Minimum capacity of each device.
Json min_capacity_json(const pipeline::Problem& problem) {
  Json list = Json::array();
  for (const base::Memory capacity : min_capacities(problem)) list.push_back(json_memory(capacity));
  return list;
}

}  // namespace

Json solver_json(const pipeline::SolverRecord& solver) {
  Json object{{"name", solver.name}};
  if (solver.seed) object["seed"] = *solver.seed;
  if (solver.chains) object["chains"] = *solver.chains;
  if (solver.iterations) object["iterations"] = *solver.iterations;
  return object;
}

void add_question(const ScheduleQuestion& question, Json& object) {
  object["objective"] = base::enum_name(question.options.objective);
  if (question.options.deadline)
    object["deadline"] = json_time(*question.options.deadline, question.named.problem.time_unit);
  if (question.options.robustness_percent > 0) object["robust"] = question.options.robustness_percent;
}

void add_bounds(const ScheduleQuestion& question, Json& object) {
  object["bounds"] = Json{{"makespan", json_time(question.bounds.makespan, question.named.problem.time_unit)},
                          {"peak_activation", json_memory(question.bounds.peak_activation)}};
}

void add_excess(const pipeline::Problem& problem, const std::vector<pipeline::CapacityExcess>& excess, Json& object) {
  object["excess"] = excess_json(excess);
  object["smallest_capacity"] = min_capacity_json(problem);
}

Json excess_json(const std::vector<pipeline::CapacityExcess>& excess) {
  Json list = Json::array();
  for (const pipeline::CapacityExcess& device : excess) {
    list.push_back({{"device", device.device.value},
                    {"held", json_memory(device.peak)},
                    {"capacity", json_memory(device.capacity)},
                    {"excess", json_memory(device.peak - device.capacity)}});
  }
  return list;
}

Json variation_json(int thousandths, const fuse::Variation& variation, base::TimeUnit unit) {
  return {{"by", json_ratio(thousandths / 1000.0)},
          {"median", json_number(format_thousandths(variation.median_thousandths, unit))},
          {"percentile_95", json_number(format_thousandths(variation.percentile_95_thousandths, unit))}};
}

void add_timing(double seconds, double iterations_per_second, Json& object) {
  object["timing"] = Json{{"seconds", json_seconds(seconds)}};
  if (iterations_per_second > 0) object["timing"]["iterations_per_second"] = json_ratio(iterations_per_second);
}

std::string impossible_json(const ScheduleQuestion& question, const Impossible& impossible) {
  Json object{{"format", "dovetail/schedule-report@1"},
              {"problem", question.named.name},
              {"time_unit", base::name_of(question.named.problem.time_unit)}};
  add_question(question, object);
  object["fits"] = impossible.excess.empty();
  if (question.options.deadline) object["meets_deadline"] = !impossible.misses_deadline;
  object["impossible"] = true;
  if (!impossible.excess.empty()) add_excess(question.named.problem, impossible.excess, object);
  object["written"] = Json::array();
  return json_text(object);
}

}  // namespace dovetail::answer
