#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "answer/plans/plan_output.h"
#include "answer/question/json.h"
#include "answer/runs/sweep.h"
#include "answer/text/figures.h"
#include "answer/text/plan_text.h"
#include "answer/text/software_text.h"
#include "answer/text/text.h"
#include "cluster/mesh.h"
#include "planner/advice/fit.h"
#include "predict/simulated/inter_stage.h"

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
  if (const auto& simulated_seconds = figures.simulated)
    entry["simulated"] = Json{{"mean_seconds", json_seconds(simulated_seconds->mean)},
                              {"least_seconds", json_seconds(simulated_seconds->min)},
                              {"most_seconds", json_seconds(simulated_seconds->max)}};
  if (const auto& moved = figures.migrations)
    entry["migration"] = Json{{"draws", moved->migrating},
                              {"samples", json_ratio(moved->samples)},
                              {"instances", json_ratio(moved->instances)}};
  entry["samples_per_second"] = json_ratio(figures.samples_per_second);
  entry["tokens_per_second_and_device"] = json_ratio(figures.tokens_per_second);
  entry["gpu_hours"] = json_ratio(figures.gpu_hours);
  if (figures.price) entry["price"] = json_ratio(*figures.price);
  entry["fits"] = figures.fits();
  add_fit(figures.fit, entry);
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

using study::SweepInput;

const std::string& task_name(const SweepAnswer& answer, const SweepFigures& figures) {
  return answer.scenario.job.workflow.tasks[figures.fullest].name;
}

/// Draws seconds as bars of a limited number of characters. Bars start somewhat below the minimum, which shows small
/// differences but not noise.
class Bars {
 public:
  explicit Bars(const Sweep& sweep) {
    for (const SweepPoint& point : sweep.points) {
      if (!point.figures) continue;
      const double seconds = point.figures->seconds();
      least_ = most_ > 0 ? std::min(least_, seconds) : seconds;
      most_ = std::max(most_, seconds);
    }
    constexpr double shown = 1.25;     // of the difference between maximum and minimum
    constexpr double at_least = 0.05;  // of the maximum
    begin_ = std::max(0.0, most_ - std::max((most_ - least_) * shown, most_ * at_least));
  }

  std::string header() const { return begin_ > 0 ? "iteration, from " + seconds_text(begin_) : "iteration"; }
  std::string of(double seconds) const {
    constexpr double width = 24;
    const double share = most_ > begin_ ? (seconds - begin_) / (most_ - begin_) : 1;
    std::string bar;
    for (long cells = std::max(1L, std::lround(share * width)); cells > 0; --cells) bar += "\u2588";
    return bar;
  }

 private:
  double least_ = 0;
  double most_ = 0;
  double begin_ = 0;
};

/// Remarks on a point: "best", "current".
std::string note_of(const Sweep& sweep, std::size_t point) {
  std::vector<std::string> notes;
  if (sweep.fastest == point) notes.push_back(sweep.cheapest == point ? "best" : "fastest");
  if (sweep.cheapest == point && sweep.fastest != point) notes.push_back("cheapest");
  if (sweep.own == point) notes.push_back("current");
  return fmt::format("{}", fmt::join(notes, ", "));
}

/// Samples that a threshold moves, and the number of instances: "38 to 4", "38 to 4 in 2 of 3 draws", "nothing".
std::string moved_text(const SweepFigures& figures) {
  if (!figures.migrations || figures.migrations->migrating == 0) return "nothing";
  const study::Migrations& moved = *figures.migrations;
  const auto draws = static_cast<int>(figures.simulated->draws.size());
  return fmt::format("{:.0f} to {:.3g}", moved.samples, moved.instances) +
         (moved.migrating < draws ? fmt::format(" in {} of {} draws", moved.migrating, draws) : "");
}

bool moves_samples(const Sweep& sweep) { return sweep.over == SweepInput::threshold && is_simulated(sweep); }

std::vector<std::string> row_of(const SweepAnswer& answer, std::size_t index, const Bars& bars, std::size_t columns) {
  const SweepPoint& point = answer.sweep.points[index];
  const std::string label = label_of(answer.sweep, point);
  if (!point.figures) {
    std::vector<std::string> row{label};
    row.resize(columns - 3, "-");
    for (const char* text : {"no plan", "", ""}) row.emplace_back(text);
    return row;
  }
  const SweepFigures& figures = *point.figures;
  std::vector<std::string> row{label, seconds_text(figures.iteration_seconds)};
  if (figures.simulated) {
    const study::SimulatedSeconds& simulated_seconds = *figures.simulated;
    row.push_back(seconds_text(simulated_seconds.mean));
    row.push_back(fmt::format("{} to {}", seconds_text(simulated_seconds.min), seconds_text(simulated_seconds.max)));
  }
  if (moves_samples(answer.sweep)) row.push_back(moved_text(figures));
  for (std::string& text : std::vector<std::string>{fmt::format("{:.2f}", figures.samples_per_second),
                                                    fmt::format("{:.0f}", figures.tokens_per_second),
                                                    fmt::format("{:.3f}", figures.gpu_hours)})
    row.push_back(std::move(text));
  if (figures.price) row.push_back(fmt::format("{:.2f}", *figures.price));
  for (std::string& text : std::vector<std::string>{gibibytes(figures.needed), gibibytes(figures.usable),
                                                    task_name(answer, figures), std::string(short_name(figures.fit)),
                                                    note_of(answer.sweep, index), bars.of(figures.seconds())})
    row.push_back(std::move(text));
  return row;
}

Table table_of(const SweepAnswer& answer) {
  const bool simulated = is_simulated(answer.sweep);
  const bool priced = answer.scenario.job.cluster.price.has_value();
  const Bars bars(answer.sweep);
  std::vector<Column> columns{{std::string(base::enum_name(answer.sweep.over))}, {"iteration"}};
  if (simulated) {
    columns.push_back({"simulated"});
    columns.push_back({"range"});
  }
  if (moves_samples(answer.sweep)) columns.push_back({"samples moved to instances", Align::left});
  for (const char* name : {"samples/s", "tokens/s/GPU", "GPU-h"}) columns.push_back({name});
  if (priced) columns.push_back({"cost"});
  for (const char* name : {"peak memory", "usable"}) columns.push_back({name});
  for (const std::string& name : {std::string("during"), std::string("fits"), std::string(""), bars.header()})
    columns.push_back({name, Align::left});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t index = 0; index < answer.sweep.points.size(); ++index)
    rows.push_back(row_of(answer, index, bars, columns.size()));
  return {columns, rows};
}

/// Points that the draws of lengths cannot distinguish from the fastest one: "5%, 15% to 70%"; otherwise empty.
std::string undecided_text(const Sweep& sweep) {
  if (const auto& simulated_seconds = sweep.points[*sweep.fastest].figures->simulated;
      !simulated_seconds || simulated_seconds->draws.size() < 2)
    return "";
  const auto is_tie = [&](std::size_t index) { return study::ties_with_fastest(sweep, sweep.points[index]); };
  std::vector<std::string> runs;
  std::size_t ties = 0;
  for (std::size_t begin = 0; begin < sweep.points.size(); ++begin) {
    if (!is_tie(begin)) continue;
    std::size_t end = begin;
    while (sweep.points[begin].value && end + 1 < sweep.points.size() && is_tie(end + 1)) ++end;
    const std::string first = label_of(sweep, sweep.points[begin]);
    runs.push_back(begin == end ? first : first + " to " + label_of(sweep, sweep.points[end]));
    ties += end - begin + 1;
    begin = end;
  }
  return ties > 1 ? fmt::format("{}", fmt::join(runs, ", ")) : "";
}

/// Gain of the best threshold over no migration.
std::string migration_text(const SweepAnswer& answer) {
  const Sweep& sweep = answer.sweep;
  const SweepPoint& none = sweep.points.front();
  if (sweep.over != SweepInput::threshold || !none.figures || !sweep.fastest) return "";
  const SweepPoint& best = sweep.points[*sweep.fastest];
  const std::string ties = undecided_text(sweep);
  const std::string undecided = ties.empty() ? "" : fmt::format(" The draws of lengths cannot distinguish {}.", ties);
  const bool any = std::any_of(sweep.points.begin(), sweep.points.end(), [](const SweepPoint& point) {
    return point.figures && point.figures->migrations && point.figures->migrations->migrating > 0;
  });
  if (!any) return fmt::format("\nNothing migrates: {}.\n", predict::why_no_migration(answer.scenario, none.plan));
  if (*sweep.fastest == 0) return fmt::format("\nNo threshold makes the iteration faster.{}\n", undecided);
  return fmt::format("\nThe best threshold is {}: {}, {} less than without migration.{}\n", label_of(sweep, best),
                     seconds_text(best.figures->seconds()),
                     percent(1 - best.figures->seconds() / none.figures->seconds()), undecided);
}

/// Whether generation and training share devices. Neither can then run ahead of the other.
bool takes_turns(const plan::Job& job, const plan::Plan& plan) {
  for (std::size_t one = 0; one < plan.tasks.size(); ++one)
    for (std::size_t two = 0; two < plan.tasks.size(); ++two)
      if (job.workflow.tasks[one].kind == workflow::TaskKind::generate &&
          job.workflow.tasks[two].kind == workflow::TaskKind::train &&
          cluster::overlap(plan.tasks[one].mesh, plan.tasks[two].mesh))
        return true;
  return false;
}

/// Whether all points that fit have the same throughput, as far as the printed digits show.
bool gains_nothing(const Sweep& sweep) {
  constexpr double seen = 1.0005;
  const double fastest = sweep.points[*sweep.fastest].figures->samples_per_second;
  return std::all_of(sweep.points.begin(), sweep.points.end(), [&](const SweepPoint& point) {
    return !point.figures || !point.figures->fits() || fastest <= seen * point.figures->samples_per_second;
  });
}

std::string best_text(const SweepAnswer& answer) {
  const Sweep& sweep = answer.sweep;
  if (sweep.over == SweepInput::threshold || !sweep.fastest) return "";
  const SweepPoint& fastest = sweep.points[*sweep.fastest];
  const auto compared = std::count_if(sweep.points.begin(), sweep.points.end(),
                                      [](const SweepPoint& point) { return point.figures.has_value(); });
  if (compared < 2 && sweep.points.size() > 1) return "";
  std::string text = compared > 1 && gains_nothing(sweep)
                         ? fmt::format("\nThroughput at every point that fits: {:.2f} samples/s.\n",
                                       fastest.figures->samples_per_second)
                         : fmt::format("\nHighest throughput at {}: {:.2f} samples/s.\n", label_of(sweep, fastest),
                                       fastest.figures->samples_per_second);
  if (sweep.over == SweepInput::staleness && gains_nothing(sweep) && takes_turns(answer.scenario.job, fastest.plan))
    text +=
        "Generation and training share devices, so neither can run ahead of the other, even with older weights. "
        "dovetail what-if gives each its own devices.\n";
  if (sweep.cheapest == sweep.fastest) return text;
  const SweepPoint& cheapest = sweep.points[*sweep.cheapest];
  return text + fmt::format("Fewest GPU-hours per sample at {}: {} of those at {}.\n", label_of(sweep, cheapest),
                            percent(cheapest.figures->gpu_hours_per_sample() / fastest.figures->gpu_hours_per_sample()),
                            label_of(sweep, fastest));
}

/// Sentence on the cap of responses when lengths vary.
std::string cap_text(const SweepAnswer& answer) {
  if (answer.sweep.over != SweepInput::length) return "";
  if (answer.sweep.cap) return fmt::format("\nResponses are capped at {}.\n", counted(*answer.sweep.cap, "token"));
  const std::int64_t longest = answer.scenario.job.workload.response_length.longest();
  return fmt::format("\nThe longest responses scale as well; --cap keep limits them to {}.\n",
                     counted(longest, "token"));
}

std::string overflow_text(const SweepAnswer& answer) {
  if (!answer.sweep.overflow) return "";
  const SweepPoint& point = answer.sweep.points[*answer.sweep.overflow];
  const SweepFigures& figures = *point.figures;
  return fmt::format(
      "\nAt {0} the plan does not fit: short by {1} of device or host memory; {2} needs {3} on device {5}, where {4} "
      "is usable.\n",
      label_of(answer.sweep, point), gibibytes(figures.missing), task_name(answer, figures), gibibytes(figures.needed),
      gibibytes(figures.usable), figures.device);
}

std::string problems_text(const Sweep& sweep) {
  std::string text;
  for (const SweepPoint& point : sweep.points)
    if (!point.figures) text += fmt::format("{}: {}\n", label_of(sweep, point), point.problem);
  return text.empty() ? text : "\nNo plan at:\n" + text;
}

}  // namespace

std::string to_csv(const SweepAnswer& answer) {
  std::string text =
      "value,iteration_seconds,simulated_mean_seconds,simulated_least_seconds,simulated_most_seconds,samples_per_"
      "second,"
      "tokens_per_second_and_device,gpu_hours,price,fits,task,device,bytes,usable,"
      "migrating_draws,moved_samples,destination_instances,verdict\n";
  for (const study::SweepPoint& point : answer.sweep.points) {
    text += point.value ? fmt::format("{:.10g}", *point.value) : "";
    if (!point.figures) {
      text += ",,,,,,,,,,,,,,,,,\n";
      continue;
    }
    const study::SweepFigures& of = *point.figures;
    const std::string simulated_seconds =
        of.simulated ? fmt::format("{:.3f},{:.3f},{:.3f}", of.simulated->mean, of.simulated->min, of.simulated->max)
                     : ",,";
    const std::string moved = of.migrations ? fmt::format("{},{:.6g},{:.6g}", of.migrations->migrating,
                                                          of.migrations->samples, of.migrations->instances)
                                            : ",,";
    text += fmt::format(",{:.3f},{},{:.6f},{:.6f},{:.6f},{},{},{},{},{},{},{},{}\n", of.iteration_seconds,
                        simulated_seconds, of.samples_per_second, of.tokens_per_second, of.gpu_hours,
                        of.price ? fmt::format("{:.6f}", *of.price) : "", of.fits() ? "yes" : "no",
                        answer.scenario.job.workflow.tasks[of.fullest].name, of.device, of.needed, of.usable, moved,
                        name_of(of.fit));
  }
  return text;
}

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

std::string title_of(const SweepAnswer& answer) {
  return fmt::format("{}, {}: {}", answer.scenario.job.name,
                     answer.plan ? answer.plan->placement : "planned for each value",
                     study::axis_name(answer.sweep.over));
}

Sections sections(const SweepAnswer& answer) {
  const plan::Job& job = answer.scenario.job;
  const predict::Software& software = answer.scenario.software;
  Sections all = fmt::format("{}{}\n{} on {}, {} samples per iteration; efficiencies: {}; memory model: {}\n{}\n\n",
                             origin_line(job), title_of(answer), job.workflow.name,
                             counted(cluster::device_count(job.cluster), "device"), job.workload.samples(),
                             software.efficiency.name, software.conventions.name, efficiency_text(software));
  all += Sections(table_of(answer)) + migration_text(answer) + best_text(answer) + cap_text(answer) +
         overflow_text(answer) + problems_text(answer.sweep);
  if (!answer.sweep.complete) all += "\nStopped: further points are unknown.\n";
  return all + not_modelled_text(job.not_modelled);
}

}  // namespace dovetail::answer
