#include <utility>
#include <vector>

#include "answer/plans/plan_json.h"
#include "answer/question/json.h"
#include "answer/runs/activity_lines.h"
#include "answer/runs/simulation_figures.h"
#include "simulate/trace.h"
#include "timeline/timeline.h"

namespace dovetail::answer {
namespace {

using simulate::Lane;
using simulate::Use;
using timeline::device_ranges;

Json uses_json(const SimulationAnswer& answer, const std::vector<Use>& uses) {
  Json array = Json::array();
  for (const Use& use : uses) {
    Json entry{{"activity", simulate::name_of(use.bar_kind)}, {"idle", simulate::is_idle(use.bar_kind)}};
    if (use.task >= 0) entry["task"] = task_name(answer, use.task);
    entry["device_seconds"] = json_simulated(base::seconds_of_ticks(use.time));
    array.push_back(std::move(entry));
  }
  return array;
}

Json spans_json(const SimulationAnswer& answer, const Lane& lane) {
  Json spans = Json::array();
  for (const simulate::Span& span : lane.spans) {
    Json entry = Json::array();
    entry.push_back(span.begin.count());
    entry.push_back(span.end.count());
    entry.push_back(simulate::name_of(span.bar_kind));
    entry.push_back(task_name(answer, span.task));
    entry.push_back(span.amount);
    entry.push_back(span.launch.count());
    spans.push_back(std::move(entry));
  }
  return spans;
}

Json lane_json(const SimulationAnswer& answer, const Lane& lane, bool timeline) {
  const std::vector<Use> uses = simulate::uses_of(lane);
  Json object{{"devices", device_ranges(lane.devices)},
              {"busy_seconds", json_simulated(base::seconds_of_ticks(simulate::busy_time(uses)))},
              {"idle_seconds", json_simulated(base::seconds_of_ticks(simulate::idle_time(uses)))},
              {"peak_bytes", simulate::peak_of(lane).second},
              {"usable_bytes", usable_memory(answer, lane)},
              {"uses", uses_json(answer, uses)}};
  if (!timeline) return object;
  object["spans"] = spans_json(answer, lane);
  Json memory = Json::array();
  for (const auto& [time, bytes] : lane.memory) memory.push_back(Json::array({time.count(), bytes}));
  object["memory"] = std::move(memory);
  return object;
}

Json variants_json(const SimulationAnswer& answer) {
  Json variants = Json::array();
  for (const study::FusionVariant& variant : answer.variants) {
    variants.push_back(
        Json{{"fused", base::enum_name(variant.mode)},
             {"iteration_seconds", json_ratio(variant.seconds)},
             {"idle_seconds", json_ratio(mean_seconds(answer, simulate::idle_time(variant.uses)))},
             {"hand_over_seconds",
              json_ratio(mean_seconds(answer, simulate::time_of(variant.uses, simulate::BarKind::hand_over)))},
             {"played", variant.played},
             {"fits", variant.fits()}});
    add_verdict(variant.fit, variants.back());
  }
  return variants;
}

/// Everything except the devices.
Json head_json(const SimulationAnswer& answer) {
  const predict::Simulation& simulation = answer.simulation;
  Json object{{"format", "dovetail/simulation@1"},
              {"job", answer.scenario.job.name},
              {"placement", answer.plan.placement},
              {"efficiency", answer.scenario.software.efficiency.name},
              {"conventions", answer.scenario.software.conventions.name},
              {"fits", answer.simulation.closed.fits()},
              {"seed", answer.seed},
              {"iteration_seconds", json_simulated(simulation.iteration_seconds)},
              {"closed_form_seconds", json_ratio(answer.simulation.closed.iteration_seconds)}};
  add_efficiency_reason(answer.scenario.software, object);
  add_not_modelled(answer.scenario.job.not_modelled, object);
  add_verdict(simulation.closed.fit(), object);
  add_plan(answer.scenario.job, answer.plan, object);
  if (answer.bound) object["bound_seconds"] = json_ratio(*answer.bound);
  object["draws"] = Json::array();
  for (const double seconds : simulation.draws) object["draws"].push_back(json_simulated(seconds));
  object["steady"] = simulation.iteration.steady;
  object["iterations_played"] = simulation.iteration.played;
  object["iterations_shown"] = simulation.iteration.iterations;
  object["steps"] = Json::array();
  for (const ActivityLine& line : activity_lines(answer.scenario, answer.plan, answer.simulation))
    object["steps"].push_back(Json{{"step", line.name},
                                   {"begin", json_ratio(line.begin)},
                                   {"seconds", json_ratio(line.simulated)},
                                   {"closed_form_seconds", json_ratio(line.closed)}});
  object["uses"] = uses_json(answer, simulate::uses_of(simulation.iteration.trace));
  if (simulation.training)
    object["fused_training"] =
        Json{{"seconds", json_ratio(base::seconds_of_ticks(simulation.training->trace.end))},
             {"bound_seconds", json_ratio(base::seconds_of_ticks(simulation.training->bound))},
             {"apart_seconds", json_ratio(base::seconds_of_ticks(simulation.training->apart))},
             {"mini_by_mini_seconds", json_ratio(base::seconds_of_ticks(simulation.training->mini_by_mini))}};
  object["fusion"] = variants_json(answer);
  object["notes"] = answer.notes;
  return object;
}

Json devices_json(const SimulationAnswer& answer, bool timeline) {
  Json devices = Json::array();
  for (const Lane& lane : answer.simulation.iteration.trace.lanes) devices.push_back(lane_json(answer, lane, timeline));
  return devices;
}

}  // namespace

std::string to_json(const SimulationAnswer& answer) {
  Json object = head_json(answer);
  object["devices"] = devices_json(answer, false);
  return json_text(object);
}

std::string timeline_json(const SimulationAnswer& answer) {
  Json object = head_json(answer);
  object["span_columns"] = Json::array({"begin", "end", "activity", "task", "amount", "launch"});
  object["devices"] = devices_json(answer, true);
  const std::vector<Lane>& links = answer.simulation.iteration.trace.host_links;
  if (!links.empty()) object["host_links"] = Json::array();
  for (const Lane& lane : links)
    object["host_links"].push_back(Json{{"devices", device_ranges(lane.devices)}, {"spans", spans_json(answer, lane)}});
  return json_text(object);
}

}  // namespace dovetail::answer
