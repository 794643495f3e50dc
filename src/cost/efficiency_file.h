// dovetail/efficiency@1: a set of efficiencies as a file, which `dovetail calibrate` writes and a job may name.
//
//   {"format": "dovetail/efficiency@1", "name": "h100/megatron-vllm", "error": 0.14, "constants": {"matrix_products":
//   0.476, "slot":
//   0.0015}}
//
// `error` is Efficiency::error, of which the default is assumed. Constants are named as the members of Efficiency are,
// those of its links as links.inside.latency; those that are not there have the defaults of Efficiency.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "cost/efficiency.h"

namespace dovetail::cost {

inline constexpr std::string_view efficiency_format = "dovetail/efficiency@1";

/// A number of Efficiency, and what physics allows it: fractions at most 1, no overhead beyond what was ever seen.
struct EfficiencyConstant {
  std::string_view name;
  double low = 0;  ///< above 0; what is no fraction may also be 0, which leaves it out
  double high = 0;
  bool may_be_zero = false;
  double& (*of)(Efficiency&) = nullptr;
};

/// All, in the order in which they are written.
const std::vector<EfficiencyConstant>& efficiency_constants();
const EfficiencyConstant* find_constant(std::string_view name);

/// Reads those constants that `map` has into `efficiency`; its keys among `others` are passed over. Every mistake is an
/// Error at its place.
base::Status read_constants(const base::Node& map, std::string_view what, const std::vector<std::string_view>& others,
                            Efficiency& efficiency);

/// Reads a set from JSON or YAML. Every mistake is an Error at its line and column.
base::Result<Efficiency> parse_efficiency(std::string_view content, const std::string& path);

/// The set as JSON that parse_efficiency reads back to an equal one.
std::string efficiency_to_json(const Efficiency& efficiency);

}  // namespace dovetail::cost
