#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/plans/plan_output.h"
#include "answer/question/json.h"
#include "answer/runs/simulation.h"
#include "answer/text/figures.h"
#include "answer/text/plan_text.h"
#include "answer/text/software_text.h"
#include "answer/text/text.h"
#include "cluster/cluster.h"
#include "planner/advice/changes.h"
#include "simulate/trace.h"
#include "timeline/timeline.h"

namespace dovetail::answer {
namespace {

using simulate::Lane;
using simulate::Use;
using timeline::device_ranges;

/// Name of the task; empty if `task` is negative.
std::string task_name(const SimulationAnswer& answer, std::int32_t task) {
  return task < 0 ? "" : answer.scenario.job.workflow.tasks[static_cast<std::size_t>(task)].name;
}

/// Bytes of memory that a process can allocate on each of the lane's devices.
std::int64_t usable_memory(const SimulationAnswer& answer, const simulate::Lane& lane) {
  return cluster::gpu_of(answer.scenario.job.cluster, base::DeviceId(lane.devices.front())).usable_memory;
}

/// Seconds per device.
double mean_seconds(const SimulationAnswer& answer, base::Ticks of_all) {
  return base::seconds_of_ticks(of_all) / cluster::device_count(answer.scenario.job.cluster);
}

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
             {"played", variant.is_simulated_plan},
             {"fits", variant.fits()}});
    add_fit(variant.fit, variants.back());
  }
  return variants;
}

/// The answer without its devices.
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
  add_fit(simulation.closed.fit(), object);
  add_plan(answer.scenario.job, answer.plan, object);
  if (answer.bound) object["bound_seconds"] = json_ratio(*answer.bound);
  object["draws"] = Json::array();
  for (const double seconds : simulation.draws) object["draws"].push_back(json_simulated(seconds));
  object["steady"] = simulation.iteration.steady;
  object["iterations_played"] = simulation.iteration.simulated;
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

Table steps_table(const SimulationAnswer& answer) {
  std::vector<std::vector<std::string>> rows;
  for (const ActivityLine& line : activity_lines(answer.scenario, answer.plan, answer.simulation))
    rows.push_back({line.name, line.devices, seconds_text(line.begin), seconds_text(line.simulated),
                    seconds_text(line.closed), difference_text(line.simulated, line.closed)});
  return Table{
      {{"activity", Align::left}, {"devices", Align::left}, {"start"}, {"simulated"}, {"analytical"}, {"difference"}},
      rows};
}

/// Name of a use of a device, without its task.
std::string use_name(const Use& use) {
  if (simulate::is_idle(use.bar_kind) && use.task < 0) return "no activity";
  return std::string(simulate::name_of(use.bar_kind));
}

/// Work or idle time by kind, largest first, in seconds per device.
Table uses_table(const SimulationAnswer& answer, bool idle) {
  std::vector<Use> uses = simulate::uses_of(answer.simulation.iteration.trace);
  std::erase_if(uses, [idle](const Use& use) { return simulate::is_idle(use.bar_kind) != idle; });
  std::stable_sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.time > b.time; });
  const double devices = cluster::device_count(answer.scenario.job.cluster);
  const double iterations = static_cast<double>(answer.simulation.iteration.iterations);
  const double all = base::seconds_of_ticks(answer.simulation.iteration.trace.end);
  std::vector<std::vector<std::string>> rows;
  for (const Use& use : uses) {
    const double mean = base::seconds_of_ticks(use.time) / devices;
    rows.push_back({use_name(use), task_name(answer, use.task), seconds_text(mean / iterations), percent(mean / all)});
  }
  return Table{{{idle ? "idle" : "work", Align::left}, {"task", Align::left}, {"per device"}, {"share"}}, rows};
}

/// "bubble 3.1%, long tail 1.2%": causes of a lane's idle time, largest first.
std::string idle_text(const Lane& lane, base::Ticks end) {
  std::vector<Use> sums;
  for (const Use& use : simulate::uses_of(lane)) {
    if (!simulate::is_idle(use.bar_kind)) continue;
    const auto known =
        std::find_if(sums.begin(), sums.end(), [&](const Use& sum) { return use_name(sum) == use_name(use); });
    if (known == sums.end())
      sums.push_back(use);
    else
      known->time += use.time;
  }
  std::stable_sort(sums.begin(), sums.end(), [](const Use& a, const Use& b) { return a.time > b.time; });
  std::vector<std::string> texts;
  for (const Use& sum : sums)
    if (const double share = base::seconds_of_ticks(sum.time) / base::seconds_of_ticks(end); share >= 0.0005)
      texts.push_back(fmt::format("{} {}", use_name(sum), percent(share)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Groups of devices, most idle first.
Sections lanes_table(const SimulationAnswer& answer) {
  const simulate::Trace& trace = answer.simulation.iteration.trace;
  std::vector<const Lane*> lanes;
  for (const Lane& lane : trace.lanes) lanes.push_back(&lane);
  const auto idle = [](const Lane* lane) { return simulate::idle_time(simulate::uses_of(*lane)); };
  std::stable_sort(lanes.begin(), lanes.end(), [&](const Lane* a, const Lane* b) { return idle(a) > idle(b); });
  constexpr std::size_t shown = 6;
  std::vector<std::vector<std::string>> rows;
  for (const Lane* lane : lanes) {
    if (rows.size() == shown) break;
    rows.push_back({device_ranges(lane->devices),
                    percent(base::seconds_of_ticks(idle(lane)) / base::seconds_of_ticks(trace.end)),
                    idle_text(*lane, trace.end), gibibytes(simulate::peak_of(*lane).second),
                    gibibytes(usable_memory(answer, *lane))});
  }
  Sections text =
      Table{{{"devices", Align::left}, {"idle"}, {"causes", Align::left}, {"peak memory"}, {"usable"}}, rows};
  if (lanes.size() > shown) text += fmt::format("and {} more\n", lanes.size() - shown);
  return text;
}

Sections variants_table(const SimulationAnswer& answer) {
  if (answer.variants.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const study::FusionVariant& variant : answer.variants)
    rows.push_back({std::string(base::enum_name(variant.mode)) + (variant.is_simulated_plan ? " *" : ""),
                    seconds_text(variant.seconds),
                    fmt::format("{:.2f}x", answer.variants.front().seconds / variant.seconds),
                    seconds_text(mean_seconds(answer, simulate::idle_time(variant.uses))),
                    seconds_text(mean_seconds(answer, simulate::time_of(variant.uses, simulate::BarKind::hand_over))),
                    std::string(short_name(variant.fit))});
  const bool drawn = answer.simulation.draws.size() > 1;
  const std::string less = less_fusion_text(answer.variants);
  return fmt::format("\nGains of stage fusion (*: the plan above), with idle and hand-over time per device{}:\n",
                     drawn ? "; iteration and speed: mean of the draws; idle and hand-over: first draw" : "") +
         Table{{{"fused", Align::left}, {"iteration"}, {"speed"}, {"idle"}, {"hand-over"}, {"fits", Align::left}},
               rows} +
         less + (less.empty() ? "" : "\n");
}

std::string training_text(const SimulationAnswer& answer) {
  if (!answer.simulation.training) return "";
  const predict::FusedTraining& training = *answer.simulation.training;
  const base::Ticks fused = training.trace.end;
  return fmt::format(
      "\nfused training  {}; lower bound {}; in sequence {}\n                overlap across mini-batches saves {}; "
      "without it {}\n",
      seconds_text(base::seconds_of_ticks(fused)), seconds_text(base::seconds_of_ticks(training.bound)),
      seconds_text(base::seconds_of_ticks(training.apart)),
      seconds_text(base::seconds_of_ticks(training.mini_by_mini - fused)),
      seconds_text(base::seconds_of_ticks(training.mini_by_mini)));
}

std::string iteration_text(const SimulationAnswer& answer) {
  const predict::Simulation& simulation = answer.simulation;
  const double closed = answer.simulation.closed.iteration_seconds;
  std::string text;
  if (!simulation.closed.fits())
    text = fmt::format("memory          does not fit: {}; see dovetail fit. The figures below ignore this.\n",
                       missing_text(simulation.closed.memory));
  text += fmt::format("iteration       {} simulated; {} analytical ({})\n", seconds_text(simulation.iteration_seconds),
                      seconds_text(closed), difference_text(simulation.iteration_seconds, closed));
  if (answer.bound)
    text += fmt::format("lower bound     {1}{0} (analytical model)\n",
                        answer.plan.fusion.any() ? " for plans with no more fusion than this one" : "",
                        seconds_text(*answer.bound));
  const auto [least, most] = std::minmax_element(simulation.draws.begin(), simulation.draws.end());
  text += fmt::format("lengths         {} (seed {}): {} to {}",
                      counted(static_cast<std::int64_t>(simulation.draws.size()), "draw"), answer.seed,
                      seconds_text(*least), seconds_text(*most));
  if (simulation.draws.size() > 1)
    text += fmt::format("; activities, times and memory below are of the first draw ({})",
                        seconds_text(simulation.draws.front()));
  text += "\n";
  const simulate::Iteration& iteration = simulation.iteration;
  if (iteration.steady)
    text += fmt::format(
        "steady state    reached after {}: {}\n", counted(static_cast<std::int64_t>(iteration.simulated), "iteration"),
        iteration.iterations == 1 ? "each later one repeats the previous one"
                                  : fmt::format("later ones repeat in cycles of {}", iteration.iterations));
  else
    text += fmt::format("steady state    none after {}; the figures below cover the second half of them\n",
                        counted(static_cast<std::int64_t>(iteration.simulated), "iteration"));
  return text;
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

Sections sections(const SimulationAnswer& answer) {
  const plan::Job& job = answer.scenario.job;
  const predict::Software& software = answer.scenario.software;
  Sections all = job_line(job) + "\n" +
                 fmt::format("placement: {}; efficiencies: {}; memory model: {}\n", answer.plan.placement,
                             software.efficiency.name, software.conventions.name) +
                 efficiency_text(software) + "\n\n" + iteration_text(answer) + training_text(answer);
  if (answer.found) all += "\nPlan (the first one of dovetail plan):\n" + Sections(tasks_table(job, answer.plan));
  all += "\n" + Sections(steps_table(answer));
  all += "\nTime per device:\n" + Sections(uses_table(answer, false));
  all += "\n" + Sections(uses_table(answer, true));
  all +=
      "\nGroups of devices with the same activities, most idle first:\n" + lanes_table(answer) + variants_table(answer);
  for (const std::string& note : answer.notes) all += "\n" + note + "\n";
  return all + not_modelled_text(job.not_modelled);
}

}  // namespace dovetail::answer
