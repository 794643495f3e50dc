#include "answer/plans/open_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "answer/text/figures.h"
#include "answer/text/text.h"
#include "workflow/log_normal.h"

namespace dovetail::answer {
namespace {

constexpr const char* how_to_specify = "set --response-length mean=..., or --lengths to the log of a run";

bool is_faster(const PlanAtShare& at, double error) {
  return !at.placement.empty() && (!at.fits || at.seconds > at.first_seconds * (1 + error));
}

std::string share_text(const PlanAtShare& at) {
  return fmt::format("{:.0f}% of the cap ({:.0f} tokens)", 100 * at.share, at.mean);
}

/// States whether the choice of the plan depends on the lengths.
std::string choice_text(const OpenLengths& lengths) {
  if (!lengths.affect_choice())
    return fmt::format(
        "The choice of the plan does not depend on the lengths: no other plan is faster by more than the mean "
        "prediction error of {}.\n",
        percent(lengths.error));
  std::vector<std::string> others;
  for (const PlanAtShare& at : lengths.shares)
    if (is_faster(at, lengths.error))
      others.push_back(at.fits ? fmt::format("at {}, placement {} takes {} less", share_text(at), at.placement,
                                             percent(1 - at.first_seconds / at.seconds))
                               : fmt::format("at {}, this plan does not fit", share_text(at)));
  return fmt::format("The choice of the plan DEPENDS on the lengths: {}; {}.\n", fmt::join(others, ", "),
                     how_to_specify);
}

}  // namespace

predict::Scenario at_share_of_cap(const predict::Scenario& scenario, double share) {
  plan::Job job = scenario.job;
  const std::int64_t cap = job.workload.response_length.longest();
  const double mean = share * static_cast<double>(cap);
  const workflow::LengthFigures figures{.mean = mean, .sigma = workflow::default_sigma, .cap = cap};
  const std::int64_t fixed = std::max<std::int64_t>(1, std::llround(mean));
  workflow::set_responses(job.workload, workflow::find_fault(figures) ? workflow::LengthDistribution::fixed(fixed)
                                                                      : workflow::log_normal_lengths(figures));
  return predict::scenario_of(job, scenario.software, scenario.cancellation);
}

bool OpenLengths::affect_choice() const {
  return std::any_of(shares.begin(), shares.end(), [this](const PlanAtShare& at) { return is_faster(at, error); });
}

OpenLengths plan_at_shares(const predict::Scenario& scenario, const plan::Plan& plan) {
  OpenLengths lengths{.cap = scenario.job.workload.response_length.longest(),
                      .error = scenario.software.efficiency.error,
                      .shares = {}};
  for (const double share : assumed_shares) {
    const predict::Scenario at = at_share_of_cap(scenario, share);
    const predict::Estimate estimate = predict::estimate(at, plan);
    lengths.shares.push_back({.share = share,
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
  const bool found = std::any_of(lengths.shares.begin(), lengths.shares.end(),
                                 [](const PlanAtShare& at) { return !at.placement.empty(); });
  std::vector<std::vector<std::string>> rows;
  for (const PlanAtShare& at : lengths.shares) {
    rows.push_back({share_text(at), seconds_text(at.seconds) + (at.fits ? "" : " *")});
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
      "cap. Iteration times (*: the plan does not fit):\n\n",
      counted(lengths.cap, "token"), 100 * default_share);
  all += Table{columns, rows};
  all += found ? choice_text(lengths) : fmt::format("For a single prediction, {}.\n", how_to_specify);
  if (!lengths.fits_at_cap) all += "If all responses reach the cap, the plan does not fit; see dovetail fit.\n";
  return all;
}

Json open_lengths_json(const OpenLengths& lengths) {
  Json object{{"cap", lengths.cap}, {"fits_at_cap", lengths.fits_at_cap}, {"parts", Json::array()}};
  for (const PlanAtShare& at : lengths.shares) {
    Json share{{"part", json_ratio(at.share)},
               {"mean", json_ratio(at.mean)},
               {"iteration_seconds", json_seconds(at.seconds)},
               {"fits", at.fits}};
    if (!at.placement.empty()) {
      share["placement"] = at.placement;
      share["first_seconds"] = json_seconds(at.first_seconds);
      object["decide"] = lengths.affect_choice();
    }
    object["parts"].push_back(std::move(share));
  }
  return object;
}

}  // namespace dovetail::answer
