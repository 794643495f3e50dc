// Parses layer profiles. Checks that all seconds are positive.
#include "cost/profile.h"
#include "fuzz.h"

namespace cost = dovetail::cost;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto profile = cost::parse_profile(dovetail::fuzz::as_text(data, size), "/nowhere/input.yaml");
  if (!profile.ok()) {
    DOVETAIL_ASSERT(!profile.error().message.empty());
    return 0;
  }
  DOVETAIL_ASSERT(!profile->layers.empty());
  const auto linear = [](double amount, double length) { return 1e-6 * amount * (1 + 1e-3 * length); };
  for (const cost::LayerProfile& layer : profile->layers)
    for (const cost::ProfileTable* table : {&layer.forward, &layer.backward, &layer.decode})
      for (const double amount : {1.0, 1000.0, 1e9})
        if (!table->empty()) DOVETAIL_ASSERT(cost::profiled_seconds(*table, amount, amount, linear) > 0);
  return 0;
}
