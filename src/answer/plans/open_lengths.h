// Predictions at several shares of the cap, for jobs whose response lengths are unknown except for the cap.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "answer/question/json.h"
#include "answer/question/section.h"
#include "plan/plan.h"
#include "predict/closed_form/estimate.h"

namespace dovetail::answer {

/// Mean response lengths to try, as shares of the cap.
inline constexpr std::array assumed_shares{0.25, 0.5, 0.9};
/// Mean response length that an answer assumes, as a share of the cap.
inline constexpr double default_share = 0.5;

/// Returns the scenario with a mean response length of `share` times the cap. The cap is the job's longest response.
/// Lengths are log-normal and cut at the cap. If no such distribution has this mean, all lengths equal the mean.
predict::Scenario at_share_of_cap(const predict::Scenario& scenario, double share);

/// Iteration time of the answer's plan at a share of the cap, and the best plan found there.
struct PlanAtShare {
  double share = 0;          ///< share of the cap
  double mean = 0;           ///< mean response length, in tokens
  double seconds = 0;        ///< iteration time of the answer's plan
  bool fits = true;          ///< the answer's plan fits at this share
  std::string placement;     ///< placement of the best plan found there; empty: not searched, or no plan fits
  double first_seconds = 0;  ///< iteration time of the best plan found there
};

/// Effect of unknown response lengths on an answer.
struct OpenLengths {
  std::int64_t cap = 0;  ///< cap of the responses, in tokens
  double error = 0;      ///< mean relative error of predictions; smaller differences between plans do not count
  std::vector<PlanAtShare> shares;
  bool fits_at_cap = true;  ///< the plan fits if all responses reach the cap

  /// Whether the choice of the plan depends on the lengths: at some share, another plan that was found is faster by
  /// more than `error`, or fits while the answer's plan does not. false if no plans were searched.
  bool affect_choice() const;
};

/// Predicts the plan at each of assumed_shares and at the cap. The caller fills in the best plans found at each share.
OpenLengths plan_at_shares(const predict::Scenario& scenario, const plan::Plan& plan);

/// Table of the iteration times at each share. If plans were searched, also whether the choice of the plan depends on
/// the lengths.
Sections open_lengths_sections(const OpenLengths& lengths);
Json open_lengths_json(const OpenLengths& lengths);

}  // namespace dovetail::answer
