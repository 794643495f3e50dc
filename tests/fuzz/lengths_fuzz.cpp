// Parses tables of lengths. Checks that quantiles ascend up to the maximum.
#include "fuzz.h"
#include "workflow/lengths_file.h"

namespace workflow = dovetail::workflow;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const std::string_view column : {"", "tokens"}) {
    const auto lengths = workflow::parse_length_table(dovetail::fuzz::as_text(data, size), "input", column);
    if (!lengths.ok()) {
      DOVETAIL_ASSERT(!lengths.error().message.empty());
      continue;
    }
    std::int64_t last = 0;
    for (const double share : {0.0, 0.25, 0.5, 0.9, 0.99}) {
      const std::int64_t quantile = lengths->quantile(share);
      DOVETAIL_ASSERT(last <= quantile);
      last = quantile;
    }
    DOVETAIL_ASSERT(last <= lengths->longest() && lengths->mean() <= static_cast<double>(lengths->longest()));
  }
  return 0;
}
