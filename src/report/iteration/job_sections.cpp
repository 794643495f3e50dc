#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "answer/runs/simulation.h"
#include "answer/text/figures.h"
#include "answer/text/plan_text.h"
#include "answer/text/software_text.h"
#include "plan/fusion.h"
#include "planner/advice/changes.h"
#include "planner/advice/comparison.h"
#include "report/drawing/curve_svg.h"
#include "report/iteration/job_page.h"
#include "report/page/palette.h"
#include "report/page/summary.h"
#include "timeline/timeline.h"

namespace dovetail::report {
namespace {

/// Differences below this many seconds do not count.
constexpr double negligible = 0.0005;

/// An activity, or several that one of the plans fuses.
struct Difference {
  std::string name;
  double lost = 0;
  std::string note = {};  // "fused", or the dominant part
};

/// Returns the tasks of each fused activity of a plan, its leader first.
std::vector<std::vector<std::size_t>> fused_tasks(const predict::Scenario& scenario, const plan::Plan& plan) {
  std::vector<std::vector<std::size_t>> groups;
  if (const auto stage = plan::fused_stage(scenario.job, plan)) {
    groups.push_back({stage->generate});
    groups.back().insert(groups.back().end(), stage->infer.begin(), stage->infer.end());
  }
  if (const auto& pair = plan.fusion.training) groups.emplace_back(pair->begin(), pair->end());
  return groups;
}

/// Returns a difference for each activity that only the plan `fusing` fuses. Removes its tasks from `activities`.
std::vector<Difference> take_fused(const predict::Scenario& scenario, const plan::Plan& fusing, const char* note,
                                   std::vector<planner::ActivityComparison>& activities) {
  std::vector<Difference> differences;
  for (const std::vector<std::size_t>& tasks : fused_tasks(scenario, fusing)) {
    const auto is_of = [&](const planner::ActivityComparison& activity) {
      return activity.kind == plan::Activity::Kind::task &&
             std::find(tasks.begin(), tasks.end(), activity.task) != tasks.end();
    };
    const auto leader =
        std::find_if(activities.begin(), activities.end(), [&](const planner::ActivityComparison& activity) {
          return activity.kind == plan::Activity::Kind::task && activity.task == tasks.front();
        });
    if (leader == activities.end() || leader->fused_here == leader->fused_there) continue;
    Difference difference{"", 0, note};
    for (const std::size_t task : tasks)
      difference.name += (difference.name.empty() ? "" : " + ") + scenario.job.workflow.tasks[task].name;
    for (const planner::ActivityComparison& activity : activities)
      if (is_of(activity)) difference.lost += activity.seconds.lost();
    differences.push_back(std::move(difference));
    std::erase_if(activities, is_of);
  }
  return differences;
}

Difference difference_of(const predict::Scenario& scenario, const planner::ActivityComparison& activity) {
  Difference difference{answer::activity_text(scenario.job, activity.kind, activity.task), activity.seconds.lost()};
  // A part that changes in the opposite direction does not explain the difference.
  if (activity.part && activity.of_part.lost() * activity.seconds.lost() > 0 &&
      std::abs(activity.of_part.lost()) >= negligible)
    difference.note =
        fmt::format("{} {}", base::enum_text(*activity.part), answer::signed_seconds(activity.of_part.lost()));
  return difference;
}

/// Returns the differences of activities and fused activities, largest first.
std::vector<Difference> differences_of(const predict::Scenario& scenario, const planner::EstimatedPlan& plan,
                                       const planner::EstimatedPlan& other,
                                       std::vector<planner::ActivityComparison> activities) {
  std::vector<Difference> differences = take_fused(scenario, other.plan, "not fused", activities);
  for (Difference& difference : take_fused(scenario, plan.plan, "fused", activities))
    differences.push_back(std::move(difference));
  for (const planner::ActivityComparison& activity : activities)
    // Activities off the critical path explain no difference.
    if (std::max(activity.critical.here, activity.critical.there) > 0.01)
      differences.push_back(difference_of(scenario, activity));
  std::stable_sort(differences.begin(), differences.end(),
                   [](const Difference& a, const Difference& b) { return std::abs(a.lost) > std::abs(b.lost); });
  return differences;
}

/// Whether a plan fuses both tasks into one activity.
bool fuses(const predict::Scenario& scenario, const plan::Plan& plan, const planner::SideBySide& pair) {
  const auto groups = fused_tasks(scenario, plan);
  return std::any_of(groups.begin(), groups.end(), [&](const std::vector<std::size_t>& tasks) {
    const auto has = [&](std::size_t task) { return std::find(tasks.begin(), tasks.end(), task) != tasks.end(); };
    return has(pair.one) && has(pair.two);
  });
}

/// Returns a reason such as "reward_infer and critic_infer overlap by 1.9 s less", or an empty string if no overlap
/// explains the difference.
std::string overlap_text(const predict::Scenario& scenario, const planner::EstimatedPlan& plan,
                         const planner::EstimatedPlan& other, bool slower) {
  for (const planner::SideBySide& pair : planner::side_by_side(plan, other)) {
    const double more = pair.seconds.lost();
    if (std::abs(more) < negligible || (more < 0) != slower) continue;
    if (fuses(scenario, plan.plan, pair) || fuses(scenario, other.plan, pair)) continue;
    const std::vector<workflow::Task>& tasks = scenario.job.workflow.tasks;
    return fmt::format("{} and {} overlap by {} {}", tasks[pair.one].name, tasks[pair.two].name,
                       answer::seconds_text(std::abs(more)), slower ? "less" : "more");
  }
  return "";
}

/// Whether a bar on devices is work of the activity.
bool is_work_of(const plan::Activity& activity, const timeline::Bar& bar) {
  const bool moves = activity.kind == plan::Activity::Kind::reallocation;
  return bar.track == static_cast<std::int32_t>(activity.task) && !is_idle(bar.bar_kind) &&
         (bar.bar_kind == timeline::BarKind::reallocation) == moves;
}

/// Whether a bar on links to host memory is the activity, which ends at `end` of this or an earlier iteration.
bool is_transfer_of(const plan::Activity& activity, base::Ticks end, const timeline::Bar& bar, base::Ticks stretch) {
  return bar.track == static_cast<std::int32_t>(activity.task) && (end - bar.end).count() % stretch.count() == 0;
}

/// Returns the first bar of the timeline that belongs to the activity, or -1.
std::int32_t first_bar(const answer::SimulationAnswer& simulated, const timeline::Timeline& timeline,
                       std::size_t index) {
  const plan::Activity& activity = simulated.simulation.closed.graph.activities[index];
  const simulate::Iteration& iteration = simulated.simulation.iteration;
  const bool on_links = plan::is_host_transfer(activity);
  std::int32_t first = -1;
  std::int32_t number = 0;
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    const bool is_link = timeline::is_host_link_lane(timeline.lanes[lane].name);
    for (const timeline::Bar& bar : bars_of(timeline, lane)) {
      const bool is_activity =
          is_link == on_links &&
          (on_links ? is_transfer_of(activity, iteration.activities[index].end, bar, iteration.cycle)
                    : is_work_of(activity, bar));
      if (is_activity && (first < 0 || bar.begin < timeline.bars[static_cast<std::size_t>(first)].begin))
        first = number;
      ++number;
    }
  }
  return first;
}

/// [bar kind] idle seconds of the average device.
std::vector<double> idle_seconds(const answer::SimulationAnswer& simulated, const study::FusionVariant& variant) {
  std::vector<double> seconds(static_cast<std::size_t>(simulate::bar_kinds));
  const double devices = cluster::device_count(simulated.scenario.job.cluster);
  for (const simulate::Use& use : variant.uses)
    if (simulate::is_idle(use.bar_kind))
      seconds[static_cast<std::size_t>(use.bar_kind)] += base::seconds_of_ticks(use.time) / devices;
  return seconds;
}

/// Returns the hand-over seconds of the average device.
double hand_over_seconds(const answer::SimulationAnswer& simulated, const study::FusionVariant& variant) {
  return base::seconds_of_ticks(simulate::time_of(variant.uses, simulate::BarKind::hand_over)) /
         cluster::device_count(simulated.scenario.job.cluster);
}

/// Joins the notes into sentences with an initial capital and a period.
std::string sentences(const std::vector<std::string>& notes) {
  std::string text;
  for (std::string note : notes) {
    if (!note.empty() && note.front() >= 'a' && note.front() <= 'z')
      note.front() = static_cast<char>(note.front() - 'a' + 'A');
    text += fmt::format(" {}{}", note, note.ends_with('.') ? "" : ".");
  }
  return text;
}

std::string fusion_note(const answer::SimulationAnswer& simulated) {
  std::string note = simulated.variants.empty()
                         ? "This plan fuses nothing."
                         : "Idle time and hand-over are averages over all devices. Hand-over is the time in which the "
                           "trainer's software distributes data to tasks and collects their results.";
  if (const std::string less = answer::less_fusion_text(simulated.variants); !less.empty()) note += " " + less;
  note += sentences(simulated.notes);
  if (note.find("analytical model") != std::string::npos)
    note += " (Analytical model: times from formulas, not simulated.)";
  if (const auto& fused = simulated.simulation.training)
    note += fmt::format(
        " The fused training takes {}. Its lower bound is {} (proven). The models in sequence take {}. With each pair "
        "of mini-batches fused separately, they take {}.",
        answer::seconds_text(base::seconds_of_ticks(fused->trace.end)),
        answer::seconds_text(base::seconds_of_ticks(fused->bound)),
        answer::seconds_text(base::seconds_of_ticks(fused->apart)),
        answer::seconds_text(base::seconds_of_ticks(fused->mini_by_mini)));
  return note;
}

/// "It fits, with the required margin of 5.2% of usable memory (...)."
std::string fit_text(const answer::SimulationAnswer& simulated) {
  const std::vector<predict::TaskMemory>& memory = simulated.simulation.closed.memory;
  if (planner::missing_of(memory).bytes > 0) return fmt::format("It does not fit: {}.", answer::missing_text(memory));
  const std::string margin = answer::margin_text(simulated.scenario);
  if (simulated.simulation.closed.keeps_margin())
    return fmt::format("It fits, with the required margin of {}.", margin);
  return fmt::format("It is tight: some device keeps less than the required margin of {}.", margin);
}

std::string parts_text(const predict::TaskMemory& memory, const workflow::Workflow& workflow) {
  constexpr std::size_t shown = 3;
  std::vector<std::string> texts;
  for (std::size_t part = 0; part < std::min(shown, memory.parts.size()); ++part)
    texts.push_back(
        fmt::format("{} {}", name_of(memory.parts[part], workflow), answer::gibibytes(memory.parts[part].bytes)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// A ranked plan, or the shown plan.
struct Candidate {
  std::string placement;
  const plan::Plan* plan = nullptr;
  const predict::Estimate* estimate = nullptr;
  bool shown = false;
};

std::vector<Candidate> candidates(const answer::SimulationAnswer& simulated) {
  std::vector<Candidate> all;
  for (const planner::RankedPlan& ranked : simulated.ranking->plans)
    all.push_back(
        {std::string(name_of(ranked.placement)), &ranked.plan, &ranked.estimate, ranked.plan == simulated.plan});
  if (std::none_of(all.begin(), all.end(), [](const Candidate& candidate) { return candidate.shown; }))
    all.push_back({simulated.plan.placement, &simulated.plan, &simulated.simulation.closed, true});
  if (simulated.configured)
    all.push_back(
        {simulated.configured->plan.placement, &simulated.configured->plan, &simulated.configured->estimate, false});
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.estimate->iteration_seconds < b.estimate->iteration_seconds;
  });
  return all;
}

std::vector<std::string> ranking_row(const answer::SimulationAnswer& simulated, const Candidate& candidate,
                                     std::size_t number) {
  const predict::Estimate& estimate = *candidate.estimate;
  const predict::Estimate& shown = simulated.simulation.closed;
  const double lost = estimate.iteration_seconds - shown.iteration_seconds;
  const std::size_t fullest = planner::min_margin_task(estimate.memory);
  const bool tie =
      !candidate.shown && std::abs(lost) <= simulated.scenario.software.efficiency.error * shown.iteration_seconds;
  return {std::to_string(number),
          candidate.placement,
          answer::seconds_text(estimate.iteration_seconds),
          candidate.shown ? "shown" : answer::difference_text(estimate.iteration_seconds, shown.iteration_seconds),
          candidate.shown ? ""
                          : (tie ? "a tie: " : "") + reasons_against(simulated.scenario, {*candidate.plan, estimate},
                                                                     {simulated.plan, shown}),
          estimate.fits() ? answer::gibibytes(estimate.memory[fullest].margin()) : "does not fit",
          simulated.scenario.job.workflow.tasks[fullest].name};
}

}  // namespace

std::string reasons_against(const predict::Scenario& scenario, const planner::EstimatedPlan& plan,
                            const planner::EstimatedPlan& other) {
  constexpr std::size_t most = 3;
  planner::Comparison comparison = planner::compare(scenario, plan, other);
  const bool slower = plan.estimate.iteration_seconds > other.estimate.iteration_seconds;
  const auto explains = [&](double lost) { return std::abs(lost) >= negligible && (lost > 0) == slower; };
  std::vector<std::string> texts;
  for (const planner::TimeUse& use : comparison.uses)
    if (use.of == predict::SecondsOf::idle && explains(use.seconds.lost()))
      texts.push_back("idle time " + answer::signed_seconds(use.seconds.lost()));
  const std::string overlap = overlap_text(scenario, plan, other, slower);
  for (const Difference& difference : differences_of(scenario, plan, other, std::move(comparison.activities))) {
    if (texts.size() + (overlap.empty() ? 0 : 1) >= most) break;
    if (!explains(difference.lost)) continue;
    texts.push_back(fmt::format("{} {}{}", difference.name, answer::signed_seconds(difference.lost),
                                difference.note.empty() ? "" : " (" + difference.note + ")"));
  }
  if (!overlap.empty()) texts.push_back(overlap);
  if (texts.empty()) return "no significant difference";
  return fmt::format("{}", fmt::join(texts, ", "));
}

Table activity_table(const answer::SimulationAnswer& simulated, const timeline::Timeline& timeline) {
  Table table;
  table.title = "Activities";
  table.note =
      "Activities on different devices may overlap. Analytical durations come from formulas instead of simulation. "
      "Select a row to see the activity's first bar.";
  table.columns = {
      {"activity", Align::left}, {"devices", Align::left}, {"start"}, {"simulated"}, {"analytical"}, {"difference"}};
  std::vector<answer::ActivityLine> lines =
      answer::activity_lines(simulated.scenario, simulated.plan, simulated.simulation);
  std::stable_sort(lines.begin(), lines.end(),
                   [](const answer::ActivityLine& a, const answer::ActivityLine& b) { return a.begin < b.begin; });
  for (const answer::ActivityLine& line : lines) {
    table.rows.push_back({line.name, line.devices, answer::seconds_text(line.begin),
                          answer::seconds_text(line.simulated), answer::seconds_text(line.closed),
                          answer::difference_text(line.simulated, line.closed)});
    table.bars.push_back(first_bar(simulated, timeline, line.activity));
  }
  return table;
}

Table fusion_table(const answer::SimulationAnswer& simulated) {
  Table table;
  table.title = "Gain from stage fusion";
  table.note = fusion_note(simulated);
  table.columns = {{"fused", Align::left}, {"iteration"}, {"speed"}};
  if (simulated.variants.empty()) {
    table.rows.push_back({"nothing", answer::seconds_text(simulated.simulation.iteration_seconds), "1.00x"});
    return table;
  }
  std::vector<std::vector<double>> idle;
  std::vector<double> all(static_cast<std::size_t>(simulate::bar_kinds));
  for (const study::FusionVariant& variant : simulated.variants) {
    idle.push_back(idle_seconds(simulated, variant));
    for (std::size_t cause = 0; cause < all.size(); ++cause) all[cause] += idle.back()[cause];
  }
  for (const char* column : {"hand-over", "idle"}) table.columns.push_back({column});
  for (std::size_t cause = 0; cause < all.size(); ++cause)
    if (all[cause] >= negligible)
      table.columns.push_back({std::string(simulate::name_of(static_cast<simulate::BarKind>(cause)))});
  for (std::size_t index = 0; index < simulated.variants.size(); ++index) {
    const study::FusionVariant& variant = simulated.variants[index];
    double sum = 0;
    for (const double seconds : idle[index]) sum += seconds;
    std::vector<std::string> row{
        std::string(variant.mode == study::FusionMode::none ? "nothing" : base::enum_name(variant.mode)) +
            (variant.fit == predict::Fit::fits ? "" : fmt::format(", {}", predict::name_of(variant.fit))),
        answer::seconds_text(variant.seconds),
        fmt::format("{:.2f}x", simulated.variants.front().seconds / variant.seconds),
        answer::seconds_text(hand_over_seconds(simulated, variant)), answer::seconds_text(sum)};
    for (std::size_t cause = 0; cause < all.size(); ++cause)
      if (all[cause] >= negligible) row.push_back(answer::seconds_text(idle[index][cause]));
    if (variant.is_simulated_plan) table.marked.push_back(index);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table memory_table(const answer::SimulationAnswer& simulated) {
  const std::vector<predict::TaskMemory>& memory = simulated.simulation.closed.memory;
  Table table;
  table.title = "Does it fit?";
  table.note = fit_text(simulated) +
               " Each row is for the device with the least free memory while the task runs. Peak memory includes "
               "everything that stays resident.";
  table.columns = {{"task", Align::left},         {"device"}, {"peak memory"}, {"usable"}, {"free"},
                   {"largest parts", Align::left}};
  const bool offloads =
      std::any_of(memory.begin(), memory.end(), [](const predict::TaskMemory& of) { return of.host > 0; });
  if (offloads) table.columns.push_back({"host memory"});
  const std::size_t fullest = planner::min_margin_task(memory);
  for (std::size_t task = 0; task < memory.size(); ++task) {
    if (simulated.scenario.job.workflow.tasks[task].kind == workflow::TaskKind::rule) continue;
    const predict::TaskMemory& of = memory[task];
    if (task == fullest) table.marked.push_back(table.rows.size());
    table.rows.push_back({simulated.scenario.job.workflow.tasks[task].name, std::to_string(of.device),
                          answer::gibibytes(of.needed()), answer::gibibytes(of.usable), answer::gibibytes(of.margin()),
                          parts_text(of, simulated.scenario.job.workflow)});
    if (offloads)
      table.rows.back().push_back(
          fmt::format("{} of {} per node", answer::gibibytes(of.host), answer::gibibytes(of.host_memory)));
  }
  return table;
}

Table ranking_table(const answer::SimulationAnswer& simulated) {
  Table table;
  table.title = "Ranked plans";
  table.note = fmt::format(
      "Ranked by the iteration time of the analytical model (from formulas, not simulated), fastest first. The model's "
      "mean prediction error is {}. The differences compare each plan with the shown plan: idle time of the average "
      "device, the activities that differ most, with the main cause of each, and the tasks whose overlap differs most.",
      percent(simulated.scenario.software.efficiency.error));
  table.columns = {
      {"plan"},        {"placement", Align::left}, {"iteration"}, {"vs. shown"}, {"main differences", Align::left},
      {"free memory"}, {"during", Align::left}};
  const std::vector<Candidate> all = candidates(simulated);
  for (std::size_t index = 0; index < all.size(); ++index) {
    table.rows.push_back(ranking_row(simulated, all[index], index + 1));
    if (all[index].shown) table.marked.push_back(index);
  }
  return table;
}

LineChart threshold_chart(const study::Sweep& thresholds) {
  const CurvePicture picture = sweep_picture(thresholds, "");
  LineChart chart;
  chart.title = "Migration threshold";
  chart.note = "Unfinished samples move to fewer instances once their share is at or below the threshold." +
               sentences({picture.facts});
  chart.x_name = "threshold (% of samples unfinished)";
  const CurvePicture::Panel& panel = picture.panels.front();
  chart.y_name = panel.name;
  for (std::size_t line = 0; line < panel.lines.size(); ++line) {
    LineChart::Series series{panel.lines[line].name, plain_ink(line), {}};
    for (std::size_t place = 0; place < picture.places.size(); ++place)
      if (const auto& value = panel.lines[line].values[place])
        series.points.emplace_back(100 * picture.places[place].x, *value);
    chart.series.push_back(std::move(series));
  }
  for (const CurvePicture::Level& level : panel.levels)
    chart.series.push_back(
        {level.name,
         plain_ink(chart.series.size()),
         {{100 * picture.places.front().x, level.value}, {100 * picture.places.back().x, level.value}}});
  for (const CurvePicture::Mark& mark : panel.marks) {
    const auto& points = chart.series[mark.line].points;
    const double x = 100 * picture.places[mark.place].x;
    const auto point = std::find_if(points.begin(), points.end(), [&](const auto& known) { return known.first == x; });
    chart.marks.push_back({mark.line, static_cast<std::size_t>(point - points.begin()), mark.text});
  }
  return chart;
}

std::optional<Gain> gain_of(const answer::SimulationAnswer& simulated) {
  const double here = simulated.simulation.closed.iteration_seconds;
  if (simulated.configured)
    return Gain{"the trainer's configuration", simulated.configured->estimate.iteration_seconds, here};
  if (!simulated.ranking || faster_plan(simulated) != nullptr) return std::nullopt;
  const auto is_usual = [&](const planner::RankedPlan& ranked) {
    return std::find(std::begin(planner::named_placements), std::end(planner::named_placements), ranked.placement) !=
               std::end(planner::named_placements) &&
           ranked.plan != simulated.plan;
  };
  const planner::RankedPlan* fastest = nullptr;
  for (const planner::RankedPlan& ranked : simulated.ranking->plans)
    if (is_usual(ranked) &&
        (fastest == nullptr || ranked.estimate.iteration_seconds < fastest->estimate.iteration_seconds))
      fastest = &ranked;
  if (fastest == nullptr) return std::nullopt;
  return Gain{fmt::format("{}, the fastest usual placement", name_of(fastest->placement)),
              fastest->estimate.iteration_seconds, here};
}

const planner::RankedPlan* faster_plan(const answer::SimulationAnswer& simulated) {
  if (!simulated.ranking) return nullptr;
  const planner::RankedPlan* fastest = nullptr;
  for (const planner::RankedPlan& ranked : simulated.ranking->plans)
    if (fastest == nullptr || ranked.estimate.iteration_seconds < fastest->estimate.iteration_seconds)
      fastest = &ranked;
  constexpr double visible = 0.9995;  // max ratio of iterations whose printed digits differ
  const bool is_faster = fastest != nullptr &&
                         fastest->estimate.iteration_seconds < visible * simulated.simulation.closed.iteration_seconds;
  return is_faster ? fastest : nullptr;
}

namespace {

/// "28.6 s per iteration (simulated). 1.18x the speed of co-located, the fastest usual placement (...). It fits: ..."
std::string plan_note(const answer::SimulationAnswer& simulated) {
  const predict::Estimate& closed = simulated.simulation.closed;
  std::string note =
      fmt::format("{} per iteration (simulated).", answer::seconds_text(simulated.simulation.iteration_seconds));
  if (simulated.as_configured) note = "The plan of the trainer's configuration: " + note;
  const std::optional<Gain> gain = gain_of(simulated);
  if (gain)
    note += fmt::format(" {:.2f}x the speed of {} ({} instead of {}).", gain->factor(), gain->over,
                        answer::seconds_text(gain->seconds_here), answer::seconds_text(gain->seconds_there));
  const planner::RankedPlan* const faster = faster_plan(simulated);
  if (faster != nullptr)
    note += fmt::format(" A faster plan was found: {}, {} instead of {} ({}).", name_of(faster->placement),
                        answer::seconds_text(faster->estimate.iteration_seconds),
                        answer::seconds_text(closed.iteration_seconds),
                        answer::difference_text(faster->estimate.iteration_seconds, closed.iteration_seconds));
  if (gain || faster != nullptr)
    note += " Plans are compared by the analytical model: times come from formulas instead of simulation.";
  return note + " " + fit_text(simulated);
}

}  // namespace

Table plan_table(const answer::SimulationAnswer& simulated) {
  Table table;
  table.title = "Plan";
  table.note = plan_note(simulated);
  table.columns = {{"task", Align::left}, {"devices", Align::left}, {"layout", Align::left}, {"settings", Align::left}};
  for (const answer::TaskText& row : answer::task_texts(simulated.scenario.job, simulated.plan))
    table.rows.push_back({row.task, row.devices, row.layout, row.settings});
  return table;
}

Table not_modelled_table(const plan::Job& job) {
  Table table;
  table.title = "Not modeled";
  table.note = "Settings that affect time or memory, but that the figures here do not account for.";
  table.columns = {{"setting", Align::left}, {"meaning", Align::left}};
  for (const plan::NotModelled& setting : job.not_modelled) table.rows.push_back({setting.key, setting.what});
  return table;
}

}  // namespace dovetail::report
