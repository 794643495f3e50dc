// Parses a set of efficiencies. Checks that values are within their bounds, and that the written set reads back to the
// same.
#include "cost/efficiency.h"
#include "fuzz.h"

namespace cost = dovetail::cost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto read = cost::parse_efficiency(dovetail::fuzz::as_text(data, size), "input");
  if (!read.ok()) {
    DOVETAIL_ASSERT(!read.error().message.empty());
    return 0;
  }
  for (const cost::EfficiencyConstant& constant : cost::efficiency_constants()) {
    const double value = constant.of(*read);
    DOVETAIL_ASSERT((value == 0 && constant.may_be_zero) || (value >= constant.low && value <= constant.high));
  }
  const std::string text = cost::efficiency_to_json(*read);
  const auto again = cost::parse_efficiency(text, "written");
  DOVETAIL_ASSERT(again.ok() && again->name == read->name && cost::efficiency_to_json(*again) == text);
  return 0;
}
