// Jobs of which nobody says how long responses are, only their cap: predicted at several parts of it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "answer/question/json.h"
#include "answer/question/section.h"
#include "plan/plan.h"
#include "predict/closed_form/estimate.h"

namespace dovetail::answer {

/// Mean lengths that are tried, of the cap.
inline constexpr std::array open_parts{0.25, 0.5, 0.9};
/// The one of them that an answer is about where it is about one.
inline constexpr double answered_part = 0.5;

/// The scenario with responses of that mean length, log-normal and cut at the cap.
predict::Scenario at_part_of_cap(const predict::Scenario& scenario, double part);

/// What a plan takes at a part of the cap, beside the plan that was found there.
struct PlanAtPart {
  double part = 0;           ///< of the cap
  double mean = 0;           ///< tokens
  double seconds = 0;        ///< an iteration of the plan that the answer is about
  bool fits = true;          ///< the same
  std::string placement;     ///< of the plan that was found there; empty: none was looked for, or none fits
  double first_seconds = 0;  ///< of that
};

/// What nobody says of the lengths, and what follows from it.
struct OpenLengths {
  std::int64_t cap = 0;  ///< tokens
  double error = 0;      ///< of predictions: plans within it are as good as each other
  std::vector<PlanAtPart> parts;
  bool fits_at_cap = true;  ///< the plan, where all responses are as long as the cap

  /// Whether another plan is faster at one of them, by more than the error of predictions, or the plan does not fit.
  bool decide() const;
};

/// The plan at each part; what was found there is filled in by who looked for it.
OpenLengths plan_at_parts(const predict::Scenario& scenario, const plan::Plan& plan);

/// A table of the parts, and whether the choice of the plan depends on them.
Sections open_lengths_sections(const OpenLengths& lengths);
Json open_lengths_json(const OpenLengths& lengths);

}  // namespace dovetail::answer
