#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "answer/plans/plan_tables.h"
#include "answer/runs/activity_lines.h"
#include "answer/runs/simulation_figures.h"
#include "answer/words/amounts.h"
#include "answer/words/figures.h"
#include "answer/words/plan_words.h"
#include "answer/words/software_words.h"
#include "answer/words/text.h"
#include "cluster/cluster.h"
#include "planner/advice/changes.h"
#include "simulate/trace.h"
#include "timeline/timeline.h"

namespace dovetail::answer {
namespace {

using simulate::Lane;
using simulate::Use;
using timeline::device_ranges;

Table steps_table(const SimulationAnswer& answer) {
  std::vector<std::vector<std::string>> rows;
  for (const ActivityLine& line : activity_lines(answer.scenario, answer.plan, answer.simulation))
    rows.push_back({line.name, line.devices, seconds_text(line.begin), seconds_text(line.simulated),
                    seconds_text(line.closed), difference_text(line.simulated, line.closed)});
  return Table{
      {{"step", Align::left}, {"devices", Align::left}, {"begins"}, {"simulated"}, {"closed form"}, {"difference"}},
      rows};
}

/// What a use is called, whatever its task.
std::string use_name(const Use& use) {
  if (simulate::is_idle(use.bar_kind) && use.task < 0) return "no step is there";
  return std::string(simulate::name_of(use.bar_kind));
}

/// Uses of one kind, the largest first, as seconds of the average device.
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
  return Table{
      {{idle ? "idle" : "work", Align::left}, {idle ? "in, or for" : "of", Align::left}, {"a device"}, {"share"}},
      rows};
}

/// "bubble 3.1%, long tail 1.2%": what a lane idles with, the most first.
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

/// Device classes, the idlest first.
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
      Table{{{"devices", Align::left}, {"idle"}, {"of it", Align::left}, {"most memory used"}, {"usable"}}, rows};
  if (lanes.size() > shown) text += fmt::format("and {} more\n", lanes.size() - shown);
  return text;
}

Sections variants_table(const SimulationAnswer& answer) {
  if (answer.variants.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const study::FusionVariant& variant : answer.variants)
    rows.push_back({std::string(base::enum_name(variant.mode)) + (variant.played ? " *" : ""),
                    seconds_text(variant.seconds),
                    fmt::format("{:.2f}x", answer.variants.front().seconds / variant.seconds),
                    seconds_text(mean_seconds(answer, simulate::idle_time(variant.uses))),
                    seconds_text(mean_seconds(answer, simulate::time_of(variant.uses, simulate::BarKind::hand_over))),
                    std::string(short_name(variant.fit))});
  const bool drawn = answer.simulation.draws.size() > 1;
  const std::string less = less_fusion_words(answer.variants);
  return fmt::format(
             "\nWhat stage fusion gains (*: the plan above), with the idle time and the hand-over of the average "
             "device{}:\n",
             drawn ? "; iterations are means of the draws, the others are of the first" : "") +
         Table{{{"fused", Align::left}, {"iteration"}, {"speed"}, {"idle"}, {"hand-over"}, {"fits", Align::left}},
               rows} +
         less + (less.empty() ? "" : "\n");
}

std::string training_text(const SimulationAnswer& answer) {
  if (!answer.simulation.training) return "";
  const predict::FusedTraining& training = *answer.simulation.training;
  const base::Ticks fused = training.trace.end;
  return fmt::format(
      "\nfused training  {}; no schedule of both takes less than {} (proven); one after the other {}\n"
      "                drifting across the borders of mini-batches takes {} off: each pair fused by itself takes {}\n",
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
    text = fmt::format("memory          it does not fit: {}; dovetail fit says more. What follows is as if it did.\n",
                       missing_words(simulation.closed.memory));
  text += fmt::format("iteration       {} simulated; {} by the closed form ({})\n",
                      seconds_text(simulation.iteration_seconds), seconds_text(closed),
                      difference_text(simulation.iteration_seconds, closed));
  if (answer.bound)
    text += fmt::format(
        "bound           no plan of the meshes, layouts and settings looked at{} takes less than {} (proven of the "
        "closed form)\n",
        answer.plan.fusion.any() ? " that fuses no more" : "", seconds_text(*answer.bound));
  const auto [least, most] = std::minmax_element(simulation.draws.begin(), simulation.draws.end());
  text += fmt::format("lengths         {} (seed {}): {} to {}",
                      counted(static_cast<std::int64_t>(simulation.draws.size()), "draw"), answer.seed,
                      seconds_text(*least), seconds_text(*most));
  if (simulation.draws.size() > 1)
    text += fmt::format("; steps, times and memory below are of the first, {}", seconds_text(simulation.draws.front()));
  text += "\n";
  const simulate::Iteration& iteration = simulation.iteration;
  if (iteration.steady)
    text += fmt::format("steady state    {} after {}\n",
                        iteration.iterations == 1
                            ? "each iteration is like the one before"
                            : counted(static_cast<std::int64_t>(iteration.iterations), "iteration") + " in turn repeat",
                        counted(static_cast<std::int64_t>(iteration.played), "iteration"));
  else
    text += fmt::format("steady state    none after {}: what follows is of the later half\n",
                        counted(static_cast<std::int64_t>(iteration.played), "iteration"));
  return text;
}

}  // namespace

Sections sections(const SimulationAnswer& answer) {
  const plan::Job& job = answer.scenario.job;
  const predict::Software& software = answer.scenario.software;
  Sections all = job_line(job) + "\n" +
                 fmt::format("placement: {}; efficiencies: {}; memory as {}\n", answer.plan.placement,
                             software.efficiency.name, software.conventions.name) +
                 efficiency_words(software) + "\n\n" + iteration_text(answer) + training_text(answer);
  if (answer.found)
    all += "\nThe plan, the first that dovetail plan finds:\n" + Sections(tasks_table(job, answer.plan));
  all += "\n" + Sections(steps_table(answer));
  all += "\nWhere the time of the average device goes:\n" + Sections(uses_table(answer, false));
  all += "\n" + Sections(uses_table(answer, true));
  all += "\nDevices that do the same, the idlest first:\n" + lanes_table(answer) + variants_table(answer);
  for (const std::string& note : answer.notes) all += "\n" + note + "\n";
  return all + not_modelled_text(job.not_modelled);
}

}  // namespace dovetail::answer
