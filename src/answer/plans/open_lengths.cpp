#include "answer/plans/open_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "answer/words/figures.h"
#include "answer/words/text.h"
#include "measure/measured.h"

namespace dovetail::answer {
namespace {

constexpr const char* how_to_say = "set --response-length mean=..., or --lengths to the log of a run";

bool is_faster(const PlanAtPart& at, double error) {
  return !at.placement.empty() && (!at.fits || at.seconds > at.first_seconds * (1 + error));
}

std::string part_words(const PlanAtPart& at) {
  return fmt::format("{:.0f}% of the cap, {:.0f} tokens", 100 * at.part, at.mean);
}

/// States whether the choice of the plan depends on the lengths.
std::string choice_text(const OpenLengths& lengths) {
  if (!lengths.decide())
    return fmt::format(
        "The choice of the plan does not depend on the lengths: no other plan is faster by more than the mean "
        "prediction error of {}.\n",
        percent(lengths.error));
  std::vector<std::string> others;
  for (const PlanAtPart& at : lengths.parts)
    if (is_faster(at, lengths.error))
      others.push_back(at.fits ? fmt::format("at {}, placement {} takes {} less", part_words(at), at.placement,
                                             percent(1 - at.first_seconds / at.seconds))
                               : fmt::format("at {}, this plan does not fit", part_words(at)));
  return fmt::format("The choice of the plan DEPENDS on the lengths: {}; {}.\n", fmt::join(others, ", "), how_to_say);
}

}  // namespace

predict::Scenario at_part_of_cap(const predict::Scenario& scenario, double part) {
  plan::Job job = scenario.job;
  const std::int64_t cap = job.workload.response_length.longest();
  const double mean = part * static_cast<double>(cap);
  const workflow::LengthFigures figures{.mean = mean, .sigma = measure::usual_sigma, .cap = cap};
  const std::int64_t fixed = std::max<std::int64_t>(1, std::llround(mean));
  workflow::set_responses(job.workload, workflow::find_fault(figures) ? workflow::LengthDistribution::fixed(fixed)
                                                                      : workflow::log_normal_lengths(figures));
  return predict::scenario_of(job, scenario.software, scenario.cancellation);
}

bool OpenLengths::decide() const {
  return std::any_of(parts.begin(), parts.end(), [this](const PlanAtPart& at) { return is_faster(at, error); });
}

OpenLengths plan_at_parts(const predict::Scenario& scenario, const plan::Plan& plan) {
  OpenLengths lengths{
      .cap = scenario.job.workload.response_length.longest(), .error = scenario.software.efficiency.error, .parts = {}};
  for (const double part : open_parts) {
    const predict::Scenario at = at_part_of_cap(scenario, part);
    const predict::Estimate estimate = predict::estimate(at, plan);
    lengths.parts.push_back({.part = part,
                             .mean = at.job.workload.response_length.mean(),
                             .seconds = estimate.iteration_seconds,
                             .fits = estimate.fit() != predict::Fit::does_not_fit,
                             .placement = {}});
  }
  plan::Job longest = scenario.job;
  workflow::set_responses(longest.workload, workflow::LengthDistribution::fixed(lengths.cap));
  const predict::Scenario at_cap = predict::scenario_of(longest, scenario.software, scenario.cancellation);
  lengths.fits_at_cap = predict::estimate(at_cap, plan).fit() != predict::Fit::does_not_fit;
  return lengths;
}

Sections open_lengths_sections(const OpenLengths& lengths) {
  const bool found = std::any_of(lengths.parts.begin(), lengths.parts.end(),
                                 [](const PlanAtPart& at) { return !at.placement.empty(); });
  std::vector<std::vector<std::string>> rows;
  for (const PlanAtPart& at : lengths.parts) {
    rows.push_back({part_words(at), seconds_text(at.seconds) + (at.fits ? "" : " *")});
    if (found) {
      rows.back().push_back(at.placement.empty() ? "-" : seconds_text(at.first_seconds));
      rows.back().push_back(at.placement.empty() ? "no plan found" : at.placement);
    }
  }
  std::vector<Column> columns{{"mean response", Align::left}, {"this plan"}};
  if (found) {
    columns.push_back({"fastest found"});
    columns.push_back({"placement", Align::left});
  }
  Sections all = fmt::format(
      "\nResponse lengths are unknown, except for their cap of {}. The figures above assume a mean of {:.0f}% of the "
      "cap. Iteration times:\n\n",
      counted(lengths.cap, "token"), 100 * answered_part);
  all += Table{columns, rows};
  all += found ? choice_text(lengths) : fmt::format("For a single figure, {}.\n", how_to_say);
  if (!lengths.fits_at_cap) all += "If all responses reach the cap, the plan does not fit; see dovetail fit.\n";
  return all;
}

Json open_lengths_json(const OpenLengths& lengths) {
  Json object{{"cap", lengths.cap}, {"fits_at_cap", lengths.fits_at_cap}, {"parts", Json::array()}};
  for (const PlanAtPart& at : lengths.parts) {
    Json part{{"part", json_ratio(at.part)},
              {"mean", json_ratio(at.mean)},
              {"iteration_seconds", json_seconds(at.seconds)},
              {"fits", at.fits}};
    if (!at.placement.empty()) {
      part["placement"] = at.placement;
      part["first_seconds"] = json_seconds(at.first_seconds);
      object["decide"] = lengths.decide();
    }
    object["parts"].push_back(std::move(part));
  }
  return object;
}

}  // namespace dovetail::answer
