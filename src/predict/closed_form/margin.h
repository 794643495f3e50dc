// The memory margin that plans keep: what is left of a device's usable memory for what the account of memory does not
// foresee.
#pragma once

#include <cstdint>
#include <string_view>

#include "cluster/gpu.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::predict {

/// The least share of a device's usable memory that plans leave where the job says nothing: predictions are off by that
/// much anywhere.
inline constexpr double min_margin_share = 0.04;

/// The margin that the job's plans leave at least: as its `limits` say, else min_margin_share, or what its conventions
/// are known to be off by where that is more (cost::Conventions::memory_error).
plan::MinMargin min_margin(const Scenario& scenario);

/// Bytes of a device that plans of the job may use: what is usable less the margin.
std::int64_t plan_memory(const Scenario& scenario, const cluster::Gpu& gpu);

/// Whether something fits.
enum class Fit {
  fits,          ///< and leaves the margin
  tight,         ///< in what is usable, not in what plans may use
  does_not_fit,  ///< in the device, or in host memory
};
/// "fits", "tight", "does not fit".
std::string_view name_of(Fit fit);

}  // namespace dovetail::predict
