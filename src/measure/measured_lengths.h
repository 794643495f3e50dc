// The lengths that a run logged, as a job has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "measure/measured.h"
#include "workflow/log_normal.h"

namespace dovetail::measure {

/// What a log says of prompts or of responses.
struct LoggedLengths {
  double mean = 0;                     ///< tokens
  std::optional<double> longest = {};  ///< tokens, that of a usual step
  std::optional<double> at_cap = {};   ///< fraction that ended at the cap

  bool operator==(const LoggedLengths&) const = default;
};

/// Nothing where the log says no mean.
std::optional<LoggedLengths> logged_responses(const MeasuredRun& run);
std::optional<LoggedLengths> logged_prompts(const MeasuredRun& run);

/// Log-normal lengths with the logged mean, cut at `cap`. Their spread is what gives the logged fraction at the cap,
/// else what makes the longest of `draws` lengths as long as the logged one, else usual_sigma.
struct LengthsOfLog {
  std::optional<workflow::LengthFigures> figures;  ///< nothing: no spread does, and all have the mean
  std::int64_t mean = 1;                           ///< tokens, rounded
  std::string spread;                              ///< in words: where the spread is from
};
LengthsOfLog lengths_of_log(const LoggedLengths& logged, std::int64_t cap, std::int64_t draws);

/// The spread of responses of which nobody says one.
inline constexpr double usual_sigma = 0.8;

}  // namespace dovetail::measure
