#include "measure/measured_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dovetail::measure {
namespace {

using workflow::LengthFigures;

constexpr double max_fitted_sigma = 2.0;
constexpr int halvings = 30;

std::optional<LoggedLengths> logged(const std::optional<double>& mean, const std::optional<double>& longest,
                                    const std::optional<double>& at_cap) {
  if (!mean || *mean < 1) return std::nullopt;
  return LoggedLengths{*mean, longest, at_cap};
}

double expected_longest(const LengthFigures& figures, std::int64_t draws) {
  return workflow::log_normal_lengths(figures).expected_maximum(draws);
}

/// The spread that makes the longest of so many lengths as long as the logged one; nothing where none does.
std::optional<double> sigma_of_longest(LengthFigures figures, double longest, std::int64_t draws) {
  double low = 0;
  double high = max_fitted_sigma;
  for (int halving = 0; halving < halvings; ++halving) {
    figures.sigma = (low + high) / 2;
    const bool is_wide = workflow::find_fault(figures) || expected_longest(figures, draws) > longest;
    (is_wide ? high : low) = *figures.sigma;
  }
  figures.sigma = low;
  if (low <= 0 || workflow::find_fault(figures)) return std::nullopt;
  return low;
}

}  // namespace

std::optional<LoggedLengths> logged_responses(const MeasuredRun& run) {
  return logged(run.mean_response, run.usual_max_response, run.at_cap);
}

std::optional<LoggedLengths> logged_prompts(const MeasuredRun& run) {
  return logged(run.mean_prompt, run.usual_max_prompt, std::nullopt);
}

LengthsOfLog lengths_of_log(const LoggedLengths& logged, std::int64_t cap, std::int64_t draws) {
  const auto whole = std::clamp<std::int64_t>(std::llround(std::min(logged.mean, 1e15)), 1, cap);
  // A rounded mean may be a little above the cap.
  const auto limit = static_cast<double>(cap);
  LengthFigures figures{.mean = std::min(logged.mean, limit), .cap = cap};
  const bool reaches = logged.longest && *logged.longest >= limit;
  // Of a step whose longest response is at the cap one is there at least, though the fraction be rounded to 0.
  const double at_cap = std::max(logged.at_cap.value_or(0), reaches ? 1.0 / static_cast<double>(draws) : 0.0);
  if (at_cap > 0 && at_cap < 1) {
    figures.at_cap = at_cap;
    if (!workflow::find_fault(figures)) return {figures, whole, fmt::format("{:.2g}% end at the cap", 100 * at_cap)};
    figures.at_cap.reset();
  }
  if (logged.longest && !reaches) {
    figures.sigma = sigma_of_longest(figures, std::max(*logged.longest, logged.mean), draws);
    if (figures.sigma) return {figures, whole, fmt::format("the longest of a step has {:.0f}", *logged.longest)};
  }
  figures.sigma = usual_sigma;
  if (!workflow::find_fault(figures))
    return {figures, whole, fmt::format("the log says no spread: sigma {} is taken", usual_sigma)};
  return {std::nullopt, whole, "no spread goes with the mean and the cap: all have the mean"};
}

}  // namespace dovetail::measure
