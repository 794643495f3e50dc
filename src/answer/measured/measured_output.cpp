#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/measured/measured.h"
#include "answer/plans/plan_output.h"
#include "answer/question/json.h"
#include "answer/text/figures.h"
#include "answer/text/plan_text.h"
#include "answer/text/text.h"

namespace dovetail::answer {
namespace {

using measure::MeasuredAgainst;
using measure::MeasuredTime;
using measure::TimeSpread;
using trainers::TimeKind;

Json to_json(const TimeSpread& spread) {
  return {{"steps", spread.steps},
          {"median", json_ratio(spread.median)},
          {"mean", json_ratio(spread.mean)},
          {"lower", json_ratio(spread.lower)},
          {"upper", json_ratio(spread.upper)},
          {"least", json_ratio(spread.min)},
          {"most", json_ratio(spread.max)}};
}

Json to_json(const MeasuredTime& time) {
  Json object{{"key", clean_text(time.key)}, {"use", base::enum_name(time.known.use)}};
  if (time.known.use == TimeKind::phase) {
    object["phase"] = base::enum_name(*time.known.phase);
    object["roles"] = time.known.roles;
  }
  object["seconds"] = to_json(time.spread);
  return object;
}

Json to_json(const MeasuredAgainst& phase) {
  Json object{{"phase", phase.phase},
              {"keys", Json::array()},
              {"measured", json_ratio(phase.seconds)},
              {"predicted", json_ratio(phase.predicted)},
              {"with_refit", phase.with_weight_sync},
              {"whole", phase.whole},
              {"spread", to_json(phase.measured)},
              {"reasons", phase.reasons}};
  for (const std::string& key : phase.keys) object["keys"].push_back(clean_text(key));
  return object;
}

Json to_json(const std::vector<measure::OneSided>& sides) {
  Json list = Json::array();
  for (const measure::OneSided& side : sides)
    list.push_back({{"name", clean_text(side.name)}, {"seconds", json_ratio(side.seconds)}});
  return list;
}

std::string quartiles(const TimeSpread& spread) {
  return fmt::format("{} to {}", seconds_text(spread.lower), seconds_text(spread.upper));
}

constexpr std::size_t max_runs = 10;

/// "1 to 3, 7": ranges of consecutive numbers. Long lists are cut and end with the total count.
std::string numbers_text(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> runs;
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    runs.push_back(end - begin == 1 ? fmt::format("{}", numbers[begin])
                                    : fmt::format("{} to {}", numbers[begin], numbers[end - 1]));
    begin = end;
  }
  if (runs.size() <= max_runs) return fmt::format("{}", fmt::join(runs, ", "));
  runs.resize(max_runs);
  return fmt::format("{}, ... ({} in total)", fmt::join(runs, ", "), numbers.size());
}

std::string run_text(const measure::MeasuredRun& run) {
  std::string text =
      fmt::format("log of {}: {} over {} of {}\n", base::enum_name(run.format), base::enum_name(run.statistic),
                  counted(static_cast<std::int64_t>(run.steps.size()), "step"),
                  run.steps.size() + run.warm_up.size() + run.interrupted.size());
  if (!run.warm_up.empty())
    text += fmt::format("steps left out as warm-up: {}{}\n", numbers_text(run.warm_up),
                        run.warm_up_ratio
                            ? fmt::format(" (the first took {:.2f} times as long as a usual step)", *run.warm_up_ratio)
                            : "");
  if (!run.interrupted.empty())
    text += fmt::format("steps left out for validation or checkpoints: {}\n", numbers_text(run.interrupted));
  if (run.mean_response)
    text += fmt::format("responses: mean {:.0f} tokens{}{}\n", *run.mean_response,
                        run.max_response ? fmt::format(", max {:.0f}", *run.max_response) : "",
                        run.at_cap ? fmt::format(", {} at the cap", percent(*run.at_cap)) : "");
  return text + "\n";
}

/// Meaning of a time within the iteration: "inference: reference", "part of generation".
std::string meaning_of(const MeasuredTime& time) {
  if (time.known.use != TimeKind::phase) return std::string(base::enum_name(time.known.use));
  const std::string_view phase = base::enum_text(*time.known.phase);
  return time.known.roles.empty() ? std::string(phase)
                                  : fmt::format("{}: {}", phase, fmt::join(time.known.roles, ", "));
}

Sections times_table(const measure::MeasuredRun& run) {
  std::vector<std::vector<std::string>> rows;
  for (const MeasuredTime& time : run.times) {
    const bool rate = time.known.use == TimeKind::rate;
    rows.push_back(
        {clean_text(time.key), meaning_of(time),
         rate ? fmt::format("{:.1f}", time.spread.by(run.statistic)) : seconds_text(time.spread.by(run.statistic)),
         rate ? "" : quartiles(time.spread)});
  }
  return Table{{{"key", Align::left}, {"meaning", Align::left}, {"time"}, {"quartiles"}}, rows};
}

std::string deviation_text(const MeasuredAgainst& phase) {
  return phase.predicted > 0 ? fmt::format("{:+.1f}%", 100 * (phase.predicted / std::max(phase.seconds, 1e-9) - 1))
                             : "";
}

std::vector<std::string> compared_row(const MeasuredAgainst& phase) {
  std::vector<std::string> keys;
  for (const std::string& key : phase.keys) keys.push_back(clean_text(key));
  const std::string title = measure::phase_title(phase.phase);
  return {phase.with_weight_sync ? title + " and weight sync" : title,
          seconds_text(phase.seconds),
          quartiles(phase.measured),
          seconds_text(phase.predicted),
          deviation_text(phase),
          fmt::format("{}", fmt::join(keys, ", "))};
}

Table compared_table(const measure::MeasuredComparison& comparison) {
  std::vector<std::vector<std::string>> rows;
  for (const MeasuredAgainst& phase : comparison.phases) rows.push_back(compared_row(phase));
  if (comparison.iteration) rows.push_back(compared_row(*comparison.iteration));
  return Table{{{"phase", Align::left}, {"measured"}, {"quartiles"}, {"predicted"}, {"error"}, {"keys", Align::left}},
               rows};
}

std::string one_sided_text(std::string_view intro, const std::vector<measure::OneSided>& sides) {
  if (sides.empty()) return "";
  std::vector<std::string> parts;
  for (const measure::OneSided& side : sides)
    parts.push_back(fmt::format("{} {}", clean_text(side.name), seconds_text(side.seconds)));
  return fmt::format("{}: {}\n", intro, fmt::join(parts, ", "));
}

void add_reasons(std::string& text, const MeasuredAgainst& phase) {
  if (phase.reasons.empty()) return;
  text += fmt::format("\n{}: {} {} than predicted\n", measure::phase_title(phase.phase),
                      seconds_text(std::abs(phase.difference())), phase.difference() > 0 ? "longer" : "shorter");
  for (const std::string& reason : phase.reasons) text += fmt::format("  - {}\n", reason);
}

Sections comparison_text(const MeasuredPrediction& predicted) {
  const measure::MeasuredComparison& comparison = predicted.comparison;
  Sections text = fmt::format("predicted with efficiencies {}\n\n", predicted.efficiency);
  text += compared_table(comparison);
  text += "\n" + one_sided_text("only measured", comparison.only_measured);
  std::vector<measure::OneSided> only_predicted = comparison.only_predicted;
  for (measure::OneSided& side : only_predicted) side.name = measure::phase_title(side.name);
  text += one_sided_text("only predicted", only_predicted);
  std::string reasons;
  for (const MeasuredAgainst* phase : comparison.by_difference()) add_reasons(reasons, *phase);
  if (comparison.iteration) add_reasons(reasons, *comparison.iteration);
  text += reasons.empty() ? "all phases are within 10% of their predictions, or off by at most 2% of the iteration\n"
                          : "\nlargest differences and likely causes:\n" + reasons;
  return text;
}

/// Phases that took unusually long while the log was followed.
std::string slow_phases_text(const MeasuredAnswer& answer) {
  if (!answer.followed || !answer.predicted) return "";
  const std::string steps = counted(static_cast<std::int64_t>(*answer.followed), "step");
  if (answer.slow_phases.empty())
    return fmt::format(
        "\nin the {} followed, no phase was slow after the warm-up (at least {:g} times its prediction, and above it "
        "by over 2% of the iteration)\n",
        steps, slow_factor);
  std::vector<std::string> phases;
  for (const SlowPhase& phase : answer.slow_phases)
    phases.push_back(fmt::format("{} in {}", measure::phase_title(phase.phase), phase.steps));
  return fmt::format("\nslow phases in the {} followed, after the warm-up (at least {:g} times their prediction): {}\n",
                     steps, slow_factor, fmt::join(phases, ", "));
}

/// Data in the log that no table shows.
std::string rest_text(const measure::MeasuredRun& run) {
  std::string text;
  if (!run.unknown.empty()) {
    std::vector<std::string> keys;
    for (const std::string& key : run.unknown) keys.push_back(clean_text(key));
    text += fmt::format("unknown times ignored: {}\n", fmt::join(keys, ", "));
  }
  if (run.other_series > 0)
    text += fmt::format("{} ignored\n", counted(static_cast<std::int64_t>(run.other_series), "non-timing key"));
  if (run.not_numbers > 0)
    text += fmt::format("{} ignored\n", counted(static_cast<std::int64_t>(run.not_numbers), "non-numeric value"));
  if (run.repeated > 0)
    text += fmt::format("{} logged repeatedly for the same step; the last one counts\n",
                        counted(static_cast<std::int64_t>(run.repeated), "value"));
  if (run.cut > 0) text += "the log ends with an incomplete line, which is ignored\n";
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string to_json(const MeasuredAnswer& answer) {
  const measure::MeasuredRun& run = answer.run;
  Json object{{"format", "dovetail/measured@1"},
              {"log", base::enum_name(run.format)},
              {"statistic", base::enum_name(run.statistic)},
              {"steps", run.steps},
              {"warm_up", run.warm_up},
              {"interrupted", run.interrupted},
              {"times", Json::array()},
              {"unknown", Json::array()},
              {"other_series", run.other_series},
              {"not_numbers", run.not_numbers},
              {"repeated", run.repeated},
              {"cut", run.cut}};
  for (const MeasuredTime& time : run.times) object["times"].push_back(to_json(time));
  for (const std::string& key : run.unknown) object["unknown"].push_back(clean_text(key));
  if (run.warm_up_ratio) object["warm_up_ratio"] = json_ratio(*run.warm_up_ratio);
  if (run.mean_response) object["mean_response"] = json_ratio(*run.mean_response);
  if (run.max_response) object["longest_response"] = json_ratio(*run.max_response);
  if (run.at_cap) object["at_cap"] = json_ratio(*run.at_cap);
  if (run.mean_prompt) object["mean_prompt"] = json_ratio(*run.mean_prompt);
  if (!answer.predicted) return json_text(object);
  const measure::MeasuredComparison& comparison = answer.predicted->comparison;
  Json compared{{"efficiency", answer.predicted->efficiency}, {"phases", Json::array()}};
  for (const MeasuredAgainst& phase : comparison.phases) compared["phases"].push_back(to_json(phase));
  if (comparison.iteration) compared["iteration"] = to_json(*comparison.iteration);
  compared["only_measured"] = to_json(comparison.only_measured);
  compared["only_predicted"] = to_json(comparison.only_predicted);
  add_not_modelled(answer.predicted->job.not_modelled, compared);
  object["comparison"] = std::move(compared);
  return json_text(object);
}

Sections sections(const MeasuredAnswer& answer) {
  const std::string origin = answer.predicted ? origin_line(answer.predicted->job) : "";
  return origin + run_text(answer.run) +
         (answer.predicted ? comparison_text(*answer.predicted) : times_table(answer.run)) + slow_phases_text(answer) +
         rest_text(answer.run) + (answer.predicted ? not_modelled_text(answer.predicted->job.not_modelled) : "");
}

}  // namespace dovetail::answer
