#include "cli/simulation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "answer/question/json.h"
#include "answer/words/amounts.h"
#include "answer/words/figures.h"
#include "answer/words/plan_words.h"
#include "answer/words/software_words.h"
#include "answer/words/text.h"
#include "cli/job.h"
#include "cli/plan_words.h"
#include "cli/software_json.h"
#include "cluster/cluster.h"
#include "cluster/mesh.h"
#include "planner/advice/changes.h"
#include "report/iteration/activity_lines.h"
#include "report/text/table.h"
#include "simulate/accounting.h"
#include "timeline/lane_names.h"

namespace dovetail::cli {
namespace {

using report::Align;
using report::difference_text;
using simulate::Lane;
using simulate::Use;
using timeline::device_ranges;

std::string task_name(const SimulatedPlan& simulated, std::int32_t task) {
  return task < 0 ? "" : simulated.scenario.job.workflow.tasks[static_cast<std::size_t>(task)].name;
}

std::vector<report::ActivityLine> activity_lines(const SimulatedPlan& simulated) {
  return report::activity_lines(simulated.scenario, simulated.plan, simulated.simulation);
}

std::string steps_table(const SimulatedPlan& simulated) {
  std::vector<std::vector<std::string>> rows;
  for (const report::ActivityLine& line : activity_lines(simulated))
    rows.push_back({line.name, line.devices, answer::seconds_text(line.begin), answer::seconds_text(line.simulated),
                    answer::seconds_text(line.closed), difference_text(line.simulated, line.closed)});
  return report::render_table({{"step", Align::left}, {"devices", Align::left}, {"begins"}, {"simulated"}, {"closed form"}, {"difference"}},
                              rows);
}

/// What a use is called, whatever its task.
std::string use_name(const Use& use) {
  if (simulate::is_idle(use.bar_kind) && use.task < 0) return "no step is there";
  return std::string(simulate::name_of(use.bar_kind));
}

/// Uses of one kind, the largest first, as seconds of the average device.
std::string uses_table(const SimulatedPlan& simulated, bool idle) {
  std::vector<Use> uses = simulate::uses_of(simulated.simulation.iteration.trace);
  std::erase_if(uses, [idle](const Use& use) { return simulate::is_idle(use.bar_kind) != idle; });
  std::stable_sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.time > b.time; });
  const double devices = cluster::device_count(simulated.scenario.job.cluster);
  const double iterations = static_cast<double>(simulated.simulation.iteration.iterations);
  const double all = base::seconds_of_ticks(simulated.simulation.iteration.trace.end);
  std::vector<std::vector<std::string>> rows;
  for (const Use& use : uses) {
    const double mean = base::seconds_of_ticks(use.time) / devices;
    rows.push_back({use_name(use), task_name(simulated, use.task), answer::seconds_text(mean / iterations), answer::percent(mean / all)});
  }
  return report::render_table({{idle ? "idle" : "work", Align::left}, {idle ? "in, or for" : "of", Align::left}, {"a device"}, {"share"}},
                              rows);
}

/// "bubble 3.1%, long tail 1.2%": what a lane idles with, the most first.
std::string idle_text(const Lane& lane, base::Ticks end) {
  std::vector<Use> sums;
  for (const Use& use : simulate::uses_of(lane)) {
    if (!simulate::is_idle(use.bar_kind)) continue;
    const auto known = std::find_if(sums.begin(), sums.end(), [&](const Use& sum) { return use_name(sum) == use_name(use); });
    if (known == sums.end())
      sums.push_back(use);
    else
      known->time += use.time;
  }
  std::stable_sort(sums.begin(), sums.end(), [](const Use& a, const Use& b) { return a.time > b.time; });
  std::vector<std::string> texts;
  for (const Use& sum : sums)
    if (const double share = base::seconds_of_ticks(sum.time) / base::seconds_of_ticks(end); share >= 0.0005)
      texts.push_back(fmt::format("{} {}", use_name(sum), answer::percent(share)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::int64_t usable_of(const SimulatedPlan& simulated, const Lane& lane) {
  return cluster::gpu_of(simulated.scenario.job.cluster, base::DeviceId(lane.devices.front())).usable_memory;
}

/// Device classes, the idlest first.
std::string lanes_table(const SimulatedPlan& simulated) {
  const simulate::Trace& trace = simulated.simulation.iteration.trace;
  std::vector<const Lane*> lanes;
  for (const Lane& lane : trace.lanes) lanes.push_back(&lane);
  const auto idle = [](const Lane* lane) { return simulate::idle_time(simulate::uses_of(*lane)); };
  std::stable_sort(lanes.begin(), lanes.end(), [&](const Lane* a, const Lane* b) { return idle(a) > idle(b); });
  constexpr std::size_t shown = 6;
  std::vector<std::vector<std::string>> rows;
  for (const Lane* lane : lanes) {
    if (rows.size() == shown) break;
    rows.push_back({device_ranges(lane->devices), answer::percent(base::seconds_of_ticks(idle(lane)) / base::seconds_of_ticks(trace.end)),
                    idle_text(*lane, trace.end), answer::gibibytes(simulate::peak_of(*lane).second),
                    answer::gibibytes(usable_of(simulated, *lane))});
  }
  std::string text =
      report::render_table({{"devices", Align::left}, {"idle"}, {"of it", Align::left}, {"most memory used"}, {"usable"}}, rows);
  if (lanes.size() > shown) text += fmt::format("and {} more\n", lanes.size() - shown);
  return text;
}

/// Seconds of the average device.
double mean_seconds(const SimulatedPlan& simulated, base::Ticks of_all) {
  return base::seconds_of_ticks(of_all) / cluster::device_count(simulated.scenario.job.cluster);
}

std::string variants_table(const SimulatedPlan& simulated) {
  if (simulated.variants.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const study::FusionVariant& variant : simulated.variants)
    rows.push_back({std::string(base::enum_name(variant.mode)) + (variant.played ? " *" : ""), answer::seconds_text(variant.seconds),
                    fmt::format("{:.2f}x", simulated.variants.front().seconds / variant.seconds),
                    answer::seconds_text(mean_seconds(simulated, simulate::idle_time(variant.uses))),
                    answer::seconds_text(mean_seconds(simulated, simulate::time_of(variant.uses, simulate::BarKind::hand_over))),
                    variant.fits ? "yes" : "NO"});
  const bool drawn = simulated.simulation.draws.size() > 1;
  const std::string less = answer::less_fusion_words(simulated.variants);
  return fmt::format("\nWhat stage fusion gains (*: the plan above), with the idle time and the hand-over of the average device{}:\n",
                     drawn ? "; iterations are means of the draws, the others are of the first" : "") +
         report::render_table({{"fused", Align::left}, {"iteration"}, {"speed"}, {"idle"}, {"hand-over"}, {"fits", Align::left}}, rows) +
         less + (less.empty() ? "" : "\n");
}

std::string training_text(const SimulatedPlan& simulated) {
  if (!simulated.simulation.training) return "";
  const predict::FusedTraining& training = *simulated.simulation.training;
  const base::Ticks fused = training.trace.end;
  return fmt::format(
      "\nfused training  {}; no schedule of both takes less than {} (proven); one after the other {}\n"
      "                drifting across the borders of mini-batches takes {} off: each pair fused by itself takes {}\n",
      answer::seconds_text(base::seconds_of_ticks(fused)), answer::seconds_text(base::seconds_of_ticks(training.bound)),
      answer::seconds_text(base::seconds_of_ticks(training.apart)),
      answer::seconds_text(base::seconds_of_ticks(training.mini_by_mini - fused)),
      answer::seconds_text(base::seconds_of_ticks(training.mini_by_mini)));
}

std::string iteration_text(const SimulatedPlan& simulated) {
  const predict::Simulation& simulation = simulated.simulation;
  const double closed = simulated.simulation.closed.iteration_seconds;
  std::string text;
  if (!simulation.closed.fits())
    text = fmt::format("memory          it does not fit: {}; dovetail fit says more. What follows is as if it did.\n",
                       answer::missing_words(simulation.closed.memory));
  text += fmt::format("iteration       {} simulated; {} by the closed form ({})\n", answer::seconds_text(simulation.iteration_seconds),
                      answer::seconds_text(closed), difference_text(simulation.iteration_seconds, closed));
  if (simulated.bound)
    text += fmt::format(
        "bound           no plan of the meshes, layouts and settings looked at{} takes less than {} (proven of the closed form)\n",
        simulated.plan.fusion.any() ? " that fuses no more" : "", answer::seconds_text(*simulated.bound));
  const auto [least, most] = std::minmax_element(simulation.draws.begin(), simulation.draws.end());
  text += fmt::format("lengths         {} (seed {}): {} to {}", answer::counted(static_cast<std::int64_t>(simulation.draws.size()), "draw"),
                      simulated.seed, answer::seconds_text(*least), answer::seconds_text(*most));
  if (simulation.draws.size() > 1)
    text += fmt::format("; steps, times and memory below are of the first, {}", answer::seconds_text(simulation.draws.front()));
  text += "\n";
  const simulate::Iteration& iteration = simulation.iteration;
  if (iteration.steady)
    text += fmt::format("steady state    {} after {}\n",
                        iteration.iterations == 1
                            ? "each iteration is like the one before"
                            : answer::counted(static_cast<std::int64_t>(iteration.iterations), "iteration") + " in turn repeat",
                        answer::counted(static_cast<std::int64_t>(iteration.played), "iteration"));
  else
    text += fmt::format("steady state    none after {}: what follows is of the later half\n",
                        answer::counted(static_cast<std::int64_t>(iteration.played), "iteration"));
  return text;
}

answer::Json uses_json(const SimulatedPlan& simulated, const std::vector<Use>& uses) {
  answer::Json array = answer::Json::array();
  for (const Use& use : uses) {
    answer::Json entry{{"activity", simulate::name_of(use.bar_kind)}, {"idle", simulate::is_idle(use.bar_kind)}};
    if (use.task >= 0) entry["task"] = task_name(simulated, use.task);
    entry["device_seconds"] = answer::json_simulated(base::seconds_of_ticks(use.time));
    array.push_back(std::move(entry));
  }
  return array;
}

answer::Json spans_json(const SimulatedPlan& simulated, const Lane& lane) {
  answer::Json spans = answer::Json::array();
  for (const simulate::Span& span : lane.spans) {
    answer::Json entry = answer::Json::array();
    entry.push_back(span.begin.count());
    entry.push_back(span.end.count());
    entry.push_back(simulate::name_of(span.bar_kind));
    entry.push_back(task_name(simulated, span.task));
    entry.push_back(span.amount);
    entry.push_back(span.launch.count());
    spans.push_back(std::move(entry));
  }
  return spans;
}

answer::Json lane_json(const SimulatedPlan& simulated, const Lane& lane, bool timeline) {
  const std::vector<Use> uses = simulate::uses_of(lane);
  answer::Json object{{"devices", device_ranges(lane.devices)},
                      {"busy_seconds", answer::json_simulated(base::seconds_of_ticks(simulate::busy_time(uses)))},
                      {"idle_seconds", answer::json_simulated(base::seconds_of_ticks(simulate::idle_time(uses)))},
                      {"peak_bytes", simulate::peak_of(lane).second},
                      {"usable_bytes", usable_of(simulated, lane)},
                      {"uses", uses_json(simulated, uses)}};
  if (!timeline) return object;
  object["spans"] = spans_json(simulated, lane);
  answer::Json memory = answer::Json::array();
  for (const auto& [time, bytes] : lane.memory) memory.push_back(answer::Json::array({time.count(), bytes}));
  object["memory"] = std::move(memory);
  return object;
}

answer::Json variants_json(const SimulatedPlan& simulated) {
  answer::Json variants = answer::Json::array();
  for (const study::FusionVariant& variant : simulated.variants)
    variants.push_back(answer::Json{
        {"fused", base::enum_name(variant.mode)},
        {"iteration_seconds", answer::json_ratio(variant.seconds)},
        {"idle_seconds", answer::json_ratio(mean_seconds(simulated, simulate::idle_time(variant.uses)))},
        {"hand_over_seconds", answer::json_ratio(mean_seconds(simulated, simulate::time_of(variant.uses, simulate::BarKind::hand_over)))},
        {"played", variant.played},
        {"fits", variant.fits}});
  return variants;
}

}  // namespace

std::string to_text(const SimulatedPlan& simulated) {
  const plan::Job& job = simulated.scenario.job;
  const predict::Software& software = simulated.scenario.software;
  std::string text = answer::job_line(job) + "\n";
  text += fmt::format("placement: {}; efficiencies: {}; memory as {}\n", simulated.plan.placement, software.efficiency.name,
                      software.conventions.name);
  text += answer::efficiency_words(software) + "\n\n";
  text += iteration_text(simulated);
  text += training_text(simulated);
  if (simulated.found) text += "\nThe plan, the first that dovetail plan finds:\n" + tasks_table(job, simulated.plan);
  text += "\n" + steps_table(simulated);
  text += "\nWhere the time of the average device goes:\n" + uses_table(simulated, false);
  text += "\n" + uses_table(simulated, true);
  text += "\nDevices that do the same, the idlest first:\n" + lanes_table(simulated);
  text += variants_table(simulated);
  for (const std::string& note : simulated.notes) text += "\n" + note + "\n";
  return text;
}

answer::Json to_json(const SimulatedPlan& simulated, bool timeline) {
  const predict::Simulation& simulation = simulated.simulation;
  answer::Json object{{"format", "dovetail/simulation@1"},
                      {"job", simulated.scenario.job.name},
                      {"placement", simulated.plan.placement},
                      {"efficiency", simulated.scenario.software.efficiency.name},
                      {"conventions", simulated.scenario.software.conventions.name},
                      {"fits", simulated.simulation.closed.fits()},
                      {"seed", simulated.seed},
                      {"iteration_seconds", answer::json_simulated(simulation.iteration_seconds)},
                      {"closed_form_seconds", answer::json_ratio(simulated.simulation.closed.iteration_seconds)}};
  add_efficiency_reason(simulated.scenario.software, object);
  add_verdict(simulation.closed.fit(), object);
  if (simulated.bound) object["bound_seconds"] = answer::json_ratio(*simulated.bound);
  object["draws"] = answer::Json::array();
  for (const double seconds : simulation.draws) object["draws"].push_back(answer::json_simulated(seconds));
  object["steady"] = simulation.iteration.steady;
  object["iterations_played"] = simulation.iteration.played;
  object["iterations_shown"] = simulation.iteration.iterations;
  object["steps"] = answer::Json::array();
  for (const report::ActivityLine& line : activity_lines(simulated))
    object["steps"].push_back(answer::Json{{"step", line.name},
                                           {"begin", answer::json_ratio(line.begin)},
                                           {"seconds", answer::json_ratio(line.simulated)},
                                           {"closed_form_seconds", answer::json_ratio(line.closed)}});
  object["uses"] = uses_json(simulated, simulate::uses_of(simulation.iteration.trace));
  if (simulation.training)
    object["fused_training"] =
        answer::Json{{"seconds", answer::json_ratio(base::seconds_of_ticks(simulation.training->trace.end))},
                     {"bound_seconds", answer::json_ratio(base::seconds_of_ticks(simulation.training->bound))},
                     {"apart_seconds", answer::json_ratio(base::seconds_of_ticks(simulation.training->apart))},
                     {"mini_by_mini_seconds", answer::json_ratio(base::seconds_of_ticks(simulation.training->mini_by_mini))}};
  object["fusion"] = variants_json(simulated);
  object["notes"] = simulated.notes;
  if (timeline) object["span_columns"] = answer::Json::array({"begin", "end", "activity", "task", "amount", "launch"});
  object["devices"] = answer::Json::array();
  for (const Lane& lane : simulation.iteration.trace.lanes) object["devices"].push_back(lane_json(simulated, lane, timeline));
  if (!timeline || simulation.iteration.trace.host_links.empty()) return object;
  object["host_links"] = answer::Json::array();
  for (const Lane& lane : simulation.iteration.trace.host_links)
    object["host_links"].push_back(answer::Json{{"devices", device_ranges(lane.devices)}, {"spans", spans_json(simulated, lane)}});
  return object;
}

}  // namespace dovetail::cli
