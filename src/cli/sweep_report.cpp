#include "cli/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "answer/question/json.h"
#include "answer/words/amounts.h"
#include "answer/words/figures.h"
#include "answer/words/software_words.h"
#include "answer/words/text.h"
#include "cli/job.h"
#include "cli/plan_words.h"
#include "cli/software_json.h"
#include "cluster/mesh.h"
#include "planner/advice/fit.h"
#include "predict/played/inter_stage.h"
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

using study::Sweep;
using study::SweepFigures;
using study::SweepInput;
using study::SweepPoint;

const std::string& task_name(const SweptPlan& swept, const SweepFigures& figures) {
  return swept.scenario.job.workflow.tasks[figures.fullest].name;
}

/// Bars of seconds, of at most so many characters; they begin below the least, so that small differences are seen, but none that are noise.
class Bars {
 public:
  explicit Bars(const Sweep& sweep) {
    for (const SweepPoint& point : sweep.points) {
      if (!point.figures) continue;
      const double seconds = point.figures->seconds();
      least_ = most_ > 0 ? std::min(least_, seconds) : seconds;
      most_ = std::max(most_, seconds);
    }
    constexpr double shown = 1.25;     // of the difference
    constexpr double at_least = 0.05;  // of the longest
    begin_ = std::max(0.0, most_ - std::max((most_ - least_) * shown, most_ * at_least));
  }

  std::string header() const { return begin_ > 0 ? "iteration, from " + answer::seconds_text(begin_) : "iteration"; }
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

/// "best", "job": what stands out at a point.
std::string note_of(const Sweep& sweep, std::size_t point) {
  std::vector<std::string> notes;
  if (sweep.fastest == point) notes.push_back(sweep.cheapest == point ? "best" : "fastest");
  if (sweep.cheapest == point && sweep.fastest != point) notes.push_back("cheapest");
  if (sweep.own == point) notes.push_back("as now");
  return fmt::format("{}", fmt::join(notes, ", "));
}

/// "38 to 4 instances", "38 to 4 instances in 2 of 3 draws", "nothing": what a threshold moves.
std::string moved_text(const SweepFigures& figures) {
  if (!figures.migrations || figures.migrations->migrating == 0) return "nothing";
  const study::Migrations& moved = *figures.migrations;
  const auto draws = static_cast<int>(figures.simulated->draws.size());
  return fmt::format("{:.0f} to {:.3g}", moved.samples, moved.instances) +
         (moved.migrating < draws ? fmt::format(" in {} of {} draws", moved.migrating, draws) : "");
}

bool moves_samples(const Sweep& sweep) { return sweep.over == SweepInput::threshold && is_simulated(sweep); }

std::vector<std::string> row_of(const SweptPlan& swept, std::size_t index, const Bars& bars, std::size_t columns) {
  const SweepPoint& point = swept.sweep.points[index];
  const std::string label = label_of(swept.sweep, point);
  if (!point.figures) {
    std::vector<std::string> row{label};
    row.resize(columns - 3, "-");
    for (const char* text : {"no plan", "", ""}) row.emplace_back(text);
    return row;
  }
  const SweepFigures& figures = *point.figures;
  std::vector<std::string> row{label, answer::seconds_text(figures.iteration_seconds)};
  if (figures.simulated) {
    const study::PlayedSeconds& played = *figures.simulated;
    row.push_back(answer::seconds_text(played.mean));
    row.push_back(fmt::format("{} to {}", answer::seconds_text(played.least), answer::seconds_text(played.most)));
  }
  if (moves_samples(swept.sweep)) row.push_back(moved_text(figures));
  for (std::string& text :
       std::vector<std::string>{fmt::format("{:.2f}", figures.samples_per_second), fmt::format("{:.0f}", figures.tokens_per_second),
                                fmt::format("{:.3f}", figures.gpu_hours)})
    row.push_back(std::move(text));
  if (figures.price) row.push_back(fmt::format("{:.2f}", *figures.price));
  for (std::string& text :
       std::vector<std::string>{answer::gibibytes(figures.needed), answer::gibibytes(figures.usable), task_name(swept, figures),
                                figures.fits ? "yes" : "NO", note_of(swept.sweep, index), bars.of(figures.seconds())})
    row.push_back(std::move(text));
  return row;
}

std::string table_of(const SweptPlan& swept) {
  const bool simulated = is_simulated(swept.sweep);
  const bool priced = swept.scenario.job.cluster.price.has_value();
  const Bars bars(swept.sweep);
  std::vector<report::Column> columns{{std::string(name_of(swept.sweep.over))}, {"iteration"}};
  if (simulated) {
    columns.push_back({"simulated"});
    columns.push_back({"least to most"});
  }
  if (moves_samples(swept.sweep)) columns.push_back({"samples move to instances", report::Align::left});
  for (const char* name : {"samples/s", "tokens/s/GPU", "GPU-h"}) columns.push_back({name});
  if (priced) columns.push_back({"cost"});
  for (const char* name : {"fullest device", "of its"}) columns.push_back({name});
  for (const std::string& name : {std::string("while"), std::string("fits"), std::string(""), bars.header()})
    columns.push_back({name, report::Align::left});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t index = 0; index < swept.sweep.points.size(); ++index) rows.push_back(row_of(swept, index, bars, columns.size()));
  return report::render_table(columns, rows);
}

/// Where the draws of lengths do not tell the fastest point from others, all of those: "5%, 15% to 70%"; else empty.
std::string undecided_text(const Sweep& sweep) {
  if (const auto& played = sweep.points[*sweep.fastest].figures->simulated; !played || played->draws.size() < 2) return "";
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

/// What a threshold gains over none.
std::string migration_text(const SweptPlan& swept) {
  const Sweep& sweep = swept.sweep;
  const SweepPoint& none = sweep.points.front();
  if (sweep.over != SweepInput::threshold || !none.figures || !sweep.fastest) return "";
  const SweepPoint& best = sweep.points[*sweep.fastest];
  const std::string ties = undecided_text(sweep);
  const std::string undecided = ties.empty() ? "" : fmt::format(" The draws of lengths do not decide among {}.", ties);
  const bool any = std::any_of(sweep.points.begin(), sweep.points.end(), [](const SweepPoint& point) {
    return point.figures && point.figures->migrations && point.figures->migrations->migrating > 0;
  });
  if (!any) return fmt::format("\nNothing migrates: {}.\n", predict::why_nothing_migrates(swept.scenario, none.plan));
  if (*sweep.fastest == 0) return fmt::format("\nNo threshold makes it faster.{}\n", undecided);
  return fmt::format("\nThe best threshold is {}: {}, {} less than without migration.{}\n", label_of(sweep, best),
                     answer::seconds_text(best.figures->seconds()), answer::percent(1 - best.figures->seconds() / none.figures->seconds()),
                     undecided);
}

/// Whether something generates on devices that something trains on, so that neither can run ahead of the other there.
bool takes_turns(const plan::Job& job, const plan::Plan& plan) {
  for (std::size_t one = 0; one < plan.tasks.size(); ++one)
    for (std::size_t two = 0; two < plan.tasks.size(); ++two)
      if (job.workflow.tasks[one].kind == workflow::TaskKind::generate && job.workflow.tasks[two].kind == workflow::TaskKind::train &&
          cluster::overlap(plan.tasks[one].mesh, plan.tasks[two].mesh))
        return true;
  return false;
}

/// Whether all points that fit have as many samples a second, as far as is seen.
bool gains_nothing(const Sweep& sweep) {
  constexpr double seen = 1.0005;
  const double fastest = sweep.points[*sweep.fastest].figures->samples_per_second;
  return std::all_of(sweep.points.begin(), sweep.points.end(), [&](const SweepPoint& point) {
    return !point.figures || !point.figures->fits || fastest <= seen * point.figures->samples_per_second;
  });
}

std::string best_text(const SweptPlan& swept) {
  const Sweep& sweep = swept.sweep;
  if (sweep.over == SweepInput::threshold || !sweep.fastest) return "";
  const SweepPoint& fastest = sweep.points[*sweep.fastest];
  std::string text =
      sweep.points.size() > 1 && gains_nothing(sweep)
          ? fmt::format("\nIt makes no difference: {:.2f} samples a second at each that fits.\n", fastest.figures->samples_per_second)
          : fmt::format("\nMost samples a second at {}: {:.2f}.\n", label_of(sweep, fastest), fastest.figures->samples_per_second);
  if (sweep.over == SweepInput::staleness && gains_nothing(sweep) && takes_turns(swept.scenario.job, fastest.plan))
    text += "Generation and training have devices in common: older weights let neither run ahead there. dovetail what-if splits them.\n";
  if (sweep.cheapest == sweep.fastest) return text;
  const SweepPoint& cheapest = sweep.points[*sweep.cheapest];
  return text + fmt::format("Least GPU-hours a sample at {}: {} of those at {}.\n", label_of(sweep, cheapest),
                            answer::percent(cheapest.figures->gpu_hours_per_sample() / fastest.figures->gpu_hours_per_sample()),
                            label_of(sweep, fastest));
}

std::string overflow_text(const SweptPlan& swept) {
  if (!swept.sweep.overflow) return "";
  const SweepPoint& point = swept.sweep.points[*swept.sweep.overflow];
  const SweepFigures& figures = *point.figures;
  return fmt::format("\nAt {} it does not fit: {} are missing; {} needs {} of {} on device {}.\n", label_of(swept.sweep, point),
                     answer::gibibytes(figures.missing), task_name(swept, figures), answer::gibibytes(figures.needed),
                     answer::gibibytes(figures.usable), figures.device);
}

std::string problems_text(const Sweep& sweep) {
  std::string text;
  for (const SweepPoint& point : sweep.points)
    if (!point.figures) text += fmt::format("{}: {}\n", label_of(sweep, point), point.problem);
  return text.empty() ? text : "\nNo plan at\n" + text;
}

answer::Json point_json(const SweptPlan& swept, const SweepPoint& point) {
  answer::Json entry{{"label", label_of(swept.sweep, point)}};
  if (point.value) entry["value"] = answer::json_ratio(*point.value);
  if (!point.figures) {
    entry["problem"] = point.problem;
    return entry;
  }
  const SweepFigures& figures = *point.figures;
  entry["iteration_seconds"] = answer::json_seconds(figures.iteration_seconds);
  if (const auto& played = figures.simulated)
    entry["simulated"] = answer::Json{{"mean_seconds", answer::json_seconds(played->mean)},
                                      {"least_seconds", answer::json_seconds(played->least)},
                                      {"most_seconds", answer::json_seconds(played->most)}};
  if (const auto& moved = figures.migrations)
    entry["migration"] = answer::Json{
        {"draws", moved->migrating}, {"samples", answer::json_ratio(moved->samples)}, {"instances", answer::json_ratio(moved->instances)}};
  entry["samples_per_second"] = answer::json_ratio(figures.samples_per_second);
  entry["tokens_per_second_and_device"] = answer::json_ratio(figures.tokens_per_second);
  entry["gpu_hours"] = answer::json_ratio(figures.gpu_hours);
  if (figures.price) entry["price"] = answer::json_ratio(*figures.price);
  entry["fits"] = figures.fits;
  entry["device_memory"] =
      answer::Json{{"task", task_name(swept, figures)}, {"device", figures.device}, {"bytes", figures.needed}, {"usable", figures.usable}};
  if (!figures.fits) entry["missing_bytes"] = figures.missing;
  if (swept.placement.empty()) {
    entry["placement"] = point.plan.placement;
    plan::Job there = swept.scenario.job;
    there.cluster = planner::with_nodes(there.cluster, static_cast<int>(*point.value));
    entry["tasks"] = tasks_json(there, point.plan);
  }
  return entry;
}

}  // namespace

std::string title_of(const SweptPlan& swept) {
  return fmt::format("{}, {}: {}", swept.scenario.job.name, swept.placement.empty() ? "planned anew" : swept.placement,
                     study::axis_name(swept.sweep.over));
}

std::string to_text(const SweptPlan& swept) {
  const plan::Job& job = swept.scenario.job;
  std::string text = fmt::format("{}\n{} on {}, {} samples an iteration; efficiencies: {}; memory as {}\n{}\n\n", title_of(swept),
                                 job.workflow.name, answer::counted(cluster::device_count(job.cluster), "device"), job.workload.samples(),
                                 swept.scenario.software.efficiency.name, swept.scenario.software.conventions.name,
                                 answer::efficiency_words(swept.scenario.software));
  text += table_of(swept) + migration_text(swept) + best_text(swept) + overflow_text(swept) + problems_text(swept.sweep);
  if (!swept.sweep.complete) text += "\nStopped: what follows is not known.\n";
  return text;
}

answer::Json to_json(const SweptPlan& swept) {
  const Sweep& sweep = swept.sweep;
  answer::Json object{{"format", "dovetail/sweep@1"},
                      {"job", swept.scenario.job.name},
                      {"over", name_of(sweep.over)},
                      {"values_are", study::axis_name(sweep.over)},
                      {"efficiency", swept.scenario.software.efficiency.name},
                      {"conventions", swept.scenario.software.conventions.name},
                      {"complete", sweep.complete},
                      {"points", answer::Json::array()}};
  add_efficiency_reason(swept.scenario.software, object);
  if (!swept.placement.empty()) object["placement"] = swept.placement;
  for (const SweepPoint& point : sweep.points) object["points"].push_back(point_json(swept, point));
  if (sweep.own) object["own"] = *sweep.own;
  if (sweep.fastest) object["fastest"] = *sweep.fastest;
  if (sweep.cheapest) object["cheapest"] = *sweep.cheapest;
  if (sweep.overflow) object["overflow"] = *sweep.overflow;
  return object;
}

std::string to_csv(const SweptPlan& swept) {
  std::string text =
      "value,iteration_seconds,simulated_mean_seconds,simulated_least_seconds,simulated_most_seconds,samples_per_second,"
      "tokens_per_second_and_device,gpu_hours,price,fits,task,device,bytes,usable,"
      "migrating_draws,moved_samples,destination_instances\n";
  for (const SweepPoint& point : swept.sweep.points) {
    text += point.value ? fmt::format("{:.10g}", *point.value) : "";
    if (!point.figures) {
      text += ",,,,,,,,,,,,,,,,\n";
      continue;
    }
    const SweepFigures& of = *point.figures;
    const std::string played =
        of.simulated ? fmt::format("{:.3f},{:.3f},{:.3f}", of.simulated->mean, of.simulated->least, of.simulated->most) : ",,";
    const std::string moved =
        of.migrations ? fmt::format("{},{:.6g},{:.6g}", of.migrations->migrating, of.migrations->samples, of.migrations->instances) : ",,";
    text += fmt::format(",{:.3f},{},{:.6f},{:.6f},{:.6f},{},{},{},{},{},{},{}\n", of.iteration_seconds, played, of.samples_per_second,
                        of.tokens_per_second, of.gpu_hours, of.price ? fmt::format("{:.6f}", *of.price) : "", of.fits ? "yes" : "no",
                        task_name(swept, of), of.device, of.needed, of.usable, moved);
  }
  return text;
}

}  // namespace dovetail::cli
